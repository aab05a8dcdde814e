"""Threads and notes: saving conversations piece by piece (a stream of comments) or complete (all threads of an item).

A note is compared by `row_hash` like an item. Only a complete conversation shows that a note is gone. Whatever changes
queues the document of its item in the same transaction. Conversations are measured here too: how large they are, and
how large the forge says they are.
"""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from forgelore.model import ItemKey, Link, Note, Thread
from forgelore.records import KnownConversation
from forgelore.store.database import Store
from forgelore.store.filters import visible_note
from forgelore.store.items import PeopleRow, drop_note_people, load_ids, load_spellings, save_people
from forgelore.store.jobs import queue_documents
from forgelore.store.links import LinkRow, drop_note_links, save_links
from forgelore.store.payloads import drop_payloads, row_hash, save_payloads
from forgelore.store.sqlite.connection import one_of, pack_list
from forgelore.text.items import is_report
from forgelore.text.links import links_in_event, links_in_text, people_in_note
from forgelore.words import NoteScope

NOTE_FIELDS = (
    "author", "author_role", "body", "created_at", "updated_at", "type", "path", "line", "old_path", "old_line",
    "is_system", "is_internal", "is_answer", "reply_to", "url", "position_type", "is_resolvable", "is_resolved",
    "resolved_by", "resolved_at",
)  # fmt: skip
_INSERT_NOTE = f"""
    INSERT INTO notes (project_id, item_id, thread_id, key, {", ".join(NOTE_FIELDS)}, row_hash)
    VALUES (?, ?, ?, ?, {", ".join("?" * len(NOTE_FIELDS))}, ?)
"""
_UPDATE_NOTE = f"""
    UPDATE notes
    SET thread_id = ?, {", ".join(f"{name} = ?" for name in NOTE_FIELDS)}, row_hash = ?
    WHERE id = ?
"""
_STATE = ("is_resolvable", "is_resolved", "path", "line", "resolved_by", "resolved_at")
_INSERT_THREAD = f"""
    INSERT INTO threads (project_id, item_id, key, {", ".join(_STATE)})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_UPDATE_THREAD = f"UPDATE threads SET {', '.join(f'{name} = ?' for name in _STATE)} WHERE id = ?"
_THREADS_OF_ITEMS = f"""
    SELECT item_id, key, id, {", ".join(_STATE)}
    FROM threads
    WHERE item_id {one_of()}
"""
_NOTES_OF_ITEMS = f"""
    SELECT item_id, key, id, row_hash, thread_id
    FROM notes
    WHERE item_id {one_of()}
