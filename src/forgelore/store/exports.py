"""Items with their parts as an export reads them: a batch at a time, each part of a batch with one query."""

import json
from typing import Any

from forgelore.store.db import SqlRow, Store

_COLUMNS = (
    "id",
    "kind",
    "number",
    "title",
    "body",
    "state",
    "state_reason",
    "author",
    "created_at",
    "updated_at",
    "closed_at",
    "merged_at",
    "url",
    "source_branch",
    "target_branch",
    "tag",
    "category",
    "is_draft",
    "is_confidential",
    "assignees",
)


def next_exported(
    store: Store, project_id: int, after: tuple[int, str], limit: int, *, include_internal: bool
) -> list[dict[str, Any]]:
    """Return the next live items behind (number, kind), column by column."""
    hidden = "" if include_internal else "AND is_confidential = 0"
    sql = f"""
        SELECT {", ".join(_COLUMNS)}
        FROM items
        WHERE project_id = ? AND deleted_at IS NULL AND (number, kind) > (?, ?) {hidden}
        ORDER BY number, kind
        LIMIT ?
    """
    return [dict(zip(_COLUMNS, row, strict=True)) for row in store.rows(sql, project_id, *after, limit)]


def load_stated_links(store: Store, item_ids: list[int]) -> dict[int, list[SqlRow]]:
    """Return item -> (relation, number, kind, project, whether withdrawn) of links that its text does not tell."""
    sql = """
        SELECT item_id, relation, target_number, target_kind, target_project, is_withdrawn
        FROM item_links
        WHERE item_id IN (SELECT value FROM json_each(?)) AND note_id IS NULL AND source <> 'text'
        ORDER BY relation, target_project, target_number, target_kind, is_withdrawn
    """
    return _grouped(store.rows(sql, json.dumps(item_ids)))


def load_notes_of(store: Store, item_ids: list[int], *, include_internal: bool) -> dict[int, list[SqlRow]]:
    """Return item -> (author, body, time, path, line, whether the system wrote it, thread, whether internal, whether
    the answer) of its notes, in their order.
    """
    hidden = "" if include_internal else "AND n.is_internal = 0"
    sql = f"""
        SELECT n.item_id, n.author, n.body, n.created_at, n.path, n.line, n.is_system, t.key, n.is_internal, n.is_answer
        FROM notes n
        JOIN threads t ON t.id = n.thread_id
        WHERE n.item_id IN (SELECT value FROM json_each(?)) {hidden}
        ORDER BY n.created_at, length(n.key), n.key
    """
    return _grouped(store.rows(sql, json.dumps(item_ids)))


def _grouped(rows: list[SqlRow]) -> dict[int, list[SqlRow]]:
    grouped: dict[int, list[SqlRow]] = {}
    for item_id, *rest in rows:
        grouped.setdefault(item_id, []).append(tuple(rest))
    return grouped


def count_internal(store: Store, project_id: int) -> int:
    """Return how many confidential items a project has, and internal notes on its other ones, together."""
    items = """
        SELECT count(*)
        FROM items
        WHERE project_id = ? AND is_confidential AND deleted_at IS NULL
    """
    notes = """
        SELECT count(*)
        FROM notes n
        JOIN items i ON i.id = n.item_id
        WHERE n.project_id = ? AND n.is_internal AND NOT i.is_confidential AND i.deleted_at IS NULL
    """
    return int(store.value(items, project_id)) + int(store.value(notes, project_id))
