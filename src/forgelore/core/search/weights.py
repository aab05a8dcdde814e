"""Weights of the two lists of a search: what a query is made of says whether words or meaning should lead.

A query that is an identifier, an error code, a path or a quoted phrase wants the items that hold it, and meaning only
disturbs: of a page for such a query, words alone give 95 % that hold it, meaning alone 37 %. A sentence is the other
way round. Between them decides how much of what the query's words tell is told by such exact ones.

    words : vectors    plain language 1 : 1    half of it exact 1 : 0.75    one identifier 1 : 0.02

Chosen on identifiers, titles of changes and of duplicates of four trackers (bench/queries.py). The share is squared: a
sentence that names a function is still a sentence.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

from forgelore.core.search.ftsquery import Word
from forgelore.core.search.terms import find_specials, has_unspaced, split_word

_LEAST = 0.02  # of the vectors': enough to fill a page that words leave short, too little to change their order
# What joins names in code and in files. A single slash may be "read/write", and is not among them.
_JOINED = r"[A-Za-z0-9](?:::|->|[_\\.@=]|/[^/\s]*[/._])[A-Za-z0-9]"
_MIN_JOINED = 4  # "e.g" is no name
_MANY_PIECES, _MIN_PIECE = 3, 3  # non-mandatory-script-verify, but neither end-to-end nor out-of-the-box
_MANY_DIGITS = 3  # CVE-2020-8840 is a code, 32-bit is not


class ListWeights(NamedTuple):
    """What each list counts; together 2, so that the fused scores of all queries have one scale."""

    words: float = 1.0
    vectors: float = 1.0


class WeighedWord(NamedTuple):
    """A word of a query, how much it tells, and whether any document holds it."""

    text: str
    weight: float
    is_exact: bool
    is_known: bool = True


_NOTHING = WeighedWord("", 0.0, is_exact=False)


def weigh_lists(words: Sequence[WeighedWord]) -> ListWeights:
    """Return what each list counts. Words that no document holds say nothing: the words' list cannot find them."""
    known = [word for word in words if word.is_known]
    total = sum(word.weight for word in known)
    exact = sum(word.weight for word in known if word.is_exact) / total if total else 0.0
    exact *= exact
    by_words, by_meaning = 1.0, max(_LEAST, 1 - exact)
    scale = 2 / (by_words + by_meaning)
    return ListWeights(by_words * scale, by_meaning * scale)


def with_numbered_names(words: Sequence[WeighedWord]) -> list[WeighedWord]:
    """Return the words with those exact that a number follows: "BIP 141" is a name as much as BIP-141 is."""
    return [
        word._replace(is_exact=True) if following.is_exact and following.text.isdecimal() else word
        for word, following in zip_longest(words, words[1:], fillvalue=_NOTHING)
    ]


def is_exact(word: Word) -> bool:
    """Whether a word of a query is meant to the letter: a quoted phrase, an identifier, a code, a path, C++."""
    text = word.alternatives[0].text
    if word.alternatives[0].is_prefix or has_unspaced(text):
        return False
    return " " in text or bool(find_specials(word.text)) or _is_name(text.strip("`'\".,;:!?()[]{}<>"))


def split_names(identifier: str) -> list[str]:
    """Return the names that an identifier is made of, and of a path its last part.

    CTxMemPool::removeRecursive -> CTxMemPool, removeRecursive      src/net/conn_base.cpp -> conn_base.cpp
    """
    if "/" in identifier:
        return [identifier.rstrip("/").rpartition("/")[2]]
    names = [name for name in _between_names().split(identifier.strip("()")) if name]
    return names if len(names) > 1 and all(map(_is_name, names)) else [identifier]


def _is_name(text: str) -> bool:
    if _option().fullmatch(text) or _code().fullmatch(text):
        return True
    if len(text) >= _MIN_JOINED and _joined().search(text):
        return True
    if text.isdecimal():
        return len(text) >= _MANY_DIGITS and not _year().fullmatch(text)
    pieces = text.split("-")
    has_digits = any(character.isdigit() for character in text)
    if has_digits and any(character.isalpha() for character in text):
        return len(pieces) == 1 or any(piece.isdigit() and len(piece) >= _MANY_DIGITS for piece in pieces)
    if len(pieces) >= _MANY_PIECES and all(piece.isalpha() and len(piece) >= _MIN_PIECE for piece in pieces):
        return True
    return any(len(split_word(piece).split()) > 1 for piece in pieces)


@cache
def _year() -> re.Pattern[str]:
    return re.compile("(?:19|20)[0-9][0-9]")


@cache
def _option() -> re.Pattern[str]:
    return re.compile(r"--?[A-Za-z][A-Za-z0-9]+(?:-[A-Za-z0-9]+)*")


@cache
def _code() -> re.Pattern[str]:
    """Names of signals and of system errors: SIGSEGV, ECONNREFUSED. Other capitals may be shouted."""
    return re.compile(
        "SIG(?:ABRT|BUS|CHLD|FPE|HUP|ILL|INT|KILL|PIPE|QUIT|SEGV|TERM|TRAP)"
        "|E(?:CONN|NO|ACCES|PERM|PIPE|AGAIN|EXIST|TIMED|ADDR|INVAL|BUSY|MFILE|HOST|NET)[A-Z]*"
    )


@cache
def _between_names() -> re.Pattern[str]:
    return re.compile(r"::|->|[.#]")


@cache
def _joined() -> re.Pattern[str]:
    return re.compile(_JOINED)
