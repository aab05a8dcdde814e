"""The one SQLite file: opening it safely, one writer's transactions, and errors in our own words.

Each thread gets its own connection. WAL lets readers go on while the writer works; `synchronous=NORMAL` may forget the
last transactions after a power cut but never half of one, and sync repeats what was forgotten.

What a store answered, kept in memory for as long as it stays true: until something is written, by anybody.

Rehearsals (dry runs): what is written to some tables is seen by the writer alone, and forgotten at the end.
"""

import contextlib
import itertools
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import apsw

from forgelore.errors import CorruptStore, Locked, NotFound, StoreError
from forgelore.store.sqlite.files import (
    FileStamp,
    changed_meanwhile,
    connect_immutable,
    connect_read_only,
    portrait_of,
    read_only,
)
from forgelore.text.globs import glob_matches

APPLICATION_ID = 0x4C4F5245  # "LORE": tells our file from any other SQLite file
BUSY_TIMEOUT_MS = 30_000
_CACHE_KB = 12_000  # of pages, per connection: 16,000 save 2 % of a search, and a process that stays has 4 MB more

SqlRow = tuple[Any, ...]
_numbers = itertools.count(1)  # of connections: their addresses come again once one is closed


class Store:
    """An open database file. Connections are made per thread, on first use; `for_reading`: none of them can write."""

    def __init__(self, path: str, *, for_reading: bool = False) -> None:
        self.path = path
        self.for_reading = for_reading
        self._local = threading.local()
        self._all: list[apsw.Connection] = []
        self._guard = threading.Lock()
        self._portrait: FileStamp | None = None  # of a file that is read without locks

    @property
    def connection(self) -> apsw.Connection:
        existing: apsw.Connection | None = getattr(self._local, "connection", None)
        if existing is None:
            with errors_in_our_words(self.path):
                existing = self._connect()
                existing.create_scalar_function("glob_matches", _glob_matches, 2, deterministic=True)
            self._local.connection, self._local.number = existing, next(_numbers)
            with self._guard:
                self._all.append(existing)
        return existing

    def _connect(self) -> apsw.Connection:
        try:
            return _connect_for_reading(self.path) if self.for_reading else _connect(self.path)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            if not (os.path.isfile(self.path) and os.path.getsize(self.path)):
                raise
        self._portrait = self._portrait or portrait_of(self.path)
        connection = connect_immutable(self.path)
        _check_application_id(connection, self.path)
        return connection

    @property
    def is_in_transaction(self) -> bool:
        """True while this thread holds one open; asks for no connection."""
        existing: apsw.Connection | None = getattr(self._local, "connection", None)
        return existing is not None and existing.in_transaction

    @property
    def is_read_only(self) -> bool:
        return self.connection.readonly("main")

    def rows(self, sql: str, *bindings: Any) -> list[SqlRow]:
        with _reading(self.path):
            return list(self.connection.execute(sql, bindings))

    def each(self, sql: str, *bindings: Any) -> Iterator[SqlRow]:
        """Yield rows as they are read: for results that should not be in memory at once."""
        with _reading(self.path):
            yield from self.connection.execute(sql, bindings)

    def row(self, sql: str, *bindings: Any) -> SqlRow | None:
        with _reading(self.path):
            return next(iter(self.connection.execute(sql, bindings)), None)

    def value(self, sql: str, *bindings: Any) -> Any:
        found = self.row(sql, *bindings)
        return found[0] if found else None

    def run(self, sql: str, *bindings: Any) -> int:
        """Execute one statement and return how many rows it changed."""
        with errors_in_our_words(self.path):
            self.connection.execute(sql, bindings)
            return self.connection.changes()

    def insert(self, sql: str, *bindings: Any) -> int:
        """Insert one row and return its id."""
        with errors_in_our_words(self.path):
            self.connection.execute(sql, bindings)
            return self.connection.last_insert_rowid()

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with errors_in_our_words(self.path):
            self.connection.executemany(sql, rows)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside happens, or nothing does. Waits for another writer, then holds the file until the end."""
        connection = self.connection
        with errors_in_our_words(self.path):
            connection.execute("BEGIN IMMEDIATE")
            before = connection.total_changes()
            try:
                yield
                connection.execute("COMMIT")
            except BaseException:
                self._roll_back(connection, before)
                raise

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside is of one moment, whatever a writer does meanwhile. What is written inside is
        forgotten.
        """
        connection = self.connection
        with errors_in_our_words(self.path):
            connection.execute("BEGIN")
            before = connection.total_changes()
            try:
                yield
            finally:
                self._roll_back(connection, before)

    def _roll_back(self, connection: apsw.Connection, before: int) -> None:
        """Undo what was written since there were `before` changes. SQLite goes on counting as if all of it still stood:
        so the connection counts as another one, also where SQLite has undone it by itself.
        """
        if connection.total_changes() != before:
            self._local.number = next(_numbers)
        if connection.in_transaction:
            connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def trusted_words(self) -> Iterator[None]:
        """Leave out the CHECKs inside: for many rows whose kinds, states and relations are words of our own tables.

        SQLite builds a set for each `IN (…)` and each row, a fifth of the time of writing an item or a link. Keys
        stay checked, and `PRAGMA integrity_check` finds a CHECK that does not hold.
        """
        with errors_in_our_words(self.path):
            self.connection.execute("PRAGMA ignore_check_constraints=ON")
            try:
                yield
            finally:
                self.connection.execute("PRAGMA ignore_check_constraints=OFF")

    @property
    def total_changes(self) -> int:
        return self.connection.total_changes()

    @property
    def version(self) -> tuple[int, int, int]:
        """What is another one after rows were written, by this thread or by others, and after they were undone; another
        one for each connection too, since each of them counts from its own beginning. What this thread does to the
        schema does not count.
        """
        changes = self.total_changes
        return self._local.number, int(self.value("PRAGMA data_version")), changes

    def close(self) -> None:
        with self._guard:
            for connection in self._all:
                # A thread that was left behind in an interrupted sync may still be reading through its own.
                with contextlib.suppress(apsw.ThreadingViolationError):
                    connection.close()
            self._all.clear()
        self._local = threading.local()
        before, self._portrait = self._portrait, None
        if before is not None and before != portrait_of(self.path):
            raise changed_meanwhile(self.path)


