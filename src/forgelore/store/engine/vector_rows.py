"""Rows of vectors, without reading a vector: which documents have some, which wait for new ones, which go."""

import json
from collections.abc import Iterable

from forgelore.store.db import Store
from forgelore.store.jobs import queue_jobs
from forgelore.words import JobKind


def count_vectors(
    store: Store, embedder_id: int, project_id: int | None = None, *, is_public: bool = False
) -> tuple[int, int]:
    """Return (documents, chunks) that have vectors of an embedder, of one project or of all; of all from an index.
    `is_public`: without documents of confidential items.
    """
    hidden = "AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.id = c.document_id AND d.is_confidential)"
    sql = f"""
        SELECT count(DISTINCT c.document_id), count(*)
        FROM chunks c
        WHERE c.embedder_id = ?1 {"AND c.project_id = ?2" if project_id else ""} {hidden if is_public else ""}
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


def drop_unowned_vectors(store: Store) -> None:
    """Delete vectors of embedders that are gone."""
    store.run("DELETE FROM chunks WHERE embedder_id NOT IN (SELECT id FROM embedders)")


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
