"""Rows that `list`, `count` and `show` load. How they are shown is `flows/browse`."""

from typing import NamedTuple

from forgelore.store.db import Store
from forgelore.store.filter_columns import COMMENTS, ITEMS, NOTES, THREADS
from forgelore.store.filters import Filters, build_where

SORTS = {
    "updated": "coalesce(i.updated_at, i.created_at, 0)",
    "created": "coalesce(i.created_at, 0)",
    "number": "i.number",
    "comments": f"(SELECT {COMMENTS} FROM items m WHERE m.id = i.id)",
}
# What is counted: rows, the group of each (by state; by whether people wrote it), and where filters look.
_COUNTED = {
    "notes": ("notes n WHERE 1", "CASE n.is_system WHEN 1 THEN 'system' ELSE 'people' END", NOTES),
    "threads": ("threads t WHERE 1", "'all'", THREADS),
    "items": ("items i WHERE i.deleted_at IS NULL", "coalesce(i.state, 'published')", ITEMS),
}


class ListedRow(NamedTuple):
    """An item without its body. `forge`, `host` and `path` name its project; `rank` is what it is sorted by."""

    id: int
    kind: str
    number: int
    title: str
    state: str | None
    state_reason: str | None
    author: str | None
    created_at: int | None
    updated_at: int | None
    url: str | None
    source_branch: str | None
    target_branch: str | None
    tag: str | None
    forge: str
    host: str
    path: str
    rank: int


class ShownRow(NamedTuple):
    """An item with all its columns; `assignees` is a JSON list; the last three name its project."""

    id: int
    project_id: int
    kind: str
    number: int
    title: str
    body: str | None
    state: str | None
    state_reason: str | None
    author: str | None
    author_role: str | None
    assignees: str
    created_at: int | None
    updated_at: int | None
    closed_at: int | None
    merged_at: int | None
    url: str | None
    tag: str | None
    category: str | None
    milestone: str | None
    source_branch: str | None
    target_branch: str | None
    is_draft: int
    is_confidential: int
    deleted_at: int | None
    forge: str
    host: str
    path: str


class StoredLink(NamedTuple):
    """What an item points to; `project` is empty for its own."""

    relation: str
    project: str
    kind: str | None
    number: int
    source: str
    is_withdrawn: int


class BacklinkRow(NamedTuple):
    """An item that points here."""

    relation: str
    kind: str
    number: int
    title: str
    tag: str | None


class NoteRow(NamedTuple):
    """A note with its thread."""

    thread_id: int
    thread_key: str
    is_resolvable: int
    is_resolved: int
    thread_path: str | None
    thread_line: int | None
    author: str | None
    body: str | None
    created_at: int | None
    path: str | None
    line: int | None
    is_system: int
    is_internal: int
    is_answer: int
    type: str | None
    url: str | None
    key: str
    resolved_by: str | None
    resolved_at: int | None
    position_type: str | None
    is_note_resolved: int


def load_listed(
    store: Store, filters: Filters, *, sort: str, limit: int, is_ascending: bool = False
) -> list[ListedRow]:
    """Return matching live items in the order of one of `SORTS`, newest or most first."""
    where, values = build_where(filters, ITEMS)
    direction = "ASC" if is_ascending else "DESC"
    sql = f"""
        SELECT i.id, i.kind, i.number, i.title, i.state, i.state_reason, i.author, i.created_at, i.updated_at,
          i.url, i.source_branch, i.target_branch, i.tag, p.forge, p.host, p.path, {SORTS[sort]} AS rank
        FROM items i
        JOIN projects p ON p.id = i.project_id
        WHERE i.deleted_at IS NULL AND {where}
        ORDER BY rank {direction}, i.project_id, i.number {direction}
        LIMIT ?
    """
    return [ListedRow._make(row) for row in store.rows(sql, *values, limit)]


def count_by_group(store: Store, what: str, filters: Filters) -> dict[str, int]:
    """Return group -> matching rows: of notes and threads, or else of live items. Empty groups are missing."""
    table, group, columns = _COUNTED.get(what, _COUNTED["items"])
    where, values = build_where(filters, columns)
    sql = f"""
        SELECT {group}, count(*)
        FROM {table} AND {where}
        GROUP BY 1
        ORDER BY 1
    """
    return dict(store.rows(sql, *values))


def find_shown(store: Store, named: dict[str, str | int]) -> list[ShownRow]:
    """Return the items whose columns are these: live ones first, issues before changes."""
    sql = f"""
        SELECT {", ".join(f"i.{name}" for name in ShownRow._fields[:-3])}, p.forge, p.host, p.path
        FROM items i
        JOIN projects p ON p.id = i.project_id
        WHERE {" AND ".join(f"i.{name} = ?" for name in named)}
        ORDER BY i.deleted_at IS NOT NULL, CASE i.kind WHEN 'issue' THEN 0 WHEN 'change' THEN 1 ELSE 2 END
    """
    return [ShownRow._make(row) for row in store.rows(sql, *named.values())]


# A link of an item is said by its text, its forge or one of its notes.
_SAID_INTERNALLY = "EXISTS (SELECT 1 FROM notes n WHERE n.id = l.note_id AND n.is_internal)"


def load_links(store: Store, item_id: int, *, is_public: bool = False) -> list[StoredLink]:
    """Return what an item points to, each once. `is_public`: without what only internal notes say."""
    sql = f"""
        SELECT relation, target_project, target_kind, target_number, max(source), max(is_withdrawn)
        FROM item_links l
        WHERE item_id = ? {f"AND NOT {_SAID_INTERNALLY}" if is_public else ""}
        GROUP BY 1, 2, 3, 4
        ORDER BY relation, target_project, target_number
    """
    return [StoredLink._make(row) for row in store.rows(sql, item_id)]


def load_backlinks(
    store: Store, project_id: int, kind: str, number: int, *, is_public: bool = False
) -> list[BacklinkRow]:
    """Return live items of the same project that point to an item. `is_public`: without confidential ones."""
    hidden = f"AND NOT i.is_confidential AND NOT {_SAID_INTERNALLY}" if is_public else ""
    sql = f"""
        SELECT l.relation, i.kind, i.number, i.title, i.tag
        FROM item_links l
        JOIN items i ON i.id = l.item_id
        WHERE l.project_id = ? AND l.target_project = '' AND l.target_number = ?
          AND (l.target_kind IS NULL OR l.target_kind = ?)
          AND i.deleted_at IS NULL AND NOT (i.kind = ? AND i.number = ?)
          {hidden}
        GROUP BY 1, 2, 3
        ORDER BY i.number
    """
    return [BacklinkRow._make(row) for row in store.rows(sql, project_id, number, kind, kind, number)]


def load_notes_of(store: Store, item_id: int) -> list[NoteRow]:
    """Return the notes of an item in their order."""
    sql = """
        SELECT t.id, t.key, t.is_resolvable, t.is_resolved, t.path, t.line, n.author, n.body, n.created_at, n.path,
          n.line, n.is_system, n.is_internal, n.is_answer, n.type, n.url, n.key, t.resolved_by, t.resolved_at,
          n.position_type, n.is_resolved
        FROM threads t
        JOIN notes n ON n.thread_id = t.id
        WHERE t.item_id = ?
        ORDER BY n.created_at, length(n.key), n.key
    """
    return [NoteRow._make(row) for row in store.rows(sql, item_id)]
