"""Conversations of items: how large they are here, and how large the forge says they are.

Discussions that are threads: lists and counts of what people said below items, where their forge calls it so.

A thread in which only the forge speaks ("changed the description") is no discussion; nor is one that only members may
read, or one below an item that is gone.
"""

from typing import NamedTuple

from forgelore.store.database import Store
from forgelore.store.filters import CALLED_DISCUSSIONS, SAID, THREADS, Filters, build_where, visible_note
from forgelore.words import ItemKey


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


def count_notes(store: Store, project_id: int) -> int:
    """Return how many notes a project has."""
    sql = f"""
        SELECT count(*)
        FROM notes n
        WHERE n.project_id = ? AND {visible_note(store)}
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


_SORTS = {
    "updated": f"coalesce({THREADS.updated_at}, {THREADS.created_at}, 0)",
    "created": f"coalesce({THREADS.created_at}, 0)",
    "number": "i.number",
    "comments": f"(SELECT count(*) {SAID})",
}
_DISCUSSIONS = f"""threads t
JOIN items i ON i.id = t.item_id AND i.deleted_at IS NULL
WHERE t.project_id IN ({CALLED_DISCUSSIONS}) AND EXISTS (SELECT 1 {SAID})"""
_FIRST = f"SELECT s.id {SAID} ORDER BY s.created_at, length(s.key), s.key LIMIT 1"


class ThreadRow(NamedTuple):
    """A thread by its first note, with the item it is below. The last is what it is sorted by."""

    item_id: int
    kind: str  # of the item, as `number` and `item_url` are
    number: int
    item_url: str | None
    is_resolvable: int
    is_resolved: int
    author: str | None
    body: str
    key: str
    url: str | None
    created_at: int | None
    updated_at: int | None
    forge: str
    host: str
    path: str
    rank: int


def load_discussion_threads(
    store: Store, filters: Filters, *, sort: str, limit: int, is_ascending: bool = False
) -> list[ThreadRow]:
    """Return matching threads in the order of a list of items; types do not count."""
    where, values = build_where(store, filters._replace(types=()), THREADS)
    direction = "ASC" if is_ascending else "DESC"
    # Chosen first and looked at after: of 100,000 threads the other way round took a second instead of half of one.
    sql = f"""
        WITH chosen AS (
          SELECT t.id AS thread_id, {_SORTS[sort]} AS rank
          FROM {_DISCUSSIONS} AND {where}
          ORDER BY rank {direction}, t.project_id, i.number {direction}, t.id
          LIMIT ?
        )
        SELECT i.id, i.kind, i.number, i.url, t.is_resolvable, t.is_resolved, f.author, f.body, f.key, f.url,
          {THREADS.created_at}, {THREADS.updated_at}, p.forge, p.host, p.path, c.rank
        FROM chosen c
        JOIN threads t ON t.id = c.thread_id
        JOIN items i ON i.id = t.item_id
        JOIN projects p ON p.id = t.project_id
        JOIN notes f ON f.id = ({_FIRST})
        ORDER BY c.rank {direction}, t.project_id, i.number {direction}, t.id
    """
    return [ThreadRow._make(row) for row in store.rows(sql, *values, limit)]


def count_discussion_threads(store: Store, filters: Filters) -> int:
    """Return how many threads match; types do not count."""
    where, values = build_where(store, filters._replace(types=()), THREADS)
    sql = f"""
        SELECT count(*)
        FROM {_DISCUSSIONS} AND {where}
    """
    return int(store.value(sql, *values))
