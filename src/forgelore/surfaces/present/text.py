"""Text for people: colours on a terminal, widths that add up, times, and nothing that a stranger's text can abuse.

Text from a forge goes through `clean` before it is printed. Small on purpose: a list costs no import of rich.
"""

import datetime as dt
import os
import re
import sys
import time
import unicodedata
from typing import IO, TYPE_CHECKING

from forgelore.text.dates import ago, as_ms, format_ms
from forgelore.text.fence import fence_alone, printable, printable_line, seen
from forgelore.text.markdown import safe_url

if TYPE_CHECKING:
    from forgelore.api import LockHolder

__all__ = [
    "Style", "ago", "as_ms", "cells", "clean", "clock_time", "counted_noun", "day", "describe_holder", "duration",
    "fence_alone", "fit", "format_ms", "number", "printable", "printable_line", "safe_url", "seen", "table", "width",
    "wrap", "wrap_words",
]  # fmt: skip

_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def clean(text: str | None) -> str:
    """Return one line of somebody's text, safe to print."""
    return " ".join(printable(text or "").split())


def counted_noun(count: int, noun: str) -> str:
    """`1 audit`, `2 audits`, `1,200 audits`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def cells(text: str) -> int:
    """Return how many columns the text takes: East Asian letters take two, combining marks none."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def fit(text: str, columns: int) -> str:
    """Return the text cut to the columns between two words, with … where it was cut. A word is broken only where it is
    so long that less than half of the columns would be left: a path, a frame of a stack.
    """
    if cells(text) <= columns:
        return text
    taken, used = 0, 0
    for taken, character in enumerate(text):  # noqa: B007 - where it ends is what is looked for
        used += cells(character)
        if used > columns - 1:
            break
    kept = text[:taken]
    if not text[taken].isspace() and " " in kept.strip():
        whole = kept[: kept.rindex(" ")]
        kept = whole if cells(whole) >= columns // 2 else kept
    return kept.rstrip(" ,;:-(") + "…"


def wrap_words(text: str, columns: int, first: int | None = None) -> list[str]:
    """Return the text as lines of whole words; colours take no room. `first`: the columns of the first line."""
    lines, line, taken = [], "", 0
    room = columns if first is None else first
    for word in text.split(" "):
        wide = cells(word)
        if line and taken + 1 + wide > room:
            lines.append(line)
            line, taken, room = word, wide, columns
        else:
            line, taken = (f"{line} {word}", taken + 1 + wide) if line else (word, wide)
    return [*lines, line]


def day(moment: dt.datetime | int | None) -> str:
    """Return the day of a time, or of milliseconds: 2026-03-01; "" where none is known."""
    if isinstance(moment, dt.datetime):
        return moment.date().isoformat()
    return (format_ms(moment) or "")[:10]


class Style:
    """Colours for one stream; plain text when it is not a terminal or NO_COLOR is set. `when` is what --color says."""

    def __init__(self, stream: IO[str], when: str | None = None) -> None:
        forced = os.environ.get("FORCE_COLOR", "") not in ("", "0")
        is_terminal = bool(getattr(stream, "isatty", lambda: False)()) and os.environ.get("TERM") != "dumb"
        by_itself = forced or (is_terminal and not os.environ.get("NO_COLOR"))
        self.on = when == "always" or (when != "never" and by_itself)

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and text else text

    def bold(self, text: str) -> str:
        return self._paint("1", text)

    def dim(self, text: str) -> str:
        return self._paint("2", text)

    def red(self, text: str) -> str:
        return self._paint("31", text)

    def green(self, text: str) -> str:
        return self._paint("32", text)

    def yellow(self, text: str) -> str:
        return self._paint("33", text)

    def magenta(self, text: str) -> str:
        return self._paint("35", text)

    def cyan(self, text: str) -> str:
        return self._paint("36", text)

    def mark(self, text: str) -> str:
        """Return a text that stands out: bold and inverse, or in brackets where there are no colours."""
        return self._paint("1;7", text) if self.on else f"[{text}]"

    def state(self, state: str | None) -> str:
        paint = {"open": self.green, "closed": self.red, "merged": self.magenta}.get(state or "", self.dim)
        return paint(state or "")


