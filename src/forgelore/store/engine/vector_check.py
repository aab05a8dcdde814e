"""Checks of vectors: whether stored ones can be vectors at all, and a sample of them with the texts they stand for.

A packed vector restores to length 1 (`core/search/vectors`): one that does not was changed since. Whether it is the
vector of *its* text only the embedder can tell: `flows/index/vector_check` asks it for a sample.
"""

import json
import math
from collections import Counter
from typing import Any, NamedTuple

from forgelore.core.search.vectors import PackedVector
from forgelore.store.db import Store

_LENGTH_SLACK = 1e-3
_SAMPLE = """
    SELECT d.id, t.title, t.text
    FROM documents d
    JOIN document_texts t ON t.id = d.id
    WHERE d.id IN (
        SELECT DISTINCT c.document_id
        FROM chunks c
        WHERE c.embedder_id = ? AND NOT EXISTS (
            SELECT 1
            FROM jobs j
            WHERE j.project_id = c.project_id AND j.kind = 'embed' AND j.key = CAST(c.document_id AS TEXT))
        ORDER BY random()
        LIMIT ?)
"""
_CHUNKS_OF_SAMPLE = """
    SELECT document_id, start_at, end_at, scale, vector
    FROM chunks
    WHERE embedder_id = ? AND document_id IN (SELECT value FROM json_each(?))
    ORDER BY document_id, position
"""


class MalformedChunk(NamedTuple):
    id: int
    document_id: int
    position: int


class VectorShapes(NamedTuple):
    """Chunks whose vector has the wrong size or length, and embedder -> the size that its vectors really have."""

    malformed: list[MalformedChunk]
    dimensions: dict[int, int]


class StoredChunk(NamedTuple):
    start: int
    end: int
    packed: PackedVector


class SampledDocument(NamedTuple):
    document_id: int
    title: str
    text: str
    chunks: list[StoredChunk]


def measure_vectors(store: Store) -> VectorShapes:
    """Look at every vector. What most of the good ones of an embedder agree on is their size, whatever its row says."""
    malformed: list[MalformedChunk] = []
    dimensions: dict[int, int] = {}
    for embedder_id, dimension in store.rows("SELECT id, dimension FROM embedders"):
        odd: dict[int, list[MalformedChunk]] = {}
        sizes: Counter[int] = Counter()
        for scale, vector, *place in store.each(
            "SELECT scale, vector, id, document_id, position FROM chunks WHERE embedder_id = ? ORDER BY id", embedder_id
        ):
            size = packed_size(scale, vector)
            sizes[size] += 1
            if size != dimension:
                odd.setdefault(size, []).append(MalformedChunk(*place))
        good = [size for size, _ in sizes.most_common() if size]
        most = good[0] if good else dimension
        if most == dimension:
            malformed += [chunk for chunks in odd.values() for chunk in chunks]
            continue
        dimensions[embedder_id] = most
        malformed += [chunk for size, chunks in odd.items() if size != most for chunk in chunks]
    return VectorShapes(malformed, dimensions)


def packed_size(scale: Any, vector: Any) -> int:
    """Return how many numbers a packed vector has; 0 when they do not make a vector of length 1."""
    import numpy as np

    if not (isinstance(vector, bytes) and vector and isinstance(scale, float) and math.isfinite(scale)):
        return 0
    numbers = np.frombuffer(vector, np.int8).astype(np.float32)
    length = scale * math.sqrt(float(numbers @ numbers))
    return len(vector) if abs(length - 1) < _LENGTH_SLACK else 0


def sample_vectors(store: Store, embedder_id: int, size: int) -> list[SampledDocument]:
    """Return some documents that have vectors of this embedder and do not wait for new ones, chosen at random."""
    rows = store.rows(_SAMPLE, embedder_id, size)
    chunks: dict[int, list[StoredChunk]] = {}
    ids = json.dumps([row[0] for row in rows])
    for document_id, start, end, *packed in store.each(_CHUNKS_OF_SAMPLE, embedder_id, ids):
        chunks.setdefault(document_id, []).append(StoredChunk(start, end, PackedVector(*packed)))
    return [SampledDocument(document_id, title, text, chunks[document_id]) for document_id, title, text in rows]
