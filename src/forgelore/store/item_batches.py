"""Batches of item ids in their order: how everything is walked through without being in memory at once."""

from forgelore.store.db import Store


def count_items(store: Store, project_id: int | None = None) -> int:
    """Return how many items there are, those that are gone from their forge included."""
    if project_id is None:
        return int(store.value("SELECT count(*) FROM items"))
    return int(store.value("SELECT count(*) FROM items WHERE project_id = ?", project_id))


def next_items(store: Store, project_id: int, after: int, limit: int) -> list[int]:
    """Return the next items of a project, behind the id `after`."""
    sql = """
        SELECT id
        FROM items
        WHERE project_id = ? AND id > ?
        ORDER BY id
        LIMIT ?
    """
    return [item_id for (item_id,) in store.rows(sql, project_id, after, limit)]


def next_replayed_items(store: Store, project_id: int, after: int, limit: int) -> list[int]:
    """Return the next items of a project that do not wait for a replay, behind the id `after`."""
    sql = """
        SELECT i.id
        FROM items i
        WHERE i.project_id = ? AND i.id > ?
          AND NOT EXISTS (
            SELECT 1
            FROM jobs j
            WHERE j.project_id = i.project_id AND j.kind = 'replay' AND j.key = CAST(i.id AS TEXT)
          )
        ORDER BY i.id
        LIMIT ?
    """
    return [item_id for (item_id,) in store.rows(sql, project_id, after, limit)]


def next_indexed_items(store: Store, after: int, limit: int) -> list[int]:
    """Return the next live items of all projects that have a document and do not wait for a new one."""
    sql = """
        SELECT DISTINCT i.id
        FROM items i
        JOIN documents d ON d.item_id = i.id AND d.representation = 'item'
        WHERE i.id > ? AND i.deleted_at IS NULL
          AND NOT EXISTS (
            SELECT 1
            FROM jobs j
            WHERE j.project_id = i.project_id AND j.kind = 'document' AND j.key = CAST(i.id AS TEXT)
          )
        ORDER BY i.id
        LIMIT ?
    """
    return [item_id for (item_id,) in store.rows(sql, after, limit)]
