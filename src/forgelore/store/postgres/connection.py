"""A store in a PostgreSQL database: connections, one writer's transactions, and errors.

Each thread has its own connection, made on first use. Writers take turns by a lock of the database
(`pg_advisory_xact_lock`), as they do in a file, so that nothing the store does can fail because two wrote at once; who
reads waits for nobody. Statements come in the store's one dialect (`dialect`).

A password is never in the address: PGPASSWORD, ~/.pgpass and service files are where PostgreSQL's own programs look.
"""

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self, TypeVar

import psycopg
from psycopg.adapt import Buffer, Loader, Transformer

from forgelore.errors import ConfigError, CorruptStore, Locked, Refused, StoreError
from forgelore.store.database import SqlRow, Store
from forgelore.store.postgres.dialect import fill, rewrite
from forgelore.viewer import EVERYTHING, Viewer

OLDEST = 160_000  # as PostgreSQL counts its versions
OLDEST_VECTORS = (0, 8)
_SECONDS = {"connect": 10, "lock": 30, "statement": 600}
_WRITERS = 0x4C4F5245  # the lock that a writer holds
_AT_ONCE = 200  # statements sent together
_ATTEMPTS = 3
_AGAIN = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)

_numbers = itertools.count(1)  # of connections
Result = TypeVar("Result")


