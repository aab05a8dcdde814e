"""Chunks: spans of a document that get one vector each.

Only lines worth embedding count (`core/search/cleaning`): logs and templates stay in full text and cost no vector. The
first chunk stands for the document as a whole; the others make the rest of a long text findable.
"""

from typing import NamedTuple

from forgelore.core.search.cleaning import clean_line, kept_lines
from forgelore.words import Passage


class Chunk(NamedTuple):
    start: int  # characters of the document's text
    end: int
    passage: Passage


def build_chunks(title: str, text: str, *, max_chars: int) -> list[Chunk]:
    r"""Return at least one chunk, in order; each holds at most `max_chars` of clean text.

    ("T", "one\ntwo\n", max_chars=4) -> one chunk per line
    """
    chunks: list[Chunk] = []
    lines: list[str] = []
    start = end = room = 0
    for line_start, line_end in _pieces(kept_lines(text), max_chars):
        line = clean_line(text[line_start:line_end])
        if not line:
            continue
        if lines and len(line) > room:
            chunks.append(Chunk(start, end, Passage(title, "\n".join(lines))))
            lines = []
        if not lines:
            start, room = line_start, max_chars
        lines.append(line)
        end, room = line_end, room - len(line) - 1
    if lines or not chunks:
        chunks.append(Chunk(start, end, Passage(title, "\n".join(lines))))
    return chunks


def _pieces(spans: list[tuple[int, int]], max_chars: int) -> list[tuple[int, int]]:
    """Cut lines that are longer than a chunk; a paragraph without line breaks is one line to a forge."""
    return [
        (at, min(at + max_chars, end)) for start, end in spans for at in range(start, max(end, start + 1), max_chars)
    ]
