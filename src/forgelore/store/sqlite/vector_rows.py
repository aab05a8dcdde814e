"""Rows of vectors, without reading a vector: which documents have some, which wait for new ones, which go.

Second vectors: what another embedder makes of each item, kept beside the vectors that are searched.

One row per item, of the document of its own text, made from the beginning of it. Pairs that are compared anyway get a
second cosine from them (compare/reference). A row counts while its fingerprint and its text are today's.
"""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from forgelore.records import HashedText
from forgelore.store.database import Store
from forgelore.store.filters import and_visible_document
from forgelore.store.jobs import queue_jobs
from forgelore.text.values import PackedVector
from forgelore.words import JobKind


def count_vectors(store: Store, embedder_id: int, project_id: int | None = None) -> tuple[int, int]:
    """Return (documents, chunks) that have vectors of an embedder, of one project or of all; of all from an index."""
    sql = f"""
        SELECT count(DISTINCT c.document_id), count(*)
        FROM chunks c
        WHERE c.embedder_id = ?1 {"AND c.project_id = ?2" if project_id else ""}
          {and_visible_document(store, "c.document_id")}
    """
    row = store.row(sql, embedder_id, *([project_id] if project_id else []))
    return (row[0], row[1]) if row else (0, 0)


def queue_unembedded(store: Store, embedder_id: int) -> int:
    """Queue documents that have no vectors of this embedder and do not wait for them yet; returns how many."""
    sql = """
        INSERT INTO jobs (project_id, kind, key, version, queued_at)
        SELECT project_id, 'embed', id, abs(random() % 281474976710656), 0
        FROM documents d
        WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.document_id = d.id AND c.embedder_id = ?)
        ON CONFLICT DO NOTHING
    """
    return store.run(sql, embedder_id)


def mark_stale(store: Store, embedder_id: int, project_id: int) -> None:
    """Queue all documents of a project, and mark the vectors they have as those of another text: they are found until
    new ones replace them. In a transaction.
    """
    misshapen = """
        DELETE FROM chunks
        WHERE project_id = ? AND embedder_id = ?
          AND length(vector) <> (SELECT dimension FROM embedders WHERE id = embedder_id)
    """
    store.run(misshapen, project_id, embedder_id)
    store.run("UPDATE chunks SET text_hash = x'' WHERE project_id = ? AND embedder_id = ?", project_id, embedder_id)
    store.run("DELETE FROM jobs WHERE project_id = ? AND kind = 'embed'", project_id)
    everything = """
        INSERT INTO jobs (project_id, kind, key, version, queued_at)
        SELECT project_id, 'embed', id, abs(random() % 281474976710656), 0
        FROM documents
        WHERE project_id = ?
    """
    store.run(everything, project_id)


def has_stale(store: Store, embedder_id: int, project_id: int) -> bool:
    """Whether vectors that were marked wait for their first attempt to be made again: a run was cut off."""
    sql = """
        SELECT EXISTS (
            SELECT 1
            FROM chunks c
            JOIN jobs j ON j.project_id = c.project_id AND j.kind = 'embed'
                AND j.key = CAST(c.document_id AS TEXT) AND j.attempt_count = 0
            WHERE c.project_id = ? AND c.embedder_id = ? AND c.text_hash = x'')
    """
    return bool(store.value(sql, project_id, embedder_id))


def drop_document_vectors(store: Store, document_id: int) -> None:
    """Delete the vectors of a document, of every embedder."""
    store.run("DELETE FROM chunks WHERE document_id = ?", document_id)


def drop_other_vectors(store: Store, embedder_id: int) -> int:
    """Delete the vectors of all embedders but this; returns how many chunks went."""
    return store.run("DELETE FROM chunks WHERE embedder_id <> ?", embedder_id)


def drop_unowned_vectors(store: Store) -> int:
    """Delete vectors of embedders that are gone; returns how many chunks went."""
    return store.run("DELETE FROM chunks WHERE embedder_id NOT IN (SELECT id FROM embedders)")


def drop_wrong_vectors(store: Store, document_ids: Iterable[int], chunk_ids: Iterable[int]) -> None:
    """Delete all vectors of these documents and of those that have these chunks, and queue new ones."""
    sql = """
        SELECT project_id, id
        FROM documents
        WHERE id IN (SELECT value FROM json_each(?))
          OR id IN (SELECT document_id FROM chunks WHERE id IN (SELECT value FROM json_each(?)))
    """
    for project_id, document_id in store.rows(sql, json.dumps(list(document_ids)), json.dumps(list(chunk_ids))):
        drop_document_vectors(store, document_id)
        queue_jobs(store, project_id, JobKind.EMBED, [str(document_id)], 0)


def forget_unused_dimensions(store: Store) -> None:
    """Let an embedder that has no vectors left learn its dimension from its next one."""
    store.run("UPDATE embedders SET dimension = 0 WHERE id NOT IN (SELECT embedder_id FROM chunks)")


NOTHING = PackedVector(0.0, b"")  # of a text that has nothing to embed

_WAITING = """
    FROM documents d
    LEFT JOIN second_vectors v
        ON v.document_id = d.id AND v.fingerprint = ?1 AND v.text_hash = substr(d.content_hash, 1, 8)
    WHERE d.project_id = ?2 AND d.representation = 'item' AND v.document_id IS NULL
"""


class SecondVectors(NamedTuple):
    """How many items have a second vector, of which embedder."""

    fingerprint: str
    items: int


