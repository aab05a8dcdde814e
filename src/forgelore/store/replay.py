"""Replays: rows compared with what their stored payloads say, and written again where they differ.

What a row holds beyond its payload stays: that an item is gone from the forge, when its conversation was read, which
address it has since its project was renamed. A column that two payloads fill is right when it says what either does.
Without its payload a row cannot be judged; only the links in its text are read again.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from forgelore.model import Detail, Item, ItemKey, Note, Project, ProjectName, Thread
from forgelore.store.database import SqlRow, Store
from forgelore.store.items import (
    ITEM_FIELDS,
    KEPT_FIELDS,
    PeopleRow,
    item_values,
    load_spellings,
    restore_people,
    save_files,
)
from forgelore.store.links import LinkRow, LinkTargets, restore_links
from forgelore.store.notes import NOTE_FIELDS, note_links, note_values
from forgelore.store.payloads import drop_payloads, unpack_payload
from forgelore.store.sqlite.connection import one_of, pack_list
from forgelore.text.links import links_in_text, people_in_note, people_in_text
from forgelore.text.values import content_hash

_PAYLOADS_OF_ITEM = """
    SELECT i.kind, i.number, i.row_hash, r.codec, r.body, i.detail_hash, d.codec, d.body, i.deleted_at
    FROM items i
    LEFT JOIN raw_payloads r ON r.project_id = i.project_id AND r.hash = i.row_hash
    LEFT JOIN raw_payloads d ON d.project_id = i.project_id AND d.hash = i.detail_hash
    WHERE i.id = ? AND i.project_id = ?
"""
_PAYLOADS_OF_NOTES = """
    SELECT n.id, n.key, n.row_hash, t.key, r.codec, r.body
    FROM notes n
    JOIN threads t ON t.id = n.thread_id
    LEFT JOIN raw_payloads r ON r.project_id = ? AND r.hash = n.row_hash
    WHERE n.item_id = ?
    ORDER BY n.created_at, length(n.key), n.key
"""


class ItemPayloads(NamedTuple):
    """What is stored of one item: payloads that are gone or damaged are None."""

    id: int
    key: ItemKey
    item: bytes | None
    detail: bytes | None
    has_detail: bool  # whether there was one
    threads: dict[str, list[tuple[int, str, bytes | None]]]  # of each thread its notes: row, key and payload
    is_gone: bool = False

    @property
    def is_complete(self) -> bool:
        notes = all(raw is not None for thread in self.threads.values() for _, _, raw in thread)
        return self.item is not None and (self.detail is not None or not self.has_detail) and notes


def load_home(store: Store, project_id: int) -> Project:
    """Return a project's name, number and address as they are now."""
    row = store.row("SELECT forge, host, path, forge_id, url FROM projects WHERE id = ?", project_id)
    assert row is not None
    return Project(ProjectName(*row[:3]), row[3], row[4])


def load_payloads(store: Store, project_id: int, item_id: int) -> ItemPayloads | None:
    """Return what the forge said of an item, its second look and its notes, these in their order; None for no item."""
    row = store.row(_PAYLOADS_OF_ITEM, item_id, project_id)
    if row is None:
        return None
    threads: dict[str, list[tuple[int, str, bytes | None]]] = {}
    for note_id, key, digest, thread, codec, body in store.rows(_PAYLOADS_OF_NOTES, project_id, item_id):
        threads.setdefault(thread, []).append((note_id, key, unpack_payload(digest, codec, body)))
    item, detail = unpack_payload(*row[2:5]), unpack_payload(*row[5:8])
    return ItemPayloads(item_id, ItemKey(*row[:2]), item, detail, row[5] is not None, threads, row[8] is not None)


def forget_rows(store: Store, item_ids: Iterable[int]) -> None:
    """Let the next full sync or import write these items again: rows are compared by the hash of what they were made
    from, and an empty one equals none. In a transaction.
    """
    ids = list(item_ids)
    for item_id in ids:
        row = store.row("SELECT project_id, row_hash, detail_hash FROM items WHERE id = ?", item_id)
        if row:
            drop_payloads(store, row[0], row[1:])
    store.run_many("UPDATE items SET row_hash = x'', detail_hash = NULL WHERE id = ?", [(item_id,) for item_id in ids])


def forget_lost_payloads(store: Store, project_id: int, item_ids: Iterable[int]) -> None:
    """Forget the rows of items, and of those of their notes, whose payload is not there. In a transaction."""
    for item_id in item_ids:
        found = load_payloads(store, project_id, item_id)
        threads = found.threads.values() if found else ()
        lost = pack_list([note_id for notes in threads for note_id, _, raw in notes if raw is None])
        within = f"{one_of()}"
        hashes = store.rows(f"SELECT row_hash FROM notes WHERE id {within}", lost)
        drop_payloads(store, project_id, [digest for (digest,) in hashes])
        store.run(f"UPDATE notes SET row_hash = x'' WHERE id {within}", lost)
    forget_rows(store, item_ids)


