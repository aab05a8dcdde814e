"""Vectors in memory: all chunks of an embedder, as the bytes they are stored as, in blocks.

Ten thousand are in one that was read, 25,000 in one of a mapped file. SQLite itself puts the rows of a block together,
which takes a fifth of handing each row to Python. So reading costs little more than the bytes, and nothing beside the
rows has to be kept equal to them. What is new is another block, and what is gone costs a copy of its own block alone.
"""

from typing import TYPE_CHECKING, NamedTuple

from forgelore.store.db import Store
from forgelore.store.embedders import StoredEmbedder
from forgelore.store.engine.byte_products import choose_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    Ids = np.ndarray[tuple[int], np.dtype[np.int64]]
    Places = np.ndarray[tuple[int], np.dtype[np.intp]]
    Scales = np.ndarray[tuple[int], np.dtype[np.float32]]

    from forgelore.store.engine.byte_products import Block

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
_WHOSE = {True: "is_card", False: "id NOT IN (SELECT id FROM chunks WHERE is_card)"}


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


def load_rows(store: Store, embedder: StoredEmbedder, *, after: int = 0, of_cards: bool = False) -> VectorRows:
    """Read the chunks with larger ids: those of cards, or those of what people wrote."""
    return _together([no_rows(), *each_block(store, embedder, after=after, of_cards=of_cards)])


def each_block(
    store: Store, embedder: StoredEmbedder, *, after: int = 0, of_cards: bool = False
) -> "Iterator[VectorRows]":
    """Read the same block by block."""
    import numpy as np

    while (after := _before_next(store, after)) >= 0:
        bindings = (after, after + _BLOCK, embedder.id, of_cards, embedder.dimension)
        ids, documents, vectors = store.row(_READ, *bindings) or ("", "", b"")
        after += _BLOCK
        if ids:
            block = np.frombuffer(vectors, np.int8).reshape(-1, embedder.dimension)
            yield VectorRows(_numbers(ids), _numbers(documents), _scales(block), (block,))


def cut_blocks(vectors: "Block") -> "tuple[Block, ...]":
    """Return rows that lie in one piece as blocks, which are not copied."""
    return tuple(vectors[at : at + _LARGE_BLOCK] for at in range(0, len(vectors), _LARGE_BLOCK))


def load_ids(store: Store, embedder: StoredEmbedder, *, upto: int, of_cards: bool = False) -> "Ids":
    """Return which of the chunks up to an id are there, in any order."""
    sql = f"SELECT group_concat(id) FROM chunks WHERE {_FIRST_ONES} AND {_WHOSE[of_cards]}"
    return _numbers(store.value(sql, upto, embedder.id) or "")


def count_upto(store: Store, embedder: StoredEmbedder, upto: int, *, of_cards: bool = False) -> int:
    """Return how many of the chunks up to an id are there.

    SQLite counts a whole table by its pages, forty times as fast as it counts rows: so the few others are subtracted.
    """
    if of_cards or store.value("SELECT EXISTS (SELECT 1 FROM embedders WHERE id <> ?)", embedder.id):
        sql = f"SELECT count(*) FROM chunks WHERE {_FIRST_ONES} AND {_WHOSE[of_cards]}"
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
