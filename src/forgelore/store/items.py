"""Items: saving pages of them without touching what did not change, the people in them, and finding them again.

A page is compared by `row_hash`, the hash of the payload a row was made from: equal means that nothing is written.
Columns that come from a second payload (branches, head, review counts) keep their value when the first says nothing of
them. Whatever changes an item queues its document in the same transaction.
"""

import json
from collections.abc import Iterable
from typing import Literal, NamedTuple

from msgspec import Struct

from forgelore.model import Detail, File, Involvement, Item, ItemKey, Kind, Link, PeopleSource
from forgelore.profiles import PROFILES
from forgelore.store.change_lines import save_lines
from forgelore.store.database import SqlRow, Store
from forgelore.store.jobs import queue_documents
from forgelore.store.links import LinkRow, drop_item_links, save_links
from forgelore.store.payloads import drop_payloads, row_hash, save_payloads
from forgelore.store.sqlite.connection import one_of, pack_list
from forgelore.text.links import links_in_text, people_in_text
from forgelore.text.patches import join_lines
from forgelore.text.values import content_hash

_COLUMNS = "login, role, verdict, source, created_at"


class PeopleRow(Struct, gc=False):
    item_id: int
    note_id: int | None
    people: list[Involvement]


def load_spellings(store: Store, project_id: int) -> tuple[str, str]:
    """Return the first part of a project's path, whose teams its texts call, and what logins match on its forge."""
    row = store.row("SELECT path, forge FROM projects WHERE id = ?", project_id)
    path, forge = row or ("", "")
    return str(path).partition("/")[0], PROFILES[forge].logins if forge in PROFILES else ""


def save_people(store: Store, project_id: int, rows: Iterable[PeopleRow]) -> None:
    sql = f"""
        INSERT INTO item_people (project_id, item_id, note_id, {_COLUMNS})
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    """
    store.run_many(
        sql, ((project_id, row.item_id, row.note_id, *columns) for row in rows for columns in _columns(row.people))
    )


def restore_people(store: Store, project_id: int, row: PeopleRow, sources: tuple[PeopleSource, ...]) -> bool:
    """Make what an item or note says of people through these sources this, and write nothing when it is; returns
    whether it was not.
    """
    whose = "item_id = ? AND note_id IS NULL" if row.note_id is None else "note_id = ?"
    where = f"{whose} AND source IN ({', '.join('?' * len(sources))})"
    place = (row.item_id if row.note_id is None else row.note_id, *sources)
    stored = store.rows(f"SELECT {_COLUMNS} FROM item_people WHERE {where}", *place)
    if sorted(map(repr, stored)) == sorted(map(repr, _columns(row.people))):
        return False
    store.run(f"DELETE FROM item_people WHERE {where}", *place)
    save_people(store, project_id, [row])
    return True


def _columns(people: Iterable[Involvement]) -> list[SqlRow]:
    return [(one.login, one.role, one.verdict, one.source, one.created_at) for one in people]


def drop_item_people(store: Store, item_ids: list[int], sources: tuple[PeopleSource, ...]) -> None:
    """Forget what the items themselves (not their notes) said through these sources."""
    sql = f"""
        DELETE FROM item_people
        WHERE item_id = ? AND note_id IS NULL AND source IN ({", ".join("?" * len(sources))})
    """
    store.run_many(sql, [(item_id, *sources) for item_id in item_ids])


def drop_note_people(store: Store, note_ids: Iterable[int]) -> None:
    store.run_many("DELETE FROM item_people WHERE note_id = ?", [(note_id,) for note_id in note_ids])


def replace_silent_reviews(store: Store, project_id: int, item_id: int, reviews: list[Involvement]) -> None:
    """Make these the reviews without words of a change."""
    restore_people(store, project_id, PeopleRow(item_id, None, reviews), ("review",))


ITEM_FIELDS = (
    "title", "body", "state", "state_reason", "author", "author_role", "assignees", "created_at", "updated_at",
    "closed_at", "merged_at", "url", "forge_id", "node_id", "tag", "category", "milestone", "source_branch",
    "target_branch", "head_sha", "is_draft", "is_locked", "is_confidential", "comment_count", "review_comment_count",
)  # fmt: skip
KEPT_FIELDS = {"node_id", "source_branch", "target_branch", "head_sha", "review_comment_count", "merged_at"}

