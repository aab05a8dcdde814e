"""Migrations bring a database file to this program's schema: numbered SQL files, each applied once, in one transaction
with the row that records it. An applied file never changes. A file from a newer program is refused untouched.

A migration cannot read payloads. When rows were made wrongly from them, it asks for a replay of the kinds of items that
matter, and the next `sync` or `replay` reads these again (`sync/replay`), a batch at a time. Until then every
other command works on the rows as they are and says that a replay waits:

    INSERT INTO jobs (project_id, kind, key, version, queued_at)
    SELECT project_id, 'replay', id, abs(random() >> 16), 0 FROM items WHERE kind = 'issue'
    ON CONFLICT (project_id, kind, key) DO UPDATE SET version = version + 1;

The schema of a file: its tables and indexes beside those that this program makes, and what is missing.

Every table belongs to one of three kinds. What a forge said (`SOURCES`) cannot be made from anything else. What is
derived is made again and filled from its sources. The others are made again empty, and the next `sync --full` fills
them (`schema_repair`). The full-text index is one table with shadows of its own, and stands or falls with them.
"""

import os
import re
from collections.abc import Callable
from functools import cache
from typing import Literal, NamedTuple, get_args

import apsw

from forgelore.errors import CorruptStore, NewerStore, StoreError
from forgelore.store.database import Store, by_engine
from forgelore.store.sqlite.connection import (
    APPLICATION_ID,
    TABLES,
    SqliteStore,
    find_owner,
    translated_errors,
)
from forgelore.text.dates import machine_ms

_FOLDER = os.path.join(os.path.dirname(__file__), "migrations")
_NAME = re.compile(r"(\d{4})_(\w+)\.sql\Z")
_VERSION_COLUMNS = "version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL"


class Migration(NamedTuple):
    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        import hashlib

        return hashlib.sha256(self.sql.encode()).hexdigest()


def load_migrations(folder: str = _FOLDER) -> list[Migration]:
    found = []
    for entry in sorted(os.listdir(folder)):
        match = _NAME.match(entry)
        if match:
            with open(os.path.join(folder, entry), encoding="utf-8") as file:
                found.append(Migration(int(match[1]), match[2], file.read()))
    return found


def newest_version() -> int:
    """Return the number of the last migration without reading any: opening a current file must stay cheap."""
    return max(int(match[1]) for entry in os.listdir(_FOLDER) if (match := _NAME.match(entry)))


def open_store(
    path: str, *, create: bool = True, for_reading: bool = False, now_ms: Callable[[], int] = machine_ms
) -> SqliteStore:
    """Return the migrated store at `path`. `create=False` refuses to make a new file; `for_reading` to write at all."""
    if not create and not (os.path.exists(path) and os.path.getsize(path)):
        raise StoreError(f"no database at {path}", hint="run: forgelore sync OWNER/REPO (or: forgelore demo)")
    store = SqliteStore(path, for_reading=for_reading)
    try:
        if load_version(store) != newest_version():
            migrate(store, now_ms=now_ms)
    except BaseException:
        store.close()
        raise
    return store


def migrate(
    store: SqliteStore, migrations: list[Migration] | None = None, *, now_ms: Callable[[], int] = machine_ms
) -> None:
    migrations = load_migrations() if migrations is None else migrations
    version, newest = load_version(store), migrations[-1].number
    if version > newest:
        raise NewerStore(
            f"{store.path} was written by a newer forgelore (schema {version}, this program knows {newest})",
            hint="upgrade forgelore, or choose another file",
        )
    if version < newest and store.is_read_only:
        refusal = not_migrated if store.for_reading else too_old_to_read
        raise refusal(store.path, version, newest)
    for migration in migrations:
        _apply(store, migration, now_ms())


def _apply(store: SqliteStore, migration: Migration, now_ms: int) -> None:
    # BEGIN IMMEDIATE first, the version check second: two processes that open a new file at once take turns.
    with store.transaction():
        if load_version(store) >= migration.number:
            return
        if migration.number == 1:
            store.run(f"PRAGMA application_id={APPLICATION_ID}")
            store.run(f"CREATE TABLE schema_version ({_VERSION_COLUMNS})")
        with translated_errors(store.path):
            _execute(store, migration)
        sql = "INSERT INTO schema_version (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)"
        store.run(sql, migration.number, migration.name, migration.checksum, now_ms)


