"""Vectors in memory: all chunks of an embedder, as the bytes they are stored as, in blocks.

Ten thousand are in one that was read, 25,000 in one of a mapped file. SQLite itself puts the rows of a block together,
which takes a fifth of handing each row to Python. So reading costs little more than the bytes, and nothing beside the
rows has to be kept equal to them. What is new is another block, and what is gone costs a copy of its own block alone.

Vector file: the vectors of an embedder once more, beside the store, laid out as a process wants them in memory.

A command that answers once would have to read every row, which takes longer than all else it does. So a large store has
a second file, which is mapped instead of read, and shared by all processes that search it:

    STORE.db-vectors    head of 4 KB, JSON | vectors | ids of their chunks | ids of their documents | scales

The rows stay the truth, and whoever deletes the file loses nothing but time. It ends with some chunk: what is newer is
read from the rows, and what is gone since is found by counting, since no id is used twice. It is believed only if its
number is the one that the store has kept for it, so that a store put back from a backup, whose ids went other ways,
never meets the vectors of the one before. It is replaced as a whole, never changed: those who map it keep what they
have.

Products of bytes: rows of signed bytes times a row of signed bytes, without a copy of them as floats.

numkong does it where it is installed; where not, numpy, in pieces that are floats for a moment. Both are exact, so that
they give the same numbers. What each costs: docs/decisions/0013-bytes-in-memory.md.
"""

import contextlib
import functools
import mmap
import os
import pathlib
import secrets
import sys
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import msgspec

from forgelore.records import StoredEmbedder
from forgelore.store.database import Store, by_engine
from forgelore.text.dates import machine_ms
from forgelore.words import Source

if TYPE_CHECKING:
    import numpy as np

    Bytes = np.ndarray[tuple[int], np.dtype[np.int8]]

    Block = np.ndarray[tuple[int, int], np.dtype[np.int8]]

    Numbers = np.ndarray[tuple[int], np.dtype[np.float32]]

    Ids = np.ndarray[tuple[int], np.dtype[np.int64]]

    Places = np.ndarray[tuple[int], np.dtype[np.intp]]

    Scales = np.ndarray[tuple[int], np.dtype[np.float32]]


_PIECE = 1024  # rows that numpy makes floats of at a time: 1.5 MB, which stay in the processor's cache
_EXACT_FLOAT32 = (1 << 24) // 128**2  # dimensions whose sum of products a float of 32 bits holds to the last unit


class Kernel(NamedTuple):
    """How bytes are multiplied here."""

    name: str
    multiply: "Callable[[Block, Bytes], Numbers]"  # each row with one row
    square: "Callable[[Block], Numbers]"  # each row with itself


@functools.cache
def choose_kernel() -> Kernel:
    """Return numkong's products where it is installed and loads, or else numpy's."""
    try:
        import numkong  # noqa: F401 - asked whether it is there
    except ImportError:
        return NUMPY
    return NUMKONG


def _multiply_numkong(block: "Block", row: "Bytes") -> "Numbers":
    import numkong
    import numpy as np

    found: Numbers = np.asarray(numkong.cdist(row[None], block, metric="dot", out_dtype="float32"))[0]
    return found


def _square_numkong(block: "Block") -> "Numbers":
    import numkong
    import numpy as np

    zero = np.zeros((1, block.shape[1]), np.int8)
    found: Numbers = np.asarray(numkong.cdist(zero, block, metric="sqeuclidean", out_dtype="float32"))[0]
    return found


def _multiply_numpy(block: "Block", row: "Bytes") -> "Numbers":
    import numpy as np

    wide = row.astype(_exact_type(len(row)))
    return _collect(block, lambda floats: np.dot(floats, wide))


def _square_numpy(block: "Block") -> "Numbers":
    import numpy as np

    return _collect(block, lambda floats: np.einsum("ij,ij->i", floats, floats))


def _collect(block: "Block", measure: Callable[[Any], Any]) -> "Numbers":
    """Return the number of each row. Floats of 32 bits and of 64 meet here, which numpy's types cannot say."""
    import numpy as np

    found = np.empty(len(block), np.float32)
    for at, floats in _pieces(block):
        found[at : at + len(floats)] = measure(floats)
    return found


