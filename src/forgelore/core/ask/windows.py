"""Reading windows: the part of a long text that a reader with little room sees at once, with line numbers.

    [...more above...]
    41: the last line that was seen, for the overlap
    42: another line
    43:501: the second part of a very long line: from its character 501 on
    [...more below...]

A window reaches 50 lines to both sides of its centre and holds at most 2,000 characters, numbers and markers included;
one for a reader with more room holds more of both.
Lines and characters are counted from 1. A line that is longer than a window is read in parts, so that scrolling passes
every character of any text: a minified file is one line. Every shown line begins with its number, so a text that holds
a marker itself cannot pass for one of ours.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal, NamedTuple

LINES_AROUND = 50
MAX_WINDOW_CHARS = 2_000
SCROLL = 0.8  # of a window; the rest is seen again
MAX_OVERLAP = 21  # lines that are seen again
MORE_ABOVE = "[...more above...]"
MORE_BELOW = "[...more below...]"
_PART = 500  # characters of a long line that are shown or left out together
_MARKERS = len(MORE_ABOVE) + len(MORE_BELOW) + 2

ScrollDirection = Literal["up", "down"]


class TextPlace(NamedTuple):
    """A place in a text: a line, and a character in it."""

    line: int
    column: int = 1


class LinePart(NamedTuple):
    """A line, or a part of a long one, and where it begins."""

    place: TextPlace
    text: str

    def __str__(self) -> str:
        line, column = self.place
        return f"{line}: {self.text}" if column == 1 else f"{line}:{column}: {self.text}"


class ReadingWindow(NamedTuple):
    """What is seen of a text. `above` and `below`: where a scroll from here leads; None at the ends of the text."""

    parts: tuple[LinePart, ...]
    total: int  # lines of the text
    above: TextPlace | None  # the last place of the window above
    below: TextPlace | None  # the first place of the window below

    @property
    def first(self) -> int:
        """The first line that is seen; 0 of an empty text."""
        return self.parts[0].place.line if self.parts else 0

    @property
    def last(self) -> int:
        return self.parts[-1].place.line if self.parts else 0

    def __str__(self) -> str:
        """Return the lines with their numbers, between the markers."""
        lines = [MORE_ABOVE] if self.above else []
        lines += map(str, self.parts)
        return "\n".join([*lines, MORE_BELOW] if self.below else lines)


def open_window(
    lines: Sequence[str], centre: TextPlace | None = None, *, chars: int = MAX_WINDOW_CHARS
) -> ReadingWindow:
    """Return the window around a place, or the first one. A place outside of the text means its nearer end."""
    parts = _split(lines)
    if centre is None:
        return _from_top(parts, 0, len(lines), chars)
    at = _find(parts, centre)
    low, high, used = at, at + 1, len(str(parts[at])) + 1 if parts else 0
    going: list[ScrollDirection] = ["up", "down"]
    while going:
        direction = going.pop(0)
        index = low - 1 if direction == "up" else high
        taken = _room_of(parts, index, used, within=parts[at].place.line, chars=chars) if parts else None
        if taken is not None:
            used += taken
            low, high = (index, high) if direction == "up" else (low, index + 1)
            going.append(direction)
    return _window(parts, low, high, len(lines))


def scroll_to(
    lines: Sequence[str], place: TextPlace | None, direction: ScrollDirection, *, chars: int = MAX_WINDOW_CHARS
) -> ReadingWindow:
    """Return the window that begins at a place ("down"), or ends there ("up"); None: the first one, or the last."""
    parts = _split(lines)
    if direction == "down":
        return _from_top(parts, _find(parts, place) if place else 0, len(lines), chars)
    high = min(len(parts), _find(parts, place) + 1) if place else len(parts)
    return _window(parts, _reach_up(parts, high, chars), high, len(lines))


def scroll_window(lines: Sequence[str], window: ReadingWindow, direction: ScrollDirection) -> ReadingWindow:
    """Return the window that is four fifths of a window further; the same one at the end of the text."""
    place = window.below if direction == "down" else window.above
    return window if place is None else scroll_to(lines, place, direction)


def find_lines(lines: Sequence[str], words: str) -> list[TextPlace]:
    """Return where the words stand as they are typed, capitals aside; where they do nowhere, the lines that have all of
    them. One place per line.

    find_lines(["The Cache", "cache the file"], "the cache") -> [TextPlace(1, 1)]
    """
    wanted = " ".join(words.lower().split())
    if not wanted:
        return []
    lowered = [line.lower() for line in lines]
    exact = [TextPlace(at, found + 1) for at, line in enumerate(lowered, 1) if (found := line.find(wanted)) >= 0]
    if exact:
        return exact
    each = wanted.split()
    return [
        TextPlace(at, min(line.find(word) for word in each) + 1)
        for at, line in enumerate(lowered, 1)
        if all(word in line for word in each)
    ]


def _split(lines: Sequence[str]) -> list[LinePart]:
    """Return the lines, long ones in parts."""
    return [
        LinePart(TextPlace(number, start + 1), line[start : start + _PART])
        for number, line in enumerate(lines, 1)
        for start in range(0, len(line) or 1, _PART)
    ]


def _find(parts: Sequence[LinePart], place: TextPlace) -> int:
    """Return which part holds a place; of a place outside, the nearest one."""
    return max(0, bisect_right(parts, place, key=lambda part: part.place) - 1)


def _room_of(parts: Sequence[LinePart], index: int, used: int, *, within: int, chars: int) -> int | None:
    """Return the characters that a further part takes; None where it is not there, too far from a line or too long."""
    if not 0 <= index < len(parts) or abs(parts[index].place.line - within) > _around(chars):
        return None
    taken = len(str(parts[index])) + 1
    return taken if used + taken <= chars - _MARKERS else None


def _around(chars: int) -> int:
    return LINES_AROUND * max(chars, MAX_WINDOW_CHARS) // MAX_WINDOW_CHARS


def _from_top(parts: Sequence[LinePart], low: int, total: int, chars: int) -> ReadingWindow:
    high = used = 0
    middle = parts[low].place.line + _around(chars) if parts else 0
    while (taken := _room_of(parts, low + high, used, within=middle, chars=chars)) is not None:
        used, high = used + taken, high + 1
    return _window(parts, low, low + high, total)


def _reach_up(parts: Sequence[LinePart], high: int, chars: int) -> int:
    """Return the first part of the window that ends before `high`."""
    low, used = high, 0
    middle = parts[high - 1].place.line - _around(chars) if parts else 0
    while (taken := _room_of(parts, low - 1, used, within=middle, chars=chars)) is not None:
        used, low = used + taken, low - 1
    return low


def _window(parts: Sequence[LinePart], low: int, high: int, total: int) -> ReadingWindow:
    count = high - low
    step = max(1, int(count * SCROLL), count - MAX_OVERLAP)
    return ReadingWindow(
        tuple(parts[low:high]), total, above=parts[high - 1 - step].place if low > 0 else None,
        below=parts[low + step].place if high < len(parts) else None,
    )  # fmt: skip
