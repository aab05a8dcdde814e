"""The tables and indexes of a file beside those that this program makes: what is missing, and making it again.

Every table belongs to one of three kinds. What a forge said (`SOURCES`) cannot be made from anything else. What is
derived is made again and filled from its sources. The others are made again empty, and the next `sync --full` fills
them. The full-text index is one table with shadows of its own, and stands or falls with them.
"""

import contextlib
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

from forgelore.store.db import Store
from forgelore.store.migrate import open_store

FULL_TEXT = "documents_fts"
SHADOWS = ("data", "idx", "docsize", "config")
SOURCES = frozenset(["schema_version", "projects", "items", "threads", "notes"])
DERIVED = frozenset(
    [
        "documents",
        "document_texts",
        "document_labels",
        "document_paths",
        FULL_TEXT,
        "documents_vocab",
        "common_words",
        "index_facts",
        "embedders",
        "chunks",
        "item_links",
    ]
)


class SchemaEntry(NamedTuple):
    type: str
    name: str
    table: str
    sql: str
    columns: frozenset[str]  # of an ordinary table, with their types; empty for everything else


class SchemaGap(NamedTuple):
    """Something that is missing or altered; or, as a trigger, too much: this program makes none."""

    type: Literal["table", "index", "trigger"]
    name: str


def find_gaps(store: Store) -> list[SchemaGap]:
    """Return what the file lacks, tables first. What somebody added beside our tables is no gap, unless it acts."""
    found = load_schema(store)
    gaps: dict[SchemaGap, None] = {}
    for name, entry in expected_schema().items():
        if not _is_whole(entry, found.get(name)):
            is_full_text = name.startswith(f"{FULL_TEXT}_")
            gaps[SchemaGap("index" if entry.type == "index" else "table", FULL_TEXT if is_full_text else name)] = None
    for entry in found.values():
        if entry.type == "trigger":
            gaps[SchemaGap("trigger", entry.name)] = None
    return sorted(gaps, key=lambda gap: ("table", "index", "trigger").index(gap.type))


def _is_whole(entry: SchemaEntry, found: SchemaEntry | None) -> bool:
    if found is None or found.type != entry.type:
        return False
    if entry.columns:
        return entry.columns <= found.columns
    return " ".join(found.sql.split()) == " ".join(entry.sql.split())


def load_schema(store: Store) -> dict[str, SchemaEntry]:
    """Return name -> what the file has by that name."""
    rows = store.rows("SELECT type, name, tbl_name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL")
    columns: dict[str, set[str]] = {}
    # Asked of ordinary tables alone: a full-text table that is broken cannot even tell its columns.
    sql = """
        SELECT s.name, c.name || ' ' || c.type
        FROM main.sqlite_schema s, pragma_table_xinfo(s.name) c
        WHERE s.type = 'table' AND s.sql NOT LIKE 'CREATE VIRTUAL%'
    """
    for table, column in store.each(sql):
        columns.setdefault(table, set()).add(column)
    return {
        name: SchemaEntry(kind, name, table, sql, frozenset(columns.get(name, ())) if kind == "table" else frozenset())
        for kind, name, table, sql in rows
        if not name.startswith("sqlite_")
    }


@cache
def expected_schema() -> dict[str, SchemaEntry]:
    """Return what a new file has."""
    store = open_store(":memory:")
    try:
        return load_schema(store)
    finally:
        store.close()


def fill_gaps(store: Store, gaps: list[SchemaGap]) -> None:
    """Make what is missing, empty; what cannot be made again stays missing. The full text is filled from its texts."""
    tables = [gap.name for gap in gaps if gap.type == "table" and gap.name not in SOURCES]
    expected = expected_schema()
    with _without_references(store), store.transaction():
        for gap in gaps:
            if gap.type == "trigger":
                store.run(f"DROP TRIGGER IF EXISTS {_quoted(gap.name)}")
        for name in tables:
            if name not in (FULL_TEXT, "documents_vocab"):
                store.run(f"DROP TABLE IF EXISTS {name}")
                store.run(expected[name].sql)
        present = load_schema(store)
        for gap in find_gaps(store):
            if gap.type == "index" and expected[gap.name].table in present:
                store.run(f"DROP INDEX IF EXISTS {gap.name}")
                store.run(expected[gap.name].sql)
    if tables:
        remake_full_text(store)


def remake_full_text(store: Store) -> None:
    """Make the full-text index anew from the texts, whatever state it is in.

    FTS5 opens a table before it drops it, and refuses one that is broken: so its entry is taken out of the schema by
    hand, and its shadows, plain tables by then, are dropped one by one.
    """
    expected = expected_schema()
    with store.transaction():
        store.run("PRAGMA writable_schema=ON")
        store.run("DELETE FROM main.sqlite_schema WHERE name IN (?, 'documents_vocab')", FULL_TEXT)
        store.run("PRAGMA writable_schema=RESET")
        for shadow in SHADOWS:
            store.run(f"DROP TABLE IF EXISTS {FULL_TEXT}_{shadow}")
        for name in (FULL_TEXT, "documents_vocab"):
            store.run(expected[name].sql)
        store.run(f"INSERT INTO {FULL_TEXT} ({FULL_TEXT}) VALUES ('rebuild')")


@contextlib.contextmanager
def _without_references(store: Store) -> Iterator[None]:
    """Dropping a table deletes its rows first, and with them what hangs on them: not here."""
    store.run("PRAGMA foreign_keys=OFF")
    try:
        yield
    finally:
        store.run("PRAGMA foreign_keys=ON")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
