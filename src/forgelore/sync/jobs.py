"""Working off the queue of jobs: threads fetch, the caller's thread saves; what fails waits for its next turn.

Meanwhile the lock says that its holder lives, also while a rate limit lets nothing be written, and how far it is.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from queue import SimpleQueue
from typing import NamedTuple

from forgelore.errors import LoreError, NotFound, RateLimited, Stopped
from forgelore.model import ItemKey, Project
from forgelore.ports.forge import ForgeReader, MissingPart, Page
from forgelore.ports.progress import Progress, Watcher
from forgelore.store.database import Store
from forgelore.store.jobs import (
    Job,
    drop_jobs,
    excuse_job,
    fail_job,
    finish_job,
    queue_jobs,
    queue_missing_part,
    ready_jobs,
)
from forgelore.store.sync import Lock, WorkProgress
from forgelore.sync.pages import PageSaver, ends_the_run, is_switched_off, parse_job_key
from forgelore.text.patches import read_diff
from forgelore.words import JobKind

# What a sync fetches for single items, in the order of their turns.
JOB_TITLES = {
    JobKind.ITEM: "missing items",
    JobKind.THREADS: "threads",
    JobKind.DETAIL: "details",
    JobKind.LINKS: "closing links",
    JobKind.LINES: "lines of open changes",
}

POLL_S = 0.1
PARTS = {JobKind.DETAIL: (JobKind.LINKS,)}  # jobs that another one does as well


class FetchPool:
    """The threads that fetch for one run.

    Daemons, which the library's are not: after an error nobody waits for one that sits out a limit of a quarter of an
    hour or hangs in an answer, neither the next project nor the end of the process. What it brings then is dropped.
    """

    def __init__(self, workers: int) -> None:
        self._tasks: SimpleQueue[tuple[Future[Page], Callable[[], Page]] | None] = SimpleQueue()
        self._is_closed = False
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(workers)]
        for thread in self._threads:
            thread.start()

    def submit(self, fetch: Callable[[list[ItemKey]], Page], keys: list[ItemKey]) -> Future[Page]:
        future: Future[Page] = Future()
        self._tasks.put((future, partial(fetch, keys)))
        return future

    def close(self) -> None:
        """Let every thread end after what it is doing now; what is still queued is not begun."""
        self._is_closed = True
        for _ in self._threads:
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None and not self._is_closed:
            future, fetch = task
            try:
                future.set_result(fetch())
            except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
                future.set_exception(error)


class SyncContext(NamedTuple):
    """What working on a project's jobs needs."""

    store: Store
    project: Project
    project_id: int
    lock: Lock
    saver: PageSaver
    pool: FetchPool
    workers: int
    now: Callable[[], int]
    stop: threading.Event


def work_off(
    context: SyncContext,
    kind: JobKind,
    split: Callable[[list[ItemKey]], Iterable[list[ItemKey]]],
    fetch: Callable[[list[ItemKey]], Page],
    finished: Callable[[int], None],
    saved: Callable[[], None] = lambda: None,
) -> LoreError | None:
    """Do all jobs of a kind whose time has come, in the batches that `split` makes of them. `finished` counts them in
    the transaction that saves them, `saved` is called after it and while nothing arrives. Where the forge lets nobody
    go on (a limit, an endpoint that is down), the rest stays in the queue as it is, and that error is returned.
    """
    running: dict[Future[Page], list[Job]] = {}
    stopped: list[LoreError] = []
    for batch in _batches(context, kind, split):
        running[context.pool.submit(fetch, _keys(batch))] = batch
        if len(running) >= 2 * context.workers:
            stopped += _collect(context, kind, running, fetch, finished, saved)
        if stopped:
            break
    while running:
        stopped += _collect(context, kind, running, fetch, finished, saved)
    return stopped[0] if stopped else None


MAX_DIFF = 400_000  # characters of a diff: whoever writes more has no rival by lines


def fetch_lines(forge: ForgeReader, project: Project, keys: list[ItemKey]) -> Page:
    """Return which lines changes remove and add, a request for each. A diff that the forge does not show (GitHub: of
    more than 300 files) has none.
    """
    diffs = {key: forge.fetch_diff(project, key, max_chars=MAX_DIFF) for key in keys}
    return Page(lines={key: read_diff(diff or "") for key, diff in diffs.items()})


def _batches(
    context: SyncContext, kind: JobKind, split: Callable[[list[ItemKey]], Iterable[list[ItemKey]]]
) -> Iterator[list[Job]]:
    done: set[tuple[str, int]] = set()
    while True:
        found = ready_jobs(context.store, context.project_id, kind, context.now(), 1000 + len(done))
        ready = [
            job for job in found if (job.key, job.version) not in done and not is_switched_off(context.project, job.key)
        ]
        if not ready:
            return
        by_key = {parse_job_key(job.key): job for job in ready}
        for keys in split(list(by_key)):
            batch = [by_key[key] for key in keys]
            done.update((job.key, job.version) for job in batch)
            yield batch


