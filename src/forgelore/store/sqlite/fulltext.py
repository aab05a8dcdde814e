"""Full text: the words of documents, and ranked ids for an FTS5 expression, within what a filter allows.

Words as full text has them: a text's stems, and how many documents hold one, which tells a rare word from a common.

FTS5 counts by walking a word's whole list, milliseconds for a common one. So the common ones are counted once, when
the index has grown by a quarter, and the rare ones when they are asked for.

The words of code and of commits: full text of its own, so that neither changes how conversations are ranked.

Making the full-text index anew from the texts, whatever state it is in.
"""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

import apsw

from forgelore.errors import InvalidValue, StoreError
from forgelore.store.database import Store, by_engine
from forgelore.store.filters import Allowed, Condition, and_visible_document
from forgelore.store.sqlite.connection import (
    CODE_REMADE,
    CODE_TEXTS,
    FULL_TEXT,
    FULL_TEXTS,
    REMADE,
    SHADOWS,
    SqliteStore,
    texts_of,
)
from forgelore.store.sqlite.schema import expected_schema
from forgelore.text.terms import TOKENIZER, char_offsets
from forgelore.words import Source

# What a word is worth in the title, in the text, and among the split terms.
WEIGHTS = "3.0, 1.0, 0.5"
MAX_COUNTED = 20_000


class Found(NamedTuple):
    document_id: int
    score: float  # BM25, larger is better


@by_engine
def add_text(store: Store, document_id: int, title: str, text: str, terms: str, *, source: Source = "raw") -> None:
    """Make a document findable by its words."""
    sql = f"""
        INSERT INTO {FULL_TEXTS[source]} (rowid, title, text, terms)
        VALUES (?, ?, ?, ?)
    """
    store.run(sql, document_id, title, text, terms)


@by_engine
def remove_text(store: Store, document_id: int, title: str, text: str, terms: str, *, source: Source = "raw") -> None:
    """Take a document out. FTS5 must be told the *old* text, or its terms stay behind."""
    table = FULL_TEXTS[source]
    sql = f"""
        INSERT INTO {table} ({table}, rowid, title, text, terms)
        VALUES ('delete', ?, ?, ?, ?)
    """
    store.run(sql, document_id, title, text, terms)


@by_engine
def compact_words(store: Store) -> None:
    """Write the index anew, without anything that was removed from it."""
    for table in FULL_TEXTS.values():
        store.run(f"INSERT INTO {table} ({table}) VALUES ('optimize')")


@by_engine
def overwrite_words(store: Store) -> None:
    """Overwrite from now on what is removed."""
    for table in FULL_TEXTS.values():
        store.run(f"INSERT INTO {table} ({table}, rank) VALUES ('secure-delete', 1)")


@by_engine
def search_words(
    store: Store, expression: str, limit: int, allowed: Allowed | None = None, *, source: Source = "raw"
) -> list[Found]:
    """Return matching documents, best first; equal scores in the order of their ids."""
    table = FULL_TEXTS[source]
    within = _within(table, allowed)
    sql = f"""
        SELECT rowid, -bm25({table}, {WEIGHTS}) AS score
        FROM {table}
        WHERE {table} MATCH ? AND {within.sql}
        ORDER BY score DESC, rowid
        LIMIT ?
    """
    return [Found(*row) for row in store.rows(sql, expression, *within.bindings, limit)]


def quote(term: str) -> str:
    """Return an expression for a term as it is written, whatever is in it."""
    return f'"{term.replace(chr(34), chr(34) * 2)}"'


@by_engine
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


@by_engine
def count_items(
    store: Store, expression: str, allowed: Allowed | None = None, *, source: Source = "raw", most: int = MAX_COUNTED
) -> tuple[int, bool]:
    """Return how many items have matching documents, and whether that is exact: `most` documents are looked at, no
    more, since counting takes as long for a common word as the search.
    """
    table = FULL_TEXTS[source]
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


def has_words(expression: str, *, source: Source = "raw") -> Condition:
    """The condition on documents `d` that they match an expression."""
    table = FULL_TEXTS[source]
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
        raise InvalidValue(f"invalid full-text query: {expression!r}: {reason}", hint=hint) from error


def sqlite_version() -> str:
    return apsw.sqlite_lib_version()


def has_full_text() -> bool:
    """True where SQLite was built with full text; a library of one's own may lack it."""
    return "ENABLE_FTS5" in apsw.compile_options


COMMON_SHARE = 0.005  # a word in more than 1 of 200 documents
MIN_COMMON = 50  # below that, counting is cheap anyway
_GROWTH = 0.25


Stemmer = Callable[[str], list[tuple[int, int, str]]]


