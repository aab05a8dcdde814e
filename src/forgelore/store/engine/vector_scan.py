"""The nearest rows, exactly, from bytes alone: one pass with a rounded query, then a second look at what is left.

    query -> rounded to bytes -> a score for every row, off by at most |query - rounded query| -> the best of them and
    whatever that error could hide -> cosines with the query as it is

Rows have length 1, so that no score is off by more than the length of what rounding took from the query (about 0.007 of
1). A row whose score lies twice that below the last wanted one cannot be among the wanted: a few hundred are left of a
million, and the answer is that of a scan in floats.

"""

from typing import TYPE_CHECKING

from forgelore.core.search.vectors import pack_vector
from forgelore.store.engine.byte_products import choose_kernel
from forgelore.store.engine.vector_blocks import VectorRows, split_places

if TYPE_CHECKING:
    import numpy as np

    from forgelore.core.search.vectors import Vector
    from forgelore.store.engine.byte_products import Bytes
    from forgelore.store.engine.vector_blocks import Places

    Cosines = np.ndarray[tuple[int], np.dtype[np.float64]]

_FLOAT_SLACK = 1e-5  # of scores, which are floats of 32 bits
_GATHERED = 0.25  # of all rows: fetching more of them one by one takes longer than a pass over everything


class VectorScan:
    """The scores of one query, from which the nearest rows are told. `places`: of these rows alone, in order."""

    def __init__(self, rows: VectorRows, query: "Vector", places: "Places | None" = None) -> None:
        import numpy as np

        packed = pack_vector(query)
        rounded = np.frombuffer(packed.data, np.int8)
        self._rows, self._query, self._places = rows, query.astype(np.float64), places
        if places is not None and len(places) < _GATHERED * rows.total:
            self._scores = _score_some(rows, rounded, places)
        else:
            scores = _score(rows, rounded)
            self._scores = scores if places is None else scores[places]
        error = float(np.linalg.norm(self._query - rounded * packed.scale)) + _FLOAT_SLACK
        self._error = error / packed.scale  # scores are not scaled: one pass less

    def __len__(self) -> int:
        return len(self._scores)

    def best(self, count: int) -> "tuple[Places, Cosines]":
        """Return the places of the `count` nearest rows and their cosines, best first; ties in the order of documents.

        All of them when there are no more.
        """
        import numpy as np

        if count < len(self):
            last = np.partition(self._scores, -count)[-count]
            within = np.flatnonzero(self._scores >= last - 2 * self._error)
        else:
            within = np.arange(len(self))
        places = within if self._places is None else self._places[within]
        cosines = _measure(self._rows.take(places), self._query)
        order = np.lexsort((self._rows.document_ids[places], -cosines))[:count]
        return places[order], cosines[order]


def _score(rows: VectorRows, query: "Bytes") -> "Vector":
    """Return the product of each row, at length 1, with the rounded query, whose length is what it is."""
    import numpy as np

    multiply = choose_kernel().multiply
    scores, at = np.empty(rows.total, np.float32), 0
    for block in rows.blocks:
        end = at + len(block)
        np.multiply(multiply(block, query), rows.scales[at:end], out=scores[at:end])
        at = end
    return scores


def _score_some(rows: VectorRows, query: "Bytes", places: "Places") -> "Vector":
    """The same of some rows, which are fetched block by block into one piece of memory: what is asked of the system for
    each query anew costs more than the copy.
    """
    import numpy as np

    multiply, parts = choose_kernel().multiply, split_places(rows.blocks, places)
    scores, at = np.empty(len(places), np.float32), 0
    fetched = np.empty((max(map(len, parts), default=0), len(query)), np.int8)
    for block, within in zip(rows.blocks, parts, strict=True):
        if len(within):
            end = at + len(within)
            some = np.take(block, within, axis=0, out=fetched[: len(within)], mode="clip")
            np.multiply(multiply(some, query), rows.scales[places[at:end]], out=scores[at:end])
            at = end
    return scores


def _measure(rows: VectorRows, query: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> "Cosines":
    """Return the cosines of rows. Summed row by row: equal vectors get equal cosines wherever they stand."""
    import numpy as np

    parts = [(block * query).sum(axis=1) for block in rows.blocks]
    return np.concatenate([np.empty(0, np.float64), *parts]) * rows.scales
