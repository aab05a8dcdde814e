"""Read-only stores: opening a file in a folder that cannot be written, such as an image layer, an artefact or a mount.

A write-ahead log wants two more files beside the store, and SQLite gives up where it cannot make them. So:

    no -wal beside it       the file is all there is: `immutable=1`
    a -wal with rows in it  they belong to the store: read with it, its index kept in memory (exclusive mode, no locks)
    one that is unreadable  refused; the file alone would be an older state, without a word about what is missing

Nobody is kept from writing meanwhile, because a lock needs a file that can be written too. `Portrait` tells afterwards.

A store that could be written and is opened for reading alone (`connect_beside_writers`) takes part in all locks: others
may sync it meanwhile, and every question sees what they have committed.

Names of the engine's own tables, and what a repair of the file must know of them.

They are made by the migrations. Outside this folder nobody names them: schema, checks and repairs go by these lists.
"""

import contextlib
import os
from typing import NamedTuple

import apsw

from forgelore.errors import StoreError
from forgelore.words import Source

_WITHOUT_LOCKS = ("unix-none", "win32-none")
_COPY = "copy it to a folder that can be written"


class FileStamp(NamedTuple):
    """Size and time of the store and of its log: another one means that somebody wrote."""

    store: tuple[int, int]
    log: tuple[int, int]


def portrait_of(path: str) -> FileStamp:
    return FileStamp(_size_and_time(path), _size_and_time(f"{path}-wal"))


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


def connect_immutable(path: str) -> apsw.Connection:
    """Return a connection that reads what is there, the rows of a leftover log included, and makes no file."""
    for log in (f"{path}-wal", f"{path}-journal"):
        if _size_and_time(log)[0]:
            return _connect_with_log(path, log)
    return _opened(path, "immutable=1")


def _connect_with_log(path: str, log: str) -> apsw.Connection:
    vfs = next((name for name in apsw.vfs_names() if name in _WITHOUT_LOCKS), None)
    with contextlib.suppress(apsw.CantOpenError, apsw.ReadOnlyError):
        if vfs:
            return _opened(path, f"vfs={vfs}", "PRAGMA locking_mode=EXCLUSIVE")
    raise StoreError(
        f"{log} holds changes of {path} that cannot be read here",
        hint=f"{_COPY}, together with {log}, and open the copy",
    )


def _opened(path: str, how: str, *first: str) -> apsw.Connection:
    from urllib.parse import quote

    address = f"file:{quote(os.path.abspath(path))}?mode=ro&{how}"
    connection = apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        for statement in (*first, "PRAGMA temp_store=MEMORY"):  # nothing else may be writable either
            connection.execute(statement)
        connection.execute("SELECT count(*) FROM sqlite_schema")  # the log is opened by the first read
    except apsw.Error:
        connection.close()
        raise
    return connection


def read_only(path: str) -> StoreError:
    """Return the error that a command meets which writes."""
    hint = f"{_COPY} and open the copy (forgelore --db COPY …); reading works where it is"
    return StoreError(f"{path} cannot be written: the file, its folder or the file system is read-only", hint=hint)


def too_old_to_read(path: str, version: int, newest: int) -> StoreError:
    """Return the error for a store of an earlier version that cannot be brought up to date here."""
    return StoreError(
        f"{path} is of an earlier forgelore (schema {version}, this program reads {newest}) and cannot be brought up"
        " to date: it is read-only here",
        hint=f"{_COPY} and open the copy: the first command brings it up to date",
    )


def not_migrated(path: str, version: int, newest: int) -> StoreError:
    """Return the error for such a store where it could be brought up to date, and was opened for reading alone."""
    return StoreError(
        f"{path} is of an earlier forgelore (schema {version}, this program reads {newest})",
        hint="bring it up to date with: forgelore sync-status",
    )


def changed_meanwhile(path: str) -> StoreError:
    hint = "run the same command again"
    return StoreError(f"{path} was written by another program while it was read without locks", hint=hint)


def _size_and_time(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


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