def load_waiting_texts(
    store: Store, fingerprint: str, project_id: int, *, after: int = 0, limit: int
) -> list[HashedText]:
    """Return the oldest texts that wait, behind a document: when the newest has a vector, all had one once."""
    sql = f"""
        SELECT d.id, d.content_hash, t.title, t.text
        FROM document_texts t
        JOIN (SELECT d.id, d.content_hash {_WAITING} AND d.id > ?3 ORDER BY d.id LIMIT ?4) d ON d.id = t.id
        ORDER BY d.id
    """
    return [HashedText(*row) for row in store.rows(sql, fingerprint, project_id, after, limit)]


def count_waiting_texts(store: Store, fingerprint: str, project_id: int) -> int:
    return int(store.value(f"SELECT count(*) {_WAITING}", fingerprint, project_id))


def save_second_vectors(
    store: Store, fingerprint: str, made: Sequence[tuple[HashedText, PackedVector]], project_id: int
) -> None:
    """Keep the vectors of these texts, unless a text changed meanwhile. In a transaction."""
    sql = """
        INSERT OR REPLACE INTO second_vectors (document_id, project_id, fingerprint, text_hash, scale, vector)
        SELECT id, project_id, ?3, substr(content_hash, 1, 8), ?4, ?5
        FROM documents
        WHERE id = ?1 AND content_hash = ?2 AND project_id = ?6
    """
    store.run_many(sql, [(one.document_id, one.content_hash, fingerprint, *packed, project_id) for one, packed in made])


def load_second_vectors(store: Store, fingerprint: str, item_ids: Iterable[int]) -> dict[int, PackedVector]:
    """Return item -> the second vector of its own text, `NOTHING` included; those that wait are missing."""
    sql = """
        SELECT d.item_id, v.scale, v.vector
        FROM documents d
        JOIN second_vectors v
            ON v.document_id = d.id AND v.fingerprint = ?1 AND v.text_hash = substr(d.content_hash, 1, 8)
        WHERE d.item_id IN (SELECT value FROM json_each(?2)) AND d.representation = 'item'
    """
    rows = store.rows(sql, fingerprint, json.dumps(list(item_ids)))
    return {item_id: PackedVector(scale, vector) for item_id, scale, vector in rows}


def has_second_vectors(store: Store, fingerprint: str, project_id: int, kind: str) -> bool:
    """Whether the newest item of a kind has one, and so all had one when it was made."""
    sql = """
        SELECT v.document_id
        FROM (
            SELECT id
            FROM documents
            WHERE project_id = ?2 AND kind = ?3 AND representation = 'item'
            ORDER BY id DESC
            LIMIT 1
        ) d
        JOIN second_vectors v ON v.document_id = d.id AND v.fingerprint = ?1
    """
    return store.value(sql, fingerprint, project_id, kind) is not None


def count_second_vectors(store: Store, project_id: int | None = None) -> list[SecondVectors]:
    """Return what is stored, the most first, of one project or of all."""
    sql = f"""
        SELECT fingerprint, count(*)
        FROM second_vectors v
        WHERE (?1 IS NULL OR v.project_id = ?1) {and_visible_document(store, "v.document_id")}
        GROUP BY 1
        ORDER BY 2 DESC
    """
    return [SecondVectors(*row) for row in store.rows(sql, project_id)]


def drop_second_vectors(store: Store, *, but: str = "", project_ids: Iterable[int] | None = None) -> int:
    """Forget second vectors of all embedders or of all `but` one, of all projects or of some; returns how many went. In
    a transaction.
    """
    chosen = None if project_ids is None else json.dumps(list(project_ids))
    sql = """
        DELETE FROM second_vectors
        WHERE fingerprint <> ?1 AND (?2 IS NULL OR project_id IN (SELECT value FROM json_each(?2)))
    """
    return store.run(sql, but, chosen)


def find_malformed_seconds(store: Store) -> list[int]:
    """Return documents whose second vector has the wrong length, or another size than most have."""
    sizes = {
        document_id: packed_size(scale, vector)
        for document_id, scale, vector in store.each("SELECT document_id, scale, vector FROM second_vectors")
        if (scale, vector) != NOTHING
    }
    counts = sorted(sizes.values())
    usual = counts[len(counts) // 2] if counts else 0
    return [document_id for document_id, size in sizes.items() if not size or size != usual]


def sample_second_vectors(store: Store, fingerprint: str, size: int) -> list[tuple[HashedText, PackedVector]]:
    """Return some texts with the second vector that is stored for them, chosen at random."""
    sql = """
        SELECT d.id, d.content_hash, t.title, t.text, v.scale, v.vector
        FROM second_vectors v
        JOIN documents d ON d.id = v.document_id AND v.text_hash = substr(d.content_hash, 1, 8)
        JOIN document_texts t ON t.id = d.id
        WHERE v.document_id IN (SELECT document_id FROM second_vectors WHERE fingerprint = ? ORDER BY random() LIMIT ?)
    """
    return [(HashedText(*row[:4]), PackedVector(*row[4:])) for row in store.rows(sql, fingerprint, size)]


def drop_wrong_seconds(store: Store, document_ids: Iterable[int]) -> None:
    """Delete the second vectors of these documents: they wait for new ones. In a transaction."""
    store.run(
        "DELETE FROM second_vectors WHERE document_id IN (SELECT value FROM json_each(?))",
        json.dumps(list(document_ids)),
    )


_LENGTH_SLACK = 1e-3


def packed_size(scale: Any, vector: Any) -> int:
    """Return how many numbers a packed vector has; 0 when they do not make a vector of length 1."""
    import numpy as np

    if not (isinstance(vector, bytes) and vector and isinstance(scale, float) and math.isfinite(scale)):
        return 0
    numbers = np.frombuffer(vector, np.int8).astype(np.float32)
    length = scale * math.sqrt(float(numbers @ numbers))
    return len(vector) if abs(length - 1) < _LENGTH_SLACK else 0
