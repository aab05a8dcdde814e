"""Embedders whose vectors are stored: registering one, finding it by its fingerprint, forgetting the others."""

from typing import NamedTuple

from forgelore.store.db import Store
from forgelore.store.engine.vector_rows import drop_other_vectors, queue_unembedded


class StoredEmbedder(NamedTuple):
    id: int
    name: str
    model: str
    fingerprint: str
    dimension: int  # 0 until the first vector came


def find_embedder(store: Store, fingerprint: str) -> StoredEmbedder | None:
    row = store.row("SELECT id, name, model, fingerprint, dimension FROM embedders WHERE fingerprint = ?", fingerprint)
    return StoredEmbedder(*row) if row else None


def list_embedders(store: Store) -> list[StoredEmbedder]:
    rows = store.rows("SELECT id, name, model, fingerprint, dimension FROM embedders ORDER BY id")
    return [StoredEmbedder(*row) for row in rows]


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


def save_dimension(store: Store, embedder_id: int, dimension: int) -> None:
    store.run("UPDATE embedders SET dimension = ? WHERE id = ?", dimension, embedder_id)


def has_other_embedders(store: Store, embedder_id: int) -> bool:
    return bool(store.value("SELECT EXISTS (SELECT 1 FROM embedders WHERE id <> ?)", embedder_id))


def drop_other_embedders(store: Store, embedder_id: int) -> int:
    """Forget vectors of embedders that are no longer used; returns how many chunks went. In a transaction."""
    dropped = drop_other_vectors(store, embedder_id)
    store.run("DELETE FROM embedders WHERE id <> ?", embedder_id)
    return dropped
