"""Text for people: what of a stranger's text may be shown, how much room it takes, and times as one reads them."""

import re
import unicodedata

from forgelore.core.text import printable, printable_line
from forgelore.core.times import ago, format_ms

__all__ = ["ago", "cells", "clean", "day", "fit", "format_ms", "printable", "printable_line"]

_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def clean(text: str | None) -> str:
    """Return one line of somebody's text, safe to print."""
    return " ".join(printable(text or "").split())


def cells(text: str) -> int:
    """Return how many columns the text takes: East Asian letters take two, combining marks none."""
    text = _ANSI.sub("", text)
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def fit(text: str, columns: int) -> str:
    """Return the text cut to the columns, with … where it was cut."""
    if cells(text) <= columns:
        return text
    taken, used = [], 0
    for character in text:
        used += cells(character)
        if used > columns - 1:
            break
        taken.append(character)
    return "".join(taken) + "…"


def day(ms: int | None) -> str:
    """Return the day of a time: 2026-03-01; "" where none is known."""
    return (format_ms(ms) or "")[:10]
