"""Open items of a project with what decides who they wait for: who spoke last, whether anybody sorted them in."""

from typing import NamedTuple

from forgelore.store.database import Store
from forgelore.store.filters import said, visible

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
    """When somebody last said something on an open item."""

    item_id: int
    author: str | None
    at: int


def list_open_items(store: Store, project_id: int) -> list[OpenItem]:
    """Return the open items of a project, oldest first."""
    sql = f"""
        SELECT i.id, i.kind, i.number, i.title, i.author, i.created_at, i.url, i.is_draft,
          i.milestone IS NOT NULL OR i.assignees <> '[]'
            OR EXISTS (SELECT 1 FROM item_labels l WHERE l.item_id = i.id)
        FROM items i
        WHERE {_OPEN} AND {visible(store, "i")}
        ORDER BY coalesce(i.created_at, 0), i.id
    """
    return [OpenItem._make(row) for row in store.rows(sql, project_id)]


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
