"""Issues and changes as work: who open ones wait for, and what became of those of a month."""

from typing import NamedTuple

from forgelore.store.database import Store
from forgelore.store.filters import ITEMS, NO_FILTERS, Filters, build_where, said, visible

_OPEN = (
    "i.project_id = ?1 AND i.state = 'open' AND i.deleted_at IS NULL AND i.kind IN ('issue', 'change', 'discussion')"
)


class OpenItem(NamedTuple):
    """An open item. `is_sorted`: somebody gave it a label, a milestone or an assignee."""

    id: int
    kind: str
    number: int
    title: str
    author: str | None
    created_at: int | None
    url: str | None
    is_draft: int
    is_sorted: int


class LastWord(NamedTuple):
    """When somebody said something on an item, last or first."""

    item_id: int
    author: str | None
    at: int


def list_open_items(store: Store, project_id: int, filters: Filters = NO_FILTERS) -> list[OpenItem]:
    """Return the open items of a project that filters allow, oldest first."""
    where, values = build_where(store, filters, ITEMS)
    sql = f"""
        SELECT i.id, i.kind, i.number, i.title, i.author, i.created_at, i.url, i.is_draft,
          i.milestone IS NOT NULL OR i.assignees <> '[]'
            OR EXISTS (SELECT 1 FROM item_labels l WHERE l.item_id = i.id)
        FROM items i
        WHERE {_OPEN} AND {visible(store, "i")} AND {where}
        ORDER BY coalesce(i.created_at, 0), i.id
    """
    return [OpenItem._make(row) for row in store.rows(sql, project_id, *values)]


def list_last_words(store: Store, project_id: int) -> list[LastWord]:
    """Return, of each open item and each person who said something there, when they last did."""
    sql = f"""
        SELECT n.item_id, n.author, max(coalesce(n.created_at, 0))
        FROM items i
        JOIN notes n ON n.item_id = i.id
        WHERE {_OPEN} AND {visible(store, "i")} AND NOT n.is_system AND {said(store)}
        GROUP BY n.item_id, n.author
        ORDER BY n.item_id, n.author
    """
    return [LastWord._make(row) for row in store.rows(sql, project_id)]


def list_newcomers(store: Store, project_id: int) -> frozenset[str]:
    """Return the authors who have filed a single item in the project."""
    sql = f"""
        SELECT i.author
        FROM items i
        WHERE i.project_id = ?1 AND i.deleted_at IS NULL AND i.author IS NOT NULL AND {visible(store, "i")}
        GROUP BY i.author
        HAVING count(*) = 1
        ORDER BY i.author
    """
    return frozenset(author for (author,) in store.rows(sql, project_id))


class DatedItem(NamedTuple):
    """An issue or a change with what a month's report asks of it."""

    id: int
    kind: str
    number: int
    author: str | None
    created_at: int
    closed_at: int | None
    is_duplicate: int


def list_dated_items(store: Store, project_id: int, start: int, end: int) -> list[DatedItem]:
    """Return issues and changes that were filed or closed between two times, or still open at the second."""
    sql = f"""
        SELECT i.id, i.kind, i.number, i.author, i.created_at, i.closed_at, coalesce(i.state_reason, '') = 'duplicate'
        FROM items i
        WHERE i.project_id = ?1 AND i.deleted_at IS NULL AND i.kind IN ('issue', 'change') AND i.created_at < ?3
          AND (i.created_at >= ?2 OR i.closed_at >= ?2 OR (i.closed_at IS NULL AND i.state = 'open'))
          AND {visible(store, "i")}
        ORDER BY i.created_at, i.id
    """
    return [DatedItem._make(row) for row in store.rows(sql, project_id, start, end)]


def list_first_words(store: Store, project_id: int, start: int, end: int) -> list[LastWord]:
    """Return, of each item that was filed between two times and each person who said something there, when first."""
    sql = f"""
        SELECT n.item_id, n.author, min(n.created_at)
        FROM items i
        JOIN notes n ON n.item_id = i.id
        WHERE i.project_id = ?1 AND i.deleted_at IS NULL AND i.created_at >= ?2 AND i.created_at < ?3
          AND {visible(store, "i")} AND NOT n.is_system AND n.created_at IS NOT NULL AND {said(store)}
        GROUP BY n.item_id, n.author
        ORDER BY n.item_id, n.author
    """
    return [LastWord._make(row) for row in store.rows(sql, project_id, start, end)]


def list_first_filed(store: Store, project_id: int, start: int, end: int) -> list[str]:
    """Return who filed their first issue or change of the project between two times."""
    sql = f"""
        SELECT i.author
        FROM items i
        WHERE i.project_id = ?1 AND i.author IS NOT NULL AND i.kind IN ('issue', 'change') AND {visible(store, "i")}
        GROUP BY i.author
        HAVING min(i.created_at) >= ?2 AND min(i.created_at) < ?3
        ORDER BY min(i.created_at), i.author
    """
    return [author for (author,) in store.rows(sql, project_id, start, end)]


def find_newest(store: Store, project_id: int) -> int | None:
    """Return when the newest issue or change was filed."""
    sql = f"""
        SELECT max(i.created_at)
        FROM items i
        WHERE i.project_id = ? AND i.deleted_at IS NULL AND i.kind IN ('issue', 'change') AND {visible(store, "i")}
    """
    newest: int | None = store.value(sql, project_id)
    return newest