def _pieces(block: "Block") -> Iterator[tuple[int, Any]]:
    import numpy as np

    piece = np.empty((min(_PIECE, len(block)), block.shape[1]), _exact_type(block.shape[1]))
    for at in range(0, len(block), _PIECE):
        rows = block[at : at + _PIECE]
        np.copyto(piece[: len(rows)], rows)
        yield at, piece[: len(rows)]


def _exact_type(dimension: int) -> Any:
    import numpy as np

    return np.float32 if dimension <= _EXACT_FLOAT32 else np.float64


NUMKONG = Kernel("numkong", _multiply_numkong, _square_numkong)
NUMPY = Kernel("numpy", _multiply_numpy, _square_numpy)


_BLOCK = 10_000  # ids: 4 MB of 384 dimensions
# Rows of one piece that nobody reads in parts: between blocks a thread waits for Python's lock. (Small enough that
# several threads have some to share.)
_LARGE_BLOCK = 25_000
# A row of another size, which `vector_check` finds, would shift those behind it. Bytes are joined as text, into which
# SQLite does not look, and are bytes again.
_READ = """
    SELECT group_concat(id), group_concat(document_id), CAST(group_concat(vector, '') AS BLOB)
    FROM chunks
    WHERE id > ? AND id <= ? AND embedder_id = ? AND is_card = ? AND octet_length(vector) = ?
"""
# Asked in words that indexes answer: looking at the columns themselves would read every vector.
_FIRST_ONES = "+id <= ? AND embedder_id = ?"
_WHOSE: dict[Source, str] = {"intent": "is_card", "raw": "id NOT IN (SELECT id FROM chunks WHERE is_card)"}


class VectorRows(NamedTuple):
    """Chunks in the order of their ids. A row of a block times its scale has length 1; a row of zeros has scale 0."""

    chunk_ids: "Ids"
    document_ids: "Ids"
    scales: "Scales"
    blocks: "tuple[Block, ...]"

    @property
    def total(self) -> int:
        return len(self.chunk_ids)

    def take(self, places: "Places") -> "VectorRows":
        """Return the rows at these places, which are in order. A block that stays whole is not copied."""
        blocks = tuple(
            block if len(within) == len(block) else block.take(within, axis=0)
            for block, within in zip(self.blocks, split_places(self.blocks, places), strict=True)
            if len(within)
        )
        return VectorRows(self.chunk_ids[places], self.document_ids[places], self.scales[places], blocks)

    def joined(self, more: "VectorRows") -> "VectorRows":
        """Return these rows and further ones behind them. Small blocks become one: each costs a call per query."""
        import numpy as np

        blocks = list(self.blocks)
        for block in more.blocks:
            if blocks and len(blocks[-1]) + len(block) <= _BLOCK:
                blocks[-1] = np.concatenate([blocks[-1], block])
            else:
                blocks.append(block)
        return VectorRows(
            np.concatenate([self.chunk_ids, more.chunk_ids]),
            np.concatenate([self.document_ids, more.document_ids]),
            np.concatenate([self.scales, more.scales]),
            tuple(blocks),
        )


def split_places(blocks: "tuple[Block, ...]", places: "Places") -> "list[Places]":
    """Return for each block which of its own rows are meant by places, in order, among all of them."""
    import numpy as np

    ends = np.cumsum([len(block) for block in blocks], dtype=np.intp)
    parts = np.split(places, np.searchsorted(places, ends))
    return [part - (end - len(block)) for part, end, block in zip(parts, ends, blocks, strict=False)]


def no_rows() -> VectorRows:
    import numpy as np

    return VectorRows(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32), ())


def load_rows(store: Store, embedder: StoredEmbedder, *, after: int = 0, source: Source = "raw") -> VectorRows:
    """Read the chunks with larger ids: those of cards, or those of what people wrote."""
    return _together([no_rows(), *each_block(store, embedder, after=after, source=source)])


