"""Vectors of chunks: saving them, and finding the nearest by one pass over all of them (`vector_scan`).

Exact search over packed rows, kept in memory as they are stored (`vector_blocks`), or mapped from a file beside the
store (`vector_file`); a process that stays reads only what is new. vec0 was measured and lost: see
docs/decisions/0004-vectors.md.

The nearest rows, exactly, from bytes alone: one pass with a rounded query, then a second look at what is left.

    query -> rounded to bytes -> a score for every row, off by at most |query - rounded query| -> the best of them and
    whatever that error could hide -> cosines with the query as it is

Rows have length 1, so that no score is off by more than the length of what rounding took from the query (about 0.007 of
1). A row whose score lies twice that below the last wanted one cannot be among the wanted: a few hundred are left of a
million, and the answer is that of a scan in floats.
"""

import json
from _thread import allocate_lock
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from forgelore.records import StoredEmbedder
from forgelore.store.database import Store, by_engine
from forgelore.store.sqlite.connection import source_of
from forgelore.store.sqlite.vector_memory import (
    VectorRows,
    choose_kernel,
    count_up_to,
    load_file,
    load_ids,
    load_rows,
    no_rows,
    split_places,
)
from forgelore.text.values import PackedVector, pack_vector
from forgelore.words import Source

if TYPE_CHECKING:
    import numpy as np

    from forgelore.records import Chunk
    from forgelore.store.sqlite.vector_memory import Block, Ids, Places, Scales
    from forgelore.text.values import Vector

    Scores = np.ndarray[tuple[int], np.dtype[np.float32]]

    Cosines = np.ndarray[tuple[int], np.dtype[np.float64]]

    Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


_FLOAT_SLACK = 1e-5  # of scores, which are floats of 32 bits
_GATHERED = 0.25  # of all rows: fetching more of them one by one takes longer than a pass over everything
_SLICE = 4_096  # rows that are floats at once: 13 MB of 384 dimensions
_PER_COLUMN, _MANY_COLUMNS = 64, 8  # rows that are looked at as one, where eight times as many are left as are wanted


class _Piece(NamedTuple):
    """Rows of a block, all of them or those `within`, and where their scores go."""

    block: "Block"
    within: "Places | None"
    scales: "Scales"
    scores: "Scores"


class VectorScan:
    """The scores of one query, from which the nearest rows are told. `places`: of these rows alone, in order.

    Several threads may `work` at once: each scores pieces that nobody has taken, outside of Python's lock.
    """

    def __init__(self, rows: VectorRows, query: "Vector", places: "Places | None" = None) -> None:
        import numpy as np

        packed = pack_vector(query)
        self._rounded = np.frombuffer(packed.data, np.int8)
        self._rows, self._query, self._places = rows, query.astype(np.float64), places
        is_some = places is not None and len(places) < _GATHERED * rows.total
        self._scores = np.empty(len(places) if places is not None and is_some else rows.total, np.float32)
        self._left = _cut(rows, self._scores, places if is_some else None)
        self._lock, self._unfinished = allocate_lock(), len(self._left)
        error = float(np.linalg.norm(self._query - self._rounded * packed.scale)) + _FLOAT_SLACK
        self._error = error / packed.scale  # scores are not scaled: one pass less

    def __len__(self) -> int:
        return self._rows.total if self._places is None else len(self._places)

    def work(self) -> bool:
        """Score what nobody has taken. True for one thread alone, which finished the last piece: now `best` is known.
        Where there are no rows, for none.
        """
        is_last = False
        room: list[Block] = []
        while (piece := self._take()) is not None:
            self._score(piece, room)
            with self._lock:
                self._unfinished -= 1
                is_last = not self._unfinished
        return is_last

    def _take(self) -> _Piece | None:
        with self._lock:
            return self._left.pop() if self._left else None

    def _score(self, piece: _Piece, room: "list[Block]") -> None:
        """Multiply each row, at length 1, with the rounded query, whose length is what it is. What a filter allows is
        fetched into one piece of memory: asking the system for some each time costs more than the copy.
        """
        import numpy as np

        block = piece.block
        if piece.within is not None:
            if not room or len(room[0]) < len(piece.within):
                room[:] = [np.empty((len(piece.within), block.shape[1]), np.int8)]
            block = np.take(block, piece.within, axis=0, out=room[0][: len(piece.within)], mode="clip")
        np.multiply(choose_kernel().multiply(block, self._rounded), piece.scales, out=piece.scores)

    def best(self, count: int) -> "tuple[Places, Cosines]":
        """Return the places of the `count` nearest rows and their cosines, best first; ties in the order of documents.

        All of them when there are no more.
        """
        import numpy as np

        scores = self._scores if len(self._scores) == len(self) else self._scores[self._places]
        within = np.arange(len(self))
        if count < len(self):
            within = np.flatnonzero(scores >= _reached(scores, count) - 2 * self._error)
        places = within if self._places is None else self._places[within]
        cosines = _measure(self._rows.take(places), self._query)
        order = np.lexsort((self._rows.document_ids[places], -cosines))[:count]
        return places[order], cosines[order]


