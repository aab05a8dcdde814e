"""Word scores: what a word adds to the BM25 score of each document, kept in memory for whoever compares item after
item.

The score of a document is the sum of what each word adds, and that depends on no other word of the query. FTS5 works
it out anew for every query: of 38 ms that an item took to be compared with 15,800 others, 23 were spent on words that
the items before it had asked about. Asked about one word at a time and added up here, an item takes 20 ms; the sums
are the same to seven digits.

What is kept is dropped as soon as full text changes, which its own record of segments says, and never exceeds a bound:
the words that were not asked about for longest go first. A single question gains nothing and has `search_words`.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from forgelore.store.database import Store, by_engine
from forgelore.store.filters import Allowed
from forgelore.store.sqlite.connection import FULL_TEXT
from forgelore.store.sqlite.fulltext import WEIGHTS, Found, match_id, quote

if TYPE_CHECKING:
    import numpy as np

    Ids = np.ndarray[tuple[int], np.dtype[np.int32]]
    Scores = np.ndarray[tuple[int], np.dtype[np.float32]]

MAX_BYTES = 16_000_000
_AVERAGES, _SEGMENTS = 1, 10  # rows of FTS5's own table: https://sqlite.org/fts5.html#the_data_table
_ROW_BYTES = 200  # of a word, beside its documents


class _Postings(NamedTuple):
    """The documents that hold a word or a phrase, and what it adds to the score of each."""

    ids: "Ids"
    scores: "Scores"

    @property
    def size(self) -> int:
        return _ROW_BYTES + int(self.ids.nbytes + self.scores.nbytes)


class WordScores:
    """Ranked documents for weighted terms, as `search_words` ranks them. One thread at a time."""

    def __init__(self, *, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes, self._bytes = max_bytes, 0
        self._known: OrderedDict[str, _Postings] = OrderedDict()
        self._state: object = None
        self._within = b""

    @property
    def kept_bytes(self) -> int:
        return self._bytes

    def search(
        self, store: Store, terms: Sequence[tuple[str, int]], limit: int, *, marks: bytes, within: bytes
    ) -> list[Found]:
        """Return the documents with the highest sums, each term as often as it says, best first; equal scores in the
        order of their ids. `marks`: the documents that are allowed now (`Allowed.marks`); `within`: those that all
        questions are about, and the only ones of which anything is kept.
        """
        import numpy as np

        self._forget_old(store, within)
        found = [(self._load(store, term), times) for term, times in terms]
        if not found:
            return []
        allowed = np.frombuffer(marks, np.bool_)
        ids = np.concatenate([postings.ids for postings, _ in found])
        added = np.concatenate([postings.scores * times for postings, times in found])
        sums = np.bincount(ids, added, minlength=len(allowed))[: len(allowed)]
        hits = np.flatnonzero((sums > 0) & allowed)
        if len(hits) > limit:
            bar = np.partition(sums[hits], -limit)[-limit]
            hits = hits[sums[hits] >= bar]
        best = hits[np.lexsort((hits, -sums[hits]))][:limit]
        return [Found(int(one), float(sums[one])) for one in best]

    def _forget_old(self, store: Store, within: bytes) -> None:
        sql = f"""
            SELECT block
            FROM {FULL_TEXT}_data
            WHERE id IN ({_AVERAGES}, {_SEGMENTS})
        """
        state = (within, store.rows(sql))
        if state != self._state:
            self._known.clear()
            self._bytes, self._state, self._within = 0, state, within

    def _load(self, store: Store, term: str) -> _Postings:
        known = self._known.get(term)
        if known is not None:
            self._known.move_to_end(term)
            return known
        postings = _read(store, term, self._within)
        self._known[term] = postings
        self._bytes += postings.size
        while self._bytes > self._max_bytes and len(self._known) > 1:
            self._bytes -= self._known.popitem(last=False)[1].size
        return postings


@by_engine
def make_word_scores(_store: Store) -> WordScores | None:
    """Return where scores are kept; None where the engine ranks each question by itself."""
    return WordScores()


def _read(store: Store, term: str, within: bytes) -> _Postings:
    """Ask full text about one term alone."""
    import numpy as np

    asked = Allowed("", (), (), within).condition(match_id(FULL_TEXT))
    sql = f"""
        SELECT rowid, -bm25({FULL_TEXT}, {WEIGHTS})
        FROM {FULL_TEXT}
        WHERE {FULL_TEXT} MATCH ? AND {asked.sql}
    """
    rows = store.rows(sql, quote(term), *asked.bindings)
    ids = np.fromiter((row_id for row_id, _ in rows), np.int32, len(rows))
    return _Postings(ids, np.fromiter((score for _, score in rows), np.float32, len(rows)))
