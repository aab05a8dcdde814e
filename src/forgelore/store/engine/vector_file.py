"""Vector file: the vectors of an embedder once more, beside the store, laid out as a process wants them in memory.

A command that answers once would have to read every row, which takes longer than all else it does. So a large store has
a second file, which is mapped instead of read, and shared by all processes that search it:

    STORE.db-vectors    head of 4 KB, JSON | vectors | ids of their chunks | ids of their documents | scales

The rows stay the truth, and whoever deletes the file loses nothing but time. It ends with some chunk: what is newer is
read from the rows, and what is gone since is found by counting, since no id is used twice. It is believed only if its
number is the one that the store has kept for it, so that a store put back from a backup, whose ids went other ways,
never meets the vectors of the one before. It is replaced as a whole, never changed: those who map it keep what they
have.
"""

import contextlib
import mmap
import os
import pathlib
import secrets
import sys
from typing import IO, TYPE_CHECKING

import msgspec

from forgelore.clock import machine_ms
from forgelore.store.db import Store
from forgelore.store.embedders import StoredEmbedder
from forgelore.store.engine.vector_blocks import VectorRows, count_upto, cut_blocks, each_block

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forgelore.store.engine.vector_blocks import Ids, Scales

MIN_ROWS = 20_000  # reading fewer takes 20 ms
LAG = 0.05  # of the rows: so many may be newer than the file, or gone, before it is written again
_VERSION = 1
_HEAD_BYTES = 4096  # a page of memory: the vectors begin on the next, as those who multiply like it
_ABANDONED_MS = 3_600_000  # nobody writes that long
_BYTES_BESIDE = 8 + 8 + 4  # per row: two ids and a scale


