"""Migrations bring a database file to this program's schema: numbered SQL files, each applied once, in one transaction
with the row that records it. An applied file never changes. A file from a newer program is refused untouched.

A migration cannot read payloads. When rows were made wrongly from them, it asks for a replay of the kinds of items that
matter, and the next `sync` or `replay` reads these again (`flows/sync/replay`), a batch at a time. Until then every
other command works on the rows as they are and says that a replay waits:

    INSERT INTO jobs (project_id, kind, key, version, queued_at)
    SELECT project_id, 'replay', id, abs(random() >> 16), 0 FROM items WHERE kind = 'issue'
    ON CONFLICT (project_id, kind, key) DO UPDATE SET version = version + 1;
"""

import os
import re
from collections.abc import Callable
from typing import NamedTuple

import apsw

from forgelore.clock import machine_ms
from forgelore.errors import CorruptStore, NewerStore, StoreError
from forgelore.store.db import APPLICATION_ID, Store, errors_in_our_words
from forgelore.store.readonly import not_migrated, too_old_to_read

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
) -> Store:
    """Return the migrated store at `path`. `create=False` refuses to make a new file; `for_reading` to write at all."""
    if not create and not (os.path.exists(path) and os.path.getsize(path)):
        raise StoreError(f"there is no database at {path}", hint="run: forgelore sync OWNER/REPO (or: forgelore demo)")
    store = Store(path, for_reading=for_reading)
    try:
        if load_version(store) != newest_version():
            migrate(store, now_ms=now_ms)
    except BaseException:
        store.close()
        raise
    return store


def migrate(store: Store, migrations: list[Migration] | None = None, *, now_ms: Callable[[], int] = machine_ms) -> None:
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


def _apply(store: Store, migration: Migration, now_ms: int) -> None:
    # BEGIN IMMEDIATE first, the version check second: two processes that open a new file at once take turns.
    with store.transaction():
        if load_version(store) >= migration.number:
            return
        if migration.number == 1:
            store.run(f"PRAGMA application_id={APPLICATION_ID}")
            store.run(f"CREATE TABLE schema_version ({_VERSION_COLUMNS})")
        with errors_in_our_words(store.path):
            _execute(store, migration)
        sql = "INSERT INTO schema_version (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)"
        store.run(sql, migration.number, migration.name, migration.checksum, now_ms)


def _execute(store: Store, migration: Migration) -> None:
    try:
        store.connection.execute(migration.sql).fetchall()  # a statement that answers must not keep back the next
    except apsw.SQLError as error:  # a table is there already, or is not: somebody changed the tables or their version
        path = store.path
        hint = f"nothing was changed; keep it (mv {path} {path}.broken), then rebuild with: forgelore sync --full"
        message = f"{path} does not have the tables of the schema it names ({migration.number - 1}): {error}"
        raise CorruptStore(message, hint=hint) from error


def load_version(store: Store) -> int:
    """Return the file's schema version, 0 for an empty file."""
    if not store.value("SELECT count(*) FROM sqlite_schema WHERE name = 'schema_version'"):
        return 0
    return int(store.value("SELECT max(version) FROM schema_version") or 0)
