"""Embedders whose vectors are stored, and which documents wait for vectors of one."""

from typing import NamedTuple

from forgelore.store.db import Store


class StoredEmbedder(NamedTuple):
    id: int
    name: str
    model: str
    fingerprint: str
    dimension: int  # 0 until the first vector came


def find_embedder(store: Store, fingerprint: str) -> StoredEmbedder | None:
    row = store.row("SELECT id, name, model, fingerprint, dimension FROM embedders WHERE fingerprint = ?", fingerprint)
    return StoredEmbedder(*row) if row else None


def add_embedder(store: Store, name: str, model: str, fingerprint: str, now_ms: int) -> StoredEmbedder:
    """Register an embedder and queue every document that has no vector of it. Called inside a transaction."""
    sql = """
        INSERT INTO embedders (name, model, fingerprint, dimension, added_at)
        VALUES (?, ?, ?, 0, ?)
        RETURNING id
    """
    new_id: int = store.value(sql, name, model, fingerprint, now_ms)
    queue_unembedded(store, new_id)
    return StoredEmbedder(new_id, name, model, fingerprint, 0)


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


def save_dimension(store: Store, embedder_id: int, dimension: int) -> None:
    store.run("UPDATE embedders SET dimension = ? WHERE id = ?", dimension, embedder_id)


def has_other_embedders(store: Store, embedder_id: int) -> bool:
    return bool(store.value("SELECT EXISTS (SELECT 1 FROM embedders WHERE id <> ?)", embedder_id))


def drop_other_embedders(store: Store, embedder_id: int) -> int:
    """Forget vectors of embedders that are no longer used; returns how many chunks went. In a transaction."""
    dropped = store.run("DELETE FROM chunks WHERE embedder_id <> ?", embedder_id)
    store.run("DELETE FROM embedders WHERE id <> ?", embedder_id)
    return dropped