@by_engine
def make_stemmer(store: Store) -> Stemmer:
    """Return the index's own tokenizer: text -> (first character, character behind the last, stem) of each word."""
    tokenize = _tokenizer(store)

    def stem(text: str) -> list[tuple[int, int, str]]:
        data = text.encode()
        return char_offsets(data, tokenize(data, apsw.FTS5_TOKENIZE_DOCUMENT, None))

    return stem


@by_engine
def make_stems(store: Store) -> Callable[[str], list[str]]:
    """Return the index's own tokenizer: text -> stems, in order. Without places it takes a quarter of the time."""
    tokenize = _tokenizer(store)

    def stems(text: str) -> list[str]:
        data = text.encode(errors="replace")
        found = tokenize(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
        return list(found)

    return stems


def _tokenizer(store: Store) -> Any:
    """What a call gives depends on its flags, which apsw's types do not tell."""
    assert isinstance(store, SqliteStore)
    return store.connection.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1:]))


@by_engine
def count_documents(store: Store, project_id: int | None = None) -> int:
    """Return how many full text holds, of one project or of all; cards are counted apart."""
    sql = f"""
        SELECT count(*)
        FROM documents_fts_docsize w
        WHERE (?1 IS NULL OR EXISTS (SELECT 1 FROM documents d WHERE d.id = w.id AND d.project_id = ?1))
          {and_visible_document(store, "w.id")}
    """
    return int(store.value(sql, project_id))


@by_engine
def count_cards(store: Store, project_id: int | None = None) -> int:
    """Return how many cards full text holds, of one project or of all."""
    sql = """
        SELECT count(*)
        FROM cards_fts_docsize w
        WHERE ?1 IS NULL OR EXISTS (SELECT 1 FROM documents d WHERE d.id = w.id AND d.project_id = ?1)
    """
    return int(store.value(sql, project_id))


@by_engine
def has_documents(store: Store) -> bool:
    return bool(store.value("SELECT EXISTS (SELECT 1 FROM documents_fts_docsize)"))


@by_engine
def estimate_documents(store: Store) -> int:
    """Return about how many there are, cards aside, without counting them: 2 ms of a search at 100,000."""
    return int(store.value("SELECT max(id) FROM documents_fts_docsize") or 0)


@by_engine
def load_document_counts(store: Store, stems: Iterable[str]) -> dict[str, int]:
    """Return how many documents hold each stem; a stem that none holds is missing.

    Two questions for all: one by one they take three times as long.
    """
    wanted = list(dict.fromkeys(stems))
    common = """
        SELECT word, documents
        FROM common_words
        WHERE word IN (SELECT value FROM json_each(?))
    """
    found: dict[str, int] = dict(store.rows(common, json.dumps(wanted)))
    rare = """
        SELECT term, doc
        FROM documents_vocab
        WHERE term IN (SELECT value FROM json_each(?))
    """
    found.update(store.rows(rare, json.dumps([stem for stem in wanted if stem not in found])))
    return found


@by_engine
def refresh_common_words(store: Store, *, is_forced: bool = False) -> bool:
    """Count the common words anew if the index has grown or shrunk enough; returns whether it did."""
    now = count_documents(store)
    before = store.value("SELECT value FROM index_facts WHERE name = 'documents_counted'") or 0
    if not is_forced and isinstance(before, int) and abs(now - before) <= _GROWTH * max(before, 1):
        return False
    floor = max(MIN_COMMON, int(now * COMMON_SHARE))
    rows = store.rows("SELECT term, doc FROM documents_vocab WHERE doc >= ?", floor)  # before the writer's turn begins
    counted = """
        INSERT INTO index_facts (name, value)
        VALUES ('documents_counted', ?)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
    """
    with store.transaction():
        store.run("DELETE FROM common_words")
        store.run_many("INSERT INTO common_words (word, documents) VALUES (?, ?)", rows)
        store.run(counted, now)
    return True


@by_engine
def forget_common_words(store: Store) -> None:
    """Delete the counts: those of words that were deleted must not stay."""
    store.run("DELETE FROM common_words")
    store.run("DELETE FROM index_facts WHERE name = 'documents_counted'")


CodeWords = Literal["code", "commits"]


class WordRow(NamedTuple):
    """What is found of a chunk or a commit: where it is, what it defines (or its subject), its text, split words."""

    id: int
    path: str
    names: str
    text: str
    terms: str


ColumnWeights = tuple[float, float, float, float]  # what a word is worth in each column but the first