def _cut(rows: VectorRows, scores: "Scores", places: "Places | None") -> list[_Piece]:
    """Return the rows at these places, or all, block by block."""
    pieces, at = [], 0
    parts = [None] * len(rows.blocks) if places is None else split_places(rows.blocks, places)
    for block, within in zip(rows.blocks, parts, strict=True):
        end = at + len(block if within is None else within)
        scales = rows.scales[at:end] if places is None else rows.scales[places[at:end]]
        if end > at:
            pieces.append(_Piece(block, within, scales, scores[at:end]))
        at = end
    return pieces


def _reached(scores: "Scores", count: int) -> "np.float32":
    """Return a score that at least `count` rows reach, and hardly more do.

    The rows are laid out as a table: `count` columns whose best row reaches it are as many rows. Looking for them
    among the best of the columns takes a sixth of looking among all rows.
    """
    import numpy as np

    columns = len(scores) // _PER_COLUMN
    if columns >= _MANY_COLUMNS * count:
        scores = scores[: columns * _PER_COLUMN].reshape(_PER_COLUMN, columns).max(axis=0)
    last: np.float32 = np.partition(scores, -count)[-count]
    return last


def _measure(rows: VectorRows, query: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> "Cosines":
    """Return the cosines of rows. Summed row by row: equal vectors get equal cosines wherever they stand, up to 8,192
    dimensions, more than any model has. (Of longer ones numpy sums a row that is alone in parts.)
    """
    import numpy as np

    slices = [block[at : at + _SLICE] for block in rows.blocks for at in range(0, len(block), _SLICE)]
    parts = [np.einsum("ij,j->i", each.astype(np.float64), query) for each in slices]
    return np.concatenate([np.empty(0, np.float64), *parts]) * rows.scales


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
    sql = "SELECT project_id, content_hash, representation FROM documents WHERE id = ?"
    row = store.row(sql, document_id)
    if row is None or row[1] != content_hash:
        return False
    is_card, digest = source_of(row[2]) == "intent", content_hash[:_HASH_BYTES]
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

    def __init__(self, store: Store, embedder: StoredEmbedder, *, source: Source = "raw") -> None:
        self._store, self.embedder, self._source = store, embedder, source
        self._version: Hashable = None
        self.rows = no_rows()
        self._live: Mask | None = None  # which rows are still there; None: all

    def refresh(self) -> None:
        """Read what was added and forget what is gone. Ids only grow, so what is new has a larger one."""
        version = self._store.version
        if version == self._version:
            return
        if not self.rows.total and self._source == "raw":
            self.rows = load_file(self._store, self.embedder) or self.rows
        last = int(self.rows.chunk_ids[-1]) if self.rows.total else 0
        if last:
            self._forget_gone(last)
        self._add(load_rows(self._store, self.embedder, after=last, source=self._source))
        self._version = version

    def _forget_gone(self, last: int) -> None:
        """Mark rows that are gone; where they are many, leave them out for good, which copies the others."""
        import numpy as np

        kept = count_up_to(self._store, self.embedder, last, source=self._source)
        if kept == (self.rows.total if self._live is None else int(self._live.sum())):
            return
        ids = load_ids(self._store, self.embedder, upto=last, source=self._source)
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


@by_engine
def make_vector_cache(store: Store, embedder: StoredEmbedder, *, source: Source = "raw") -> VectorCache:
    return VectorCache(store, embedder, source=source)


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
