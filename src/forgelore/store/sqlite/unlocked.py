"""A file where nothing can be written: reading it without locks, and seeing afterwards that somebody wrote.

It is read with the rows of a log beside it. A log that cannot be read is refused, because the file alone would be
older.
"""

import contextlib
import os
from typing import NamedTuple

import apsw

from forgelore.errors import StoreError

_WITHOUT_LOCKS = ("unix-none", "win32-none")
_COPY = "copy it to a writable folder"


class FileStamp(NamedTuple):
    """Size and time of the store and of its log: another one means that somebody wrote."""

    store: tuple[int, int]
    log: tuple[int, int]


def file_stamp(path: str) -> FileStamp:
    return FileStamp(_size_and_time(path), _size_and_time(f"{path}-wal"))


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
        f"{log} contains changes to {path} that cannot be read here",
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
    """Return the error for a command that writes."""
    hint = f"{_COPY} and open the copy (forgelore --db COPY …); it can be read where it is"
    return StoreError(f"{path} cannot be written: the file, its folder or the file system is read-only", hint=hint)


def check_unchanged(path: str, before: FileStamp) -> None:
    """Raise StoreError where somebody wrote since: an old page and a new one may have met in one answer."""
    if file_stamp(path) != before:
        message = f"{path} was written by another program while it was read without locks"
        raise StoreError(message, hint="run the same command again")


def _size_and_time(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns
