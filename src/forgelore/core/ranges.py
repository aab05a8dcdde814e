"""Ranges as people write them, of dates and of numbers.

    >10   >=10   <10   <=10   10..20   10..*   *..20   10..   ..20   10
    >2024-01-31   <=2024-01   2024-01..2024-03   2024 (all of it)   >7d   (after the moment seven days ago)
    >3 months ago   >"3 months ago"

What is named counts as a whole: `>2024-01` begins with February, `<=2024-01` ends with January.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from forgelore.errors import InvalidValue

_BLANKS = ' \t\n"'  # and quotes, which a query needs around words


class Bounds(NamedTuple):
    """From `low` on, and below `high`; None: open."""

    low: int | None = None
    high: int | None = None

    @property
    def is_empty(self) -> bool:
        return self.low is not None and self.high is not None and self.low >= self.high

    def within(self, other: "Bounds") -> "Bounds":
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        return Bounds(max(lows, default=None), min(highs, default=None))


def parse_dates(text: str, now_ms: int) -> Bounds:
    """Return the range of moments that `text` means, in milliseconds."""
    from forgelore.core.dates import parse_period  # a range of numbers has no date to read

    return _parse_bounds(text, lambda value: parse_period(value, now_ms))


def parse_numbers(text: str) -> Bounds:
    """Return the range of numbers that `text` means."""
    return _parse_bounds(text, _number)


def _parse_bounds(text: str, read: Callable[[str], tuple[int, int]]) -> Bounds:
    """`read` returns the first of what a value names, and what comes behind its last; the same twice for a moment."""
    text = text.strip()
    compared = re.match(r"(>=|<=|>|<)", text)
    if compared and ".." in text:
        bare = text[compared.end() :].strip()
        raise InvalidValue(
            f"{text[:60]!r} is a comparison and a range", hint=f"write {bare[:60]}, or {compared[0]} alone"
        )
    if compared:
        start, end = read(text[compared.end() :].strip(_BLANKS))
        past = max(end, start + 1)
        return {
            ">": Bounds(low=end), ">=": Bounds(low=start), "<": Bounds(high=start), "<=": Bounds(high=past)
        }[compared[0]]  # fmt: skip
    first, dots, last = (part.strip(_BLANKS) for part in text.partition(".."))
    if dots and (first or last):
        low = None if first in ("", "*") else read(first)[0]
        if last in ("", "*"):
            return Bounds(low)
        start, end = read(last)
        return Bounds(low, max(end, start + 1))
    start, end = read(text)
    if start == end:
        moment = f'"{text}"' if " " in text else text  # as a query takes it, and everybody else too
        raise InvalidValue(
            f"{text!r} is a moment", hint=f"write >{moment} for what came after it, <{moment} for before"
        )
    return Bounds(start, end)


def _number(text: str) -> tuple[int, int]:
    if not re.fullmatch(r"\s*[0-9]{1,15}\s*", text):
        raise InvalidValue(f"{text.strip()[:60]!r} is not a number", hint="write 10, >10, <=10 or 5..20")
    return int(text), int(text) + 1
