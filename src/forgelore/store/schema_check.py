"""The schema of a file: its tables and indexes beside those that this program makes, and what is missing.

Every table belongs to one of three kinds. What a forge said (`SOURCES`) cannot be made from anything else. What is
derived is made again and filled from its sources. The others are made again empty, and the next `sync --full` fills
them (`schema_repair`). The full-text index is one table with shadows of its own, and stands or falls with them.
"""

from functools import cache
from typing import Literal, NamedTuple

from forgelore.store.db import Store
from forgelore.store.engine.tables import TABLES, find_owner
from forgelore.store.migrate import open_store

SOURCES = frozenset(["schema_version", "projects", "items", "threads", "notes"])
DERIVED = TABLES | {
    "documents", "document_texts", "document_labels", "document_paths", "embedders", "item_links", "item_people",
}  # fmt: skip


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
        if not _matches(entry, found.get(name)):
            gaps[SchemaGap("index" if entry.type == "index" else "table", find_owner(name))] = None
    for entry in found.values():
        if entry.type == "trigger":
            gaps[SchemaGap("trigger", entry.name)] = None
    return sorted(gaps, key=lambda gap: ("table", "index", "trigger").index(gap.type))


def _matches(entry: SchemaEntry, found: SchemaEntry | None) -> bool:
    if found is None or found.type != entry.type:
        return False
    if entry.columns:
        return entry.columns <= found.columns
    return " ".join(found.sql.split()) == " ".join(entry.sql.split())


def load_schema(store: Store) -> dict[str, SchemaEntry]:
    """Return the schema of a file: name -> what it has by that name."""
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
    """Return the schema of a new file."""
    store = open_store(":memory:", now_ms=lambda: 0)
    try:
        return load_schema(store)
    finally:
        store.close()
