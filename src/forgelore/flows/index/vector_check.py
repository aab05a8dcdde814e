"""Vectors made again for a sample of documents, and compared with those that are stored.

Servers do not give the same numbers twice, and packing moves them a little: a vector counts as the same down to a
cosine of `SAME`. Two different texts of one tracker are seldom that near.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from forgelore.core.search.chunks import Chunk, build_chunks
from forgelore.core.search.vectors import check_vector, pack_vector, unpack_vector
from forgelore.errors import EmbeddingFailed
from forgelore.flows.progress import Watcher
from forgelore.ports import Embedder
from forgelore.store.engine.vector_check import SampledDocument, packed_size

if TYPE_CHECKING:
    from forgelore.core.search.vectors import Vector

SAME = 0.98


class VectorComparison(NamedTuple):
    """Documents whose vectors are not those of their texts, and how many were compared."""

    wrong: list[int]
    checked: int


def compare_vectors(sample: Sequence[SampledDocument], embedder: Embedder, watcher: Watcher) -> VectorComparison:
    """Make the vectors of these documents again. Raises EmbedderError when nobody answers."""
    made = [build_chunks(one.title, one.text, max_chars=embedder.chunk_chars) for one in sample]
    watcher.begin("remade", "vectors made again", sum(map(len, made)))
    vectors = iter(_embed([chunk for chunks in made for chunk in chunks], embedder, watcher))
    found = [_is_same(one, chunks, [next(vectors) for _ in chunks]) for one, chunks in zip(sample, made, strict=True)]
    watcher.done("remade")
    wrong = [one.document_id for one, is_same in zip(sample, found, strict=True) if is_same is False]
    return VectorComparison(wrong, sum(is_same is not None for is_same in found))


def _is_same(document: SampledDocument, made: list[Chunk], vectors: "list[Vector | str]") -> bool | None:
    """Return whether the stored chunks are those of the text; None when the embedder refuses it."""
    if [(chunk.start, chunk.end) for chunk in document.chunks] != [(chunk.start, chunk.end) for chunk in made]:
        return False
    if any(isinstance(vector, str) for vector in vectors):
        return None
    return all(
        not isinstance(vector, str)
        and packed_size(*chunk.packed) == vector.size
        and float(unpack_vector(chunk.packed) @ unpack_vector(pack_vector(vector))) >= SAME
        for chunk, vector in zip(document.chunks, vectors, strict=True)
    )


def _embed(chunks: list[Chunk], embedder: Embedder, watcher: Watcher) -> "list[Vector | str]":
    found: list[Vector | str] = []
    for at in range(0, len(chunks), embedder.batch_size):
        batch = [chunk.passage for chunk in chunks[at : at + embedder.batch_size]]
        raw: Sequence[Sequence[float] | EmbeddingFailed]
        try:
            raw = embedder.embed_passages(batch)
        except EmbeddingFailed as error:
            raw = [error] * len(batch)
        if len(raw) != len(batch):
            raw = [EmbeddingFailed(f"{len(raw)} vectors for {len(batch)} texts")] * len(batch)
        found += [check_vector(vector, None) for vector in raw]
        watcher.saved("remade", len(batch))
    return found
