"""A store in one SQLite file: opening it safely, one writer's transactions, errors, and SQLite's own dialect.

Each thread gets its own connection. WAL lets readers go on while the writer works; `synchronous=NORMAL` may forget the
last transactions after a power cut but never half of one, and sync repeats what was forgotten.

A file where nothing can be written is read without locks (`unlocked`).

Lists, JSON and globs go into statements by the functions at the end, and the engine's tables are named there:

    store.rows(f"SELECT title FROM items WHERE id {one_of()}", pack_list(ids))
"""

import contextlib
import itertools
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import apsw

from forgelore.errors import CorruptStore, Locked, NotFound, StoreError
from forgelore.store.database import SqlRow, Store
from forgelore.text.globs import glob_matches
from forgelore.viewer import EVERYTHING, Viewer
from forgelore.words import Representation, Source

if TYPE_CHECKING:
    from forgelore.store.sqlite.unlocked import FileStamp

APPLICATION_ID = 0x4C4F5245  # "LORE": tells our file from any other SQLite file
BUSY_TIMEOUT_MS = 30_000
_CACHE_KB = 12_000  # of pages, per connection: 16,000 save 2 % of a search, and a process that stays has 4 MB more

_numbers = itertools.count(1)  # of connections: their addresses come again once one is closed


class SqliteStore(Store):
    """An open database file. Connections are made per thread, on first use; `for_reading`: none of them can write."""

    __slots__ = ("viewer",)  # not shared with those who share the connections
    engine = "sqlite"
    viewer: Viewer

    def __init__(self, path: str, *, for_reading: bool = False) -> None:
        self.viewer = EVERYTHING
        self.path = path
        self.for_reading = for_reading
        self._local = threading.local()
        self._all: list[apsw.Connection] = []
        self._guard = threading.Lock()
        self._stamp: FileStamp | None = None  # of a file that is read without locks

    def seen_by(self, viewer: Viewer) -> Self:
        """Return the same store, connections and all, as somebody else sees it."""
        if viewer == self.viewer:
            return self
        seen = object.__new__(type(self))
        seen.__dict__, seen.viewer = self.__dict__, viewer
        return seen

    @property
    def connection(self) -> apsw.Connection:
        existing: apsw.Connection | None = getattr(self._local, "connection", None)
        if existing is None:
            with translated_errors(self.path):
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
        from forgelore.store.sqlite.unlocked import connect_immutable, file_stamp

        self._stamp = self._stamp or file_stamp(self.path)
        connection = connect_immutable(self.path)
        _check_application_id(connection, self.path)
        return connection

    @property
    def is_in_transaction(self) -> bool:
        existing: apsw.Connection | None = getattr(self._local, "connection", None)
        return existing is not None and existing.in_transaction

    @property
    def is_read_only(self) -> bool:
        return self.connection.readonly("main")

    def rows(self, sql: str, *bindings: Any) -> list[SqlRow]:
        with _reading(self.path):
            return list(self.connection.execute(sql, bindings))

    def each(self, sql: str, *bindings: Any) -> Iterator[SqlRow]:
        with _reading(self.path):
            yield from self.connection.execute(sql, bindings)

    def row(self, sql: str, *bindings: Any) -> SqlRow | None:
        with _reading(self.path):
            return next(iter(self.connection.execute(sql, bindings)), None)

    def run(self, sql: str, *bindings: Any) -> int:
        with translated_errors(self.path):
            self.connection.execute(sql, bindings)
            return self.connection.changes()

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with translated_errors(self.path):
            self.connection.executemany(sql, rows)

    def value(self, sql: str, *bindings: Any) -> Any:
        found = self.row(sql, *bindings)
        return found[0] if found else None

    def insert(self, sql: str, *bindings: Any) -> int:
        (new_id,) = self.insert_many(sql, [bindings])
        return new_id

    def insert_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> list[int]:
        """Run an INSERT without ON CONFLICT for each row; returns the new ids. RETURNING takes 30 µs a row more."""
        with translated_errors(self.path):
            connection, new_ids = self.connection, []
            for row in rows:
                connection.execute(sql, row)
                new_ids.append(connection.last_insert_rowid())
            return new_ids

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        connection = self.connection
        with translated_errors(self.path):
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
        connection = self.connection
        with translated_errors(self.path):
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
    def rehearse(self, tables: Iterable[str]) -> Iterator[None]:
        """A temporary table hides the stored one of its name (https://sqlite.org/lang_naming.html), so the file stays,
        and may be read-only. The copies have the keys, and no references to other tables.
        """
        copied = []
        try:
            for table in tables:
                keys = self.rows("SELECT name FROM pragma_table_info(?, 'main') WHERE pk ORDER BY pk", table)
                self.run(f"CREATE TEMP TABLE {table} AS SELECT * FROM main.{table}")
                copied.append(table)
                self.run(f"CREATE UNIQUE INDEX temp.{table}_key ON {table} ({', '.join(name for (name,) in keys)})")
            yield
        finally:
            for table in copied:
                self.run(f"DROP TABLE temp.{table}")

    def dry_run(self) -> "SqliteStore":
        return _DryRun(self)

    @contextlib.contextmanager
    def without_check_constraints(self) -> Iterator[None]:
        """SQLite builds a set for each `IN (…)` and each row, a fifth of the time of writing an item or a link. Keys
        stay checked, and `PRAGMA integrity_check` finds a CHECK that does not hold.
        """
        self.run("PRAGMA ignore_check_constraints=ON")
        try:
            yield
        finally:
            self.run("PRAGMA ignore_check_constraints=OFF")

    def commit_durably(self) -> None:
        self.run("PRAGMA synchronous=FULL")

    @property
    def total_changes(self) -> int:
        return self.connection.total_changes()

    @property
    def version(self) -> tuple[int, int, int]:
        """Another one for each connection too, since each of them counts from its own beginning."""
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
        before, self._stamp = self._stamp, None
        if before is not None:
            from forgelore.store.sqlite.unlocked import check_unchanged

            check_unchanged(self.path, before)