class DryRunStore(Store):
    """Reads through another store's connections and leaves out what is written. Code that compares before it writes
    then tells what differs, and changes nothing.
    """

    def __init__(self, store: Store) -> None:
        self.__dict__ = store.__dict__

    def run(self, _sql: str, *_bindings: Any) -> int:
        return 0

    def run_many(self, _sql: str, _rows: Iterable[Sequence[Any]]) -> None:
        return

    def insert(self, _sql: str, *_bindings: Any) -> int:
        return 0


def _glob_matches(*values: object) -> bool:
    """Our globs for SQL, whose own know one kind of star: glob_matches(pattern, path)."""
    pattern, path = map(str, values)
    return glob_matches(pattern, path)


def _connect(path: str) -> apsw.Connection:
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise NotFound(f"folder {folder} does not exist", hint="create it, or choose another file")
    if path != ":memory:":
        _create_for_owner(path)
    connection = apsw.Connection(path)
    try:
        return _prepare(connection, path)
    except BaseException:
        connection.close()
        raise


def _create_for_owner(path: str) -> None:
    """Create a new file that nobody else may read: it will hold what the owner's token can see. SQLite gives the log
    and the index beside it the same rights. A file that is there stays as it is; an error is SQLite's to tell.
    """
    place = os.path.realpath(path)
    if not os.path.exists(place):  # else nothing is opened: closing it would give up this process's locks
        with contextlib.suppress(OSError):
            os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _connect_for_reading(path: str) -> apsw.Connection:
    connection = connect_read_only(path, BUSY_TIMEOUT_MS)
    try:
        _when_free(lambda: _check_application_id(connection, path))
        connection.execute(f"PRAGMA cache_size=-{_CACHE_KB}")
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: apsw.Connection, path: str) -> apsw.Connection:
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    _when_free(lambda: _check_application_id(connection, path))
    connection.execute("PRAGMA page_size=8192")  # of a new file: 5 % less work on rows of text than 4096
    _when_free(lambda: connection.execute("PRAGMA journal_mode=WAL"))
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute(f"PRAGMA cache_size=-{_CACHE_KB}")
    connection.execute("PRAGMA wal_autocheckpoint=4000")  # 32 MB: a page of a first sync is not copied back each time
    return connection


