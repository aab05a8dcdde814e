"""Full-text expressions as PostgreSQL asks them: FTS5's syntax, as `search/ftsquery` writes it, becomes a `tsquery`.

    ("auth") AND ("jwt_tok"* OR "jwttok"*)      'auth' & ( 'jwt' <-> 'tok':* | 'jwttok':* )
    {title text} : ("stack overflow")           'stack':AD <-> 'overflow':AD

Words go through the tokenizer that every store uses, SQLite's: both engines find the same documents. A document's words
lie in one `tsvector`, each column behind the one before and marked with its letter.
"""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apsw

from forgelore.errors import InvalidValue
from forgelore.text.terms import TOKENIZER

LETTERS = {"title": "A", "terms": "C", "text": "D"}
WEIGHTS = {"title": 3.0, "terms": 0.5, "text": 1.0}  # what a word is worth there, as in SQLite
_GAP = 10  # places between two columns: no phrase reaches across
_MAX_PLACE, _MAX_PLACES, _MAX_BYTES, _MAX_WORD = 16_383, 255, 900_000, 2_046
_SIGNS = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([(){}:*\-])|([\w\x80-\U0010ffff]+)|(\S))')
_HINT = 'write words, "a phrase", a AND b, a OR b, a NOT b, auth*, title : word; or search without raw mode'
_local = threading.local()


class Leaf(NamedTuple):
    """Words that stand side by side, as stems; the last may be a beginning. `letters`: in these columns alone."""

    stems: tuple[str, ...]
    is_prefix: bool = False
    letters: str = ""

    @property
    def query(self) -> str:
        marks = [self.letters] * len(self.stems)
        marks[-1] = ("*" if self.is_prefix else "") + self.letters
        return " <-> ".join(
            f"{quoted(stem)}{':' if mark else ''}{mark}" for stem, mark in zip(self.stems, marks, strict=True)
        )


class WordQuery(NamedTuple):
    query: str  # "": nothing matches
    leaves: tuple[Leaf, ...]  # what a match is ranked by


class DocumentWords(NamedTuple):
    vector: str  # as PostgreSQL reads a tsvector
    counts: dict[str, float]  # stem -> how often it is there, weighted by column
    size: int


def tokenizer() -> Any:
    """The tokenizer of full text, without a store: one per thread."""
    found = getattr(_local, "tokenize", None)
    if found is None:
        _local.connection = apsw.Connection(":memory:")
        found = _local.tokenize = _local.connection.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1:]))
    return found


def make_stems() -> Callable[[str], list[str]]:
    tokenize = tokenizer()

    def stems(text: str) -> list[str]:
        data = text.encode(errors="replace")
        found = tokenize(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
        return list(found)

    return stems


def quoted(stem: str) -> str:
    text = stem.replace("\\", "\\\\").replace("'", "''")
    return f"'{text}'"


def collect_words(columns: Iterable[tuple[str, str]]) -> DocumentWords:
    """Return the words of a document's columns. What is beyond PostgreSQL's limits is left out: the 256th place of a
    word, words behind the first 900 KB; a place behind 16,383 counts as that one.
    """
    stems_of = make_stems()
    places: dict[str, list[str]] = {}
    counts: dict[str, float] = {}
    at = size = room = 0
    for column, text in columns:
        letter, weight = LETTERS[column], WEIGHTS[column]
        for stem in stems_of(text):
            at, size = at + 1, size + 1
            counts[stem] = counts.get(stem, 0.0) + weight
            known = places.get(stem)
            if known is None:
                length = len(stem.encode())
                room += length + 8
                if room > _MAX_BYTES or length > _MAX_WORD:
                    continue
                known = places[stem] = []
            if len(known) < _MAX_PLACES and room < _MAX_BYTES:
                room += 2
                known.append(f"{min(at, _MAX_PLACE)}{'' if letter == 'D' else letter}")
        at += _GAP
    vector = " ".join(f"{quoted(stem)}:{','.join(found)}" for stem, found in places.items())
    return DocumentWords(vector, counts, size)


def parse_expression(text: str) -> WordQuery:
    """Return an expression as PostgreSQL asks it. Raises InvalidValue for syntax that has no counterpart there."""
    parser = _Parser(text)
    query = parser.read_or("")
    if parser.following:
        raise _unknown(text, parser.following)
    return WordQuery(query, tuple(parser.leaves))


class _Parser:
    """or: and {OR and}; and: not {[AND] not}; not: part {NOT part}; part: (or) | columns : part | word [*]"""

    def __init__(self, text: str) -> None:
        self._text = text
        self._signs = self._cut(text)
        self.following = next(self._signs, "")
        self.leaves: list[Leaf] = []
        self._stems = make_stems()

    def _cut(self, text: str) -> Iterator[str]:
        for match in _SIGNS.finditer(text):
            if match[1] is not None:
                yield f'"{match[1].replace(chr(34) * 2, chr(34))}'
            elif match[4]:
                raise _unknown(text, match[4])
            elif sign := match[2] or match[3]:
                yield sign

    def _take(self) -> str:
        taken, self.following = self.following, next(self._signs, "")
        return taken

    def _is_next(self, sign: str) -> bool:
        if self.following == sign:
            self._take()
            return True
        return False

    def read_or(self, letters: str) -> str:
        parts = [self._read_and(letters)]
        while self._is_next("OR"):
            parts.append(self._read_and(letters))
        return _joined([part for part in parts if part], " | ")

    def _read_and(self, letters: str) -> str:
        parts = [self._read_not(letters)]
        while self._is_next("AND") or self.following not in ("", ")", "OR"):
            parts.append(self._read_not(letters))
        return _joined(parts, " & ") if all(parts) else ""

    def _read_not(self, letters: str) -> str:
        query = self._read_part(letters)
        while self._is_next("NOT"):
            counting = len(self.leaves)
            without = self._read_part(letters)
            del self.leaves[counting:]
            query = f"( {query} & !( {without} ) )" if query and without else query
        return query

    def _read_part(self, letters: str) -> str:
        sign = self._take()
        if sign == "(":
            query = self.read_or(letters)
            if not self._is_next(")"):
                raise _unknown(self._text, self.following or "the end")
            return query
        if sign == "{":
            columns = []
            while self.following not in ("}", ""):
                columns.append(self._take())
            self._take()
            return self._read_columns(columns)
        if not sign or sign in (")", "}", ":", "*", "-", "AND", "OR", "NOT", "NEAR"):
            raise _unknown(self._text, sign or "the end")
        if self.following == ":" and not sign.startswith('"'):
            return self._read_columns([sign])
        leaf = Leaf(tuple(self._stems(sign.removeprefix('"'))), self._is_next("*"), letters)
        if not leaf.stems:
            return ""
        self.leaves.append(leaf)
        return f"( {leaf.query} )" if len(leaf.stems) > 1 else leaf.query

    def _read_columns(self, columns: Sequence[str]) -> str:
        if not self._is_next(":") or not columns or not LETTERS.keys() >= set(columns):
            raise _unknown(self._text, " ".join(columns))
        return self._read_part("".join(sorted(LETTERS[name] for name in columns)))


def _joined(parts: Sequence[str], operator: str) -> str:
    return parts[0] if len(parts) == 1 else f"( {operator.join(parts)} )" if parts else ""


def _unknown(text: str, what: str) -> InvalidValue:
    return InvalidValue(f"cannot search for {text!r} on PostgreSQL: {what!r} is not understood there", hint=_HINT)
