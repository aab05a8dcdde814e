"""Asking the full-text index: ranked ids for an FTS5 expression, within what a filter allows."""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import apsw

from forgelore.errors import InvalidValue, StoreError
from forgelore.store.db import Store
from forgelore.store.filters import Allowed

# What a word is worth in the title, in the text, and among the split terms.
TITLE_WEIGHT, TEXT_WEIGHT, TERMS_WEIGHT = 3.0, 1.0, 0.5


class Found(NamedTuple):
    document_id: int
    score: float  # BM25, larger is better


def search_words(store: Store, expression: str, limit: int, allowed: Allowed | None = None) -> list[Found]:
    """Return matching documents, best first; equal scores in the order of their ids."""
    # Asked of each match before it is scored. (`rowid IN (…)` would ask the index once per allowed id.)
    within = f" AND {allowed.condition}" if allowed else ""
    rows = store.rows(
        f"SELECT rowid, -bm25(documents_fts, {TITLE_WEIGHT}, {TEXT_WEIGHT}, {TERMS_WEIGHT}) AS score"
        f" FROM documents_fts WHERE documents_fts MATCH ?{within} ORDER BY score DESC, rowid LIMIT ?",
        expression, *(allowed.bindings if allowed else ()), limit,
    )  # fmt: skip
    return [Found(*row) for row in rows]


@contextlib.contextmanager
def raw_query_errors(expression: str) -> Iterator[None]:
    """Turn FTS5's complaints about what a person wrote into a message for that person."""
    try:
        yield
    except StoreError as error:
        if not isinstance(error.__cause__, apsw.SQLError):
            raise  # the file, not the words
        reason = str(error.__cause__)
        hint = (
            'raw mode takes FTS5 syntax: "a phrase", a AND b, a NOT b, auth*, title: word; or leave out --fts-mode raw'
        )
        raise InvalidValue(f"{expression!r} is not a full-text query: {reason}", hint=hint) from error