_INSERT = f"""
    INSERT INTO items (project_id, kind, number, {", ".join(ITEM_FIELDS)}, content_hash, row_hash)
    VALUES (?, ?, ?, {", ".join("?" * len(ITEM_FIELDS))}, ?, ?)
"""
_ASSIGNED = ", ".join(f"{name} = coalesce(?, {name})" if name in KEPT_FIELDS else f"{name} = ?" for name in ITEM_FIELDS)
# Another number of comments means that the conversation has to be read again, whatever its age: deleting one moves no
# time.
_UPDATE = f"""
    UPDATE items
    SET threads_fetched_at = CASE WHEN comment_count IS NOT DISTINCT FROM ? THEN threads_fetched_at END, {_ASSIGNED},
      content_version = content_version + (content_hash <> ?), content_hash = ?, row_hash = ?, deleted_at = NULL
    WHERE id = ?
"""


class Saved(NamedTuple):
    """What saving a page did: ids of every item in it, which are new, which changed, which it left alone."""

    ids: dict[ItemKey, int]
    new: list[ItemKey]
    changed: list[ItemKey]

    @property
    def written(self) -> int:
        return len(self.new) + len(self.changed)


def save_items(store: Store, project_id: int, items: list[Item], *, keep_raw: bool = True) -> Saved:
    """Save a page of items. Called inside a transaction; the last of two rows with one key wins."""
    by_key = {item.key: item for item in items}
    known = _load_known(store, project_id, by_key)
    fresh: list[tuple[Item, bytes]] = []
    stale: list[tuple[int, Item, bytes, bytes]] = []
    for key, item in by_key.items():
        digest = row_hash(item.raw)
        before = known.get(key)
        if before is None:
            fresh.append((item, digest))
        elif before[1] != digest or before[2] is not None:
            stale.append((before[0], item, digest, before[1]))
    new_ids = _write(store, project_id, fresh, stale, keep_raw=keep_raw)
    queue_documents(store, project_id, [*new_ids, *(item_id for item_id, *_ in stale)])
    new = [item.key for item, _ in fresh]
    ids = {key: before[0] for key, before in known.items()} | dict(zip(new, new_ids, strict=True))
    return Saved(ids, new, [item.key for _, item, _, _ in stale])


def _write(
    store: Store,
    project_id: int,
    fresh: list[tuple[Item, bytes]],
    stale: list[tuple[int, Item, bytes, bytes]],
    *,
    keep_raw: bool,
) -> list[int]:
    """Return the ids that the fresh ones got."""
    new_ids = store.insert_many(_INSERT, (_insert_row(project_id, *entry) for entry in fresh))
    store.run_many(_UPDATE, (_update_row(item_id, item, digest) for item_id, item, digest, _ in stale))
    if stale:
        drop_payloads(store, project_id, [old for _, _, digest, old in stale if old != digest])
        store.run_many("DELETE FROM item_labels WHERE item_id = ?", [(item_id,) for item_id, *_ in stale])
        drop_item_links(store, [item_id for item_id, *_ in stale], ("forge", "text"))
        drop_item_people(store, [item_id for item_id, *_ in stale], ("forge", "text"))
    both = [
        *((item_id, *entry) for item_id, entry in zip(new_ids, fresh, strict=True)),
        *((item_id, item, digest) for item_id, item, digest, _ in stale),
    ]
    if keep_raw:
        save_payloads(store, project_id, "item", ((digest, item.raw) for _, item, digest in both))
    sql = "INSERT INTO item_labels (project_id, item_id, name) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
    store.run_many(sql, ((project_id, item_id, label) for item_id, item, _ in both for label in item.labels))
    save_links(store, project_id, _link_rows(both))
    save_people(store, project_id, _people_rows(both, load_spellings(store, project_id)))
    return new_ids


def _link_rows(items: Iterable[tuple[int, Item, bytes]]) -> Iterable[LinkRow]:
    for item_id, item, _ in items:
        links = links_in_text(item.body)
        if item.links or links:
            yield LinkRow(item_id, item.key, None, item.created_at, [*item.links, *links])


def _people_rows(items: Iterable[tuple[int, Item, bytes]], spellings: tuple[str, str]) -> Iterable[PeopleRow]:
    for item_id, item, _ in items:
        called = people_in_text(item.body, item.created_at, *spellings)
        if item.people or called:
            yield PeopleRow(item_id, None, [*item.people, *called])


