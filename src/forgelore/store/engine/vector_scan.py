"""The nearest rows, exactly, from bytes alone: one pass with a rounded query, then a second look at what is left.

    query -> rounded to bytes -> a score for every row, off by at most |query - rounded query| -> the best of them and
    whatever that error could hide -> cosines with the query as it is

Rows have length 1, so that no score is off by more than the length of what rounding took from the query (about 0.007 of
1). A row whose score lies twice that below the last wanted one cannot be among the wanted: a few hundred are left of a
million, and the answer is that of a scan in floats.
"""

from _thread import allocate_lock
from typing import TYPE_CHECKING, NamedTuple

from forgelore.core.search.vectors import pack_vector
from forgelore.store.engine.byte_products import choose_kernel
from forgelore.store.engine.vector_blocks import VectorRows, split_places

if TYPE_CHECKING:
    import numpy as np

    from forgelore.core.search.vectors import Vector
    from forgelore.store.engine.byte_products import Block
    from forgelore.store.engine.vector_blocks import Places, Scales

    Scores = np.ndarray[tuple[int], np.dtype[np.float32]]
    Cosines = np.ndarray[tuple[int], np.dtype[np.float64]]

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