class _DryRun(SqliteStore):
    def __init__(self, store: SqliteStore) -> None:
        self.__dict__, self.viewer = store.__dict__, store.viewer

    def run(self, _sql: str, *_bindings: Any) -> int:
        return 0

    def run_many(self, _sql: str, _rows: Iterable[Sequence[Any]]) -> None:
        return

    def insert_many(self, _sql: str, rows: Iterable[Sequence[Any]]) -> list[int]:
        return [0 for _ in rows]


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
        with translated_errors(path):
            yield
    except UnicodeDecodeError as error:
        hint = "run: forgelore stats --check --repair"
        raise CorruptStore(f"{path} contains bytes that are not text ({error.reason})", hint=hint) from error


@contextlib.contextmanager
def translated_errors(path: str) -> Iterator[None]:
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
        from forgelore.store.sqlite.unlocked import read_only

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


def stamp_of(path: str) -> tuple[int, ...] | None:
    """Return what tells a file from one that took its place or was written over it; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def connect_read_only(path: str, busy_timeout_ms: int) -> apsw.Connection:
    """Return a connection that SQLite lets write nothing, on a file that others may write."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(busy_timeout_ms)
    return connection


FULL_TEXT = "documents_fts"
CARD_TEXT = "cards_fts"  # that of cards, which count for nothing in the other
FULL_TEXTS: dict[Source, str] = {"raw": FULL_TEXT, "intent": CARD_TEXT}
VOCABULARY = "documents_vocab"  # its words, as a table
SHADOWS = ("data", "idx", "docsize", "config")  # tables that FTS5 keeps for each, behind an underscore
VECTORS = "chunks"
SECOND_VECTORS = "second_vectors"

CODE_TEXTS = ("code_fts", "commits_fts")  # of files and commits
CODE_REMADE = (*CODE_TEXTS, "code_vocab", "commits_vocab")  # the same with their words, made again as one

TABLES = frozenset(
    [FULL_TEXT, CARD_TEXT, VOCABULARY, "common_words", "index_facts", VECTORS, SECOND_VECTORS, *CODE_REMADE]
)
REMADE = (FULL_TEXT, CARD_TEXT, VOCABULARY)  # made again as one, by `remake_full_text`, and no other way
OF_DOCUMENTS = (
    (VECTORS, "document_id"),
    (SECOND_VECTORS, "document_id"),
)  # rows that hang on a document, by a column, and say its project
COUNTED = (VECTORS,)  # never use an id twice


def find_owner(name: str) -> str:
    """Return the table that a table of the file is a part of: itself, or the full text that it is a shadow of."""
    return next((owner for owner in (FULL_TEXT, CARD_TEXT, *CODE_TEXTS) if name.startswith(f"{owner}_")), name)


def source_of(representation: Representation | None) -> Source:
    """Return which of the two lists, of full text and of vectors, keeps a document. That of none (its document is gone)
    is taken for one that people wrote.
    """
    return "intent" if representation == "intent" else "raw"


def texts_of(full_text: str) -> str:
    """Return the query for the texts that a full-text table holds: (id, title, text, terms)."""
    sign = "IS" if full_text == CARD_TEXT else "IS NOT"
    return f"""
        SELECT t.id, t.title, t.text, t.terms
        FROM main.document_texts t
        LEFT JOIN main.documents d ON d.id = t.id
        WHERE d.representation {sign} 'intent'
    """


def is_own_complaint(message: str) -> bool:
    """Whether SQLite speaks of full text: `fulltext_check` looks at it more closely, and it can be made again."""
    return "fts5" in message.lower()


def pack_list(values: Iterable[int] | Iterable[str]) -> str:
    """Return a list as it is bound to a parameter."""
    return json.dumps(list(values))


def one_of(parameter: int | None = None) -> str:
    """Return the condition that a value is in the list bound to a parameter: `?`, or `?1` for 1."""
    return f"IN (SELECT value FROM {each_of(parameter)})"


def each_of(parameter: int | None = None) -> str:
    """Return that list as a table with a column `value`."""
    return elements("?" if parameter is None else f"?{parameter}")


def elements(column: str) -> str:
    """Return the list that a column holds as JSON as a table with a column `value`."""
    return f"json_each({column})"


def json_field(column: str, name: str) -> str:
    """Return a field of the object in a column."""
    return f"json_extract({column}, '$.{name}')"


def json_list(column: str) -> str:
    return f"json_group_array({column})"


def joined_ids(sql: str) -> str:
    """Return the query for the ids of another as one text, "1,5,9"."""
    return f"SELECT group_concat(id) FROM ({sql})"


def glob_condition(column: str) -> str:
    """Return the condition that a path matches one of our globs. Bound are the same glob as SQLite has it, whose stars
    cross slashes and which an index answers (`text.globs.loose_glob`), and the glob itself.
    """
    return f"{column} GLOB ? AND glob_matches(?, {column})"