def _insert_row(project_id: int, item: Item, digest: bytes) -> tuple[object, ...]:
    key = item.key
    content = content_hash(key.kind, item.title, item.body)
    return (project_id, key.kind, key.number, *item_values(item), content, digest)


def _update_row(item_id: int, item: Item, digest: bytes) -> tuple[object, ...]:
    content = content_hash(item.key.kind, item.title, item.body)
    return (item.comment_count, *item_values(item), content, content, digest, item_id)


def item_values(item: Item) -> tuple[object, ...]:
    """Return what an item says, in the order of `ITEM_FIELDS`."""
    return (  # spelled out: an attrgetter takes five times as long
        item.title, item.body, item.state, item.state_reason, item.author, item.author_role,
        json.dumps(item.assignees) if item.assignees else "[]", item.created_at, item.updated_at, item.closed_at,
        item.merged_at, item.url, item.forge_id, item.node_id, item.tag, item.category, item.milestone,
        item.source_branch, item.target_branch, item.head_sha, item.is_draft, item.is_locked, item.is_confidential,
        item.comment_count, item.review_comment_count,
    )  # fmt: skip


def _load_known(store: Store, project_id: int, keys: Iterable[ItemKey]) -> dict[ItemKey, tuple[int, bytes, int | None]]:
    """Return (row id, hash of what it was made from, when it was found gone) of the items that are there."""
    sql = f"""
        SELECT number, id, row_hash, deleted_at
        FROM items
        WHERE project_id = ? AND kind = ? AND number {one_of()}
    """
    return {
        ItemKey(kind, number): (item_id, digest, deleted_at)
        for kind, numbers in _by_kind(keys).items()
        for number, item_id, digest, deleted_at in store.rows(sql, project_id, kind, pack_list(numbers))
    }


def _by_kind(keys: Iterable[ItemKey]) -> dict[Kind, list[int]]:
    grouped: dict[Kind, list[int]] = {}
    for key in keys:
        grouped.setdefault(key.kind, []).append(key.number)
    return grouped


def load_ids(store: Store, project_id: int, keys: Iterable[ItemKey]) -> dict[ItemKey, int]:
    """Return the row ids of the items that are there."""
    return {key: known[0] for key, known in _load_known(store, project_id, keys).items()}


def save_details(store: Store, project_id: int, details: list[Detail]) -> int:
    """Save branches, files and the forge's own links; returns how many items changed."""
    sql = """
        UPDATE items
        SET source_branch = coalesce(?, source_branch), target_branch = coalesce(?, target_branch),
          head_sha = coalesce(?, head_sha), review_comment_count = coalesce(?, review_comment_count), detail_hash = ?
        WHERE id = ?
    """
    ids = load_ids(store, project_id, [detail.key for detail in details])
    written = []
    for detail in details:
        item_id = ids.get(detail.key)
        digest = row_hash(detail.raw)
        old = store.value("SELECT detail_hash FROM items WHERE id = ?", item_id)
        if item_id is None or old == digest:
            continue
        written.append(item_id)
        columns = (detail.source_branch, detail.target_branch, detail.head_sha, detail.review_comment_count)
        store.run(sql, *columns, digest, item_id)
        drop_payloads(store, project_id, [old])
        save_payloads(store, project_id, "detail", [(digest, detail.raw)])
        if detail.files is not None:
            save_files(store, project_id, item_id, detail.files, detail.head_sha)
        if detail.links is not None:
            drop_item_links(store, [item_id], ("detail",))
            save_links(store, project_id, [LinkRow(item_id, detail.key, None, None, detail.links)])
        if detail.people is not None:
            drop_item_people(store, [item_id], ("detail",))
            save_people(store, project_id, [PeopleRow(item_id, None, detail.people)])
    queue_documents(store, project_id, written)
    return len(written)


def save_files(store: Store, project_id: int, item_id: int, files: list[File], head_sha: str | None) -> None:
    store.run("DELETE FROM item_files WHERE item_id = ?", item_id)
    sql = """
        INSERT INTO item_files (project_id, item_id, new_path, old_path, status)
        VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO NOTHING
    """
    store.run_many(sql, [(project_id, item_id, file.new_path, file.old_path, file.status) for file in files])
    store.run("UPDATE items SET files_sha = ? WHERE id = ?", head_sha, item_id)
    if lines := [file.lines for file in files if file.lines is not None]:
        save_lines(store, project_id, item_id, join_lines(lines), head_sha)