def _when_free(act: Callable[[], object]) -> None:
    """Do it again while others open the same new file: SQLite does not wait for its turn when that could be a deadlock,
    as with the change to a write-ahead log.
    """
    until = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            act()
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _check_application_id(connection: apsw.Connection, path: str) -> None:
    """Look before anything is written: another program's database must stay as it is, its journal mode included."""
    if connection.execute("PRAGMA application_id").get == APPLICATION_ID:
        return
    has_tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    # Asked again: another process may have made the file ours between the two questions.
    if has_tables and connection.execute("PRAGMA application_id").get != APPLICATION_ID:
        hint = "choose another file; nothing was changed"
        raise CorruptStore(f"{path} is an SQLite file of another program", hint=hint)


@contextlib.contextmanager
def _reading(path: str) -> Iterator[None]:
    """SQLite keeps no sums of its pages: bytes that were garbled on the disk may come back as a text that is none."""
    try:
        with errors_in_our_words(path):
            yield
    except UnicodeDecodeError as error:
        hint = "run: forgelore stats --check --repair"
        raise CorruptStore(f"{path} holds bytes that are no text ({error.reason})", hint=hint) from error


@contextlib.contextmanager
def errors_in_our_words(path: str) -> Iterator[None]:
    """Translate apsw's exceptions; no other folder knows them."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise CorruptStore(
            f"{path} is damaged or not a forgelore database ({error})",
            hint=f"nothing was changed; keep it (mv {path} {path}.broken), then rebuild with: forgelore sync --full",
        ) from error
    except apsw.FullError as error:
        raise StoreError(
            f"no space left for {path}", hint="free some disk space and run the same command again; nothing was lost"
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise Locked(f"{path} is being written by another program", hint="try again when it has finished") from error
    except apsw.ReadOnlyError as error:
        raise read_only(path) from error
    except apsw.CantOpenError as error:
        raise StoreError(
            f"cannot open {path}: {error}", hint="check the path and its permissions, or choose another file"
        ) from error
    except apsw.IOError as error:
        hint = "check free space, quotas and permissions there, then run the same command again; nothing was lost"
        raise StoreError(f"{path} cannot be read or written: {error}", hint=hint) from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}", hint="run: forgelore stats --check") from error


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class QueryCache(Generic[Key, Value]):
    """Answers by what was asked, at most `most` of them: the oldest makes room. One thread at a time."""

    def __init__(self, store: Store, most: int) -> None:
        self._store, self._most = store, most
        self._answers: dict[Key, Value] = {}
        self._version: tuple[int, int, int] | None = None

    def current(self) -> Mapping[Key, Value]:
        """Return those that are still true. Look here before asking the store: what is kept next is of this moment."""
        version = self._store.version
        if version != self._version:
            self._answers, self._version = {}, version
        return self._answers

    def keep(self, key: Key, value: Value) -> None:
        """Keep what the store answered since."""
        if key not in self._answers and len(self._answers) >= self._most:
            del self._answers[next(iter(self._answers))]
        self._answers[key] = value


@contextlib.contextmanager
def rehearsing(store: Store, tables: Iterable[str]) -> Iterator[None]:
    """A dry run: inside, this thread reads and writes copies of the tables. The file stays, and may be read-only.

    A temporary table hides the stored one of its name (https://sqlite.org/lang_naming.html), so a dry run is the real
    run, line by line, and says the same numbers. The copies have the keys, and no references to other tables.
    """
    copied = []
    try:
        for table in tables:
            keys = store.rows("SELECT name FROM pragma_table_info(?, 'main') WHERE pk ORDER BY pk", table)
            store.run(f"CREATE TEMP TABLE {table} AS SELECT * FROM main.{table}")
            copied.append(table)
            store.run(f"CREATE UNIQUE INDEX temp.{table}_key ON {table} ({', '.join(name for (name,) in keys)})")
        yield
    finally:
        for table in copied:
            store.run(f"DROP TABLE temp.{table}")
