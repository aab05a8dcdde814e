"""Items with their parts as an export reads them: a batch at a time, each part of a batch with one query."""

from typing import NamedTuple

from forgelore.model import Relation
from forgelore.store.database import Store
from forgelore.store.item_lists import ITEM_COLUMNS, StoredItem, grouped
from forgelore.store.sqlite.connection import one_of, pack_list


class ExportedNote(NamedTuple):
    """A note, and the key of its thread. `created_at` is milliseconds."""

    author: str | None
    body: str | None
    created_at: int | None
    path: str | None
    line: int | None
    is_system: int
    thread: str
    is_internal: int
    is_answer: int


def next_exported(
    store: Store, project_id: int, after: tuple[int, str], limit: int, *, include_internal: bool
) -> list[StoredItem]:
    """Return the next live items behind (number, kind)."""
    hidden = "" if include_internal else "AND NOT i.is_confidential"
    sql = f"""
        SELECT {ITEM_COLUMNS}
        FROM items i
        JOIN projects p ON p.id = i.project_id
        WHERE i.project_id = ? AND i.deleted_at IS NULL AND (i.number, i.kind) > (?, ?) {hidden}
        ORDER BY i.number, i.kind
        LIMIT ?
    """
    return [StoredItem._make(row) for row in store.rows(sql, project_id, *after, limit)]


def load_stated_links(store: Store, item_ids: list[int]) -> dict[int, list[tuple[Relation, int, str | None, str, int]]]:
    """Return item -> its links that are not read from its text, sorted, as (relation, number, kind, project,
    is_withdrawn); items without are missing.
    """
    sql = f"""
        SELECT item_id, relation, target_number, target_kind, target_project, is_withdrawn
        FROM item_links
        WHERE item_id {one_of()} AND note_id IS NULL AND source <> 'text'
        ORDER BY relation, target_project, target_number, target_kind, is_withdrawn
    """
    rows = store.each(sql, pack_list(item_ids))
    return grouped((item_id, tuple(rest)) for item_id, *rest in rows)


def load_notes_of(store: Store, item_ids: list[int], *, include_internal: bool) -> dict[int, list[ExportedNote]]:
    """Return item -> its notes, in their order; items without are missing."""
    hidden = "" if include_internal else "AND NOT n.is_internal"
    sql = f"""
        SELECT n.item_id, n.author, n.body, n.created_at, n.path, n.line, n.is_system, t.key, n.is_internal, n.is_answer
        FROM notes n
        JOIN threads t ON t.id = n.thread_id
        WHERE n.item_id {one_of()} {hidden}
        ORDER BY n.created_at, length(n.key), n.key
    """
    rows = store.each(sql, pack_list(item_ids))
    return grouped((item_id, ExportedNote(*rest)) for item_id, *rest in rows)


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