class PostgresStore(Store):
    """An open database. `path` is its address as people may read it."""

    __slots__ = ("viewer",)  # not shared with those who share the connections
    engine = "postgres"
    viewer: Viewer

    def __init__(self, url: str, *, for_reading: bool = False) -> None:
        refuse_password(url)
        self.viewer = EVERYTHING
        self.path = url
        self.for_reading = for_reading
        self._local = threading.local()
        self._all: list[psycopg.Connection[SqlRow]] = []
        self._guard = threading.Lock()

    def seen_by(self, viewer: Viewer) -> Self:
        if viewer == self.viewer:
            return self
        seen = object.__new__(type(self))
        seen.__dict__, seen.viewer = self.__dict__, viewer
        return seen

    @property
    def connection(self) -> psycopg.Connection[SqlRow]:
        existing: psycopg.Connection[SqlRow] | None = getattr(self._local, "connection", None)
        if existing is None or existing.closed:
            with errors_in_our_words(self.path):
                existing = _connect(self.path, for_reading=self.for_reading)
            self._local.connection, self._local.number, self._local.changes = existing, next(_numbers), 0
            self._local.literal = Transformer.from_context(existing).as_literal
            self._local.depth = ""
            with self._guard:
                self._all.append(existing)
        return existing

    @property
    def is_in_transaction(self) -> bool:
        return bool(getattr(self._local, "depth", ""))

    @property
    def is_read_only(self) -> bool:
        return self.for_reading or self.value("SHOW transaction_read_only") == "on"

    def rows(self, sql: str, *bindings: Any) -> list[SqlRow]:
        return self._ask(sql, bindings, lambda cursor: cursor.fetchall())

    def each(self, sql: str, *bindings: Any) -> Iterator[SqlRow]:
        yield from self.rows(sql, *bindings)

    def row(self, sql: str, *bindings: Any) -> SqlRow | None:
        return self._ask(sql, bindings, lambda cursor: cursor.fetchone())

    def value(self, sql: str, *bindings: Any) -> Any:
        found = self.row(sql, *bindings)
        return found[0] if found else None

    def run(self, sql: str, *bindings: Any) -> int:
        return sum(count for count, _ in self._write(sql, [bindings]))

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        for _ in self._write(sql, rows):
            pass

    def insert(self, sql: str, *bindings: Any) -> int:
        (new_id,) = self.insert_many(sql, [bindings])
        return new_id

    def insert_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> list[int]:
        return [row[0] for _, found in self._write(f"{sql.rstrip().rstrip(';')} RETURNING id", rows) for row in found]

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """The lock comes first: what is read inside is what the writer before left."""
        with self._within("BEGIN", "COMMIT"):
            self.connection.execute(f"SELECT pg_advisory_xact_lock({_WRITERS})".encode())
            yield

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        with self._within("BEGIN ISOLATION LEVEL REPEATABLE READ", "ROLLBACK"):
            yield

    @contextlib.contextmanager
    def _within(self, begin: str, end: str) -> Iterator[None]:
        connection = self.connection
        if self.is_in_transaction:
            raise StoreError(f"{self.path}: cannot start a transaction within a transaction")
        with errors_in_our_words(self.path):
            connection.execute(begin)
            self._local.depth = begin
            before = self._local.changes
            try:
                yield
                connection.execute(end)
                if end == "ROLLBACK" and self._local.changes != before:
                    self._local.number = next(_numbers)
            except BaseException:
                with contextlib.suppress(psycopg.Error):
                    connection.execute("ROLLBACK")
                self._local.number = next(_numbers)
                raise
            finally:
                self._local.depth = ""

    @contextlib.contextmanager
    def rehearse(self, tables: Iterable[str]) -> Iterator[None]:
        """A temporary table hides the stored one of its name, and has its keys."""
        copied: list[str] = []
        with self._allowing_copies():
            try:
                for table in tables:
                    sql = f"CREATE TEMP TABLE {table} (LIKE {table} INCLUDING DEFAULTS INCLUDING INDEXES)"
                    self.connection.execute(sql)
                    copied.append(table)
                    schema = self.value("SELECT current_schema()")
                    self.connection.execute(f'INSERT INTO pg_temp.{table} SELECT * FROM "{schema}".{table}')
                yield
            finally:
                for table in copied:
                    self.connection.execute(f"DROP TABLE pg_temp.{table}")

    @contextlib.contextmanager
    def _allowing_copies(self) -> Iterator[None]:
        with errors_in_our_words(self.path):
            if not self.for_reading:
                yield
                return
            self.connection.execute("SET default_transaction_read_only = off")
            try:
                yield
            finally:
                self.connection.execute("SET default_transaction_read_only = on")

    def dry_run(self) -> "PostgresStore":
        return _DryRun(self)

    @contextlib.contextmanager
    def without_check_constraints(self) -> Iterator[None]:
        """PostgreSQL checks them in no time worth mentioning."""
        yield

    def commit_durably(self) -> None:
        """Each transaction reaches the disk anyway, unless the server's owner decided otherwise."""

    @property
    def total_changes(self) -> int:
        _ = self.connection
        changes: int = self._local.changes
        return changes

    @property
    def version(self) -> tuple[int, str, int]:
        """The transactions that are over, and what this thread has written. Others in the same server count too: then
        an answer that still holds is asked for again.
        """
        snapshot = self.value("SELECT pg_current_snapshot()::text")
        return self._local.number, str(snapshot), self._local.changes

    def close(self) -> None:
        with self._guard:
            for connection in self._all:
                connection.close()
            self._all.clear()
        self._local = threading.local()

    def run_script(self, script: str) -> None:
        """Run statements that are PostgreSQL's own, such as a migration."""
        with errors_in_our_words(self.path):
            self.connection.execute(script.encode())

    def _ask(self, sql: str, bindings: Sequence[Any], take: Callable[[psycopg.Cursor[SqlRow]], Result]) -> Result:
        """Ask, and once more where an idle connection turns out to be dead, or the server wants a repetition."""
        for attempt in range(1, _ATTEMPTS + 1):
            connection = self.connection
            is_alone = not self.is_in_transaction
            with errors_in_our_words(self.path):
                try:
                    statement = fill(rewrite(sql), bindings, self._local.literal)
                    with connection.cursor() as cursor:
                        return take(cursor.execute(statement))
                except (psycopg.OperationalError, *_AGAIN):
                    if attempt == _ATTEMPTS or not is_alone or not (connection.closed or _is_again()):
                        raise
        raise AssertionError

    def _write(self, sql: str, rows: Iterable[Sequence[Any]]) -> Iterator[tuple[int, list[SqlRow]]]:
        """Run a statement for each row, many in one message; yields how many rows each changed, and what it returned.
        Outside a transaction each message is one.
        """
        rest = iter(rows)
        statement = rewrite(sql)
        connection = self.connection
        lock = b"" if self.is_in_transaction else b"SELECT pg_advisory_xact_lock(%d);" % _WRITERS
        while batch := list(itertools.islice(rest, _AT_ONCE)):
            with errors_in_our_words(self.path):
                message = b";".join(fill(statement, values, self._local.literal) for values in batch)
                with connection.cursor() as cursor:
                    cursor.execute(lock + message)
                    if lock:
                        cursor.nextset()
                    found = list(_results(cursor))
            self._local.changes += sum(count for count, _ in found)
            yield from found


class _DryRun(PostgresStore):
    def __init__(self, store: PostgresStore) -> None:
        self.__dict__, self.viewer = store.__dict__, store.viewer

    def run(self, _sql: str, *_bindings: Any) -> int:
        return 0

    def run_many(self, _sql: str, _rows: Iterable[Sequence[Any]]) -> None:
        return

    def insert_many(self, _sql: str, rows: Iterable[Sequence[Any]]) -> list[int]:
        return [0 for _ in rows]


class _Whole(Loader):
    """Sums of whole numbers come as decimals."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdigit() else float(text)


class _Flag(Loader):
    """0 or 1, as the store's dialect has it."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


