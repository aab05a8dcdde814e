"""Items as `list`, `count`, `show`, exports and walks over all of them read them: one record, `StoredItem`.

Live items are those that their forge has not deleted; one that is gone keeps its row. Labels and files hang on items as
rows of their own, and are loaded for many items with one query. Ids are those of rows.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from forgelore.errors import NotFound
from forgelore.store.database import Store
from forgelore.store.filters import COMMENTS, ITEMS, NOTES, THREADS, Filters, build_where, visible, visible_link
from forgelore.store.sqlite.connection import one_of, pack_list

if TYPE_CHECKING:
    from forgelore.model import FileStatus


SORTS = {
    "updated": "coalesce(i.updated_at, i.created_at, 0)",
    "created": "coalesce(i.created_at, 0)",
    "number": "i.number",
    "comments": f"(SELECT {COMMENTS} FROM items m WHERE m.id = i.id)",
}
# What is counted: rows, the group of each (by state; by whether people wrote it), and where filters look.
_COUNTED = {
    "notes": ("notes n WHERE TRUE", "CASE n.is_system WHEN 1 THEN 'system' ELSE 'people' END", NOTES),
    "threads": ("threads t WHERE TRUE", "'all'", THREADS),
    "items": ("items i WHERE i.deleted_at IS NULL", "coalesce(i.state, 'published')", ITEMS),
}


class StoredItem(NamedTuple):
    """An item with all its columns; `assignees` is a JSON list; the last three name its project. Whatever shows, lists
    or exports an item reads this.
    """

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


ITEM_COLUMNS = f"{', '.join(f'i.{name}' for name in StoredItem._fields[:-3])}, p.forge, p.host, p.path"
_WITHOUT_BODY = ITEM_COLUMNS.replace("i.body", "NULL")  # a list of a million items shows none


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
) -> list[tuple[int, StoredItem]]:
    """Return matching live items without their bodies in the order of one of `SORTS`, newest or most first, each with
    what it is sorted by.
    """
    where, values = build_where(store, filters, ITEMS)
    direction = "ASC" if is_ascending else "DESC"
    sql = f"""
        SELECT {SORTS[sort]} AS rank, {_WITHOUT_BODY}
        FROM items i
        JOIN projects p ON p.id = i.project_id
        WHERE i.deleted_at IS NULL AND {where}
        ORDER BY rank {direction}, i.project_id, i.number {direction}
        LIMIT ?
    """
    return [(rank, StoredItem._make(row)) for rank, *row in store.rows(sql, *values, limit)]


def count_by_group(store: Store, what: str, filters: Filters) -> dict[str, int]:
    """Return group -> matching rows: of notes and threads, or else of live items. Empty groups are missing."""
    table, group, columns = _COUNTED.get(what, _COUNTED["items"])
    where, values = build_where(store, filters, columns)
    sql = f"""
        SELECT {group}, count(*)
        FROM {table} AND {where}
        GROUP BY 1
        ORDER BY 1
    """
    return dict(store.rows(sql, *values))


def find_items(store: Store, named: dict[str, str | int]) -> list[StoredItem]:
    """Return the items whose columns are these: live ones first, issues before changes."""
    sql = f"""
        SELECT {ITEM_COLUMNS}
        FROM items i
        JOIN projects p ON p.id = i.project_id
        WHERE {" AND ".join(f"i.{name} = ?" for name in named)} AND {visible(store, "i")}
        ORDER BY i.deleted_at IS NOT NULL, CASE i.kind WHEN 'issue' THEN 0 WHEN 'change' THEN 1 ELSE 2 END
    """
    return [StoredItem._make(row) for row in store.rows(sql, *named.values())]


def load_links(store: Store, item_id: int) -> list[tuple[str, str, str | None, int, str, int]]:
    """Return what an item points to, each once, as (relation, project, kind, number, source, is_withdrawn); the project
    is empty for its own.
    """
    sql = f"""
        SELECT relation, target_project, target_kind, target_number, max(source), max(is_withdrawn)
        FROM item_links l
        WHERE item_id = ? AND {visible_link(store)}
        GROUP BY 1, 2, 3, 4
        ORDER BY relation, target_project, target_number
    """
    return list(store.rows(sql, item_id))


def load_backlinks(
    store: Store, project_id: int, kind: str, number: int
) -> list[tuple[str, str, int, str, str | None]]:
    """Return live items of the same project that point to an item, as (relation, kind, number, title, tag)."""
    sql = f"""
        SELECT l.relation, i.kind, i.number, i.title, i.tag
        FROM item_links l
        JOIN items i ON i.id = l.item_id
        WHERE l.project_id = ? AND l.target_project = '' AND l.target_number = ?
          AND (l.target_kind IS NULL OR l.target_kind = ?)
          AND i.deleted_at IS NULL AND NOT (i.kind = ? AND i.number = ?)
          AND {visible_link(store)}
        GROUP BY 1, 2, 3
        ORDER BY i.number
    """
    return list(store.rows(sql, project_id, number, kind, kind, number))


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


_Part = TypeVar("_Part")


def grouped(rows: Iterable[tuple[int, _Part]]) -> dict[int, list[_Part]]:
    """Return id -> its parts, in the order of the rows; ids without any are missing."""
    found: dict[int, list[_Part]] = {}
    for owner_id, part in rows:
        found.setdefault(owner_id, []).append(part)
    return found


def load_labels_of(store: Store, item_ids: Iterable[int]) -> dict[int, list[str]]:
    """Return item -> its labels, sorted; items without are missing."""
    sql = f"""
        SELECT item_id, name
        FROM item_labels
        WHERE item_id {one_of()}
        ORDER BY name
    """
    return grouped((item_id, name) for item_id, name in store.each(sql, pack_list(item_ids)))


def load_files_of(store: Store, item_ids: Iterable[int]) -> "dict[int, list[tuple[str, str, FileStatus]]]":
    """Return item -> (new path, old path, status) of the files it changes; items without are missing."""
    sql = f"""
        SELECT item_id, new_path, old_path, status
        FROM item_files
        WHERE item_id {one_of()}
        ORDER BY new_path, old_path
    """
    rows = store.each(sql, pack_list(item_ids))
    return grouped((item_id, (new_path, old_path, status)) for item_id, new_path, old_path, status in rows)


class ItemHead(NamedTuple):
    """Columns of an item that decide whether and how it is spoken of, whatever it says."""

    url: str | None
    content_hash: str
    author: str | None
    state: str | None
    is_confidential: int


def each_author_and_text(
    store: Store, project_id: int, kind: str, *, max_chars: int
) -> Iterator[tuple[str | None, str]]:
    """Yield who wrote each live item of a kind, and the beginning of what they wrote."""
    sql = """
        SELECT author, substr(body, 1, ?)
        FROM items
        WHERE project_id = ? AND kind = ? AND deleted_at IS NULL
    """
    for author, text in store.each(sql, max_chars, project_id, kind):
        yield author, text or ""


def list_newest(store: Store, project_id: int, kind: str, *, limit: int) -> list[int]:
    """Return the ids of live items of a kind, newest first; those without a time are left out."""
    sql = """
        SELECT id
        FROM items
        WHERE project_id = ? AND kind = ? AND deleted_at IS NULL AND created_at NOTNULL
        ORDER BY created_at DESC, id DESC
        LIMIT ?
    """
    return [item_id for (item_id,) in store.rows(sql, project_id, kind, limit)]


def list_oldest(store: Store, project_id: int, kind: str) -> list[int]:
    """Return the ids of all live items of a kind, oldest first; those without a time are left out."""
    sql = """
        SELECT id
        FROM items
        WHERE project_id = ? AND kind = ? AND deleted_at IS NULL AND created_at NOTNULL
        ORDER BY created_at, id
    """
    return [item_id for (item_id,) in store.rows(sql, project_id, kind)]


def find_live(store: Store, project_id: int, kind: str, number: int) -> int | None:
    """Return the id of an item that is there; None also for one that its forge deleted, and for one
    that the viewer may not see.
    """
    sql = f"""
        SELECT id
        FROM items
        WHERE project_id = ? AND kind = ? AND number = ? AND deleted_at IS NULL
          AND {visible(store, "items")}
    """
    found: int | None = store.value(sql, project_id, kind, number)
    return found


def is_live(store: Store, item_id: int) -> bool:
    return bool(store.value("SELECT deleted_at IS NULL FROM items WHERE id = ?", item_id))


def load_number(store: Store, item_id: int) -> int | None:
    """Return the number of an item on its forge; None when it is not here."""
    number: int | None = store.value("SELECT number FROM items WHERE id = ?", item_id)
    return number


def load_head(store: Store, item_id: int) -> ItemHead:
    sql = """
        SELECT url, content_hash, author, state, is_confidential
        FROM items
        WHERE id = ?
    """
    row = store.row(sql, item_id)
    if row is None:
        raise NotFound(f"item {item_id} is not in this database")
    return ItemHead._make(row)


def list_numbered(store: Store, project_id: int, numbers: Iterable[int]) -> list[int]:
    """Return the ids of the items with these numbers, of every kind, the deleted ones too."""
    sql = f"""
        SELECT id
        FROM items
        WHERE project_id = ? AND number {one_of()}
    """
    return [item_id for (item_id,) in store.rows(sql, project_id, pack_list(numbers))]


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


def count_live(store: Store, project_id: int | None = None, kind: str | None = None) -> int:
    """Return how many live items there are: of a project and of a kind where these are named."""
    named = {name: value for name, value in (("project_id", project_id), ("kind", kind)) if value is not None}
    conditions = "".join(f"AND {name} = ? " for name in named)
    found: int = store.value(
        f"""
        SELECT count(*)
        FROM items
        WHERE deleted_at IS NULL {conditions} AND {visible(store, "items")}
        """,
        *named.values(),
    )
    return found


def count_live_by_kind(store: Store, project_id: int) -> dict[str, int]:
    """Return kind -> live items of a project; kinds that it has none of are missing."""
    rows = store.rows(
        f"""
        SELECT kind, count(*)
        FROM items
        WHERE project_id = ? AND deleted_at IS NULL AND {visible(store, "items")}
        GROUP BY 1
        ORDER BY 1
        """,
        project_id,
    )
    return dict(rows)


def load_live_numbers(store: Store, project_id: int, kind: str) -> dict[int, bool]:
    """Return number -> whether only some readers may see it, of everything the forge should still have.

    That is confidential issues, and drafts of releases.
    """
    rows = store.rows(
        """
        SELECT number, is_confidential OR (kind = 'release' AND is_draft)
        FROM items
        WHERE project_id = ? AND kind = ? AND deleted_at IS NULL
        """,
        project_id,
        kind,
    )
    return {number: bool(confidential) for number, confidential in rows}
