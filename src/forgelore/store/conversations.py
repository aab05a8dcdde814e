"""Conversations of items: how large they are here, and how large the forge says they are."""

from typing import NamedTuple

from forgelore.model import ItemKey
from forgelore.store.db import Store


class StoredConversation(NamedTuple):
    """`sizes` is thread key -> notes."""

    updated_at: int | None
    comment_count: int | None
    sizes: dict[str, int]


def load_conversation(store: Store, project_id: int, key: ItemKey) -> StoredConversation | None:
    """Return what is stored of an item's conversation; None for an item that is unknown or gone."""
    sql = """
        SELECT id, updated_at, comment_count
        FROM items
        WHERE project_id = ? AND kind = ? AND number = ? AND deleted_at IS NULL
    """
    found = store.row(sql, project_id, key.kind, key.number)
    if found is None:
        return None
    sql = """
        SELECT t.key, count(*)
        FROM threads t
        JOIN notes n ON n.thread_id = t.id
        WHERE t.item_id = ?
        GROUP BY t.id
    """
    sizes = store.rows(sql, found[0])
    return StoredConversation(found[1], found[2], dict(sizes))


def has_review_notes(store: Store, project_id: int, key: ItemKey) -> bool:
    sql = """
        SELECT EXISTS (
          SELECT 1
          FROM items i
          JOIN notes n ON n.item_id = i.id
          WHERE i.project_id = ? AND i.kind = ? AND i.number = ? AND n.key LIKE 'r%'
        )
    """
    return bool(store.value(sql, project_id, key.kind, key.number))


def count_notes(store: Store, project_id: int, *, is_public: bool = False) -> int:
    """Return how many notes a project has. `is_public`: without internal ones and those of confidential items."""
    hidden = """
        AND NOT n.is_internal AND NOT EXISTS (SELECT 1 FROM items i WHERE i.id = n.item_id AND i.is_confidential)
    """
    sql = f"""
        SELECT count(*)
        FROM notes n
        WHERE n.project_id = ? {hidden if is_public else ""}
    """
    return int(store.value(sql, project_id))


def sum_comment_counts(store: Store, project_id: int) -> int:
    """Return how many plain comments the forge counts over all issues and changes."""
    sql = """
        SELECT coalesce(sum(comment_count), 0)
        FROM items
        WHERE project_id = ? AND kind IN ('issue', 'change')
    """
    return int(store.value(sql, project_id))


def find_miscounted(store: Store, project_id: int) -> list[str]:
    """Return job keys of items whose plain comments are more or fewer than the forge counts.

    An item whose conversation was read in full after its last update stays as it is: GitHub may count what it does not
    show.
    """
    sql = """
        SELECT i.kind || ':' || i.number
        FROM items i
        WHERE i.project_id = ? AND i.kind IN ('issue', 'change')
          AND i.comment_count IS NOT NULL AND i.deleted_at IS NULL
          AND (i.threads_fetched_at IS NULL OR i.threads_fetched_at < i.updated_at)
          AND i.comment_count <> (
            SELECT count(*)
            FROM threads t
            JOIN notes n ON n.thread_id = t.id
            WHERE t.item_id = i.id AND t.key = 'comments'
          )
    """
    rows = store.rows(sql, project_id)
    return [key for (key,) in rows]