def _keys(jobs: list[Job]) -> list[ItemKey]:
    return [parse_job_key(job.key) for job in jobs]


def _collect(
    context: SyncContext, kind: JobKind, running: dict[Future[Page], list[Job]], fetch: Callable[[list[ItemKey]], Page],
    finished: Callable[[int], None], saved: Callable[[], None],
) -> list[LoreError]:  # fmt: skip
    """Save what has arrived, all of it in one transaction; wait for the first if nothing has. Returns what lets nobody
    go on.
    """
    arrived: list[tuple[Page, list[Job]]] = []
    stopped: list[LoreError] = []
    for future in _arrived(context, running, saved):
        jobs = running.pop(future)
        try:
            arrived.append((future.result(), jobs))
        except LoreError as error:
            if ends_the_run(error):
                raise
            if isinstance(error, RateLimited):
                stopped.append(error)  # nobody asked: these jobs wait as before
                continue
            if len(jobs) == 1:
                _failed(context, jobs[0], error)
                continue
            middle = len(jobs) // 2  # one of them spoils the batch: find it, so that the others do not wait with it
            for part in (jobs[:middle], jobs[middle:]):
                running[context.pool.submit(fetch, _keys(part))] = part
    if arrived:
        with context.store.transaction():
            for page, jobs in arrived:
                context.saver.save(page, kind, context.now())
                for job in jobs:
                    _settle(context, job, page.missing.get(parse_job_key(job.key)))
            finished(sum(len(jobs) for _, jobs in arrived))
            context.lock.confirm(context.now())
        saved()
    return stopped


def _settle(context: SyncContext, job: Job, missing: MissingPart | None) -> None:
    """Clear a job, unless something of it is still missing: that waits, with the forge's reason."""
    store, project_id = context.store, context.project_id
    if missing is None or missing.kind != job.kind:
        is_done = finish_job(store, project_id, job)
        for part in PARTS.get(job.kind, ()) if is_done else ():
            drop_jobs(store, project_id, part, [job.key])
        if missing is not None:
            queue_missing_part(store, project_id, job._replace(kind=missing.kind), missing.reason, context.now())
    elif missing.is_asked:
        if missing.is_gone:
            queue_jobs(store, project_id, JobKind.LOOK, [job.key], context.now())
        fail_job(store, project_id, job, missing.reason, context.now())
    else:
        excuse_job(store, project_id, job, missing.reason)


def _arrived(
    context: SyncContext, running: dict[Future[Page], list[Job]], idle: Callable[[], None]
) -> set[Future[Page]]:
    while True:
        if context.stop.is_set():
            raise Stopped
        finished, _ = wait(running, timeout=POLL_S, return_when=FIRST_COMPLETED)
        if finished:
            return finished
        idle()


def _failed(context: SyncContext, job: Job, error: LoreError) -> None:
    """An item that is gone gets a second look; one that we never had needs none. Anything else waits for its turn."""
    with context.store.transaction():
        context.lock.confirm(context.now())
        if isinstance(error, NotFound) and job.kind == JobKind.ITEM:
            finish_job(context.store, context.project_id, job)
            return
        if isinstance(error, NotFound):
            queue_jobs(context.store, context.project_id, JobKind.LOOK, [job.key], context.now())
        fail_job(context.store, context.project_id, job, error.message, context.now())


EVERY_S = 15.0
LOOK_S = 1.0  # how often somebody looks whether there is something new to show to other processes


@contextlib.contextmanager
def beating(lock: Lock, now: Callable[[], int]) -> Iterator[None]:
    """Confirm the lock every few seconds, in a thread of its own, and say how far the work is, until the block ends."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(LOOK_S):
            try:
                lock.confirm_if_due(now(), int(EVERY_S * 1000))
            except LoreError:
                return  # the writer meets the same answer in its next transaction and says so

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def noting_progress(lock: Lock, watcher: Watcher | None, now: Callable[[], int]) -> Watcher:
    """Return a watcher that also has the lock say how far the work is, from its next `confirm` on."""
    began: dict[str, int] = {}

    def note(event: Progress) -> None:
        if event.wait_s >= 1:
            until = now() + int(event.wait_s * 1000)
            lock.progress = lock.progress._replace(waiting_until=until, waiting_for=event.note)
        elif event.done and not event.is_finished:  # the stage that moved last; a list may end with nothing in it
            moment, before = now(), lock.progress
            since = began.setdefault(event.stage, moment)
            # What has a quota goes on while something else waits for its own.
            waits = (before.waiting_until or 0) > moment
            waiting = (before.waiting_until, before.waiting_for) if waits else (None, None)
            lock.progress = WorkProgress(event.title, event.done, event.expected, since, *waiting)
        elif event.stage:
            began.setdefault(event.stage, now())
        if watcher is not None:
            watcher.tell(event)

    return Watcher(note)