def move_urls(store: Store, project_id: int, old: str, new: str) -> None:
    """Give the pages of a renamed project their new addresses: nothing else of them changed, so no list will bring
    them again.
    """
    if old == new:
        return
    for table, item_id in (("items", "id"), ("notes", "item_id")):
        sql = f"""
            UPDATE {table}
            SET url = ? || substr(url, ?)
            WHERE project_id = ? AND substr(url, 1, ?) = ?
            RETURNING {item_id}
        """
        moved = store.rows(sql, new, len(old) + 1, project_id, len(old) + 1, f"{old}/")
        queue_documents(store, project_id, (row[0] for row in moved))


def bury(store: Store, project_id: int, key: ItemKey, now_ms: int, moved_to: Link | None = None) -> int:
    """Mark an item as gone from the forge; its rows stay. Returns 1 if it was not marked before."""
    item_id = load_ids(store, project_id, [key]).get(key)
    jobs = "DELETE FROM jobs WHERE project_id = ? AND key = ? AND kind <> 'look'"
    store.run(jobs, project_id, f"{key.kind}:{key.number}")
    live = "UPDATE items SET deleted_at = ? WHERE id = ? AND deleted_at IS NULL"
    if item_id is None or not store.run(live, now_ms, item_id):
        return 0
    if moved_to is not None:
        save_links(store, project_id, [LinkRow(item_id, key, None, now_ms, [moved_to])])
    queue_documents(store, project_id, [item_id])
    return 1


def save_content_hash(store: Store, item_id: int, digest: str) -> None:
    store.run("UPDATE items SET content_hash = ? WHERE id = ?", digest, item_id)


FactName = Literal["threads_etag", "files_sha", "head_sha", "node_id", "state"]  # columns that hold text


def load_fact(store: Store, project_id: int, key: ItemKey, name: FactName) -> str | None:
    """Return one column of an item; None when it is empty, and for an item that is not there."""
    sql = f"SELECT {name} FROM items WHERE project_id = ? AND kind = ? AND number = ?"
    found: str | None = store.value(sql, project_id, key.kind, key.number)
    return found


def is_confidential(store: Store, project_id: int, key: ItemKey) -> bool:
    """Whether an item is marked as confidential; one that is not there is not."""
    sql = "SELECT is_confidential FROM items WHERE project_id = ? AND kind = ? AND number = ?"
    return bool(store.value(sql, project_id, key.kind, key.number))


def find_key(store: Store, item_id: int) -> ItemKey | None:
    """Return kind and number of an item; None when it is not there."""
    row = store.row("SELECT kind, number FROM items WHERE id = ?", item_id)
    return ItemKey(*row) if row else None


def load_kinds(store: Store, project_id: int, numbers: list[int]) -> dict[int, Kind]:
    """Return the kind of the issue or change with each number. Live ones before tombstones, and changes before
    issues: an issue can become a change.
    """
    sql = f"""
        SELECT number, kind
        FROM items
        WHERE project_id = ? AND kind IN ('issue', 'change')
          AND number {one_of()}
        ORDER BY deleted_at IS NULL, kind = 'change'
    """
    rows = store.rows(sql, project_id, pack_list(numbers))
    return dict(rows)  # the last of two rows with one number wins


def load_update_times_of(store: Store, project_id: int, keys: Iterable[ItemKey]) -> dict[ItemKey, int]:
    """Return when each of these items that is there was last changed."""
    ids = load_ids(store, project_id, keys)
    sql = f"SELECT id, coalesce(updated_at, 0) FROM items WHERE id {one_of()}"
    times: dict[int, int] = dict(store.rows(sql, pack_list(list(ids.values()))))
    return {key: times[item_id] for key, item_id in ids.items() if item_id in times}


def load_fetch_times(store: Store, project_id: int, keys: list[ItemKey]) -> dict[ItemKey, int | None]:
    """Return when the threads of these items were last read in full."""
    sql = f"""
        SELECT number, threads_fetched_at
        FROM items
        WHERE project_id = ? AND kind = ?
          AND number {one_of()}
    """
    found: dict[ItemKey, int | None] = {}
    for kind in {key.kind for key in keys}:
        rows = store.rows(sql, project_id, kind, pack_list([key.number for key in keys if key.kind == kind]))
        found.update((ItemKey(kind, number), fetched_at) for number, fetched_at in rows)
    return found
