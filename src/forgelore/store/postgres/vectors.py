"""The nearest documents, found by the server: every allowed vector is compared, so that none is missed.

A chunk's bytes are kept once more as a `halfvec` of the same whole numbers, which half floats hold exactly; its length
does not matter to a cosine. What the query loses as half floats moves a cosine by less than 0.0001.
"""

from typing import TYPE_CHECKING

from forgelore.records import StoredEmbedder
from forgelore.store.database import Store
from forgelore.store.sqlite.vectors import Near, VectorCache
from forgelore.words import Source

if TYPE_CHECKING:
    from forgelore.store.sqlite.vector_memory import Ids
    from forgelore.text.values import Vector

_MAX_DIMENSIONS = 4_000  # of the column (migrations); vectors of more are compared in memory, as those of a file


def make_vector_cache(store: Store, embedder: StoredEmbedder, *, source: Source = "raw") -> VectorCache:
    kind = ServerVectors if embedder.dimension <= _MAX_DIMENSIONS else VectorCache
    return kind(store, embedder, source=source)


class ServerVectors(VectorCache):
    """The vectors of one embedder, none of them in memory."""

    def refresh(self) -> None:
        """Each question is about what is there at its moment."""

    def nearest(self, query: "Vector", limit: int, allowed: "Ids | None" = None) -> list[Near]:
        take = max(limit * 2, 64)
        while True:
            rows = self._ask(query, take, allowed)
            found: dict[int, Near] = {}
            for document_id, cosine, chunk_id in rows:
                found.setdefault(document_id, Near(document_id, cosine, chunk_id))
            if len(found) >= limit or len(rows) < take:
                return list(found.values())[:limit]
            take *= 4  # many chunks of few documents: look deeper

    def _ask(self, query: "Vector", take: int, allowed: "Ids | None") -> list[tuple[int, float, int]]:
        within = "" if allowed is None else "AND document_id = ANY (CAST(? AS BIGINT[]))"
        sql = f"""
            SELECT document_id, 1 - far, id
            FROM (
                SELECT document_id, id, half <=> CAST(? AS halfvec) AS far
                FROM chunks
                WHERE embedder_id = ? AND is_card = ? AND octet_length(vector) = ? {within}
                OFFSET 0
            ) c
            WHERE far <> 'NaN'
            ORDER BY far, document_id, id
            LIMIT ?
        """
        asked = "[" + ",".join(f"{number:.6g}" for number in query.tolist()) + "]"
        ids = [] if allowed is None else ["{" + ",".join(map(str, allowed.tolist())) + "}"]
        values = (asked, self.embedder.id, self._source == "intent", self.embedder.dimension, *ids, take)
        return self._store.rows(sql, *values)


def load_file(_store: Store, _embedder: StoredEmbedder) -> None:
    """There is no file beside a server's database, here and below."""


def refresh_file(_store: Store, _embedder: StoredEmbedder) -> bool:
    return False


def drop_file(_store: Store) -> None: ...