def each_block(
    store: Store, embedder: StoredEmbedder, *, after: int = 0, source: Source = "raw"
) -> "Iterator[VectorRows]":
    """Read the same block by block."""
    import numpy as np

    while (after := _before_next(store, after)) >= 0:
        bindings = (after, after + _BLOCK, embedder.id, source == "intent", embedder.dimension)
        ids, documents, vectors = store.row(_READ, *bindings) or ("", "", b"")
        after += _BLOCK
        if ids:
            block = np.frombuffer(vectors, np.int8).reshape(-1, embedder.dimension)
            yield VectorRows(_numbers(ids), _numbers(documents), _scales(block), (block,))


def cut_blocks(vectors: "Block") -> "tuple[Block, ...]":
    """Return rows that lie in one piece as blocks, which are not copied."""
    return tuple(vectors[at : at + _LARGE_BLOCK] for at in range(0, len(vectors), _LARGE_BLOCK))


def load_ids(store: Store, embedder: StoredEmbedder, *, upto: int, source: Source = "raw") -> "Ids":
    """Return which of the chunks up to an id are there, in any order."""
    sql = f"SELECT group_concat(id) FROM chunks WHERE {_FIRST_ONES} AND {_WHOSE[source]}"
    return _numbers(store.value(sql, upto, embedder.id) or "")


def count_up_to(store: Store, embedder: StoredEmbedder, upto: int, *, source: Source = "raw") -> int:
    """Return how many of the chunks up to an id are there.

    SQLite counts a whole table by its pages, forty times as fast as it counts rows: so the few others are subtracted.
    """
    if source == "intent" or store.value("SELECT EXISTS (SELECT 1 FROM embedders WHERE id <> ?)", embedder.id):
        sql = f"SELECT count(*) FROM chunks WHERE {_FIRST_ONES} AND {_WHOSE[source]}"
        return int(store.value(sql, upto, embedder.id))
    sql = """
        SELECT (SELECT count(*) FROM chunks)
            - (SELECT count(*) FROM chunks WHERE id > ?1)
            - (SELECT count(*) FROM chunks WHERE is_card AND +id <= ?1)
    """
    return int(store.value(sql, upto))


def _before_next(store: Store, after: int) -> int:
    """Return the number before the next id, -1 behind the last: ids that are gone are passed over."""
    following = store.value("SELECT min(id) FROM chunks WHERE id > ?", after)
    return -1 if following is None else int(following) - 1


def _together(parts: list[VectorRows]) -> VectorRows:
    import numpy as np

    ids, documents, scales, blocks = zip(*parts, strict=True)
    whole = VectorRows(np.concatenate(ids), np.concatenate(documents), np.concatenate(scales), ())
    return no_rows().joined(whole._replace(blocks=tuple(block for each in blocks for block in each)))


def _numbers(text: str) -> "Ids":
    import numpy as np

    return np.fromstring(text, np.int64, sep=",")


def _scales(block: "Block") -> "Scales":
    """Return what gives each row length 1. It is stored too, but a number read as text takes longer than this."""
    import numpy as np

    lengths = np.sqrt(choose_kernel().square(block))
    return np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)


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


@by_engine
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


@by_engine
def refresh_file(store: Store, embedder: StoredEmbedder) -> bool:
    """Write the file if there is none, or if it lags behind by too much; returns whether it did. That it cannot be
    written, because the folder is read-only or the disk is full, is not an error: nothing needs it.
    """
    total = count_up_to(store, embedder, sys.maxsize)
    if total < MIN_ROWS:
        drop_file(store)
        return False
    known = load_file(store, embedder)
    if known is not None:
        kept = count_up_to(store, embedder, int(known.chunk_ids[-1]))
        if max(total - kept, known.total - kept) <= LAG * total:
            return False
    with contextlib.suppress(OSError):
        return _write(store, embedder)
    return False


@by_engine
def drop_file(store: Store) -> None:
    """Delete the file, and what a run that was cut off left of another."""
    with contextlib.suppress(OSError):
        _path_of(store).unlink(missing_ok=True)
    for left in _find_unfinished(store):
        with contextlib.suppress(OSError):
            left.unlink(missing_ok=True)


@by_engine
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
