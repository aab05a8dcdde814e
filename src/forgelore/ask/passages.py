"""The best passages for a question, where no model is asked: the paragraphs that fit it best.

    question -> search of items, code and commits -> paragraphs of each -> one scale -> the five best

A paragraph counts by the rare words of the question that it holds, and for less by those that stand around it: in the
title, and in the rest of the text. Lines that we wrote ourselves (headers, lists of files) are no passage.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from forgelore.ask.answers import AskAnswer, BestPassage, SourceIndex, type_of
from forgelore.ask.tool_calls import AskCall
from forgelore.search.code import TEST, is_test
from forgelore.search.hits import Hit
from forgelore.text.reading import ReadingText, WrittenPart

_LOOKED_AT = 60  # results of search, of all kinds
_MAX_BLOCKS = 400  # paragraphs of one source
_NEAR = 300  # lines of a file to both sides of what search found in it
_MAX_CHARS, _MAX_LINES = 900, 14  # a passage grows until here by the paragraphs around it
_TITLE, _AROUND = 0.6, 0.35  # what a word counts that stands in the title, or elsewhere in the same text
_ASKED = 0.8  # the same for a reply to an issue that has the word: the issue asks, the reply answers
_DENSITY, _USUAL_CHARS = 0.15, 300  # how far words count less in a long paragraph, and what is long
_LIKELY = 1.15  # what a paragraph gains that has what the question looks for: a number, a reason
_MOST_OF_ONE, _AGAIN = 2, 0.85  # passages of one source, and what the second is worth
_FIRST = 0.3  # what the first result of a search has before those that are not among the first
_LIST_ITEM = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s")
_LOOKS_FOR = (
    (re.compile(r"(?i)\bhow\s+(?:many|much|long|large|big|often|slow|fast|far|old|high)\b"), re.compile(r"\d")),
    (re.compile(r"(?i)\bwhy\b"), re.compile(r"(?i)\b(?:because|since|so that|due to|reason|as|otherwise)\b")),
)


class _Question(NamedTuple):
    """What is asked: what each of its stems tells, and what an answer is likely to have."""

    weights: Mapping[str, float]
    total: float
    looks_for: re.Pattern[str] | None


class _Block(NamedTuple):
    """A paragraph: its lines, from 1 and both included, and the part that it belongs to."""

    first: int
    last: int
    part: WrittenPart
    stems: frozenset[str]


class _Context(NamedTuple):
    """The stems that stand around a paragraph: in the title, in the whole text, in the body alone."""

    title: frozenset[str]
    whole: frozenset[str]
    body: frozenset[str]


def find_passages(sources: SourceIndex, question: str, limit: int = 5) -> AskAnswer:
    """Return the passages that fit a question best. Nobody has read them, and nothing is concluded from them."""
    weights = sources.weigh_words(question)
    looks_for = next((answer for asking, answer in _LOOKS_FOR if asking.search(question)), None)
    asked = _Question(weights, sum(weights.values()) or 1.0, looks_for)
    ranked, turns = list[tuple[float, BestPassage]](), dict[str, int]()
    for found in sources.search(AskCall("search", question), _LOOKED_AT):
        opened = sources.find(sources.id_of(found))
        source = type_of(found) if found.kind in ("file", "commit") else "item"
        turns[source] = turns.get(source, 0) + 1
        ranked += _find_best(sources, opened, found, asked, turns[source]) if opened else ()
    ranked.sort(key=lambda one: -one[0])
    passages = tuple(passage for _, passage in ranked[:limit])
    return AskAnswer(question, "", "no_model", is_partial=True, passages=passages)


def _find_best(
    sources: SourceIndex, text: ReadingText, found: Hit, asked: _Question, rank: int
) -> list[tuple[float, BestPassage]]:  # fmt: skip
    """Return score and passage for the paragraphs that fit best, each with as much around it as a passage holds."""
    blocks = [
        _Block(first, last, part, sources.stems(_own_words(text, first, last)))
        for first, last, part in islice(_split(text, found.line or 1), _MAX_BLOCKS)
    ]
    context = _Context(
        sources.stems(text.title), frozenset().union(*(one.stems for one in blocks)),
        frozenset().union(*(one.stems for one in blocks if not one.part.section)),
    )  # fmt: skip
    fits = {at: _fit(text, block, asked, context) for at, block in enumerate(blocks)}
    shown, ranked = set[int](), list[tuple[float, BestPassage]]()
    for at in sorted(fits, key=lambda one: -fits[one]):
        first, last = _grow(text, blocks, at)
        if shown.isdisjoint(range(first, last + 1)):
            score = (fits[at] + _FIRST / (rank + 1)) * _AGAIN ** len(ranked)
            score *= TEST if text.kind == "file" and is_test(text.title) else 1.0
            words = "\n".join(text.lines[first - 1 : last])
            passage = BestPassage(text.ref, type_of(found), found.title, found.url, first, last, words, text.hash)
            ranked.append((score, passage))
            shown.update(range(first, last + 1))
        if len(ranked) == _MOST_OF_ONE:
            break
    return ranked


def _fit(text: ReadingText, block: _Block, asked: _Question, context: _Context) -> float:
    """Return how well a paragraph fits: 1 for a short one that has every word of the question itself."""
    words = _own_words(text, block.first, block.last)
    is_reply = text.kind == "issue" and block.part.section and block.part.author != text.parts[0].author
    fit = 0.0
    for stem, weight in asked.weights.items():
        if stem in block.stems:
            fit += weight / (1 - _DENSITY + _DENSITY * len(words) / _USUAL_CHARS)
        elif is_reply and (stem in context.title or stem in context.body):
            fit += weight * _ASKED
        elif stem in context.title:
            fit += weight * _TITLE
        elif stem in context.whole:
            fit += weight * _AROUND
    if asked.looks_for and asked.looks_for.search(words):
        fit *= _LIKELY
    return fit / asked.total


def _own_words(text: ReadingText, first: int, last: int) -> str:
    """Return what somebody wrote in these lines, without what they quote of others."""
    lines = text.lines[first - 1 : last]
    return "\n".join(line for line in lines if text.kind == "file" or not line.lstrip().startswith(">"))


def _split(text: ReadingText, line: int) -> Iterator[tuple[int, int, WrittenPart]]:
    """Yield the paragraphs that people wrote: of items and commits their parts, of a file the lines around its hit.
    What is longer than a passage is cut.
    """
    near = WrittenPart("", None, None, max(1, line - _NEAR), min(len(text.lines), line + _NEAR))
    for part in text.parts or (near,):
        first = size = 0
        for number in range(part.first, part.last + 1):
            words = text.lines[number - 1].strip()
            size += len(words)
            is_long = size > _MAX_CHARS or (first and number - first >= _MAX_LINES)
            if first and (not words or is_long or _LIST_ITEM.match(words)):
                yield first, number - 1, part
                first, size = 0, len(words)
            first = first or (number if words else 0)
        if first:
            yield first, part.last, part


def _grow(text: ReadingText, blocks: list[_Block], at: int) -> tuple[int, int]:
    """Return the lines of a paragraph with those behind and before it that were written with it, within bounds."""
    best = blocks[at]
    low, high = at, at

    def is_room(first: int, last: int) -> bool:
        size = sum(map(len, text.lines[first - 1 : last]))
        return last - first < _MAX_LINES and size <= _MAX_CHARS

    while high + 1 < len(blocks) and blocks[high + 1].part == best.part and is_room(best.first, blocks[high + 1].last):
        high += 1
    last = blocks[high].last
    while low and blocks[low - 1].part == best.part and is_room(blocks[low - 1].first, last):
        low -= 1
    return blocks[low].first, last
