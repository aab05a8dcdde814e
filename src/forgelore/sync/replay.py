"""`replay`: stored payloads read again into rows, without a request.

    lock -> project -> jobs(replay) -> rows -> jobs(document) -> unlock

For rows that an older program read wrongly, and for rows that something else has changed since. A row that already says
what its payload says is not written. A batch of items, the documents it queues and its cleared jobs share a
transaction, so that a run that was killed is gone on with by the next `replay` or `sync`.

What an older version did not ask for waits as a job for the next sync. What no payload tells stays as it is: imported
items (only the links in their text are read again), descriptions of labels, members, notes and items whose rows are
gone, and states of review threads beyond the first fifty of a change.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from msgspec import Struct, field

from forgelore.errors import LostPage, Stopped
from forgelore.model import Item, ItemKey, Note, Project, Thread
from forgelore.ports.forge import Page, PayloadReader
from forgelore.ports.progress import Watcher
from forgelore.store.database import Store
from forgelore.store.jobs import (
    count_jobs,
    finish_job,
    queue_documents,
    queue_jobs,
    queue_replays,
    ready_jobs,
)
from forgelore.store.links import LinkTargets
from forgelore.store.payloads import load_project_payload
from forgelore.store.projects import StoredProject, restore_project
from forgelore.store.replay import (
    ItemPayloads,
    load_home,
    load_payloads,
    restore_item,
    restore_note,
    restore_thread_state,
)
from forgelore.store.sync import Lock, acquire_lock
from forgelore.sync.jobs import beating, noting_progress
from forgelore.text.dates import machine_ms
from forgelore.words import JobKind

BATCH = 200  # items in a transaction: others may write in between
T = TypeVar("T")


class Replayed(Struct):
    """Ids of items: those whose rows were written, and those of which a payload is missing, damaged or unreadable.
    `lacking` are items of whose second look an older version did not ask for everything.
    """

    read: int = 0
    restored: list[int] = field(default_factory=list)
    incomplete: list[int] = field(default_factory=list)
    lacking: list[ItemKey] = field(default_factory=list)
    is_project_restored: bool = False


def replay_project(
    store: Store, reader: PayloadReader | None, project: StoredProject, *, kinds: Sequence[str] = (),
    force: bool = False, watcher: Watcher | None = None, should_stop: Callable[[], bool] = lambda: False,
    now: Callable[[], int] = machine_ms,
) -> Replayed:  # fmt: skip
    """Read everything that is stored of a project again, or of some kinds of items. Safe to interrupt."""
    lock = acquire_lock(store, f"project {project.id}", now(), shown=str(project.name), force=force)
    try:
        with beating(lock, now):
            with store.transaction():
                lock.confirm(now())
                is_restored = reader is not None and not kinds and replay_project_row(store, reader, project.id)
                queue_replays(store, project.id, kinds)
            result = work_off_replays(
                store, reader, project.id, lock, watcher=watcher, should_stop=should_stop, now=now
            )
    finally:
        with store.transaction():
            lock.release()
    result.is_project_restored = is_restored
    return result


def work_off_replays(
    store: Store, reader: PayloadReader | None, project_id: int, lock: Lock, *, watcher: Watcher | None = None,
    should_stop: Callable[[], bool] = lambda: False, now: Callable[[], int] = machine_ms,
) -> Replayed:  # fmt: skip
    """Read again what waits for it: a migration has asked, or a replay was cut off. The caller holds the lock."""
    watcher = noting_progress(lock, watcher, now)
    result = Replayed()
    waiting, _ = count_jobs(store, project_id).get(JobKind.REPLAY, (0, 0))
    if not waiting:
        return result
    watcher.begin(JobKind.REPLAY, "items read again", waiting)
    while jobs := ready_jobs(store, project_id, JobKind.REPLAY, now(), BATCH):
        with store.transaction():
            part = replay_items(store, reader, project_id, [int(job.key) for job in jobs])
            for job in jobs:
                finish_job(store, project_id, job)
            lacking = [f"{key.kind}:{key.number}" for key in part.lacking]
            queue_jobs(store, project_id, JobKind.DETAIL, lacking, now())
            watcher.saved(JobKind.REPLAY, len(jobs))
            lock.confirm(now())
        result.read += part.read
        result.restored += part.restored
        result.incomplete += part.incomplete
        result.lacking += part.lacking
        if should_stop():
            raise Stopped
    watcher.done(JobKind.REPLAY)
    return result


def replay_items(store: Store, reader: PayloadReader | None, project_id: int, item_ids: Iterable[int]) -> Replayed:
    """Read these items again and queue the documents of those that differed. Called inside a transaction.

    Without a reader (an imported tracker) only the links in texts are read again.
    """
    result = Replayed()
    home, targets = load_home(store, project_id), LinkTargets(store, project_id)
    for item_id in item_ids:
        found = load_payloads(store, project_id, item_id)
        if found is None:
            continue
        result.read += 1
        replay = _ItemReplay(store, reader, home, targets, found)
        if replay.run(project_id):
            result.restored.append(item_id)
        result.lacking += replay.lacking
        if not found.is_complete or replay.is_unreadable:
            result.incomplete.append(item_id)
    queue_documents(store, project_id, result.restored)
    return result


class _ItemReplay:
    """One item: what its payloads say, put into its rows."""

    def __init__(
        self, store: Store, reader: PayloadReader | None, home: Project, targets: LinkTargets, found: ItemPayloads
    ) -> None:
        self._store, self._reader, self._home, self._targets, self._found = store, reader, home, targets, found
        self.is_unreadable = False
        self.lacking: list[ItemKey] = []

    def run(self, project_id: int) -> bool:
        """Write what differs; returns whether anything did."""
        found, states = self._found, list[Thread]()
        page = self._detail()
        detail = page.details[0] if page and page.details else None
        self.lacking = [key for key in (page.missing if page else ()) if not found.is_gone]
        is_changed = restore_item(self._store, project_id, found, self._item(), detail, self._targets)
        for key, payloads in found.threads.items():
            thread = self._thread(key, payloads)
            notes = {note.key: note for note in thread.threads[0].notes} if thread else dict[str, Note]()
            states += thread.thread_states if thread and len(notes) == len(payloads) else []
            for note_id, note_key, _ in payloads:
                note = notes.get(note_key)
                is_changed |= restore_note(self._store, project_id, found, note_id, note, self._targets)
        for state in [*states, *(page.thread_states if page else [])]:
            is_changed |= restore_thread_state(self._store, found.id, state)
        return is_changed

    def _item(self) -> Item | None:
        reader, raw = self._reader, self._found.item
        item = self._attempt(lambda: reader.item(raw, self._found.key, self._home)) if reader and raw else None
        if (
            item is not None and item.key != self._found.key
        ):  # another item's payload: whoever did that, it heals nothing
            self.is_unreadable, item = True, None
        return item

    def _detail(self) -> Page | None:
        reader, raw = self._reader, self._found.detail
        return self._attempt(lambda: reader.detail(raw, self._found.key, self._home)) if reader and raw else None

    def _thread(self, key: str, payloads: list[tuple[int, str, bytes | None]]) -> Page | None:
        reader = self._reader
        notes = [(note_key, raw) for _, note_key, raw in payloads if raw is not None]
        return self._attempt(lambda: reader.thread(notes, self._found.key, key, self._home)) if reader else None

    def _attempt(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except LostPage:
            self.is_unreadable = True
            return None


def replay_project_row(store: Store, reader: PayloadReader, project_id: int) -> bool:
    """Make a project's own row what its payload says; returns whether it was not. Called inside a transaction."""
    raw = load_project_payload(store, project_id)
    home = load_home(store, project_id)
    return raw is not None and restore_project(store, project_id, reader.project(raw, home.name))