def width() -> int:
    """Return the columns of the terminal (COLUMNS wins); 100 without one. shutil has the same, for 3 ms."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        columns = int(given)
    else:
        try:
            columns = os.get_terminal_size(sys.stdout.fileno()).columns
        except (OSError, ValueError, AttributeError):
            columns = 100
    return max(40, min(columns, 160))


def table(
    rows: list[list[str]], *, grow: int, spare: tuple[int, ...] = (), head: list[str] | None = None,
    style: Style | None = None, columns: int | None = None,
) -> list[str]:  # fmt: skip
    """Return aligned lines. Column `grow` takes what is left of the terminal and is cut to it; the `spare` ones, the
    last first, go where it would not get half of the width. `columns`: for another width.
    """
    if not rows:
        return []
    room = columns or width()
    everything = [head, *rows] if head else rows
    widths = [max(cells(row[column]) for row in everything) for column in range(len(rows[0]))]
    for column in sorted(spare, reverse=True):
        if _left(widths, grow, room) >= min(widths[grow], room // 2):
            break
        everything = [[*row[:column], *row[column + 1 :]] for row in everything]
        del widths[column]
    widths[grow] = max(12, min(widths[grow], _left(widths, grow, room)))
    lines = [_row(row, widths, grow) for row in everything]
    return [style.dim(lines[0]), *lines[1:]] if head and style else lines


def _left(widths: list[int], grow: int, room: int) -> int:
    return room - (sum(widths) - widths[grow] + 2 * (len(widths) - 1))


def _row(row: list[str], widths: list[int], grow: int) -> str:
    parts = [fit(part, widths[column]) if column == grow else part for column, part in enumerate(row)]
    return "  ".join(part + " " * (widths[column] - cells(part)) for column, part in enumerate(parts)).rstrip()


def wrap(text: str, columns: int, indent: str = "") -> list[str]:
    """Return somebody's Markdown as readable lines: paragraphs wrapped, code and tables left alone."""
    import textwrap

    lines: list[str] = []
    in_code = False
    for raw in printable(text).split("\n"):
        line = raw.expandtabs(4)
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
        if in_code or line.startswith(("    ", "|", "```", "~~~", ">")) or not line.strip():
            lines.append(indent + line.rstrip() if line.strip() else "")
            continue
        hang = re.match(r"\s*(?:[-*+]|\d+[.)])?\s*", line)
        lines += textwrap.wrap(
            line, max(20, columns - len(indent)), initial_indent=indent,
            subsequent_indent=indent + " " * (len(hang[0]) if hang else 0),
            break_long_words=False, break_on_hyphens=False, drop_whitespace=True,
        ) or [""]  # fmt: skip
    return lines


def number(value: int) -> str:
    return f"{value:,}"


def describe_holder(holder: "LockHolder") -> list[str]:
    """Return how far a running sync is, a line each: ["issues 400 of 1,200, 55 a second, 15 s left"]."""
    lines = []
    if holder.stage:
        of = f" of {number(holder.expected)}" if holder.expected and holder.done <= holder.expected else ""
        parts = [f"{holder.stage} {number(holder.done)}{of}" if holder.done else holder.stage]
        parts += [f"{holder.rate:,.0f} a second"] if holder.rate and holder.rate >= 1 else []
        parts += [f"{duration(holder.left_s)} left"] if holder.left_s and not holder.waiting_until else []
        lines.append(", ".join(parts))
    if holder.requests:
        quotas = [
            f"{number(one.left)} of {number(one.limit)} left for {one.name}" for one in holder.quotas if one.limit
        ]
        lines.append("; ".join([f"{number(holder.requests)} request{'s' if holder.requests > 1 else ''}", *quotas]))
    if holder.waiting_until:
        lines.append(f"waiting until {clock_time(holder.waiting_until)} ({holder.waiting_for})")
    return lines


def clock_time(ms: int) -> str:
    """Return the time of day here: 15:04."""
    return time.strftime("%H:%M", time.localtime(ms / 1000))


def duration(seconds: float) -> str:
    """Return a time that people can grasp: 40 s, 12 min, 1.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
