"""The line format of `evaluate`: one query with its known answers per line, as JSON. Two kinds of line:

    {"query": 108, "kind": "issue", "created_at": "2011-03-08T14:47:03Z", "gold": [99]}
    {"q": "deleted files come back", "expect": ["#41", "!44", "v0.9.0"], "type": "issue", "state": "closed"}

- The first asks what the item 108 repeats. `gold` is empty for an item that repeats nothing; without `created_at` the
  stored time counts.
- The second is what a person would type. Any of `expect` is a right answer. `type`, `state`, `author`, `label`, `path`,
  `after`, `before` and `updated_after` limit the search as the options of `search` do; lists where those repeat.
- Other keys are for whoever wrote the file and are left alone.
"""

import json
from typing import NamedTuple

import msgspec
from msgspec import Struct

from forgelore.core.names import Ref, parse_ref
from forgelore.core.times import parse_ms
from forgelore.errors import InvalidValue
from forgelore.words import KIND_WORDS, FilterWords, Kind

OneOrMoreWords = str | list[str]
_MAX_NUMBER = 1 << 63  # SQLite holds 64 bits


class Duplicate(NamedTuple):
    """A query by an item: what does it repeat? `created_at` in milliseconds; None: as stored."""

    number: int
    kind: Kind
    created_at: int | None
    gold: tuple[int, ...]


class Golden(NamedTuple):
    """A query by words: what a person would type, and what they hope to find. `filters`: within what."""

    text: str
    expect: tuple[tuple[str, Ref], ...]  # as written, and as understood
    filters: FilterWords


class _DuplicateLine(Struct):
    query: int
    kind: str
    gold: list[int]
    created_at: str | None = None


class _GoldenLine(Struct):
    q: str
    expect: list[str | int]
    type: OneOrMoreWords = []
    state: OneOrMoreWords = []
    author: OneOrMoreWords | None = None
    label: OneOrMoreWords = []
    path: OneOrMoreWords = []
    after: str | None = None
    before: str | None = None
    updated_after: str | None = None
    milestone: OneOrMoreWords = []
    assignee: OneOrMoreWords = []
    commenter: OneOrMoreWords = []
    mentions: OneOrMoreWords = []
    involves: OneOrMoreWords = []
    created: OneOrMoreWords = []
    updated: OneOrMoreWords = []
    comments: OneOrMoreWords = []
    no: OneOrMoreWords = []


def parse_query_line(line: bytes) -> Duplicate | Golden:
    """Return what a line asks; raises InvalidValue with the reason when it asks nothing we understand."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"not JSON: {error}") from error
    if not isinstance(row, dict) or not ("q" in row or "query" in row):
        raise InvalidValue('neither a query by number ("query") nor by words ("q")')
    try:
        if "q" in row:
            return _golden(msgspec.convert(row, _GoldenLine))
        return _duplicate(msgspec.convert(row, _DuplicateLine))
    except msgspec.ValidationError as error:
        raise InvalidValue(str(error)) from error


def _duplicate(line: _DuplicateLine) -> Duplicate:
    kind = KIND_WORDS.get(line.kind)
    if kind not in ("issue", "change"):
        raise InvalidValue(f"kind {line.kind!r} is neither issue nor change")
    return Duplicate(
        _checked(line.query), kind, parse_ms(line.created_at), tuple(_checked(number) for number in line.gold)
    )


def _golden(line: _GoldenLine) -> Golden:
    if not line.q.strip():
        raise InvalidValue("the query has no words")
    if not line.expect:
        raise InvalidValue("nothing is expected")
    filters = FilterWords(
        type=line.type, state=line.state, author=line.author, label=line.label, path=line.path,
        after=line.after, before=line.before, updated_after=line.updated_after, milestone=line.milestone,
        assignee=line.assignee, commenter=line.commenter, mentions=line.mentions, involves=line.involves,
        created=line.created, updated=line.updated, comments=line.comments,
        no=line.no,
    )  # fmt: skip
    return Golden(line.q, tuple((str(text), parse_ref(str(text))) for text in line.expect), filters)


def parse_numbers(text: bytes) -> list[int]:
    """Return the item numbers of an `--exclude` file: a JSON list."""
    try:
        return [_checked(number) for number in msgspec.json.decode(text, type=list[int])]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidValue(
            f"not a JSON list of numbers: {error}", hint="write the numbers of items: [12, 34]"
        ) from error


def _checked(number: int) -> int:
    if not 0 <= number < _MAX_NUMBER:
        raise InvalidValue(f"number {number} is out of range")
    return number
