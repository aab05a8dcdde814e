"""Endings of items: the merged change that closed one, the item it was closed in favour of. Public items alone."""

from typing import NamedTuple

from forgelore.store.db import Store

_COLUMNS = "id, kind, number, title, url, state, state_reason, closed_at, merged_at"


class Ended(NamedTuple):
    item_id: int
    kind: str
    number: int
    title: str
    url: str | None
    state: str | None
    state_reason: str | None
    closed_at: int | None
    merged_at: int | None


def load_ended(store: Store, item_id: int) -> Ended | None:
    sql = f"""
        SELECT {_COLUMNS}
        FROM items
        WHERE id = ? AND deleted_at IS NULL AND NOT is_confidential
    """
    row = store.row(sql, item_id)
    return Ended._make(row) if row else None


def load_fix(store: Store, item_id: int) -> Ended | None:
    """Return the merged change that closed an issue, the last one of several; None when none is known.

    A change says so in its own text or the forge says so of it (`closes`), or the forge says it of the issue (GitHub's
    closedByPullRequestsReferences, kept as a `relates` of the details). What a comment says closes nothing.
    """
    sql = f"""
        SELECT {_COLUMNS}
        FROM items c
        WHERE c.kind = 'change' AND c.state = 'merged' AND c.deleted_at IS NULL AND NOT c.is_confidential
          AND c.id IN (
            SELECT l.item_id
            FROM items t
            JOIN item_links l ON l.project_id = t.project_id AND l.target_number = t.number
            WHERE t.id = ?1 AND t.kind = 'issue' AND l.relation = 'closes' AND l.note_id IS NULL
              AND NOT l.is_withdrawn AND l.target_project = '' AND coalesce(l.target_kind, 'issue') = 'issue'
            UNION
            SELECT o.id
            FROM item_links l
            JOIN items o ON o.project_id = l.project_id AND o.number = l.target_number AND o.kind = 'change'
            WHERE l.item_id = ?1 AND l.relation = 'relates' AND l.source = 'detail' AND l.target_kind = 'change'
              AND NOT l.is_withdrawn AND l.target_project = ''
          )
        ORDER BY coalesce(c.merged_at, c.closed_at, 0) DESC, c.number DESC
        LIMIT 1
    """
    row = store.row(sql, item_id)
    return Ended._make(row) if row else None


def load_original(store: Store, item_id: int, *, is_marked: bool) -> Ended | None:
    """Return the item of the same kind that an item was closed in favour of; None when it is not known.

    With `is_marked` the forge says that it is a duplicate, and what people wrote ("duplicate of #5") names the
    original; without, only the forge's own marks do.
    """
    sql = f"""
        SELECT {", ".join(f"t.{name}" for name in _COLUMNS.split(", "))}
        FROM item_links l
        JOIN items i ON i.id = l.item_id
        JOIN items t ON t.project_id = i.project_id AND t.number = l.target_number AND t.kind = i.kind AND t.id <> i.id
        WHERE i.id = ? AND l.relation = 'duplicate_of' AND NOT l.is_withdrawn AND l.target_project = ''
          AND coalesce(l.target_kind, i.kind) = i.kind AND (l.source <> 'text' OR ?)
          AND t.deleted_at IS NULL AND NOT t.is_confidential
        ORDER BY l.source = 'text', l.id DESC
        LIMIT 1
    """
    row = store.row(sql, item_id, is_marked)
    return Ended._make(row) if row else None