def restore_item(
    store: Store, project_id: int, found: ItemPayloads, item: Item | None, detail: Detail | None, targets: LinkTargets
) -> bool:
    """Make an item what its payloads say; returns whether it was not. A payload that is not there is None."""
    item_id = found.id
    stored = _columns(store, "items", (*ITEM_FIELDS, "content_hash", "deleted_at", "files_sha"), item_id)
    wanted = dict(zip(ITEM_FIELDS, item_values(item), strict=True)) if item else {}
    for name in KEPT_FIELDS:
        said = [value for value in (wanted.get(name), getattr(detail, name, None)) if value is not None]
        wanted[name] = stored[name] if stored[name] in said or not said else said[0]
    if item:
        wanted["content_hash"] = content_hash(found.key.kind, item.title, item.body)
    is_changed = _write(store, "items", item_id, stored, wanted)
    if is_changed and wanted.get("content_hash", stored["content_hash"]) != stored["content_hash"]:
        store.run("UPDATE items SET content_version = content_version + 1 WHERE id = ?", item_id)
    if item:
        is_changed |= _restore_labels(store, project_id, item_id, item.labels)
    is_changed |= _restore_own_links(store, project_id, found, item, stored, targets)
    is_changed |= _restore_own_people(store, project_id, item_id, item, stored)
    if detail and detail.links is not None:
        row = LinkRow(item_id, found.key, None, None, detail.links)
        is_changed |= restore_links(store, project_id, row, ("detail",), targets)
    if detail and detail.people is not None:
        is_changed |= restore_people(store, project_id, PeopleRow(item_id, None, detail.people), ("detail",))
    return is_changed | (detail is not None and _restore_files(store, project_id, item_id, detail, stored))


def _restore_labels(store: Store, project_id: int, item_id: int, labels: list[str]) -> bool:
    stored = {name for (name,) in store.rows("SELECT name FROM item_labels WHERE item_id = ?", item_id)}
    if stored == set(labels):
        return False
    store.run("DELETE FROM item_labels WHERE item_id = ?", item_id)
    sql = "INSERT INTO item_labels (project_id, item_id, name) VALUES (?, ?, ?)"
    store.run_many(sql, [(project_id, item_id, label) for label in sorted(set(labels))])
    return True


def _restore_own_links(
    store: Store, project_id: int, found: ItemPayloads, item: Item | None, stored: dict[str, Any], targets: LinkTargets
) -> bool:
    if item is None:
        row = LinkRow(found.id, found.key, None, stored["created_at"], links_in_text(stored["body"]))
        return restore_links(store, project_id, row, ("text",), targets)
    text = LinkRow(found.id, found.key, None, item.created_at, links_in_text(item.body))
    is_changed = restore_links(store, project_id, text, ("text",), targets)
    if stored["deleted_at"] is not None:  # where it went is known from no payload
        return is_changed
    said = LinkRow(found.id, found.key, None, item.created_at, item.links)
    return restore_links(store, project_id, said, ("forge",), targets) | is_changed


def _restore_own_people(store: Store, project_id: int, item_id: int, item: Item | None, stored: dict[str, Any]) -> bool:
    spellings = load_spellings(store, project_id)
    if item is None:
        called = people_in_text(stored["body"], stored["created_at"], *spellings)
        return restore_people(store, project_id, PeopleRow(item_id, None, called), ("text",))
    called = people_in_text(item.body, item.created_at, *spellings)
    return restore_people(store, project_id, PeopleRow(item_id, None, [*item.people, *called]), ("forge", "text"))


def _restore_files(store: Store, project_id: int, item_id: int, detail: Detail, stored: dict[str, Any]) -> bool:
    if detail.files is None:
        return False
    known = store.rows("SELECT new_path, old_path, status FROM item_files WHERE item_id = ?", item_id)
    said = {(file.new_path, file.old_path, file.status) for file in detail.files}
    if set(known) == said and stored["files_sha"] == detail.head_sha:
        return False
    save_files(store, project_id, item_id, detail.files, detail.head_sha)
    return True


def restore_note(
    store: Store, project_id: int, found: ItemPayloads, note_id: int, note: Note | None, targets: LinkTargets
) -> bool:
    """Make a note what its payload says; returns whether it was not."""
    stored = _columns(store, "notes", NOTE_FIELDS, note_id)
    is_changed = False
    if note is None:
        said = {name: stored[name] for name in ("author", "body", "created_at", "type")}
        note = Note("", **said, is_system=bool(stored["is_system"]))
    else:
        is_changed = _write(store, "notes", note_id, stored, dict(zip(NOTE_FIELDS, note_values(note), strict=True)))
    row = LinkRow(found.id, found.key, note_id, note.created_at, note_links(note))
    people = PeopleRow(found.id, note_id, people_in_note(note, *load_spellings(store, project_id)))
    is_changed |= restore_people(store, project_id, people, ("event", "text"))
    return restore_links(store, project_id, row, ("event", "text"), targets) | is_changed


def restore_thread_state(store: Store, item_id: int, state: Thread) -> bool:
    """Make resolution and place of the thread that has the note `state.key` these; returns whether they were not."""
    thread_id = store.value("SELECT thread_id FROM notes WHERE item_id = ? AND key = ?", item_id, state.key)
    if thread_id is None:
        return False
    names = ("is_resolvable", "is_resolved", "path", "line", "resolved_by", "resolved_at")
    wanted = {name: getattr(state, name) for name in names}
    return _write(store, "threads", thread_id, _columns(store, "threads", names, thread_id), wanted)


def _columns(store: Store, table: str, names: tuple[str, ...], row_id: int) -> dict[str, Any]:
    row: SqlRow | None = store.row(f"SELECT {', '.join(names)} FROM {table} WHERE id = ?", row_id)
    assert row is not None
    return dict(zip(names, row, strict=True))


def _write(store: Store, table: str, row_id: int, stored: dict[str, Any], wanted: dict[str, Any]) -> bool:
    stale = {name: value for name, value in wanted.items() if stored[name] != value}
    if stale:
        sql = f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in stale)} WHERE id = ?"
        store.run(sql, *stale.values(), row_id)
    return bool(stale)