class _Head(msgspec.Struct, frozen=True):
    version: int
    number: int
    fingerprint: str
    dimension: int
    rows: int
    byteorder: str

    @property
    def file_bytes(self) -> int:
        return _HEAD_BYTES + self._aligned + self.rows * _BYTES_BESIDE

    @property
    def _aligned(self) -> int:
        return -(-self.rows * self.dimension // 64) * 64

    @property
    def ids_at(self) -> int:
        return _HEAD_BYTES + self._aligned


def load_file(store: Store, embedder: StoredEmbedder) -> VectorRows | None:
    """Return the rows of the file, which stay in the file; None where there is none that can be believed."""
    import numpy as np

    number = _load_number(store)
    if number is None:
        return None
    try:
        with open(_path_of(store), "rb") as file:
            head = _read_head(file, embedder)
            if head is None or head.number != number:
                return None
            mapped = mmap.mmap(file.fileno(), head.file_bytes, access=mmap.ACCESS_READ)
    except (OSError, ValueError, msgspec.DecodeError):
        return None
    vectors = np.frombuffer(mapped, np.int8, head.rows * head.dimension, _HEAD_BYTES).reshape(-1, head.dimension)
    at, rows = head.ids_at, head.rows
    chunk_ids = np.frombuffer(mapped, np.int64, rows, at)
    document_ids = np.frombuffer(mapped, np.int64, rows, at + 8 * rows)
    scales = np.frombuffer(mapped, np.float32, rows, at + 16 * rows)
    return VectorRows(chunk_ids, document_ids, scales, cut_blocks(vectors))


def refresh_file(store: Store, embedder: StoredEmbedder) -> bool:
    """Write the file if there is none, or if it lags behind by too much; returns whether it did. That it cannot be
    written, because the folder is read-only or the disk is full, is no reason to fail: nothing needs it.
    """
    total = count_upto(store, embedder, sys.maxsize)
    if total < MIN_ROWS:
        drop_file(store)
        return False
    known = load_file(store, embedder)
    if known is not None:
        kept = count_upto(store, embedder, int(known.chunk_ids[-1]))
        if max(total - kept, known.total - kept) <= LAG * total:
            return False
    with contextlib.suppress(OSError):
        return _write(store, embedder)
    return False


def drop_file(store: Store) -> None:
    """Delete the file, and what a run that was cut off left of another."""
    with contextlib.suppress(OSError):
        _path_of(store).unlink(missing_ok=True)
    for left in _find_unfinished(store):
        with contextlib.suppress(OSError):
            left.unlink(missing_ok=True)


def is_file_true(store: Store, embedder: StoredEmbedder) -> bool:
    """Whether the file, where it would be believed, has every row that it should have, as it is."""
    import numpy as np

    known = load_file(store, embedder)
    if known is None:
        return True
    last = known.chunk_ids[-1]
    for rows in each_block(store, embedder):
        within = rows.take(np.flatnonzero(rows.chunk_ids <= last))
        if not _is_equal(within, known.take(np.searchsorted(known.chunk_ids, within.chunk_ids))):
            return False
    return True


def _is_equal(one: VectorRows, other: VectorRows) -> bool:
    import numpy as np

    columns = ((one.chunk_ids, other.chunk_ids), (one.document_ids, other.document_ids), (one.scales, other.scales))
    vectors = [b"".join(block.tobytes() for block in rows.blocks) for rows in (one, other)]
    return vectors[0] == vectors[1] and all(np.array_equal(mine, theirs) for mine, theirs in columns)


def _write(store: Store, embedder: StoredEmbedder) -> bool:
    """Write block by block, so that no more than one is in memory: an embedder is there as well."""
    import numpy as np

    target = _path_of(store)
    for left in _find_unfinished(store):
        if machine_ms() - left.stat().st_mtime * 1000 > _ABANDONED_MS:
            left.unlink()
    number = secrets.randbits(62)
    unfinished = target.with_name(f"{target.name}.{number:x}.new")
    try:
        with open(unfinished, "xb", opener=_private) as file:
            parts = list(_write_vectors(file, each_block(store, embedder)))
            total = sum(len(ids) for ids, _, _ in parts)
            head = _Head(_VERSION, number, embedder.fingerprint, embedder.dimension, total, sys.byteorder)
            file.write(bytes(head.ids_at - _HEAD_BYTES - total * embedder.dimension))
            file.writelines(np.concatenate(column).tobytes() for column in zip(*parts, strict=True))
            file.seek(0)
            file.write(msgspec.json.encode(head).ljust(_HEAD_BYTES))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(unfinished, os.stat(store.path).st_mode & 0o777)
        os.replace(unfinished, target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    _save_number(store, number)
    return True


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _write_vectors(file: IO[bytes], blocks: "Iterator[VectorRows]") -> "Iterator[tuple[Ids, Ids, Scales]]":
    """Write the vectors of each block; yields the rest of its columns."""
    file.write(bytes(_HEAD_BYTES))
    for rows in blocks:
        for block in rows.blocks:
            file.write(block.tobytes())
        yield rows.chunk_ids, rows.document_ids, rows.scales


def _read_head(file: IO[bytes], embedder: StoredEmbedder) -> _Head | None:
    head = msgspec.json.decode(file.read(_HEAD_BYTES), type=_Head)
    expected = (_VERSION, embedder.fingerprint, embedder.dimension, sys.byteorder)
    is_ours = (head.version, head.fingerprint, head.dimension, head.byteorder) == expected
    is_complete = head.rows > 0 and head.file_bytes == os.fstat(file.fileno()).st_size
    return head if is_ours and is_complete else None


def _path_of(store: Store) -> pathlib.Path:
    return pathlib.Path(f"{store.path}-vectors")


def _find_unfinished(store: Store) -> list[pathlib.Path]:
    target = _path_of(store)
    with contextlib.suppress(OSError):
        return [path for path in target.parent.iterdir() if path.name.startswith(target.name + ".")]
    return []


def _load_number(store: Store) -> int | None:
    found = store.value("SELECT value FROM index_facts WHERE name = 'vector_file'")
    return found if isinstance(found, int) else None


def _save_number(store: Store, number: int) -> None:
    sql = """
        INSERT INTO index_facts (name, value)
        VALUES ('vector_file', ?)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
    """
    with store.transaction():
        store.run(sql, number)
