"""`sync`: one project's history into the store, page by page, losing nothing.

    project -> lock -> lists side by side -> comments -> jobs (threads, details) -> totals -> unlock

Lists, threads and details are independent: where one of them fails, or its quota is used up, the others go on, the run
is "incomplete" and says what is missing, and the next one reads it. Comments alone wait for their items: without these,
each would ask for its item by itself.

Network threads fetch; this thread alone writes. A page and its cursor share a transaction, so a crash repeats a page
and loses none. Work that hangs on an item (its threads, its files) is queued in the same transaction, so that a crash
forgets none of it either.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field

from forgelore.errors import AuthError, ForgeError, LoreError, NotFound, RateLimited, Stopped, format_error
from forgelore.model import Project, ProjectName
from forgelore.ports.forge import Forge, Resource
from forgelore.ports.progress import Watcher
from forgelore.profiles import profile_of
from forgelore.store.change_lines import find_without_lines, forget_old_lines
from forgelore.store.database import Store
from forgelore.store.items import move_urls
from forgelore.store.jobs import INDEX_JOBS, count_jobs, count_waiting, load_reasons, queue_jobs
from forgelore.store.projects import StoredProject, find_project, save_project
from forgelore.store.sync import (
    acquire_lock,
    finish_run,
    load_down_endpoints,
    reset_cursors,
    save_down_endpoints,
    start_run,
)
from forgelore.sync.deletions import Totals, compare_anew, compare_totals, look_again, recheck_old, remember_totals
from forgelore.sync.jobs import JOB_TITLES, FetchPool, SyncContext, beating, fetch_lines, noting_progress, work_off
from forgelore.sync.pages import KnownStore, PageLoop, PageSaver, ReadPolicy, are_complete, is_refusal, tell_cut
from forgelore.sync.replay import work_off_replays
from forgelore.sync.status import PlanCheck, plan_work
from forgelore.text.dates import machine_ms
from forgelore.words import KINDS, JobKind

REASONS = 3  # that are told one by one
TOTALS_S = 3.0  # that the lists wait for the totals: a forge that does not count may be asked for a minute, or an hour
PLANNED_FROM = 500  # items that are not there yet


# Index what was saved of a project; True: for the last time, with everything that belongs to it. Returns how many
# documents it wrote.
MakeSearchable = Callable[[int, Watcher, bool], int]

# How often, at most. A page of items makes new documents; one of comments makes those of its items anew, and a
# conversation comes on many pages: indexed after each, a first sync would take twice the CPU time.
ITEMS_EVERY_MS, COMMENTS_EVERY_MS = 1_000, 30_000
INDEX_SHARE = 4  # and so that indexing takes a fifth of the time at most, for a slow embedder


def nobody_searches(_project_id: int, _watcher: Watcher, _is_last: bool) -> int:  # noqa: FBT001 - of MakeSearchable
    """Index nothing."""
    return 0


class SyncOptions(Struct, frozen=True):
    """`new_only`: what is stored already is left alone; `since`: lists are read from that time on. Both leave the
    cursors where they are, so that the next sync misses nothing.
    """

    full: bool = False
    force: bool = False
    kinds: tuple[str, ...] = ()  # empty: everything
    workers: int = 4
    command: str = "sync"
    new_only: bool = False
    since: int | None = None


class UnreadPart(NamedTuple):
    """A list, or a kind of single items, that could not be read to its end: the forge's reason, what to do, and when to
    come back where a quota is used up. `code` is that of the error.
    """

    part: str
    title: str
    code: str
    reason: str
    hint: str
    retry_at: int | None = None


class SyncResult(Struct):
    """What a sync did, for people and programs. `unread`: what could not be read this time; the next sync reads it.
    `plan`: of a sync of many new items, null for others.
    """

    project: str
    status: Literal["complete", "incomplete"] = "complete"
    unread: list[UnreadPart] = field(default_factory=list)
    written: dict[str, int] = field(default_factory=dict)
    requests: int = 0
    rows_written: int = 0
    deleted: int = 0
    replayed: int = 0
    pending_jobs: int = 0
    failing_jobs: int = 0
    plan: PlanCheck | None = None
    warnings: list[str] = field(default_factory=list)


def sync_project(
    store: Store | Callable[[], Store], forge: Forge, name: ProjectName, options: SyncOptions, *,
    watcher: Watcher | None = None, now_ms: Callable[[], int] = machine_ms, stop: threading.Event | None = None,
    make_searchable: MakeSearchable = nobody_searches,
) -> SyncResult:  # fmt: skip
    """Bring a project up to date and return what happened. Safe to interrupt at any moment. `make_searchable` indexes
    what was saved: it is called with the first page, every now and then, and at the end.

    `store` may be what makes a new one: it is called when the forge has shown the project, so that a wrong name or a
    wrong token leaves no empty file behind.
    """
    requests_before = forge.requests()
    with _waiting_in_sight(store, forge, name, options, watcher, now_ms):
        try:
            project = forge.fetch_project(name)
        except LoreError as refusal:
            if isinstance(store, Store):
                _record_refusal(store, name, options.command, refusal, now_ms())
            raise
    store = store if isinstance(store, Store) else store()
    stored = _save_project(store, project, now_ms())
    lock = acquire_lock(store, f"project {stored.id}", now_ms(), shown=str(stored.name), force=options.force)
    run_id = start_run(store, stored.id, options.command, now_ms())
    pool = FetchPool(options.workers)
    saver = PageSaver(store, forge, project, stored.id, _policy(options, KnownStore(store, stored.id)))
    context = SyncContext(
        store, project, stored.id, lock, saver, pool, options.workers, now_ms, stop or threading.Event()
    )
    sync = _Sync(context, forge, stored, options, noting_progress(lock, watcher, now_ms), make_searchable)
    error: BaseException | None = None
    try:
        with beating(lock, now_ms):
            lock.meter = lambda: (forge.requests() - requests_before, forge.quotas())
            forge.begin_run(load_down_endpoints(store, forge.host, now_ms()), sync.watcher.waiting)
            try:
                sync.run()
            except (ForgeError, AuthError, NotFound, RateLimited):
                sync.index(is_last=True)
                raise
            sync.index(is_last=True)
    except BaseException as caught:
        error = caught
        raise
    finally:
        pool.close()
        sync.finish(run_id, forge.requests() - requests_before, error)
    return sync.result


@contextlib.contextmanager
def _waiting_in_sight(
    store: Store | Callable[[], Store], forge: Forge, name: ProjectName, options: SyncOptions, watcher: Watcher | None,
    now_ms: Callable[[], int],
) -> Iterator[None]:  # fmt: skip
    """Hold the lock of a known project while the forge is asked for it: with a quota that is used up this may take an
    hour, and others see until when.
    """
    known = find_project(store, name) if isinstance(store, Store) else None
    if not isinstance(store, Store) or known is None:
        yield
        return
    lock = acquire_lock(store, f"project {known.id}", now_ms(), shown=str(known.name), force=options.force)
    before = forge.requests()
    lock.meter = lambda: (forge.requests() - before, forge.quotas())
    try:
        with beating(lock, now_ms):
            noting = noting_progress(lock, watcher, now_ms)
            forge.begin_run(load_down_endpoints(store, forge.host, now_ms()), noting.waiting)
            yield
    finally:
        with store.transaction():
            lock.release()


def _policy(options: SyncOptions, known: KnownStore) -> ReadPolicy:
    if not options.new_only and options.since is None:
        return ReadPolicy()
    policy = ReadPolicy(since=options.since, moves_cursors=False)
    if not options.new_only:
        return policy
    numbers = {kind: set(known.live_numbers(kind)) for kind in KINDS}
    return policy._replace(is_wanted=lambda item: item.key.number not in numbers[item.key.kind])


def _save_project(store: Store, project: Project, now_ms: int) -> StoredProject:
    with store.transaction():
        before = find_project(store, project.name, project.forge_id)
        stored = save_project(store, project, now_ms)
        if before is not None and before.id == stored.id and before.url and project.url:
            move_urls(store, stored.id, before.url, project.url)
    return stored


def _record_refusal(store: Store, name: ProjectName, command: str, error: LoreError, now_ms: int) -> None:
    """A project that we know and cannot reach leaves a run as well, so that its status says why nothing came."""
    known = find_project(store, name)
    if known is not None:
        with store.transaction():
            run_id = start_run(store, known.id, command, now_ms)
            finish_run(store, run_id, now_ms, status="failed", error_code=error.code, error=error.message)


class _Sync:
    """One run: holds what its steps share."""

    def __init__(
        self, context: SyncContext, forge: Forge, stored: StoredProject, options: SyncOptions, watcher: Watcher,
        make_searchable: MakeSearchable,
    ) -> None:  # fmt: skip
        self.context, self.forge, self.options, self.watcher = context, forge, options, watcher
        self.store, self.project, self.project_id, self.now = context.store, context.project, stored.id, context.now
        self.result = SyncResult(project=str(stored.name), written=context.saver.written)
        self.known = context.saver.known
        self.make_searchable, self._index_every_ms, self._index_at_ms = make_searchable, ITEMS_EVERY_MS, 0
        self.pages = PageLoop(
            context.saver, now=context.now, watcher=watcher, stop=context.stop,
            confirm=lambda: context.lock.confirm(context.now()), saved=self.index,
        )  # fmt: skip
        self.pages.result.warnings = self.result.warnings  # told also when the run fails
        self.plan: PlanCheck | None = None

    def run(self) -> None:
        self._replay()
        wanted = self._wanted_kinds()
        resources = [r for r in self.forge.resources(self.project) if not wanted or set(r.kinds) & wanted]
        if self.options.full:
            with self.store.transaction():
                reset_cursors(self.store, self.project_id, [resource.name for resource in resources])
                compare_anew(self.context, {kind for resource in resources for kind in resource.lists})
        recheck_old(self.context, self.forge, resources)
        totals = self._totals_for_people(resources)
        self._plan(resources, totals)
        for stage in sorted({resource.stage for resource in resources}):
            self._read([r for r in resources if r.stage == stage and not self._holds_back(r)], totals)
            self._check_something_was_read(resources)
            self._index_every_ms = COMMENTS_EVERY_MS
            if stage == 1:  # each item has all of its own document by now
                self.index(is_forced=True)
        self._work_off_all()
        if not wanted:
            self._compare()

    def index(self, *, is_forced: bool = False, is_last: bool = False) -> None:
        """Make searchable what was saved: at once when something comes first, then if it is time again."""
        began = self.now()
        if began < self._index_at_ms and not (is_forced or is_last):
            return
        written = self.make_searchable(self.project_id, self.watcher, is_last)
        now = self.now()
        if written or self._index_at_ms:
            self._index_at_ms = now + max(self._index_every_ms, INDEX_SHARE * (now - began))

    def _wanted_kinds(self) -> set[str]:
        """Return the kinds that were asked for, none for all. Where a discussion is a thread, no list has them: they
        come with what they are below.
        """
        kinds = set(self.options.kinds)
        has_threads = profile_of(self.forge.name).has_discussion_threads
        return kinds | {"issue", "change"} if "discussion" in kinds and has_threads else kinds

    def _replay(self) -> None:
        """What an older version read wrongly is mended from its payloads, before anything is compared with it."""
        if not count_waiting(self.store, JobKind.REPLAY, [self.project_id]):
            return
        done = work_off_replays(
            self.store, self.forge.payloads, self.project_id, self.context.lock, watcher=self.watcher,
            should_stop=self.context.stop.is_set, now=self.now,
        )  # fmt: skip
        self.result.replayed = len(done.restored)

    def _totals_for_people(self, resources: list[Resource]) -> Totals:
        """Return what a first walk will find, so that its progress can tell the time left. Later walks are short."""
        if are_complete(self.store, self.project_id, [resource for resource in resources if resource.lists]):
            return {}
        found: list[Totals] = []

        def ask() -> None:
            # Without an answer only the time left is lost; the lists will say what they think of the token. The run may
            # end before, and then its client is closed.
            with contextlib.suppress(Exception):
                found.append(self.forge.counts(self.project))

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(TOTALS_S)
        return found[0] if found else {}

    def _plan(self, resources: list[Resource], totals: Totals) -> None:
        """Estimate what a sync of many new items takes, to say afterwards how true it was: a dozen requests."""
        missing = {kind: max(0, (total or 0) - self.known.live_count(kind)) for kind, total in totals.items()}
        is_plain = self.options == SyncOptions(force=self.options.force, workers=self.options.workers)
        if is_plain and sum(missing.values()) >= PLANNED_FROM:
            self.plan = plan_work(self.store, self.forge, self.project, missing, resources)

    def _read(self, resources: list[Resource], totals: Totals) -> None:
        expected = {}
        for resource in resources:
            total = sum(totals.get(kind) or 0 for kind in resource.lists)
            if totals and resource.name == "comments":
                total = self.known.comment_total()
            if total:
                expected[resource.name] = total
        self.pages.read(resources, expected)
        refused = {r: e for r, e in self.refused.items() if r in resources}
        self.result.warnings += [f"{r.title}: {e.message} ({e.hint})" for r, e in refused.items()]
        for resource, error in self.failed.items():
            if resource in resources:
                self._note_unread(resource.name, resource.title, error)

    def _note_unread(self, part: str, title: str, error: LoreError, reason: str = "") -> None:
        """Remember what could not be read; a forge is given until its quota is full again."""
        wait_s = getattr(error, "wait_s", 0)
        retry_at = self.now() + int(wait_s * 1000) if wait_s else None
        self.result.unread.append(UnreadPart(part, title, error.code, reason or error.message, error.hint, retry_at))

    def _holds_back(self, resource: Resource) -> bool:
        """Whether a list must wait because its items were never read to their end, and are not now: each of its rows
        would ask for its item by itself.
        """
        for parent, error in self.failed.items():
            is_above = parent.stage < resource.stage and set(parent.lists) & set(resource.kinds)
            if is_above and not are_complete(self.store, self.project_id, [parent]):
                self._note_unread(resource.name, resource.title, error, f"waiting for {parent.title}")
                return True
        return False

    @property
    def refused(self) -> dict[Resource, LoreError]:
        """The lists that this reader may not see."""
        return self.pages.result.refused

    @property
    def failed(self) -> dict[Resource, LoreError]:
        """The lists that ended with an error, or with a limit."""
        return self.pages.result.failed

    def _check_something_was_read(self, resources: list[Resource]) -> None:
        """One list that is refused is a warning. When no list of items is shown at all, there is nothing to sync; nor
        is there when not a single page came.
        """
        lists = {resource.name for resource in resources if resource.lists} or {r.name for r in resources}
        if self.failed:
            if not self.pages.result.pages:
                raise min(self.failed.values(), key=lambda error: isinstance(error, RateLimited))
        elif self.refused and not self.pages.result.read & lists:
            raise next(iter(self.refused.values()))

    def _work_off_all(self) -> None:
        """Missing items first: what they need is known only then."""
        self._work_off(JobKind.ITEM)
        self._queue_recounts()
        self._queue_required()
        for kind in JOB_TITLES:
            if kind == JobKind.LINES and "change" in (self._wanted_kinds() or KINDS):
                # By now the forge has said which changes were pushed to.
                self._queue(kind, find_without_lines(self.store, self.project_id))
            if kind != JobKind.ITEM:
                self._work_off(kind)
        with self.store.transaction():
            forget_old_lines(self.store, self.project_id)

    def _work_off(self, kind: JobKind) -> None:
        waiting, _ = count_jobs(self.store, self.project_id).get(kind, (0, 0))
        if not waiting or any(one.part == kind for one in self.result.unread):
            return
        self.watcher.begin(kind, JOB_TITLES[kind], waiting)
        fetch = partial(self.forge.fetch_jobs, self.project, kind, known=self.known)
        if kind == JobKind.LINES:
            fetch = partial(fetch_lines, self.forge, self.project)
        split = partial(self.forge.batches, kind, known=self.known)
        saved = partial(self.watcher.saved, kind)
        stopped = work_off(self.context, kind, split, fetch, saved, self.index)
        self.watcher.done(kind)
        if stopped is not None:
            self._note_unread(kind, JOB_TITLES[kind], stopped)

    def _queue_recounts(self) -> None:
        """Comments that the stream did not bring, or that are gone: read those items' conversations whole."""
        if any(one.part in ("comments", "review_comments") for one in self.result.unread):
            return  # the rest of the stream brings them, at a hundredth of the requests
        if profile_of(self.forge.name).has_comment_stream and (self.result.written or self.known.was_interrupted()):
            self._queue(JobKind.THREADS, self.known.miscounted())

    def _queue_required(self) -> None:
        """What an earlier reader could not see (no token, another version) is fetched once somebody can."""
        wanted = self._wanted_kinds()
        for job_kind, item_kinds in self.forge.required_jobs().items():
            self._queue(
                job_kind, self.known.without_job(job_kind, [k for k in item_kinds if not wanted or k in wanted])
            )

    def _queue(self, job_kind: JobKind, keys: list[str]) -> None:
        if keys:
            with self.store.transaction():
                queue_jobs(self.store, self.project_id, job_kind, keys, self.now())

    def _compare(self) -> None:
        """Let the forge's totals say whether anything was deleted or missed, and mend it.

        What was read stays good without them: a forge that does not count now is asked again by the next sync.
        """
        totals: Totals = {}
        try:
            totals = self._totals()
            self.result.warnings += compare_totals(self.context, self.forge, totals)
        except (ForgeError, RateLimited) as error:
            self.result.warnings.append(f"the next sync checks for deletions: {format_error(error)}")
        try:
            self.result.deleted, warnings = look_again(self.context, self.forge)
            self.result.warnings += warnings
        except (ForgeError, RateLimited) as error:
            self.result.warnings.append(f"the next sync checks items that seem deleted: {format_error(error)}")
        self._work_off_all()
        remember_totals(self.context, totals)

    def _totals(self) -> Totals:
        """Return the forge's totals of what was listed for this reader: the rest cannot be compared."""
        try:
            totals = self.forge.counts(self.project)
        except (AuthError, NotFound) as error:
            if not is_refusal(error):
                raise
            return {}
        unread = {kind for resource in (*self.refused, *self.failed) for kind in resource.lists}
        return {kind: total for kind, total in totals.items() if kind not in unread}

    def _missing_parts(self) -> list[str]:
        """Return a warning for each of the commonest reasons why parts are missing, in the forge's own words."""
        reasons = load_reasons(self.store, self.project_id)
        warnings = [
            f"{count} part{'s' if count > 1 else ''} could not be read yet ({'first: ' if count > 1 else ''}"
            f"{first.replace(':', ' ')}); the next sync tries them again: {reason}"
            for reason, count, first in reasons[:REASONS]
        ]
        rest = sum(count for _, count, _ in reasons[REASONS:])
        return (
            [*warnings, f"{rest} more are pending for other reasons; see: forgelore sync-status"] if rest else warnings
        )

    def finish(self, run_id: int, requests: int, error: BaseException | None) -> None:
        """Write the run's row and give the lock back, whatever happened."""
        result = self.result
        waiting = {k: v for k, v in count_jobs(self.store, self.project_id).items() if k not in INDEX_JOBS}
        result.requests = requests
        result.rows_written = sum(result.written.values()) + result.deleted
        result.pending_jobs = sum(total for total, _ in waiting.values())
        result.failing_jobs = sum(failing for _, failing in waiting.values())
        if error is None:
            result.plan = self.plan.ended(self.store, requests) if self.plan and not result.unread else None
            result.warnings += [*tell_cut(self.context.saver.cut), *self._missing_parts()]
        result.status = "incomplete" if result.unread else "complete"
        status = (
            ("incomplete" if result.unread else "succeeded")
            if error is None
            else "interrupted"
            if isinstance(error, KeyboardInterrupt | Stopped)
            else "failed"
        )
        summary: dict[str, Any] = {"written": result.written, "deleted": result.deleted, "warnings": result.warnings}
        summary["unread"] = [one._asdict() for one in result.unread]
        with self.store.transaction():
            save_down_endpoints(self.store, self.forge.host, self.forge.down_endpoints(), self.now())
            finish_run(
                self.store, run_id, self.now(), status=status, requests=requests, rows_written=result.rows_written,
                summary=summary, error_code=getattr(error, "code", None),
                error=getattr(error, "message", None) or (str(error) if error else None),
            )  # fmt: skip
            self.context.lock.release()
