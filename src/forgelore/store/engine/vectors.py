"""Vectors of chunks: saving them, and finding the nearest by one pass over all of them.

Exact search over packed rows. A process that answers once reads the rows it may return; one that stays keeps them in
memory (`VectorCache`) and reads only what is new. vec0 was measured and lost: see docs/decisions/0004-vectors.md.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from forgelore.core.search.chunks import Chunk
from forgelore.core.search.vectors import PackedVector
from forgelore.store.db import Store
from forgelore.store.embedders import StoredEmbedder

if TYPE_CHECKING:
    import numpy as np

    Matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]
    Vector = np.ndarray[tuple[int], np.dtype[np.float32]]
    Ids = np.ndarray[tuple[int], np.dtype[np.int64]]

_HASH_BYTES = 8
_BLOCK = 10_000  # rows read at a time


class Near(NamedTuple):
    """A document and how near it is: the cosine of its nearest chunk, and which that is."""

    document_id: int
    cosine: float
    chunk_id: int


def save_chunks(
    store: Store, embedder_id: int, document_id: int, content_hash: bytes, chunks: Sequence[tuple[Chunk, PackedVector]]
) -> bool:
    """Replace a document's vectors, unless its text changed meanwhile; returns whether it did. In a transaction."""
    row = store.row("SELECT project_id, content_hash FROM documents WHERE id = ?", document_id)
    if row is None or row[1] != content_hash:
        return False
    store.run("DELETE FROM chunks WHERE document_id = ? AND embedder_id = ?", document_id, embedder_id)
    store.run_many(
        """
        INSERT INTO chunks (project_id, document_id, embedder_id, position, start_at, end_at, text_hash, scale, vector)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
            (row[0], document_id, embedder_id, position, chunk.start, chunk.end, content_hash[:_HASH_BYTES], *packed)
            for position, (chunk, packed) in enumerate(chunks)
        ],
    )
    return True


def load_vector(store: Store, embedder_id: int, document_id: int) -> PackedVector | None:
    """Return the vector of a document's first chunk, which stands for the whole."""
    sql = """
        SELECT scale, vector
        FROM chunks
        WHERE document_id = ? AND embedder_id = ? AND position = 0
    """
    row = store.row(sql, document_id, embedder_id)
    return PackedVector(*row) if row else None


def load_starts(store: Store, chunk_ids: Iterable[int]) -> dict[int, int]:
    """Return where chunks begin in the texts of their documents."""
    sql = "SELECT id, start_at FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
    return dict(store.rows(sql, json.dumps(list(chunk_ids))))


def load_unembedded(store: Store, embedder_id: int, document_ids: Iterable[int]) -> list[tuple[int, bytes, str, str]]:
    """Return (id, hash, title, text) of those of these documents that have no vectors of their text, in order."""
    sql = """
        SELECT d.id, d.content_hash, t.title, t.text
        FROM documents d
        JOIN document_texts t ON t.id = d.id
        WHERE d.id IN (SELECT value FROM json_each(?))
          AND NOT EXISTS (
            SELECT 1
            FROM chunks c
            WHERE c.document_id = d.id AND c.embedder_id = ? AND c.text_hash = substr(d.content_hash, 1, 8)
          )
        ORDER BY d.id
    """
    rows = store.rows(sql, json.dumps(list(document_ids)), embedder_id)
    return [(document_id, digest, title, text) for document_id, digest, title, text in rows]


class VectorRows(NamedTuple):
    """Chunks as arrays, in the order of their ids: ids of chunk and document, vectors of length 1."""

    chunk_ids: "Ids"
    document_ids: "Ids"
    matrix: "Matrix"

    def take(self, places: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> "VectorRows":
        return VectorRows(self.chunk_ids[places], self.document_ids[places], self.matrix[places])


class VectorCache:
    """The vectors of one embedder in memory, one row per chunk.

    `refresh` is cheap when nothing changed. Not shared between threads: each keeps its own, or takes turns.
    """

    def __init__(self, store: Store, embedder: StoredEmbedder) -> None:
        import numpy as np

        self._store, self.embedder = store, embedder
        self._version = -1
        none = np.empty(0, np.int64)
        self.rows = VectorRows(none, none, np.empty((0, embedder.dimension), np.float32))

    def refresh(self) -> None:
        """Read what was added and forget what is gone. Ids only grow, so what is new has a larger one."""
        version = self._store.value("PRAGMA data_version") + self._store.total_changes
        if version == self._version:
            return
        import numpy as np

        chunk_ids = self.rows.chunk_ids
        last = int(chunk_ids[-1]) if len(chunk_ids) else 0
        sql = "FROM chunks WHERE embedder_id = ? AND id <= ?"
        kept = self._store.value(f"SELECT count(*) {sql}", self.embedder.id, last) if last else 0
        if kept != len(chunk_ids):
            live = np.asarray(
                [row[0] for row in self._store.each(f"SELECT id {sql}", self.embedder.id, last)], np.int64
            )
            self.rows = self.rows.take(np.flatnonzero(np.isin(chunk_ids, live)))
        new = load_rows(self._store, self.embedder, after=last)
        if not len(self.rows.chunk_ids):  # the usual case: copying everything once more would cost as much again
            self.rows = new
        elif len(new.chunk_ids):
            chunk_ids = self.rows.chunk_ids
            self.rows = VectorRows(
                np.concatenate([chunk_ids, new.chunk_ids]),
                np.concatenate([self.rows.document_ids, new.document_ids]),
                np.concatenate([self.rows.matrix, new.matrix]),
            )
        self._version = version

    def nearest(self, query: "Vector", limit: int, allowed: "Ids | None" = None) -> list[Near]:
        """Return the nearest documents, best first. `allowed` (document ids) is resolved before scoring."""
        import numpy as np

        rows = self.rows
        if allowed is not None:
            rows = rows.take(np.flatnonzero(_is_member(rows.document_ids, allowed)))
        return best_documents(rows.matrix @ query, rows, limit)


def _is_member(values: "Ids", allowed: "Ids") -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Like numpy's isin, through a table of bits: ids are small and dense, and sorting both sides costs ten times as
    much.
    """
    import numpy as np

    size = int(max(values.max(initial=0), allowed.max(initial=0))) + 1
    table = np.zeros(size, np.bool_)
    table[allowed] = True
    return table[values]


def load_rows(store: Store, embedder: StoredEmbedder, *, after: int = 0) -> VectorRows:
    """Read the chunks with larger ids, some thousand at a time: as bytes they are never all in memory."""
    import numpy as np

    condition = "FROM chunks WHERE embedder_id = ? AND id > ?"
    count = store.value(f"SELECT count(*) {condition}", embedder.id, after)
    found = VectorRows(
        np.empty(count, np.int64), np.empty(count, np.int64), np.empty((count, embedder.dimension), np.float32)
    )
    rows = store.each(f"SELECT id, document_id, scale, vector {condition} ORDER BY id", embedder.id, after)
    at = 0
    while block := list(islice(rows, min(_BLOCK, count - at))):
        ids, documents, scales, vectors = zip(*block, strict=True)
        end = at + len(block)
        found.chunk_ids[at:end], found.document_ids[at:end] = ids, documents
        packed = np.frombuffer(b"".join(vectors), np.int8).reshape(len(block), embedder.dimension)
        np.multiply(packed, np.asarray(scales, np.float32)[:, None], out=found.matrix[at:end], dtype=np.float32)
        at = end
    return found if at == count else found.take(np.arange(at))


def best_documents(cosines: "Vector", rows: VectorRows, limit: int) -> list[Near]:
    """Return the best chunk of each of the best documents. Ties go to the older document."""
    import numpy as np

    found: dict[int, Near] = {}
    take = min(len(cosines), max(limit * 2, 64))
    while take:
        top = np.argpartition(cosines, -take)[-take:] if take < len(cosines) else np.arange(len(cosines))
        top = top[np.lexsort((rows.document_ids[top], -cosines[top]))]
        found = {}
        for row in top:
            document_id = int(rows.document_ids[row])
            if document_id not in found:
                found[document_id] = Near(document_id, float(cosines[row]), int(rows.chunk_ids[row]))
        if len(found) >= limit or take == len(cosines):
            break
        take = min(len(cosines), take * 4)  # many chunks of few documents: look deeper
    return list(found.values())[:limit]
