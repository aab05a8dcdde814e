"""The reading text of an item: what people, agents and models read of it, line by line.

One definition for windows, for searching within an item, and for citations: a citation names lines of this text and the
hash of the version that was read. Header, body, then every thread with the author and the time of each note, uncut.

    [[Issue]] #234: Authentication redesign
    Project: group/project-one
    URL: https://gitlab.example.com/group/project-one/-/issues/234

    --- Description ---

    The body, as it was written.

    --- Thread on src/auth.py:12 ---

    @ana (2024-03-01 12:00):
    What she wrote.

A file of code is its own lines and nothing else, so that line 12 here is line 12 there.

Reading windows: the part of a long text that a reader with little room sees at once, with line numbers.

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

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal, NamedTuple

from forgelore.text.dates import format_ms
from forgelore.text.items import StoredThread


class Section(NamedTuple):
    """The lines (from 1, the last one included) that a document of search is made from: the body (""), or a thread."""

    key: str
    first: int
    last: int


class ReadingLines(NamedTuple):
    """The lines of an item, and which of them are its body and its threads."""

    lines: tuple[str, ...]
    sections: tuple[Section, ...]

    def find(self, text: str, section: str = "") -> int | None:
        """Return the first line of a section that is, or holds, this text; None where there is none."""
        wanted = text.strip()
        first, last = next(((one.first, one.last) for one in self.sections if one.key == section), (1, len(self.lines)))
        within = range(first, last + 1)
        same = (number for number in within if self.lines[number - 1].strip() == wanted)
        holding = (number for number in within if wanted and wanted in self.lines[number - 1])
        return next(same, None) or next(holding, None)


class WrittenPart(NamedTuple):
    """The lines that one person wrote at one time: the body of an item (section ""), a note, the message of a commit.
    `path`: the file that the note's thread is about.
    """

    section: str
    author: str | None
    written_at: int | None
    first: int
    last: int
    path: str | None = None
    url: str | None = None  # of the note


class ReadingText(NamedTuple):
    """What is read of an item, a file or a commit. Line 1 is `lines[0]`; `hash` names this version of them."""

    key: str  # item:12, file:7, commit:9: what it is asked for by
    kind: str
    ref: str
    title: str
    url: str | None
    lines: tuple[str, ...]
    hash: str
    sections: tuple[Section, ...] = ()
    is_confidential: bool = False
    parts: tuple[WrittenPart, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def page_at(self, line: int) -> str | None:
        """The address of what stands in a line: a comment, a line of a file; else that of the whole."""
        if self.kind == "file" and self.url:
            return f"{self.url}#L{line}"
        return next((part.url for part in self.parts if part.first <= line <= part.last and part.url), self.url)

    @property
    def written_lines(self) -> tuple[tuple[int, int], ...]:
        """The first and the last line of what each person wrote, and of a commit each path; of a file every line. The
        others are ours.
        """
        found = [(part.first, part.last) for part in self.parts if part.first <= part.last]
        if self.kind == "commit" and found:  # a blank line, "--- Files ---", a blank line, the paths
            found += [(at, at) for at in range(found[-1][1] + 4, len(self.lines) + 1)]
        return tuple(found) or (() if self.kind == "file" else ((0, 0),))


def split_lines(text: str) -> tuple[str, ...]:
    r"""Return the lines of a text, as a forge's page counts them: "\r\n" and "\n" end one, nothing else does."""
    lines = text.replace("\r\n", "\n").split("\n")
    return tuple(lines if lines[-1] else lines[:-1])


def hash_lines(lines: Sequence[str]) -> str:
    """Return what names a version of a text: 16 hexadecimal digits of its SHA-256."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def build_lines(header: str, body: str, threads: Sequence[StoredThread]) -> ReadingLines:
    """Return the lines of an item. Those of its body are the same without its threads, which come behind it."""
    lines = [*header.split("\n"), "", "--- Description ---", ""]
    written = split_lines(body)
    sections = [Section("", len(lines) + 1, len(lines) + len(written))]
    lines += written
    for thread in threads:
        path, line = thread.place
        place = f" on {path}{f':{line}' if line else ''}" if path else ""
        lines += ["", f"--- Thread{place} ---"]
        first = len(lines) + 1
        for note in thread.notes:
            when = (format_ms(note.created_ms) or "")[:16].replace("T", " ")
            lines += ["", f"@{note.author or 'ghost'}{f' ({when})' if when else ''}:", *split_lines(note.body or "")]
        sections.append(Section(thread.key, first, len(lines)))
    return ReadingLines(tuple(lines), tuple(sections))


def list_parts(
    body: WrittenPart, sections: Sequence[Section], threads: Sequence[StoredThread]
) -> tuple[WrittenPart, ...]:
    """Return who wrote which lines of `build_lines`: known from the notes, since a text may hold lines that look like
    somebody else's.
    """
    first, *others = sections
    parts = [body._replace(first=first.first, last=first.last)]
    for section, thread in zip(others, threads, strict=True):
        at = section.first
        for note in thread.notes:
            end = at + 1 + len(split_lines(note.body or ""))
            parts.append(WrittenPart(section.key, note.author, note.created_ms, at + 2, end, thread.place[0], note.url))
            at = end + 1
    return tuple(parts)


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
    """A line, and a character of it, both counted from 1; what `read` takes as `line` and `column`."""

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
