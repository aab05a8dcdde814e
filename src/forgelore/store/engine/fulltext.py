"""Full text: the words of documents, and ranked ids for an FTS5 expression, within what a filter allows."""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import apsw

from forgelore.errors import InvalidValue, StoreError
from forgelore.store.db import Store
from forgelore.store.engine.tables import CARD_TEXT, FULL_TEXT
from forgelore.store.filters import Allowed, Condition

# What a word is worth in the title, in the text, and among the split terms.
TITLE_WEIGHT, TEXT_WEIGHT, TERMS_WEIGHT = 3.0, 1.0, 0.5
MOST_COUNTED = 20_000


class Found(NamedTuple):
    document_id: int
    score: float  # BM25, larger is better


def add_text(store: Store, document_id: int, title: str, text: str, terms: str, *, is_card: bool = False) -> None:
    """Make a document findable by its words."""
    sql = f"""
        INSERT INTO {_table(is_card)} (rowid, title, text, terms)
        VALUES (?, ?, ?, ?)
    """
    store.run(sql, document_id, title, text, terms)


def remove_text(store: Store, document_id: int, title: str, text: str, terms: str, *, is_card: bool = False) -> None:
    """Take a document out. FTS5 must be told the *old* text, or its terms stay behind."""
    table = _table(is_card)
    sql = f"""
        INSERT INTO {table} ({table}, rowid, title, text, terms)
        VALUES ('delete', ?, ?, ?, ?)
    """
    store.run(sql, document_id, title, text, terms)


def _table(is_card: bool) -> str:  # noqa: FBT001 - the only thing it is asked
    return CARD_TEXT if is_card else FULL_TEXT


def compact_words(store: Store) -> None:
    """Write the index anew, without anything that was removed from it."""
    for table in (FULL_TEXT, CARD_TEXT):
        store.run(f"INSERT INTO {table} ({table}) VALUES ('optimize')")


def overwrite_words(store: Store) -> None:
    """Overwrite from now on what is removed."""
    for table in (FULL_TEXT, CARD_TEXT):
        store.run(f"INSERT INTO {table} ({table}, rank) VALUES ('secure-delete', 1)")


def search_words(
    store: Store, expression: str, limit: int, allowed: Allowed | None = None, *, of_cards: bool = False
) -> list[Found]:
    """Return matching documents, best first; equal scores in the order of their ids. `of_cards`: cards, and nothing
    that people wrote; otherwise no cards.
    """
    table = _table(of_cards)
    within = _within(table, allowed)
    sql = f"""
        SELECT rowid, -bm25({table}, {TITLE_WEIGHT}, {TEXT_WEIGHT}, {TERMS_WEIGHT}) AS score
        FROM {table}
        WHERE {table} MATCH ? AND {within.sql}
        ORDER BY score DESC, rowid
        LIMIT ?
    """
    return [Found(*row) for row in store.rows(sql, expression, *within.bindings, limit)]


def list_with_words(store: Store, expression: str, limit: int, allowed: Allowed | None = None) -> list[int]:
    """Return documents that match, the newest first, without ranking them."""
    within = _within(FULL_TEXT, allowed)
    sql = f"""
        SELECT rowid
        FROM {FULL_TEXT}
        WHERE {FULL_TEXT} MATCH ? AND {within.sql}
        ORDER BY rowid DESC
        LIMIT ?
    """
    return [row_id for (row_id,) in store.rows(sql, expression, *within.bindings, limit)]


def count_items(
    store: Store, expression: str, allowed: Allowed | None = None, *, of_cards: bool = False, most: int = MOST_COUNTED
) -> tuple[int, bool]:
    """Return how many items have matching documents, and whether that is exact: `most` documents are looked at, no
    more, since counting takes as long for a common word as the search.
    """
    table = _table(of_cards)
    within = _within(table, allowed)
    sql = f"""
        SELECT count(*), count(DISTINCT d.item_id)
        FROM (
            SELECT rowid
            FROM {table}
            WHERE {table} MATCH ? AND {within.sql}
            LIMIT ?
        ) f
        JOIN documents d ON d.id = f.rowid
    """
    ((documents, items),) = store.rows(sql, expression, *within.bindings, most)
    return items, documents < most


def _within(table: str, allowed: Allowed | None) -> Condition:
    """What is asked of each match before it is scored."""
    return allowed.condition(match_id(table)) if allowed else Condition("1", ())


def match_id(table: str) -> str:
    """The id of a match, for every condition that stands beside MATCH. The plus hides the column from SQLite's planner,
    which otherwise turns `rowid IN (…)` into one look-up of the whole expression per allowed id: with 50,000 of them
    2.8 s instead of 0.01.
    """
    return f"+{table}.rowid"


def has_words(expression: str, *, of_cards: bool = False) -> Condition:
    """The condition on documents `d` that they match an expression."""
    table = _table(of_cards)
    return Condition(f"d.id IN (SELECT rowid FROM {table} WHERE {table} MATCH ?)", (expression,))


def lacks_words(expression: str) -> Condition:
    """The condition on documents `d` that nothing of their item matches an expression, no thread of it either: who
    leaves a word out does not want to meet it one page further down.
    """
    matching = "SELECT rowid FROM documents_fts WHERE documents_fts MATCH ?"
    sql = f"d.item_id NOT IN (SELECT x.item_id FROM documents x WHERE x.id IN ({matching}))"
    return Condition(sql, (expression,))


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
            'raw mode takes FTS5 syntax: "a phrase", a AND b, a NOT b, auth*, title: word; or search without raw mode'
        )
        raise InvalidValue(f"{expression!r} is not a full-text query: {reason}", hint=hint) from error


def sqlite_version() -> str:
    return apsw.sqlite_lib_version()


def has_full_text() -> bool:
    """True where SQLite was built with full text; a library of one's own may lack it."""
    return "ENABLE_FTS5" in apsw.compile_options
