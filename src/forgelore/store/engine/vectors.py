"""Vectors of chunks: saving them, and finding the nearest by one pass over all of them (`vector_scan`).

Exact search over packed rows, kept in memory as they are stored (`vector_blocks`), or mapped from a file beside the
store (`vector_file`); a process that stays reads only what is new. vec0 was measured and lost: see
docs/decisions/0004-vectors.md.
"""

import json
from _thread import allocate_lock
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from forgelore.core.search.vectors import PackedVector
from forgelore.store.db import Store
from forgelore.store.embedders import StoredEmbedder
from forgelore.store.engine.vector_blocks import VectorRows, count_upto, load_ids, load_rows, no_rows
from forgelore.store.engine.vector_file import load_file
from forgelore.store.engine.vector_scan import VectorScan

if TYPE_CHECKING:
    import numpy as np

    from forgelore.core.search.chunks import Chunk
    from forgelore.core.search.vectors import Vector
    from forgelore.store.engine.vector_blocks import Ids, Places

    Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]

_HASH_BYTES = 8
_MANY_GONE = 0.1  # of the rows: passing over more costs more, each time, than a copy of the others


class Near(NamedTuple):
    """A document and how near it is: the cosine of its nearest chunk, and which that is."""

    document_id: int
    cosine: float
    chunk_id: int


def save_chunks(
    store: Store,
    embedder_id: int,
    document_id: int,
    content_hash: bytes,
    chunks: "Sequence[tuple[Chunk, PackedVector]]",
) -> bool:
    """Replace a document's vectors, unless its text changed meanwhile; returns whether it did. In a transaction."""
    sql = "SELECT project_id, content_hash, representation = 'intent' FROM documents WHERE id = ?"
    row = store.row(sql, document_id)
    if row is None or row[1] != content_hash:
        return False
    is_card, digest = row[2], content_hash[:_HASH_BYTES]
    store.run("DELETE FROM chunks WHERE document_id = ? AND embedder_id = ?", document_id, embedder_id)
    store.run_many(
        """
        INSERT INTO chunks (
            project_id, document_id, embedder_id, position, start_at, end_at, is_card, text_hash, scale, vector
        )
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
            (row[0], document_id, embedder_id, position, chunk.start, chunk.end, is_card, digest, *packed)
            for position, (chunk, packed) in enumerate(chunks)
        ],
    )
    return True


def load_vectors(store: Store, embedder_id: int, document_ids: Iterable[int]) -> dict[int, PackedVector]:
    """Return document -> the vector of its first chunk, which stands for the whole, where it has one."""
    sql = """
        SELECT document_id, scale, vector
        FROM chunks
        WHERE document_id IN (SELECT value FROM json_each(?)) AND embedder_id = ? AND position = 0
    """
    rows = store.rows(sql, json.dumps(list(document_ids)), embedder_id)
    return {document_id: PackedVector(*packed) for document_id, *packed in rows}


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


class VectorCache:
    """The vectors of one embedder in memory, one row per chunk: of what people wrote, or of cards.

    `refresh` is cheap when nothing changed. Not shared between threads: each keeps its own, or takes turns.
    """

    def __init__(self, store: Store, embedder: StoredEmbedder, *, of_cards: bool = False) -> None:
        self._store, self.embedder, self._of_cards = store, embedder, of_cards
        self._version: tuple[int, int, int] | None = None
        self.rows = no_rows()
        self._live: Mask | None = None  # which rows are still there; None: all

    def refresh(self) -> None:
        """Read what was added and forget what is gone. Ids only grow, so what is new has a larger one."""
        version = self._store.version
        if version == self._version:
            return
        if not self.rows.total and not self._of_cards:
            self.rows = load_file(self._store, self.embedder) or self.rows
        last = int(self.rows.chunk_ids[-1]) if self.rows.total else 0
        if last:
            self._forget_gone(last)
        self._add(load_rows(self._store, self.embedder, after=last, of_cards=self._of_cards))
        self._version = version

    def _forget_gone(self, last: int) -> None:
        """Mark rows that are gone; where they are many, leave them out for good, which copies the others."""
        import numpy as np

        kept = count_upto(self._store, self.embedder, last, of_cards=self._of_cards)
        if kept == (self.rows.total if self._live is None else int(self._live.sum())):
            return
        ids = load_ids(self._store, self.embedder, upto=last, of_cards=self._of_cards)
        self._live = _is_member(self.rows.chunk_ids, ids)
        if kept < (1 - _MANY_GONE) * self.rows.total:
            self.rows, self._live = self.rows.take(np.flatnonzero(self._live)), None

    def _add(self, more: VectorRows) -> None:
        import numpy as np

        if more.total:
            self.rows = self.rows.joined(more)
            if self._live is not None:
                self._live = np.concatenate([self._live, np.ones(more.total, np.bool_)])

    def nearest(self, query: "Vector", limit: int, allowed: "Ids | None" = None) -> list[Near]:
        """Return the nearest documents, best first, each by its best chunk. Ties go to the older document. `allowed`
        (document ids) is resolved before scoring.
        """
        found = self.prepare(query, limit, allowed).work()
        assert found is not None
        return found

    def prepare(self, query: "Vector", limit: int, allowed: "Ids | None" = None) -> "NearestSearch":
        """Return what finds the same, in one thread or in several, among the rows of this moment."""
        rows, live = self.rows, self._live
        return NearestSearch(rows, limit, lambda: VectorScan(rows, query, _places(rows, live, allowed)))


class NearestSearch:
    """Looks for the nearest documents. Threads that `work` at once share the rows between them."""

    def __init__(self, rows: VectorRows, limit: int, make_scan: Callable[[], VectorScan]) -> None:
        self._rows, self._limit, self._make_scan = rows, limit, make_scan
        self._lock = allocate_lock()
        self._scan: VectorScan | None = None

    def work(self) -> list[Near] | None:
        """Return the documents to the thread that ends last, None to the others."""
        with self._lock:
            if self._scan is None:
                self._scan = self._make_scan()
        if not len(self._scan):
            return []
        return self._collect(self._scan) if self._scan.work() else None

    def _collect(self, scan: VectorScan) -> list[Near]:
        take = max(self._limit * 2, 64)
        while True:
            found: dict[int, Near] = {}
            best, cosines = scan.best(take)
            chunks, documents = self._rows.chunk_ids[best].tolist(), self._rows.document_ids[best].tolist()
            for document_id, cosine, chunk_id in zip(documents, cosines.tolist(), chunks, strict=True):
                found.setdefault(document_id, Near(document_id, cosine, chunk_id))
            if len(found) >= self._limit or take >= len(scan):
                return list(found.values())[: self._limit]
            take *= 4  # many chunks of few documents: look deeper


def _places(rows: VectorRows, live: "Mask | None", allowed: "Ids | None") -> "Places | None":
    """Return where the rows stand that count; None: all of them."""
    import numpy as np

    counting = live
    if allowed is not None:
        wanted = _is_member(rows.document_ids, allowed)
        counting = wanted if counting is None else wanted & counting
    return None if counting is None else np.flatnonzero(counting)


def _is_member(values: "Ids", allowed: "Ids") -> "Mask":
    """Like numpy's isin, through a table of bits: ids are small and dense, and sorting both sides costs ten times as
    much.
    """
    import numpy as np

    size = int(max(values.max(initial=0), allowed.max(initial=0))) + 1
    table = np.zeros(size, np.bool_)
    table[allowed] = True
    return table[values]