@by_engine
def add_code_words(store: Store, index: CodeWords, rows: Iterable[WordRow]) -> None:
    """Make chunks or commits findable by their words."""
    sql = f"""
        INSERT INTO {index}_fts (rowid, path, names, text, terms)
        VALUES (?, ?, ?, ?, ?)
    """
    store.run_many(sql, rows)


@by_engine
def remove_code_words(store: Store, index: CodeWords, ids: Iterable[int]) -> None:
    store.run_many(f"DELETE FROM {index}_fts WHERE rowid = ?", [(one,) for one in ids])


@by_engine
def search_code_words(
    store: Store, index: CodeWords, expression: str, weights: ColumnWeights, *, limit: int, allowed: str = "",
    bindings: tuple[object, ...] = (),
) -> list[Found]:  # fmt: skip
    """Return matching chunks or commits, best first. `allowed`: a query for the ids that may be returned."""
    within = f"AND {match_id('w')} IN ({allowed})" if allowed else ""
    sql = f"""
        SELECT w.rowid, -bm25({index}_fts, {", ".join(map(str, weights))}) AS score
        FROM {index}_fts w
        WHERE {index}_fts MATCH ? {within}
        ORDER BY score DESC, w.rowid
        LIMIT ?
    """
    return [Found(*row) for row in store.rows(sql, expression, *bindings, limit)]


@by_engine
def count_code_words(store: Store, index: CodeWords) -> int:
    return int(store.value(f"SELECT count(*) FROM {index}_fts_docsize"))


@by_engine
def count_project_code(store: Store, index: CodeWords, project_id: int) -> int:
    """Return how many chunks of code, or commits, full text holds of one project."""
    table = "code_chunks" if index == "code" else "commits"
    sql = f"""
        SELECT count(*)
        FROM {table} t
        WHERE t.project_id = ? AND EXISTS (SELECT 1 FROM {index}_fts_docsize w WHERE w.id = t.id)
    """
    return int(store.value(sql, project_id))


@by_engine
def load_code_counts(store: Store, index: CodeWords, stems: Iterable[str]) -> dict[str, int]:
    """Return how many chunks or commits hold each stem; a stem that none holds is missing."""
    sql = f"""
        SELECT term, doc
        FROM {index}_vocab
        WHERE term IN (SELECT value FROM json_each(?))
    """
    return dict(store.rows(sql, json.dumps(list(dict.fromkeys(stems)))))


@by_engine
def find_code_gaps(store: Store, index: CodeWords, table: str) -> list[int]:
    """Return rows of a table that full text does not know, and those that it knows and that are gone."""
    sql = f"""
        SELECT id
        FROM {table}
        WHERE id NOT IN (SELECT id FROM {index}_fts_docsize)
        UNION ALL
        SELECT id
        FROM {index}_fts_docsize
        WHERE id NOT IN (SELECT id FROM {table})
    """
    return [row[0] for row in store.rows(sql)]


@by_engine
def find_code_damage(store: Store, index: CodeWords) -> list[str]:
    """Return what SQLite says against the index itself; nothing when it is sound."""
    found = store.rows(f"PRAGMA main.integrity_check({index}_fts)")
    return [str(line) for (line,) in found if line != "ok"]


@by_engine
def remake_full_text(store: Store) -> None:
    """Drop the full-text tables and fill new ones.

    FTS5 opens a table before it drops it, and refuses one that is broken: so its entry is taken out of the schema by
    hand, and its shadows, plain tables by then, are dropped one by one.
    """
    expected = expected_schema()
    with store.transaction():
        store.run("PRAGMA writable_schema=ON")
        store.run("DELETE FROM main.sqlite_schema WHERE name IN (?, ?, ?)", *REMADE)
        store.run("PRAGMA writable_schema=RESET")
        for shadow in SHADOWS:
            for name in FULL_TEXTS.values():
                store.run(f"DROP TABLE IF EXISTS {name}_{shadow}")
        for name in REMADE:
            store.run(expected[name].sql)
        for name in FULL_TEXTS.values():  # FTS5's own 'rebuild' would give each the texts of both
            store.run(f"INSERT INTO {name} (rowid, title, text, terms) {texts_of(name)}")


@by_engine
def remake_code_words(store: Store) -> None:
    """Make the full text of code and commits anew, empty, whatever state it is in. In a transaction."""
    expected = expected_schema()
    store.run("PRAGMA writable_schema=ON")
    store.run("DELETE FROM main.sqlite_schema WHERE name IN (?, ?, ?, ?)", *CODE_REMADE)
    store.run("PRAGMA writable_schema=RESET")
    for name in CODE_TEXTS:
        for shadow in SHADOWS:
            store.run(f"DROP TABLE IF EXISTS {name}_{shadow}")
    for name in CODE_REMADE:
        store.run(expected[name].sql)