"""


class SavedNotes(NamedTuple):
    """How many notes were written or removed, and which items nobody knows yet."""

    written: int
    removed: int
    unknown: list[ItemKey]


_SCOPES = {NoteScope.ALL: "TRUE", NoteScope.LINE_COMMENTS: "n.key LIKE 'r%'"}  # the others are keys of threads


class _NoteWork(Struct, gc=False):
    note_id: int  # 0 until it is inserted
    item_id: int
    key: ItemKey
    thread_id: int
    note: Note
    digest: bytes
    old_digest: bytes | None


def save_threads(
    store: Store,
    project_id: int,
    threads: list[Thread],
    *,
    complete: dict[ItemKey, NoteScope] | None = None,
    fresh: dict[ItemKey, int] | None = None,
    keep_raw: bool = True,
) -> SavedNotes:
    """Save threads. `complete` items lose notes that are not in `threads`; `fresh` are items known to have none yet.

    `complete` maps an item to the scope that `threads` holds all of. `fresh` items were written in this very
    transaction, which queued their documents.
    """
    complete = complete or {}
    ids = load_ids(store, project_id, {thread.item for thread in threads} | set(complete)) if fresh is None else fresh
    unknown = list({thread.item: None for thread in threads if thread.item not in ids})
    threads = [thread for thread in threads if thread.item in ids]
    work: list[_NoteWork] = []
    removed = 0
    if threads:
        thread_ids, restated = _save_thread_rows(
            store, project_id, ids, threads, is_fresh=fresh is not None, keeps_state=NoteScope.ALL in complete.values()
        )
        work = _note_work(store, ids, thread_ids, threads, is_fresh=fresh is not None)
        _write_notes(store, project_id, work, keep_raw=keep_raw)
        if fresh is None:
            queue_documents(store, project_id, [*restated, *(entry.item_id for entry in work)])
    for key, scope in complete.items():
        if key in ids:
            keep = {note.key for thread in threads if thread.item == key for note in thread.notes}
            removed += remove_notes(store, project_id, ids[key], keep, scope)
    return SavedNotes(len(work), removed, unknown)


def _save_thread_rows(
    store: Store, project_id: int, ids: dict[ItemKey, int], threads: list[Thread], *, is_fresh: bool, keeps_state: bool
) -> tuple[dict[tuple[int, str], int], list[int]]:
    """Return the ids of the threads, and the items of those whose state changed.

    A stream of comments (`keeps_state` False) knows nothing of resolution: it changes none.
    """
    known: dict[tuple[int, str], tuple[int, tuple[object, ...]]] = {}
    if not is_fresh:
        item_ids = pack_list(sorted({ids[thread.item] for thread in threads}))
        for item_id, key, thread_id, *before in store.rows(_THREADS_OF_ITEMS, item_ids):
            known[item_id, key] = (thread_id, tuple(before))
    found: dict[tuple[int, str], int] = {}
    inserts: dict[tuple[int, str], tuple[object, ...]] = {}
    updates: list[tuple[object, ...]] = []
    restated: list[int] = []
    for thread in threads:
        place = (ids[thread.item], thread.key)
        if place in found or place in inserts:
            continue
        resolution = (int(thread.is_resolvable), int(thread.is_resolved))
        state = (*resolution, thread.path, thread.line, thread.resolved_by, thread.resolved_at)
        if place not in known:
            inserts[place] = (project_id, *place, *state)
            continue
        found[place] = known[place][0]
        if known[place][1] != state and keeps_state:
            updates.append((*state, found[place]))
            restated.append(place[0])
    new_ids = store.insert_many(_INSERT_THREAD, inserts.values())
    store.run_many(_UPDATE_THREAD, updates)
    return found | dict(zip(inserts, new_ids, strict=True)), restated


def _note_work(
    store: Store,
    ids: dict[ItemKey, int],
    thread_ids: dict[tuple[int, str], int],
    threads: list[Thread],
    *,
    is_fresh: bool,
) -> list[_NoteWork]:
    known: dict[tuple[int, str], tuple[int, bytes, int]] = {}
    if not is_fresh:
        item_ids = pack_list(sorted({ids[thread.item] for thread in threads}))
        for item_id, key, *rest in store.rows(_NOTES_OF_ITEMS, item_ids):
            known[item_id, key] = (rest[0], rest[1], rest[2])
    work: dict[tuple[int, str], _NoteWork] = {}
    for thread in threads:
        item_id = ids[thread.item]
        thread_id = thread_ids[item_id, thread.key]
        for note in thread.notes:
            place = (item_id, note.key)
            digest = row_hash(note.raw) if note.raw else b""
            if place in known:
                note_id, old_digest, old_thread = known[place]
                if old_digest != digest or old_thread != thread_id:
                    work[place] = _NoteWork(note_id, item_id, thread.item, thread_id, note, digest, old_digest)
                continue
            work[place] = _NoteWork(0, item_id, thread.item, thread_id, note, digest, None)
    return list(work.values())


def _write_notes(store: Store, project_id: int, work: list[_NoteWork], *, keep_raw: bool) -> None:
    fresh = [entry for entry in work if entry.old_digest is None]
    stale = [entry for entry in work if entry.old_digest is not None]
    new_ids = store.insert_many(
        _INSERT_NOTE, ((project_id, e.item_id, e.thread_id, e.note.key, *note_values(e.note), e.digest) for e in fresh)
    )
    for entry, new_id in zip(fresh, new_ids, strict=True):
        entry.note_id = new_id
    if stale:
        store.run_many(_UPDATE_NOTE, ((e.thread_id, *note_values(e.note), e.digest, e.note_id) for e in stale))
        drop_payloads(store, project_id, [e.old_digest for e in stale if e.old_digest != e.digest])
        drop_note_links(store, [e.note_id for e in stale])
        drop_note_people(store, [e.note_id for e in stale])
    if keep_raw:
        save_payloads(store, project_id, "note", ((e.digest, e.note.raw) for e in work))
    save_links(store, project_id, _link_rows(work))
    spellings = load_spellings(store, project_id)
    save_people(store, project_id, (PeopleRow(e.item_id, e.note_id, people_in_note(e.note, *spellings)) for e in work))


def _link_rows(work: list[_NoteWork]) -> Iterable[LinkRow]:
    for entry in work:
        links = note_links(entry.note)
        if links:
            yield LinkRow(entry.item_id, entry.key, entry.note_id, entry.note.created_at, links)


def note_links(note: Note) -> list[Link]:
    """Return what a note says of other items: its text, or the sentence of a system note. What the bot suggests in a
    report is nobody's word, and no known duplicate to learn from.
    """
    if is_report(note.body):
        return []
    return [*note.links, *(links_in_event(note.body or "") if note.is_system else links_in_text(note.body))]


def note_values(note: Note) -> tuple[object, ...]:
    """Return what a note says, in the order of `NOTE_FIELDS`."""
    return (
        note.author, note.author_role, note.body, note.created_at, note.updated_at, note.type, note.path, note.line,
        note.old_path, note.old_line, note.is_system, note.is_internal, note.is_answer, note.reply_to, note.url,
        note.position_type, note.is_resolvable, note.is_resolved, note.resolved_by, note.resolved_at,
    )  # fmt: skip


def remove_notes(store: Store, project_id: int, item_id: int, keep: set[str], scope: NoteScope) -> int:
    """Delete the notes of an item that the forge no longer has, within a scope; returns how many.

    Forges hide internal notes, and system notes that name hidden items, from readers with fewer rights. So a system
    note is never missed, and an internal one only by a reader who is shown another.
    """
    condition = _SCOPES.get(scope, "t.key = ?")
    sql = f"""
        SELECT n.id, n.key, n.row_hash, n.is_internal
        FROM notes n
        JOIN threads t ON t.id = n.thread_id
        WHERE n.item_id = ? AND NOT n.is_system AND {condition}
    """
    rows = store.rows(sql, item_id, *([scope] if "?" in condition else []))
    sees_internal = any(is_internal and key in keep for _, key, _, is_internal in rows)
    gone = [
        (note_id, digest)
        for note_id, key, digest, is_internal in rows
        if key not in keep and (sees_internal or not is_internal)
    ]
    if gone:
        store.run_many("DELETE FROM notes WHERE id = ?", [(note_id,) for note_id, _ in gone])
        drop_payloads(store, project_id, [digest for _, digest in gone])
        empty = """
            DELETE FROM threads
            WHERE item_id = ? AND NOT EXISTS (SELECT 1 FROM notes WHERE thread_id = threads.id)
        """
        store.run(empty, item_id)
        queue_documents(store, project_id, [item_id])
    return len(gone)


def save_thread_states(store: Store, project_id: int, threads: list[Thread]) -> int:
    """Save resolution and place of threads whose notes came another way; returns how many changed.

    `key` names a note of the thread: the first may have been deleted, and the thread is still called by it.
    """
    sql = """
        UPDATE threads
        SET is_resolved = ?1, path = ?2, line = ?3, resolved_by = ?4, resolved_at = ?5
        WHERE id = (SELECT thread_id FROM notes WHERE item_id = ?6 AND key = ?7)
          AND (is_resolved, path, line, resolved_by, resolved_at) IS DISTINCT FROM (?1, ?2, ?3, ?4, ?5)
    """
    ids = load_ids(store, project_id, {thread.item for thread in threads})
    changed = [
        ids[thread.item] for thread in threads if store.run(sql, *_resolution(thread), ids.get(thread.item), thread.key)
    ]
    queue_documents(store, project_id, changed)
    return len(changed)


def _resolution(thread: Thread) -> tuple[object, ...]:
    return (thread.is_resolved, thread.path, thread.line, thread.resolved_by, thread.resolved_at)


def drop_threads(store: Store, item_ids: Iterable[int]) -> None:
    """Forget the conversations of items that are being written anew; notes and their links go with them.

    Whoever writes the items anew queues their documents.
    """
    store.run_many("DELETE FROM threads WHERE item_id = ?", [(item_id,) for item_id in item_ids])


def remember_fetch(store: Store, project_id: int, key: ItemKey, fetched_at: int, etag: str | None) -> None:
    """Note when (on the forge's clock) an item's threads were read in full."""
    sql = "UPDATE items SET threads_fetched_at = ?, threads_etag = ? WHERE project_id = ? AND kind = ? AND number = ?"
    store.run(sql, fetched_at, etag, project_id, key.kind, key.number)


def load_conversation(store: Store, project_id: int, key: ItemKey) -> KnownConversation | None:
    """Return what is stored of an item's conversation; None for an item that is unknown or gone."""
    sql = """
        SELECT id, updated_at, comment_count
        FROM items
        WHERE project_id = ? AND kind = ? AND number = ? AND deleted_at IS NULL
    """
    found = store.row(sql, project_id, key.kind, key.number)
    if found is None:
        return None
    sql = """
        SELECT t.key, count(*)
        FROM threads t
        JOIN notes n ON n.thread_id = t.id
        WHERE t.item_id = ?
        GROUP BY t.id
    """
    sizes = store.rows(sql, found[0])
    return KnownConversation(found[1], found[2], dict(sizes))


def load_answer_times(store: Store, project_id: int, key: ItemKey) -> dict[str, tuple[int | None, bool]]:
    """Return when each note of an item was last changed, by its key, and whether it is the answer."""
    sql = """
        SELECT n.key, n.updated_at, n.is_answer
        FROM notes n
        JOIN items i ON i.id = n.item_id
        WHERE i.project_id = ? AND i.kind = ? AND i.number = ?
    """
    rows = store.rows(sql, project_id, key.kind, key.number)
    return {note_key: (updated_at, bool(is_answer)) for note_key, updated_at, is_answer in rows}


def load_note_times(store: Store, project_id: int, keys: Iterable[ItemKey]) -> dict[tuple[ItemKey, str], int]:
    """Return when each note of these items was last changed, by its item and key."""
    items = {item_id: key for key, item_id in load_ids(store, project_id, keys).items()}
    sql = f"SELECT item_id, key, coalesce(updated_at, 0) FROM notes WHERE item_id {one_of()}"
    rows = store.rows(sql, pack_list(list(items)))
    return {(items[item_id], key): updated_at for item_id, key, updated_at in rows}


def count_plain_comments(store: Store, project_id: int) -> int:
    """Return how many plain comments are stored, of those that `sum_comment_counts` counts."""
    sql = """
        SELECT count(*)
        FROM notes n
        JOIN threads t ON t.id = n.thread_id
        WHERE n.project_id = ? AND t.key = 'comments'
    """
    return int(store.value(sql, project_id))


def has_review_notes(store: Store, project_id: int, key: ItemKey) -> bool:
    sql = """
        SELECT EXISTS (
          SELECT 1
          FROM items i
          JOIN notes n ON n.item_id = i.id
          WHERE i.project_id = ? AND i.kind = ? AND i.number = ? AND n.key LIKE 'r%'
        )
    """
    return bool(store.value(sql, project_id, key.kind, key.number))


def count_notes(store: Store, project_id: int) -> int:
    """Return how many notes a project has."""
    sql = f"""
        SELECT count(*)
        FROM notes n
        WHERE n.project_id = ? AND {visible_note(store)}
    """
    return int(store.value(sql, project_id))


def sum_comment_counts(store: Store, project_id: int) -> int:
    """Return how many plain comments the forge counts over all issues and changes."""
    sql = """
        SELECT coalesce(sum(comment_count), 0)
        FROM items
        WHERE project_id = ? AND kind IN ('issue', 'change')
    """
    return int(store.value(sql, project_id))


def find_miscounted(store: Store, project_id: int) -> list[str]:
    """Return job keys of items whose plain comments are more or fewer than the forge counts.

    An item whose conversation was read in full after its last update stays as it is: GitHub may count what it does not
    show.
    """
    sql = """
        SELECT i.kind || ':' || i.number
        FROM items i
        WHERE i.project_id = ? AND i.kind IN ('issue', 'change')
          AND i.comment_count IS NOT NULL AND i.deleted_at IS NULL
          AND (i.threads_fetched_at IS NULL OR i.threads_fetched_at < i.updated_at)
          AND i.comment_count <> (
            SELECT count(*)
            FROM threads t
            JOIN notes n ON n.thread_id = t.id
            WHERE t.item_id = i.id AND t.key = 'comments'
          )
    """
    rows = store.rows(sql, project_id)
    return [key for (key,) in rows]
