"""Items as `list`, `count`, `show`, exports and the index read them: one record, `StoredItem`, with its parts.

Live items are those that their forge has not deleted; one that is gone keeps its row. Labels, files, links and threads
are rows of their own, and are loaded for many items with one query. Ids are those of rows.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from forgelore.errors import NotFound
from forgelore.store.database import SqlRow, Store
from forgelore.store.filters import (
    CALLED_DISCUSSIONS,
    COMMENTS,
    ITEMS,
    NOTES,
    SAID,
    THREADS,
    Filters,
    build_where,
    said,
    visible,
    visible_link,
)
from forgelore.store.sqlite.connection import one_of, pack_list
from forgelore.text.items import (
    Backlink,
    StoredFile,
    StoredItem,
    StoredLink,
    StoredNote,
    StoredThread,
    is_report,
)
from forgelore.text.refs import note_page, shown_ref
from forgelore.words import ProjectName

SORTS = {
    "updated": "coalesce(i.updated_at, i.created_at, 0)",
    "created": "coalesce(i.created_at, 0)",
    "number": "i.number",
    "comments": f"(SELECT {COMMENTS} FROM items m WHERE m.id = i.id)",
}
# What is counted: rows, the group of each (by state; by whether people wrote it), and where filters look.
_COUNTED = {
    "notes": ("notes n WHERE TRUE", "CASE WHEN n.is_system THEN 'system' ELSE 'people' END", NOTES),
    "threads": ("threads t WHERE TRUE", "'all'", THREADS),
    "items": ("items i WHERE i.deleted_at IS NULL", "coalesce(i.state, 'published')", ITEMS),
}


_COLUMNS = StoredItem._fields[: StoredItem._fields.index("name")]
ITEM_COLUMNS = ", ".join(
    f"{'p' if name in ProjectName._fields else 'i'}.{name.replace('_ms', '_at')}" for name in _COLUMNS
)
_NO_PARTS = tuple(StoredItem._field_defaults[name] for name in StoredItem._fields[len(_COLUMNS) :])
ITEM_COLUMNS_WITHOUT_BODY = ITEM_COLUMNS.replace("i.body", "NULL")  # a list of a million items shows none


def as_item(row: SqlRow) -> StoredItem:
    """Return the item whose `ITEM_COLUMNS` these are."""
    assignees, is_draft, is_confidential = row[-3:]
    names = () if assignees == "[]" else tuple(json.loads(assignees))
    return StoredItem._make((*row[:-3], names, is_draft == 1, is_confidential == 1, *_NO_PARTS))


def load_items(store: Store, item_ids: Iterable[int], *, with_body: bool = True) -> dict[int, StoredItem]:
    """Return the items, also those that are gone from their forge, whoever asks; without their parts."""
    sql = f"""
        SELECT {ITEM_COLUMNS if with_body else ITEM_COLUMNS_WITHOUT_BODY}
        FROM items i
        JOIN projects p ON p.id = i.project_id
        WHERE i.id {one_of()}
    """
    return {row[0]: as_item(row) for row in store.each(sql, pack_list(item_ids))}


def load_listed(
    store: Store, filters: Filters, *, sort: str, limit: int, is_ascending: bool = False
) -> list[tuple[int, StoredItem]]:
    """Return matching live items without their bodies in the order of one of `SORTS`, newest or most first, each with
    what it is sorted by.
    """
    where, values = build_where(store, filters, ITEMS)
    direction = "ASC" if is_ascending else "DESC"
    sql = f"""
        SELECT {SORTS[sort]} AS rank, {ITEM_COLUMNS_WITHOUT_BODY}
        FROM items i
        JOIN projects p ON p.id = i.project_id
        WHERE i.deleted_at IS NULL AND {where}
        ORDER BY rank {direction}, i.project_id, i.number {direction}
        LIMIT ?
    """
    return [(row[0], as_item(row[1:])) for row in store.rows(sql, *values, limit)]


# Discussions that are threads, where their forge calls them so. One in which only the forge speaks ("changed the
# description") is no discussion; nor is one that only members may read, or one below an item that is gone.
_THREAD_SORTS = {
    "updated": f"coalesce({THREADS.updated_at}, {THREADS.created_at}, 0)",
    "created": f"coalesce({THREADS.created_at}, 0)",
    "number": "i.number",
    "comments": f"(SELECT count(*) {SAID})",
}
_DISCUSSIONS = f"""threads t
JOIN items i ON i.id = t.item_id AND i.deleted_at IS NULL
WHERE t.project_id IN ({CALLED_DISCUSSIONS}) AND EXISTS (SELECT 1 {SAID})"""
_FIRST = f"SELECT s.id {SAID} ORDER BY s.created_at, length(s.key), s.key LIMIT 1"


def load_discussion_threads(
    store: Store, filters: Filters, *, sort: str, limit: int, is_ascending: bool = False
) -> list[tuple[int, StoredItem]]:
    """Return matching threads in the order of a list of items, each with what it is sorted by, as an item of kind
    "thread": the item it is below, with the author, the times, the page and the text of the thread's first note; its
    own state. Types do not count.
    """
    where, values = build_where(store, filters._replace(types=()), THREADS)
    direction = "ASC" if is_ascending else "DESC"
    # Chosen first and looked at after: of 100,000 threads the other way round took a second instead of half of one.
    sql = f"""
        WITH chosen AS (
          SELECT t.id AS thread_id, {_THREAD_SORTS[sort]} AS rank
          FROM {_DISCUSSIONS} AND {where}
          ORDER BY rank {direction}, t.project_id, i.number {direction}, t.id
          LIMIT ?
        )
        SELECT c.rank, CASE WHEN t.is_resolvable THEN t.is_resolved END, f.author, f.body, f.key, f.url,
          {THREADS.created_at}, {THREADS.updated_at}, i.id, i.project_id, p.forge, p.host, p.path, i.kind, i.number,
          i.url
        FROM chosen c
        JOIN threads t ON t.id = c.thread_id
        JOIN items i ON i.id = t.item_id
        JOIN projects p ON p.id = t.project_id
        JOIN notes f ON f.id = ({_FIRST})
        ORDER BY c.rank {direction}, t.project_id, i.number {direction}, t.id
    """
    return [(row[0], _as_thread(*row[1:])) for row in store.rows(sql, *values, limit)]


def _as_thread(
    is_resolved: int | None, author: str | None, body: str, key: str, url: str | None, *row: Any
) -> StoredItem:
    created_ms, updated_ms, item_id, project_id, forge, host, path, kind, number, item_url = row
    return StoredItem(
        item_id, project_id, forge, host, path, "thread", number, "", body,
        None if is_resolved is None else "resolved" if is_resolved else "unresolved", None, author,
        created_ms=created_ms, updated_ms=updated_ms, url=note_page(forge, item_url, key, url),
        name=shown_ref(forge, kind, number),
    )  # fmt: skip


def count_discussion_threads(store: Store, filters: Filters) -> int:
    """Return how many threads match; types do not count."""
    where, values = build_where(store, filters._replace(types=()), THREADS)
    sql = f"""
        SELECT count(*)
        FROM {_DISCUSSIONS} AND {where}
    """
    return int(store.value(sql, *values))


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
    return [as_item(row) for row in store.rows(sql, *named.values())]


def load_links(store: Store, item: StoredItem) -> tuple[StoredLink, ...]:
    """Return what an item points to, each once."""
    sql = f"""
        SELECT relation, target_project, target_kind, target_number, max(source), max(is_withdrawn)
        FROM item_links l
        WHERE item_id = ? AND {visible_link(store)}
        GROUP BY 1, 2, 3, 4
        ORDER BY relation, target_project, target_number
    """
    return tuple(StoredLink._make((*row, bool(withdrawn), item.forge)) for *row, withdrawn in store.rows(sql, item.id))


def load_stated_links(store: Store, item_ids: Iterable[int]) -> dict[int, list[StoredLink]]:
    """Return item -> its links that are not read from its text, sorted; items without are missing."""
    sql = f"""
        SELECT item_id, relation, target_project, target_kind, target_number, source, is_withdrawn
        FROM item_links
        WHERE item_id {one_of()} AND note_id IS NULL AND source <> 'text'
        ORDER BY relation, target_project, target_number, target_kind, is_withdrawn
    """
    rows = store.each(sql, pack_list(item_ids))
    return grouped((item_id, StoredLink._make((*row, bool(withdrawn), ""))) for item_id, *row, withdrawn in rows)


def load_backlinks(store: Store, item: StoredItem) -> tuple[Backlink, ...]:
    """Return live items of the same project that point to an item."""
    sql = f"""
        SELECT l.relation, i.kind, i.number, i.title, i.tag
        FROM item_links l
        JOIN items i ON i.id = l.item_id
        WHERE l.project_id = ? AND l.target_project = '' AND l.target_number = ?
          AND (l.target_kind IS NULL OR l.target_kind = ?)
          AND i.deleted_at IS NULL AND NOT (i.kind = ? AND i.number = ?)
          AND {visible_link(store)}
        GROUP BY 1, 2, 3, 4, 5
        ORDER BY i.number
    """
    rows = store.rows(sql, item.project_id, item.number, item.kind, item.kind, item.number)
    return tuple(
        Backlink(relation, kind, number, title, shown_ref(item.forge, kind, number, tag))
        for relation, kind, number, title, tag in rows
    )


def load_threads(store: Store, item_ids: Iterable[int], *, by_people: bool = False) -> dict[int, list[StoredThread]]:
    """Return item -> its threads with the notes that the viewer may see, in the order of the first; items without are
    missing. `by_people`: what people wrote for everybody, without system notes, internal ones and reports of the bot.
    """
    wanted = "NOT n.is_internal AND NOT n.is_system AND n.body <> ''" if by_people else said(store)
    sql = f"""
        SELECT n.item_id, n.thread_id, t.key, t.path, t.line, t.resolved_by, t.resolved_at, t.is_resolvable,
          t.is_resolved, n.key, n.author, n.body, n.created_at, n.path, n.line, n.type, n.url, n.position_type,
          n.is_system, n.is_internal, n.is_answer, n.is_resolved
        FROM notes n
        JOIN threads t ON t.id = n.thread_id
        WHERE n.item_id {one_of()} AND {wanted}
        ORDER BY n.created_at, length(n.key), n.key
    """
    threads: dict[int, StoredThread] = {}
    found: dict[int, list[StoredThread]] = {}
    for row in store.each(sql, pack_list(item_ids)):
        if by_people and is_report(row[11]):
            continue
        thread = threads.get(row[1])
        if thread is None:
            threads[row[1]] = thread = StoredThread._make((row[2], [], *row[3:7], row[7] == 1, row[8] == 1))
            found.setdefault(row[0], []).append(thread)
        flags = (row[18] == 1, row[19] == 1, row[20] == 1, row[21] == 1)
        thread.notes.append(StoredNote._make((*row[9:18], *flags)))
    return found


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


def load_files_of(store: Store, item_ids: Iterable[int]) -> dict[int, list[StoredFile]]:
    """Return item -> the files it changes; items without are missing."""
    sql = f"""
        SELECT item_id, new_path, old_path, status
        FROM item_files
        WHERE item_id {one_of()}
        ORDER BY new_path, old_path
    """
    return grouped((item_id, StoredFile(*row)) for item_id, *row in store.each(sql, pack_list(item_ids)))


def next_exported(store: Store, project_id: int, after: tuple[int, str], limit: int) -> list[StoredItem]:
    """Return the next live items behind (number, kind) that the viewer may see."""
    sql = f"""
        SELECT {ITEM_COLUMNS}
        FROM items i
        JOIN projects p ON p.id = i.project_id
        WHERE i.project_id = ? AND i.deleted_at IS NULL AND (i.number, i.kind) > (?, ?)
          AND {visible(store, "i")}
        ORDER BY i.number, i.kind
        LIMIT ?
    """
    return [as_item(row) for row in store.rows(sql, project_id, *after, limit)]


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


def each_item(store: Store) -> Iterator[StoredItem]:
    """Yield all items, as they are read, without their parts."""
    sql = f"SELECT {ITEM_COLUMNS} FROM items i JOIN projects p ON p.id = i.project_id"
    return (as_item(row) for row in store.each(sql))


def load_item(store: Store, item_id: int) -> StoredItem:
    """Return an item, whoever asks. Raises NotFound."""
    found = load_items(store, [item_id]).get(item_id)
    if found is None:
        raise NotFound(f"item {item_id} is not in this database")
    return found


def load_public_item(store: Store, item_id: int | None) -> StoredItem | None:
    """Return an item that everybody may see; None for any other."""
    found = load_items(store, [] if item_id is None else [item_id], with_body=False).get(item_id or 0)
    return None if found is None or found.is_confidential or found.deleted_ms is not None else found


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


def load_update_times(store: Store, project_id: int, kinds: Sequence[str]) -> list[tuple[int, str, int]]:
    """Return (time of the last change, kind, number) of everything of these kinds that the forge should still have, the
    longest unchanged first.
    """
    sql = f"""
        SELECT coalesce(updated_at, 0), kind, number
        FROM items
        WHERE project_id = ? AND kind {one_of()} AND deleted_at IS NULL
        ORDER BY 1, 2, 3
    """
    return [(updated_at, kind, number) for updated_at, kind, number in store.rows(sql, project_id, pack_list(kinds))]


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
