"""The page loop: lists of a forge, read from where their cursors stand, each page saved with its cursor.

Lists are fetched side by side, a thread for each, or in turn; the caller's thread takes what arrives and saves rows,
follow-up jobs and cursor in one transaction. A policy says what is kept and when to stop: `sync` keeps everything and
reads to the end. A list that this reader may not see, or that fails, is remembered and the others go on; only what
would meet them all ends the loop: a rejected token, a lost lock, a store that cannot be read.
Adapters ask what is stored already: `KnownStore` answers.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from queue import Empty, Queue
from typing import Any, NamedTuple, TypeGuard

from msgspec import Struct, field

from forgelore.errors import AuthError, Locked, LoreError, NotFound, RateLimited, Stopped, StoreError
from forgelore.model import Cursor, Item, ItemKey, Kind, Project
from forgelore.ports.forge import ForgeReader, Page, Resource
from forgelore.ports.progress import Watcher
from forgelore.records import KnownConversation
from forgelore.store.change_lines import save_lines
from forgelore.store.database import Store
from forgelore.store.item_lists import count_live, load_live_numbers, load_update_times
from forgelore.store.items import (
    FactName,
    Saved,
    is_confidential,
    load_fact,
    load_fetch_times,
    load_ids,
    load_kinds,
    replace_silent_reviews,
    save_details,
    save_items,
)
from forgelore.store.jobs import find_without_job, queue_jobs
from forgelore.store.notes import (
    find_miscounted,
    has_review_notes,
    load_answer_times,
    load_conversation,
    remember_fetch,
    remove_notes,
    save_thread_states,
    save_threads,
    sum_comment_counts,
)
from forgelore.store.projects import save_labels, save_members
from forgelore.store.sync import load_cursor, save_cursor, was_interrupted
from forgelore.words import JobKind, NoteScope


class ReadPolicy(NamedTuple):
    """The default is that of `sync`."""

    kinds: tuple[Kind, ...] | None = None  # items of other kinds are left out; None: all are kept
    # What becomes of items that only some people may see, given their keys; None: they are kept like the others.
    forget_hidden: Callable[[Store, int, list[ItemKey]], int] | None = None
    keeps_payloads: bool = True
    queues_files: bool = False  # changes that are new or changed wait for their files as jobs
    is_items_only: bool = False  # no conversations and no details, neither from a page nor as jobs
    is_in_turn: bool = False  # one list after the other, and no page is fetched before the last one is saved
    why_stop: Callable[[], str] = lambda: ""  # asked after each page; empty: go on
    is_stopped_by_limits: bool = False  # a rate limit ends the reading as `why_stop` does; else it is raised
    is_wanted: Callable[[Item], bool] | None = None  # other items are left out, too; None: all are wanted
    since: int | None = None  # lists begin there instead of at their cursors
    moves_cursors: bool = True  # False: what is left out now is for the next sync to read

    def keeps(self, item: Item) -> bool:
        is_hidden = item.is_confidential and self.forget_hidden is not None
        is_wanted = self.is_wanted is None or self.is_wanted(item)
        return not is_hidden and is_wanted and (self.kinds is None or item.key.kind in self.kinds)


class PageSaver:
    """Writes pages of one project and counts, by name, what was really written."""

    def __init__(
        self, store: Store, forge: ForgeReader, project: Project, project_id: int, policy: ReadPolicy | None = None
    ) -> None:
        self.store, self.forge, self.project, self.project_id = store, forge, project, project_id
        self.policy = policy or ReadPolicy()
        self.written: dict[str, int] = {}
        self.cut: dict[ItemKey, tuple[int, int]] = {}  # changes -> how many of their files the forge lists, and counts
        self.known = KnownStore(store, project_id)

    def save(self, page: Page, resource: str, now_ms: int) -> int:
        """Save what the policy keeps of a page, with its cursor; return how many rows its list had: items, else notes,
        labels or members.
        """
        if page.items:
            saved = save_kept(self.store, self.project_id, page.items, self.policy)
            for key in (*saved.new, *saved.changed):
                self._count(key.kind)
            if self.policy.queues_files:
                changes = [job_key(key) for key in (*saved.new, *saved.changed) if key.kind == "change"]
                queue_jobs(self.store, self.project_id, JobKind.FILES, changes, now_ms)
            if not self.policy.is_items_only:
                self._queue_follow_ups(page, saved, now_ms)
        if not self.policy.is_items_only:
            self._save_beside_items(page, now_ms)
        if page.cursor is not None and self.policy.moves_cursors:
            save_cursor(self.store, self.project_id, resource, page.cursor)
        notes = sum(len(thread.notes) for thread in page.threads)
        return len(page.items) or notes or len(page.labels or ()) or len(page.members or ())

    def _save_beside_items(self, page: Page, now_ms: int) -> None:
        self._save_conversations(page, now_ms)
        self._count("detail", save_details(self.store, self.project_id, page.details))
        if page.lines:
            save_page_lines(self.store, self.project_id, page)
        self.cut |= cut_lists(page)
        if page.labels is not None:
            save_labels(self.store, self.project_id, page.labels, is_complete=True)
        if page.members is not None:
            save_members(self.store, self.project_id, page.members)
        if page.seen is not None:
            self._queue_looks(page, now_ms)

    def _queue_follow_ups(self, page: Page, saved: Saved, now_ms: int) -> None:
        changed = {*saved.new, *saved.changed}
        times = self.known.fetch_times([item.key for item in page.items])
        jobs: dict[JobKind, list[str]] = {}
        for item in filter(self.policy.keeps, page.items):
            wanted = self.forge.jobs_for(
                item, is_changed=item.key in changed, is_wide=page.is_wide, threads_fetched_at=times.get(item.key)
            )
            for kind in wanted:
                jobs.setdefault(kind, []).append(job_key(item.key))
        for kind, keys in jobs.items():
            queue_jobs(self.store, self.project_id, kind, keys, now_ms)

    def _save_conversations(self, page: Page, now_ms: int) -> None:
        if page.threads or page.complete:
            saved = save_threads(self.store, self.project_id, page.threads, complete=page.complete)
            self._count("note", saved.written + saved.removed)
            # A whole conversation of an item that nobody shows us is dropped: asking again would bring the same.
            unknown = [job_key(key) for key in saved.unknown if key not in page.complete]
            for kind in (JobKind.ITEM, JobKind.THREADS):
                queue_jobs(self.store, self.project_id, kind, unknown, now_ms)
        if page.thread_states:
            self._count("thread", save_thread_states(self.store, self.project_id, page.thread_states))
        ids = load_ids(self.store, self.project_id, page.review_ids) if page.review_ids else {}
        for key, item_id in ids.items():
            keep = {f"r{number}" for number in page.review_ids[key]}
            self._count("note", remove_notes(self.store, self.project_id, item_id, keep, NoteScope.LINE_COMMENTS))
        for key, item_id in load_ids(self.store, self.project_id, page.silent_reviews).items():
            replace_silent_reviews(self.store, self.project_id, item_id, page.silent_reviews[key])
        fetched_at = page.server_ms or now_ms
        for key, scope in page.complete.items():
            # Discussions are read whole each time, and always in full.
            if scope != NoteScope.REVIEW_SUMMARIES and key.kind != "discussion":
                remember_fetch(self.store, self.project_id, key, fetched_at, page.thread_etags.get(key))
        for key in page.unchanged:
            remember_fetch(self.store, self.project_id, key, fetched_at, self.known.thread_etag(key))

    def _queue_looks(self, page: Page, now_ms: int) -> None:
        assert page.seen is not None
        for kind in page.seen_kinds:
            live = self.known.live_numbers(kind)
            keys = [ItemKey(kind, number) for number, is_hidden in live.items() if not is_hidden]
            gone = [job_key(key) for key in keys if key not in page.seen]
            queue_jobs(self.store, self.project_id, JobKind.LOOK, gone, now_ms)

    def _count(self, what: str, number: int = 1) -> None:
        if number:
            self.written[what] = self.written.get(what, 0) + number


def save_page_lines(store: Store, project_id: int, page: Page) -> None:
    """Save which lines the changes of a page remove and add, as of the head that is known."""
    for key, item_id in load_ids(store, project_id, page.lines).items():
        save_lines(store, project_id, item_id, page.lines[key], load_fact(store, project_id, key, "head_sha"))


def cut_lists(page: Page) -> dict[ItemKey, tuple[int, int]]:
    """Return the changes of a page of which the forge lists fewer files than it counts."""
    return {
        detail.key: (len(detail.files), detail.file_count)
        for detail in page.details
        if detail.files is not None and detail.file_count is not None and len(detail.files) < detail.file_count
    }


def tell_cut(cut: dict[ItemKey, tuple[int, int]]) -> list[str]:
    """Return what to tell people about lists of files that the forge cuts."""
    if not cut:
        return []
    first = min(cut, key=lambda key: key.number)
    listed, counted = cut[first]
    which = f"change {first.number} ({listed:,} of {counted:,})"
    if len(cut) == 1:
        return [f"the forge does not list all files of {which}"]
    return [f"the forge does not list all files of {len(cut):,} changes; the first is {which}"]


def save_kept(store: Store, project_id: int, items: list[Item], policy: ReadPolicy) -> Saved:
    """Save those of the items that a policy keeps; what it hides from some is forgotten, should it be there."""
    saved = save_items(store, project_id, list(filter(policy.keeps, items)), keep_raw=policy.keeps_payloads)
    if policy.forget_hidden is not None:
        policy.forget_hidden(store, project_id, [item.key for item in items if item.is_confidential])
    return saved


def job_key(key: ItemKey) -> str:
    return f"{key.kind}:{key.number}"


def is_switched_off(project: Project, key: str) -> bool:
    """True for work on a part of the project that is switched off: it waits until the part is back, and nothing is
    gone.
    """
    is_on = {"issue": project.has_issues, "change": project.has_changes, "discussion": project.has_discussions}
    return not is_on.get(parse_job_key(key).kind, True)


def parse_job_key(text: str) -> ItemKey:
    kind, _, number = text.partition(":")
    return ItemKey(kind, int(number))  # type: ignore[arg-type]


POLL_S = 0.1
PATIENCE_S = 2.0
STOPPED_S = 0.2  # somebody pressed Ctrl-C: who hangs in an answer is left behind

# What arrives of a list: a page, the error that ended it, or None at its end.
Arrival = tuple[Resource, Page | BaseException | None]
Sources = dict[Resource, Callable[[], Iterator[Page]]]


def fetch_in_turn(sources: Sources) -> Generator[Arrival]:
    """Yield the pages of one list after the other, each asked for when the one before is done with."""
    for resource, pages in sources.items():
        try:
            for page in pages():
                yield resource, page
        except LoreError as error:
            yield resource, error
        else:
            yield resource, None


def fetch_side_by_side(
    sources: Sources, stop: threading.Event, idle: Callable[[], None] = lambda: None
) -> Generator[Arrival]:
    """Yield the pages of all lists in the order they arrive; `idle` is called while none does. A stop ends it."""
    handed: Queue[Arrival] = Queue(maxsize=len(sources) + 2)
    halt = threading.Event()
    threads = [
        threading.Thread(target=_fetch, args=(resource, pages, handed, halt), daemon=True)
        for resource, pages in sources.items()
    ]
    for thread in threads:
        thread.start()
    try:
        still_open = len(sources)
        while still_open:
            arrival = _next(handed, stop, idle)
            still_open -= not isinstance(arrival[1], Page)
            yield arrival
    finally:
        halt.set()
        _wait_for(threads, handed, STOPPED_S if stop.is_set() else PATIENCE_S)


def _fetch(
    resource: Resource, pages: Callable[[], Iterator[Page]], handed: "Queue[Arrival]", halt: threading.Event
) -> None:
    try:
        for page in pages():
            handed.put((resource, page))
            if halt.is_set():
                return
        handed.put((resource, None))
    except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
        handed.put((resource, error))


def _next(handed: "Queue[Arrival]", stop: threading.Event, idle: Callable[[], None]) -> Arrival:
    while True:
        if stop.is_set():
            raise Stopped
        with contextlib.suppress(Empty):
            return handed.get(timeout=POLL_S)
        idle()


def _wait_for(threads: list[threading.Thread], handed: "Queue[Any]", patience_s: float) -> None:
    """Let the threads end, emptying the queue so that none waits to put. One that hangs in an answer is left behind."""
    until = time.monotonic() + patience_s
    while any(thread.is_alive() for thread in threads) and time.monotonic() < until:
        with contextlib.suppress(Empty):
            handed.get(timeout=0.01)


class ListsRead(Struct):
    """What was read. `failed`: lists that ended with an error of the forge, or with its limit; the next reading goes on
    where they stopped. `stopped`: why reading ended before the end.
    """

    pages: int = 0
    read: set[str] = field(default_factory=set)  # names of lists that were shown
    refused: dict[Resource, LoreError] = field(default_factory=dict)
    failed: dict[Resource, LoreError] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    stopped: str = ""


class PageLoop:
    """Reads lists of one project by the policy of its saver; `result` grows with every page, also when one fails.

    `confirm` is called at the end of each transaction, and raises where this run may not write; `saved` after it,
    and now and then while nothing arrives.
    """

    def __init__(
        self, saver: PageSaver, *, now: Callable[[], int], watcher: Watcher | None = None,
        stop: threading.Event | None = None, confirm: Callable[[], None] = lambda: None,
        saved: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._saver, self._now, self._confirm, self._saved = saver, now, confirm, saved
        self._watcher, self._stop = watcher or Watcher(), stop or threading.Event()
        self.result = ListsRead()

    def read(self, resources: Iterable[Resource], expected: Mapping[str, int] | None = None) -> None:
        """Read these lists to their ends, or until the policy says stop. `expected` rows of a list, by its name, are
        for people only.
        """
        expected = expected or {}
        sources = {resource: self._pages_of(resource, expected.get(resource.name)) for resource in resources}
        policy = self._saver.policy
        arriving = fetch_in_turn(sources) if policy.is_in_turn else fetch_side_by_side(sources, self._stop, self._saved)
        with contextlib.closing(arriving):
            for arrival in arriving:
                self.result.stopped = self._take(*arrival)
                if self.result.stopped:
                    return

    def _take(self, resource: Resource, page: Page | BaseException | None) -> str:
        """Save a page, or note how its list ended; returns why to stop, empty: go on."""
        policy = self._saver.policy
        if isinstance(page, Page):
            self._save(resource, page)
            return policy.why_stop()
        if isinstance(page, RateLimited) and policy.is_stopped_by_limits:
            return page.message
        if page is not None:
            if not isinstance(page, LoreError) or ends_the_run(page):
                raise page
            (self.result.refused if is_refusal(page) else self.result.failed)[resource] = page
        self._watcher.done(resource.name)
        return ""

    def _pages_of(self, resource: Resource, expected: int | None) -> Callable[[], Iterator[Page]]:
        saver = self._saver
        self._watcher.begin(resource.name, resource.title, expected)
        cursor = load_cursor(saver.store, saver.project_id, resource.name)
        now_ms = saver.forge.server_ms() or self._now()
        if saver.policy.since is not None:
            cursor = Cursor(saver.policy.since, swept_at=now_ms, is_complete=True)
        return partial(saver.forge.pages, saver.project, resource.name, cursor, saver.known, now_ms)

    def _save(self, resource: Resource, page: Page) -> None:
        with self._saver.store.transaction():
            rows = self._saver.save(page, resource.name, self._now())
            self._watcher.saved(resource.name, rows)
            self._confirm()  # last: it writes how far this run is, this page included
        if page.cursor is not None:  # else it holds a warning, and nothing of the list
            self.result.read.add(resource.name)
        self.result.pages += 1
        self.result.warnings += page.warnings
        self._saved()


def are_complete(store: Store, project_id: int, resources: Iterable[Resource]) -> bool:
    """True when each of these lists was once read to its end."""
    return all(load_cursor(store, project_id, resource.name).is_complete for resource in resources)


def is_refusal(error: BaseException) -> TypeGuard[LoreError]:
    """True when one thing is not for this reader, or not there; with a rejected token nothing is."""
    return not error.is_rejected if isinstance(error, AuthError) else isinstance(error, NotFound)


def ends_the_run(error: LoreError) -> bool:
    """True for a rejected token, a lost lock, a store that fails: what comes after would meet the same.

    One thing that is refused or fails is not: the others may still be shown.
    """
    return error.is_rejected if isinstance(error, AuthError) else isinstance(error, Locked | StoreError)


class KnownStore:
    """Answers from one project's rows. Safe to use from several threads: the store has a connection for each."""

    def __init__(self, store: Store, project_id: int) -> None:
        self._store, self._project_id = store, project_id

    def _fact(self, name: FactName, key: ItemKey) -> str | None:
        return load_fact(self._store, self._project_id, key, name)

    def thread_etag(self, key: ItemKey) -> str | None:
        return self._fact("threads_etag", key)

    def files_sha(self, key: ItemKey) -> str | None:
        return self._fact("files_sha", key)

    def head_sha(self, key: ItemKey) -> str | None:
        return self._fact("head_sha", key)

    def is_open(self, key: ItemKey) -> bool:
        return self._fact("state", key) == "open"

    def is_confidential(self, key: ItemKey) -> bool:
        return is_confidential(self._store, self._project_id, key)

    def node_ids(self, keys: list[ItemKey]) -> dict[ItemKey, str]:
        return {key: found for key in keys if (found := self._fact("node_id", key)) is not None}

    def kinds(self, numbers: list[int]) -> dict[int, Kind]:
        """Return the kind of the issue or change with each number."""
        return load_kinds(self._store, self._project_id, numbers)

    def has_review_notes(self, key: ItemKey) -> bool:
        return has_review_notes(self._store, self._project_id, key)

    def conversation(self, key: ItemKey) -> KnownConversation | None:
        """Return what is stored of an item's conversation; None for an item that is unknown or gone."""
        return load_conversation(self._store, self._project_id, key)

    def note_times(self, key: ItemKey) -> dict[str, tuple[int | None, bool]]:
        """Return when each note of an item was last changed, by its key, and whether it is the answer."""
        return load_answer_times(self._store, self._project_id, key)

    def fetch_times(self, keys: list[ItemKey]) -> dict[ItemKey, int | None]:
        """Return when the threads of these items were last read in full."""
        return load_fetch_times(self._store, self._project_id, keys)

    def comment_total(self) -> int:
        """Return how many plain comments the forge counts over all issues and changes."""
        return sum_comment_counts(self._store, self._project_id)

    def miscounted(self) -> list[str]:
        """Return job keys of items whose plain comments are more or fewer than the forge counts."""
        return find_miscounted(self._store, self._project_id)

    def without_job(self, job_kind: JobKind, kinds: Sequence[Kind]) -> list[str]:
        """Return job keys of items that never had such a job done and do not wait for one."""
        return find_without_job(self._store, self._project_id, job_kind, kinds)

    def without_files(self) -> list[str]:
        """Return job keys of changes whose files nobody has read and that do not wait for it."""
        return find_without_job(self._store, self._project_id, JobKind.FILES, ("change",))

    def was_interrupted(self) -> bool:
        """True when the run before this one did not come to its end."""
        return was_interrupted(self._store, self._project_id)

    def live_count(self, kind: str) -> int:
        return count_live(self._store, self._project_id, kind)

    def update_times(self, kinds: Sequence[Kind]) -> list[tuple[int, ItemKey]]:
        """Return when everything of these kinds was last changed, the longest unchanged first."""
        rows = load_update_times(self._store, self._project_id, kinds)
        return [(updated_at, ItemKey(kind, number)) for updated_at, kind, number in rows]  # type: ignore[arg-type]

    def live_numbers(self, kind: str) -> dict[int, bool]:
        """Return number -> whether only some readers may see it, of everything the forge should still have."""
        return load_live_numbers(self._store, self._project_id, kind)
