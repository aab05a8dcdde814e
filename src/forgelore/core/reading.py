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
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from forgelore.core.times import format_ms


class ReadNote(NamedTuple):
    author: str | None
    created_at: int | None
    body: str
    url: str | None = None


class ReadThread(NamedTuple):
    """A conversation of which there is something to read. `line` of `path`, where it is about one."""

    key: str
    notes: tuple[ReadNote, ...]
    path: str | None = None
    line: int | None = None


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


def build_lines(header: str, body: str, threads: Sequence[ReadThread]) -> ReadingLines:
    """Return the lines of an item. Those of its body are the same without its threads, which come behind it."""
    lines = [*header.split("\n"), "", "--- Description ---", ""]
    written = split_lines(body)
    sections = [Section("", len(lines) + 1, len(lines) + len(written))]
    lines += written
    for thread in threads:
        place = f" on {thread.path}{f':{thread.line}' if thread.line else ''}" if thread.path else ""
        lines += ["", f"--- Thread{place} ---"]
        first = len(lines) + 1
        for note in thread.notes:
            when = (format_ms(note.created_at) or "")[:16].replace("T", " ")
            lines += ["", f"@{note.author or 'ghost'}{f' ({when})' if when else ''}:", *split_lines(note.body)]
        sections.append(Section(thread.key, first, len(lines)))
    return ReadingLines(tuple(lines), tuple(sections))


def list_parts(
    body: WrittenPart, sections: Sequence[Section], threads: Sequence[ReadThread]
) -> tuple[WrittenPart, ...]:
    """Return who wrote which lines of `build_lines`: known from the notes, since a text may hold lines that look like
    somebody else's.
    """
    first, *others = sections
    parts = [body._replace(first=first.first, last=first.last)]
    for section, thread in zip(others, threads, strict=True):
        at = section.first
        for note in thread.notes:
            end = at + 1 + len(split_lines(note.body))
            parts.append(WrittenPart(section.key, note.author, note.created_at, at + 2, end, thread.path, note.url))
            at = end + 1
    return tuple(parts)