def refuse_password(url: str) -> None:
    """Addresses are printed, logged and kept, so that no password may be in one."""
    from urllib.parse import parse_qs, urlsplit

    try:
        parts = urlsplit(url)
        has_password = parts.password is not None or "password" in parse_qs(parts.query)
    except ValueError:
        raise ConfigError("the database's address cannot be read", hint="postgresql://USER@HOST:5432/NAME") from None
    if has_password:
        raise ConfigError(
            "the database's address contains a password",
            hint="leave it out and set PGPASSWORD, or keep it in ~/.pgpass: addresses are printed and kept",
        )


def _connect(url: str, *, for_reading: bool) -> psycopg.Connection[SqlRow]:
    options = [f"-c lock_timeout={_SECONDS['lock']}s", f"-c statement_timeout={_SECONDS['statement']}s"]
    if for_reading:
        options.append("-c default_transaction_read_only=on")
    connection = psycopg.Connection[SqlRow].connect(
        url, autocommit=True, cursor_factory=psycopg.ClientCursor[SqlRow], connect_timeout=_SECONDS["connect"],
        application_name="forgelore", options=" ".join(options), client_encoding="UTF8",
    )  # fmt: skip
    connection.adapters.register_loader("numeric", _Whole)
    connection.adapters.register_loader("bool", _Flag)
    try:
        _check_server(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_server(connection: psycopg.Connection[SqlRow]) -> None:
    version = connection.info.server_version
    if version < OLDEST:
        raise StoreError(
            f"the server is PostgreSQL {version // 10_000}, and 16 or newer is needed", hint="upgrade the server"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"the database keeps texts as {encoding}, and UTF8 is needed",
            hint="create another in UTF8, from template0",
        )


def check_vectors(store: PostgresStore) -> None:
    """Make sure that pgvector is there, in a version whose half floats and indexes do what is asked of them."""
    offered = store.value("SELECT default_version FROM pg_available_extensions WHERE name = 'vector'")
    installed = store.value("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    needed = ".".join(map(str, OLDEST_VECTORS))
    if offered is None and installed is None:
        raise StoreError(
            f"the server lacks the extension pgvector ({needed} or newer)",
            hint="install it on the server: its package is called postgresql-NN-pgvector",
        )
    found = installed or offered
    if tuple(int(part) for part in found.split(".")[:2]) < OLDEST_VECTORS:
        hint = "upgrade it on the server, then run there: ALTER EXTENSION vector UPDATE"
        raise StoreError(f"pgvector is {found}, and {needed} or newer is needed", hint=hint)


def _results(cursor: psycopg.Cursor[SqlRow]) -> Iterator[tuple[int, list[SqlRow]]]:
    while True:
        yield cursor.rowcount, cursor.fetchall() if cursor.description else []
        if not cursor.nextset():
            return


def _is_again() -> bool:
    import sys

    return isinstance(sys.exception(), _AGAIN)


@contextlib.contextmanager
def errors_in_our_words(path: str) -> Iterator[None]:
    """Translate psycopg's exceptions; no other folder knows them."""
    try:
        yield
    except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected) as error:
        raise Locked(f"{path} is being written by another program", hint="try again when it has finished") from error
    except psycopg.errors.QueryCanceled as error:
        hint = "ask for less, or look at what else the server is doing"
        raise StoreError(f"{path} did not answer within {_SECONDS['statement']} s", hint=hint) from error
    except psycopg.errors.ReadOnlySqlTransaction as error:
        raise read_only(path) from error
    except psycopg.errors.InsufficientPrivilege as error:
        hint = "ask the database's owner for the right"
        raise StoreError(f"{path}: {_first_line(error)}", hint=hint) from error
    except psycopg.errors.DiskFull as error:
        hint = "free some disk space on the server and run the same command again; nothing was lost"
        raise StoreError(f"no space left for {path}", hint=hint) from error
    except (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted) as error:
        hint = "restore the server's backup"
        raise CorruptStore(f"{path}: {_first_line(error)}", hint=hint) from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        hint = "check that the server runs and that this user may connect, then run the same command again"
        raise StoreError(f"cannot reach {path}: {_first_line(error)}", hint=hint) from error
    except psycopg.ProgrammingError as error:  # a statement that PostgreSQL reads in another way than SQLite
        message = f"that is not there on PostgreSQL yet: {_first_line(error)}"
        raise Refused(message, hint="docs/postgres.md lists what is; a file does all of it") from error
    except psycopg.Error as error:
        raise StoreError(f"{path}: {_first_line(error)}", hint="run: forgelore doctor") from error


def read_only(path: str) -> StoreError:
    hint = "connect as a user who may write, or to the primary server"
    return StoreError(f"{path} cannot be written: it was opened for reading, or the server is a copy", hint=hint)


def _first_line(error: psycopg.Error) -> str:
    """A server's complaint, without the values of rows that its further lines may hold."""
    return (str(error).splitlines() or [type(error).__name__])[0]
