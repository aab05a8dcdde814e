"""Text for people: what of a stranger's text may be shown, how much room it takes, and times as one reads them."""

import datetime as dt
import re
import unicodedata

from forgelore.text.dates import ago, format_ms
from forgelore.text.fence import fence_alone, printable, printable_line, seen

__all__ = [
    "ago", "cells", "clean", "day", "fence_alone", "fit", "format_ms", "printable", "printable_line", "seen",
    "wrap_words",
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
    wider than the columns.
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
        kept = kept[: kept.rindex(" ")]
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
