"""Chunks of a file of code: spans of lines that are found, shown and embedded each by itself.

    definitions -> spans -> small neighbours joined -> long ones cut at blank lines

Every line belongs to exactly one chunk, in order. A chunk knows what is defined in it, and what it is a part of.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from forgelore.core.code.definitions import Definition, find_definitions

JOINED = 24  # lines up to which neighbours are joined: a one-line function alone says little
LONGEST = 80  # lines of a chunk
WIDEST = 6_000  # characters of a chunk, where lines are that long: it is cut at a line


class CodeChunk(NamedTuple):
    """Lines of a file, both from 1 and both included; `symbol` is what it begins with, or is a part of."""

    start_line: int
    end_line: int
    symbol: str
    names: tuple[str, ...]  # all that is defined in it


class _Span(NamedTuple):
    start: int
    end: int
    name: str


def cut_code(text: str, language: str) -> list[CodeChunk]:
    """Return the chunks of a file; none of an empty one."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()  # what stands behind the last line end is no line
    if not lines:
        return []
    definitions = find_definitions(text, language)
    pieces = [piece for span in _join(_spans(definitions, len(lines))) for piece in _cut(span, lines)]
    return _name(pieces, [one for one in definitions if not one.is_end])


def _name(pieces: list[_Span], definitions: Sequence[Definition]) -> list[CodeChunk]:
    lines = [one.line for one in definitions]
    return [_chunk(one, definitions[bisect_left(lines, one.start) : bisect_right(lines, one.end)]) for one in pieces]


def _chunk(piece: _Span, definitions: Sequence[Definition]) -> CodeChunk:
    names = [one.name for one in definitions]
    return CodeChunk(piece.start, piece.end, piece.name or next(iter(names), ""), tuple(dict.fromkeys(names)))


def _spans(definitions: Sequence[Definition], last: int) -> list[_Span]:
    """Return the lines between the places where a chunk may begin, each with the name that holds there."""
    starts = {1: ""}
    for one in definitions:
        if one.is_cut and one.line <= last:
            starts[one.line] = one.name  # of several at one line the last: what begins, not what ends
    ordered = sorted(starts)
    return [_Span(start, end - 1, starts[start]) for start, end in zip(ordered, [*ordered[1:], last + 1], strict=True)]


def _join(spans: list[_Span]) -> list[_Span]:
    """Join small neighbours that are parts of the same thing: the methods of a class, the functions of a module."""
    joined: list[_Span] = []
    for span, behind in zip_longest(spans, spans[1:]):
        before = joined[-1] if joined else None
        is_small = before is not None and span.end - before.start < JOINED
        if before and is_small and not _begins_parts(before, span, behind) and _is_near(before.name, span.name):
            joined[-1] = before._replace(end=span.end, name=before.name or span.name)
        else:
            joined.append(span)  # what has parts begins a chunk, so that they can join it
    return joined


def _begins_parts(before: _Span, span: _Span, behind: _Span | None) -> bool:
    """Whether a span is the head of something whose first part comes next."""
    inside = f"{span.name}."
    is_head = bool(span.name) and behind is not None and behind.name.startswith(inside)
    return is_head and before.name != span.name and not before.name.startswith(inside)


def _is_near(name: str, other: str) -> bool:
    """Whether two are siblings, or one the part of the other. Blank lines between two functions have no name."""
    owner, owner_of_other = name.rpartition(".")[0], other.rpartition(".")[0]
    return owner in (owner_of_other, other) or owner_of_other == name


def _cut(span: _Span, lines: Sequence[str]) -> list[_Span]:
    """Cut what is too long: at the last blank line of its second half, or where it must."""
    found: list[_Span] = []
    start = span.start
    while start <= span.end:
        end, width = start, 0
        while end <= span.end and end - start < LONGEST and (end == start or width + len(lines[end - 1]) < WIDEST):
            width += len(lines[end - 1]) + 1
            end += 1
        if end <= span.end:
            blanks = [at for at in range((start + end) // 2, end) if not lines[at - 1].strip()]
            end = blanks[-1] + 1 if blanks else end
        found.append(_Span(start, end - 1, span.name))
        start = end
    return found