def _execute(store: SqliteStore, migration: Migration) -> None:
    try:
        store.connection.execute(migration.sql).fetchall()  # a statement that answers must not keep back the next
    except apsw.SQLError as error:  # a table is there already, or is not: somebody changed the tables or their version
        path = store.path
        hint = f"nothing was changed; keep it (mv {path} {path}.broken), then rebuild with: forgelore sync --full"
        message = f"{path} lacks tables of its schema version ({migration.number - 1}): {error}"
        raise CorruptStore(message, hint=hint) from error


@by_engine
def load_version(store: Store) -> int:
    """Return the file's schema version, 0 for an empty file."""
    if not store.value("SELECT count(*) FROM sqlite_schema WHERE name = 'schema_version'"):
        return 0
    return int(store.value("SELECT max(version) FROM schema_version") or 0)


def too_old_to_read(path: str, version: int, newest: int) -> StoreError:
    """Return the error for a store of an earlier version that cannot be brought up to date here."""
    return StoreError(
        f"{path} was written by an earlier forgelore (schema {version}, this program reads {newest}) and cannot be"
        " upgraded: it is read-only here",
        hint="copy it to a writable folder and open the copy: the first command upgrades it",
    )


def not_migrated(path: str, version: int, newest: int) -> StoreError:
    """Return the error for such a store where it could be brought up to date, and was opened for reading alone."""
    return StoreError(
        f"{path} was written by an earlier forgelore (schema {version}, this program reads {newest})",
        hint="upgrade it with: forgelore sync-status",
    )


@by_engine
def measure_megabytes(store: Store) -> float:
    """Return the size of the database, whether it lies in the file or still in its log."""
    sql = "SELECT p.page_count * s.page_size FROM pragma_page_count AS p, pragma_page_size AS s"
    return float(store.value(sql)) / 1e6


@by_engine
def check_quickly(store: Store) -> tuple[str, int]:
    """Return what SQLite says of the file at a first look ("ok", or what is wrong), and how many references are
    broken.
    """
    complaint = store.value("PRAGMA quick_check(1)")
    return str(complaint), int(store.value("SELECT count(*) FROM pragma_foreign_key_check"))


@by_engine
def measure_file(store: Store) -> int:
    """Return the bytes of the database and its log."""
    return sum(os.path.getsize(store.path + end) for end in ("", "-wal") if os.path.exists(store.path + end))


@by_engine
def vacuum(store: Store) -> None:
    """Write the file anew, without its free pages."""
    store.run("VACUUM")


@by_engine
def flush_log(store: Store) -> None:
    """Copy the write-ahead log into the file, so that the file alone is the whole store."""
    store.run("PRAGMA wal_checkpoint(TRUNCATE)")


@by_engine
def overwrite_deleted(store: Store) -> None:
    """Overwrite what is deleted from now on, instead of only marking its place as free."""
    store.run("PRAGMA secure_delete = ON")


SOURCES = frozenset(["schema_version", "projects", "items", "threads", "notes"])
DERIVED = TABLES | {
    "documents", "document_texts", "document_labels", "document_paths", "embedders", "item_links", "item_people",
}  # fmt: skip


GapType = Literal["table", "index", "trigger"]
_GAP_TYPES = get_args(GapType)


class SchemaEntry(NamedTuple):
    type: str
    name: str
    table: str
    sql: str
    columns: frozenset[str]  # of an ordinary table, with their types; empty for everything else


@by_engine
def find_gaps(store: Store) -> list[tuple[GapType, str]]:
    """Return (type, name) of what the file lacks or has in another form, tables first; and of its triggers: this
    program makes none. Tables that somebody added are not gaps, unless they act, as triggers do.
    """
    found = load_schema(store)
    gaps: dict[tuple[GapType, str], None] = {}
    for name, entry in expected_schema().items():
        if not _matches(entry, found.get(name)):
            gaps["index" if entry.type == "index" else "table", find_owner(name)] = None
    for entry in found.values():
        if entry.type == "trigger":
            gaps["trigger", entry.name] = None
    return sorted(gaps, key=lambda gap: _GAP_TYPES.index(gap[0]))


def _matches(entry: SchemaEntry, found: SchemaEntry | None) -> bool:
    if found is None or found.type != entry.type:
        return False
    if entry.columns:
        return entry.columns <= found.columns
    return " ".join(found.sql.split()) == " ".join(entry.sql.split())


@by_engine
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
