"""What the bot's index takes in, and what must leave it: items by sync's page loop, files of changes, what is gone.

A first run reads the whole history, as far as the forge's limits go, and the next event goes on where it stopped; later
runs read what changed since. So an event that never started a workflow, or whose run failed, is caught up by the next.
Requests are other workflows' too: half of what was left at the start stays for them.

What some reader of the branch cannot read on the forge leaves the index (triage/readers). That is asked of every index
that is opened and again of every one that is pushed, whoever wrote it: a level may have changed since.
"""

from collections.abc import Callable, Collection
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from forgelore.errors import LoreError, NotFound, RateLimited, format_error
from forgelore.index.update import update_index
from forgelore.model import File, Item, ItemKey, Kind, PatchLines, Project
from forgelore.ports.embedder import Embedder
from forgelore.ports.forge import Forge, ForgeMeter, ForgeReader, Page
from forgelore.ports.progress import Watcher
from forgelore.store.change_lines import find_without_lines, forget_old_lines
from forgelore.store.database import Store
from forgelore.store.items import load_ids, save_files
from forgelore.store.jobs import (
    Job,
    count_jobs,
    drop_jobs,
    excuse_job,
    fail_job,
    finish_job,
    queue_documents,
    queue_jobs,
    ready_jobs,
)
from forgelore.store.projects import save_project
from forgelore.store.sync import reset_cursors
from forgelore.store.triage import forget_hidden_facts, forget_items, forget_kinds, rewrite_file
from forgelore.sync.deletions import compare_numbers
from forgelore.sync.jobs import fetch_lines
from forgelore.sync.pages import (
    KnownStore,
    PageLoop,
    PageSaver,
    ReadPolicy,
    are_complete,
    cut_lists,
    ends_the_run,
    job_key,
    parse_job_key,
    save_page_lines,
    tell_cut,
)
from forgelore.triage.readers import may_index, may_index_from, why_not_indexed
from forgelore.words import JobKind

KINDS: tuple[Kind, ...] = ("issue", "change")
RESERVE = 100  # requests that are never touched
MAX_LOOKS = 30  # at items that seem gone, in a run
MAX_SWEPT = 5_000  # items whose numbers are compared: fifty requests
# What only some people may see is not for an index that everybody can read. Pages are read in turn: a page that was
# fetched ahead would be a request too many when the budget is spent.
INDEX_POLICY = ReadPolicy(
    forget_hidden=forget_items, keeps_payloads=False, is_items_only=True, is_in_turn=True, is_stopped_by_limits=True
)


class Coverage(NamedTuple):
    """How much of a project is in the index. `total` None: the forge did not say."""

    known: int
    total: int | None
    is_complete: bool
    pages: int = 0
    stopped: str = ""  # why reading ended before the end
    warnings: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()  # lists that this token may not read

    @staticmethod
    def json_key(name: str) -> str:
        return name if name in ("known", "total", "is_complete") else ""


class Budget:
    """What a run may spend: half of the requests that are left, and some time."""

    def __init__(self, forge: ForgeMeter, is_late: Callable[[], bool]) -> None:
        self._forge, self._is_late = forge, is_late
        self._floor: int | None = None

    def spent(self) -> str:
        """Return why to stop now; empty: go on."""
        left = self._forge.requests_left()
        if left is not None:
            if self._floor is None:
                self._floor = max(RESERVE, left // 2)
            if left <= self._floor:
                return f"{left} requests are left this hour"
        return "this run's time is up" if self._is_late() else ""


def cover(
    store: Store, forge: ForgeReader, project: Project, project_id: int, *, budget: Budget, now_ms: Callable[[], int],
    kinds: tuple[Kind, ...] = KINDS, queues_files: bool = False, watcher: Watcher | None = None,
) -> Coverage:  # fmt: skip
    """Read what changed since the last run, as far as the budget goes. Items of other kinds than `kinds` are not kept,
    and not asked for where they have a list of their own. With `queues_files` changes wait for `triage/intake`.
    """
    lists = [resource for resource in forge.resources(project) if set(resource.lists) & set(kinds)]
    # Only people need the total, and only while reading takes long.
    total = None if are_complete(store, project_id, lists) else _total(forge, project, kinds)
    policy = INDEX_POLICY._replace(kinds=kinds, queues_files=queues_files, why_stop=budget.spent)
    saver = PageSaver(store, forge, project, project_id, policy)
    watcher = watcher or Watcher()
    watcher.begin("items", "issues and changes", total)
    pages = PageLoop(saver, now=now_ms, watcher=_OnePart(watcher))
    pages.read(lists)
    for error in pages.result.failed.values():
        raise error
    watcher.done("items")
    done, known = pages.result, sum(saver.known.live_count(kind) for kind in KINDS)
    refused = tuple(f"{resource.title}: {format_error(error)}" for resource, error in done.refused.items())
    is_complete = are_complete(store, project_id, lists)
    return Coverage(known, total, is_complete, done.pages, done.stopped, tuple(done.warnings), refused)


def _total(forge: ForgeReader, project: Project, kinds: tuple[Kind, ...]) -> int | None:
    try:
        counts = forge.counts(project)
    except LoreError:
        return None  # only the share that is known cannot be told
    found = [counts.get(kind) for kind in kinds if kind in counts]
    return sum(number or 0 for number in found) if found and None not in found else None


class _OnePart(Watcher):
    """Shows several lists as one part: a forge may have one for issues and changes, or one for each."""

    def __init__(self, watcher: Watcher) -> None:
        super().__init__()
        self._watcher = watcher

    def saved(self, resource: str, rows: int) -> None:  # noqa: ARG002 - whichever list it was
        self._watcher.saved("items", rows)


def make_searchable(
    store: Store, embedder: Embedder | None, project_ids: list[int], *, now_ms: Callable[[], int],
    watcher: Watcher | None = None,
) -> None:  # fmt: skip
    """Build the documents and vectors of what was read. An embedder that fails is a problem of the run."""
    update = update_index(store, project_ids, lambda: embedder, watcher=watcher, now_ms=now_ms)
    if update.failure is not None:
        raise update.failure


def drop_missing(
    store: Store,
    forge: ForgeReader,
    project: Project,
    project_id: int,
    *,
    budget: Budget,
    kinds: tuple[Kind, ...] = KINDS,
) -> tuple[int, list[str]]:
    """Forget what the forge no longer has; returns how many items that were, and warnings. An item's deletion may have
    started no workflow.

    The forge's total may count what the index must not hold, so any difference is a reason to compare the numbers.
    """
    counts = forge.counts(project)
    known = KnownStore(store, project_id)
    forgotten, warnings = 0, list[str]()
    for kind in kinds:
        total = counts.get(kind)
        if total is None or total == known.live_count(kind) or total > MAX_SWEPT or budget.spent():
            continue
        found = compare_numbers(known, forge, project, kind, total)
        if found.is_lost_sight:
            gone = len(found.gone)
            warnings.append(f"{gone} of {found.live} {kind}s are no longer visible to this token; they are kept")
            continue
        looks = [forge.look(project, key) for key in found.gone[:MAX_LOOKS]]
        with store.transaction():
            forgotten += forget_items(store, project_id, [one.key for one in looks if one.is_gone])
    return forgotten, warnings


# Requests of a run for files; one is 50 changes on GitHub and a single one on GitLab. The author of an event waits.
MOST_REQUESTS, FEW_REQUESTS = 500, 40
PATIENCE_MS = 5_000  # ... for that long at most, once a request was answered
MAX_LINES_READ = 200  # diffs in a thorough run


def read_files(
    store: Store, forge: Forge, project: Project, project_id: int, *, budget: Budget, now_ms: Callable[[], int],
    most: int = MOST_REQUESTS, patience_ms: int | None = None, known: Collection[ItemKey] = (),
    watcher: Watcher | None = None,
) -> list[str]:  # fmt: skip
    """Read the files of changes that wait for it, the newest first, but for those of `known`, which this run has read
    already: an event brings the paths of its own change, and its history must have them too. What is left waits as
    jobs in the index.

    Returns what should be told: lists that the forge cuts, and why reading ended if something went wrong.
    """
    _queue(store, project_id, known, now_ms())
    watcher = watcher or Watcher()
    watcher.begin("files", "files of changes", count_jobs(store, project_id).get(JobKind.FILES, (0, 0))[0])
    last, size = forge.requests() + most, forge.batch_size(JobKind.FILES)
    cut: dict[ItemKey, tuple[int, int]] = {}
    tried: set[str] = set()
    problems: list[str] = []
    until = None if patience_ms is None else now_ms() + patience_ms
    while forge.requests() < last and not budget.spent() and (until is None or now_ms() < until):
        jobs = _next_jobs(store, project_id, tried, size, now_ms())
        if not jobs:
            break
        tried.update(job.key for job in jobs)
        try:
            page = _fetch(forge, project, jobs, KnownStore(store, project_id))
        except LoreError as error:
            problems.append(f"files of changes: {format_error(error)}")
            if len(jobs) > 1 or ends_the_run(error) or isinstance(error, RateLimited):  # the others would meet the same
                break
            with store.transaction():
                fail_job(store, project_id, jobs[0], format_error(error), now_ms())
            continue
        _save(store, project_id, page, jobs, now_ms())
        cut |= cut_lists(page)
        watcher.saved("files", len(jobs))
    watcher.done("files")
    return [*problems, *tell_cut(cut)]


def read_lines(
    store: Store, forge: Forge, project: Project, project_id: int, *, budget: Budget, most: int = MAX_LINES_READ
) -> None:
    """Read which lines open changes remove and add that no event has brought: those that were there before the bot,
    and those that were pushed to since. The newest first, a request for each; the next run goes on.
    """
    with store.transaction():
        forget_old_lines(store, project_id)
    for text in find_without_lines(store, project_id)[:most]:
        if budget.spent():
            return
        page = fetch_lines(forge, project, [parse_job_key(text)])
        with store.transaction():
            save_page_lines(store, project_id, page)


def _queue(store: Store, project_id: int, known: Collection[ItemKey], now_ms: int) -> None:
    """Queue what no run has read yet: all changes of an index that an older version made."""
    with store.transaction():
        drop_jobs(store, project_id, JobKind.FILES, map(job_key, known))
        queue_jobs(store, project_id, JobKind.FILES, KnownStore(store, project_id).without_files(), now_ms)


def _next_jobs(store: Store, project_id: int, tried: set[str], size: int, now_ms: int) -> list[Job]:
    found = ready_jobs(store, project_id, JobKind.FILES, now_ms, size + len(tried), is_newest_first=True)
    return [job for job in found if job.key not in tried][:size]


def _fetch(forge: Forge, project: Project, jobs: list[Job], known: KnownStore) -> Page:
    try:
        return forge.fetch_jobs(project, JobKind.FILES, [parse_job_key(job.key) for job in jobs], known)
    except NotFound:
        if len(jobs) > 1:
            raise
        return Page()  # it is gone; the list of numbers will say so too


def _save(store: Store, project_id: int, page: Page, jobs: list[Job], now_ms: int) -> None:
    with store.transaction():
        ids = load_ids(store, project_id, [detail.key for detail in page.details])
        for detail in page.details:
            if detail.key in ids and detail.files is not None:
                save_files(store, project_id, ids[detail.key], detail.files, detail.head_sha)
        queue_documents(store, project_id, ids.values())
        for job in jobs:
            missing = page.missing.get(parse_job_key(job.key))
            if missing is None:
                finish_job(store, project_id, job)
            elif missing.is_asked:
                fail_job(store, project_id, job, missing.reason, now_ms)
            else:
                excuse_job(store, project_id, job, missing.reason)


def public_kinds(project: Project) -> tuple[Kind, ...]:
    """Return the kinds of items that a project's own index may hold."""
    return tuple(kind for kind in KINDS if may_index(project, kind))


def public_kinds_from(sibling: Project) -> tuple[Kind, ...]:
    """Return the kinds of items of another project that an index may hold."""
    return tuple(kind for kind in KINDS if may_index_from(sibling, kind))


def why_withheld(project: Project) -> list[str]:
    """Return what to tell people about the kinds that are left out."""
    return [reason for kind in KINDS if not may_index(project, kind) and (reason := why_not_indexed(project, kind))]


def remove_private(store: Store, project_id: int, held: tuple[Kind, ...]) -> int:
    """Forget for good what a project's rows must not show; returns how many items that were.

    Where reading stopped is forgotten with them: should they be for everybody later, they are read again.
    """
    with store.transaction():
        found = forget_kinds(store, project_id, [kind for kind in KINDS if kind not in held])
        forget_hidden_facts(store)
        if found:
            reset_cursors(store, project_id)
    if found:
        rewrite_file(store)
    return found


def open_project(store: Store, project: Project, now_ms: int) -> int:
    """Return the row of a project, made when it is new; without its payload, which tells the bot more than others."""
    with store.transaction():
        return save_project(store, replace(project, raw=b""), now_ms).id


class HasProblems(Protocol):
    problems: list[str]


class ProblemCollector:
    """`with ProblemCollector(outcome):` turns an error of ours into a problem of the run."""

    def __init__(self, outcome: HasProblems) -> None:
        self._outcome = outcome

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if isinstance(error, LoreError):
            self._outcome.problems.append(format_error(error))
        return isinstance(error, LoreError)


class Fetched(NamedTuple):
    """An item as the forge has it now, or as an event told it. `files` None: unknown."""

    item: Item
    files: list[File] | None = None
    warnings: tuple[str, ...] = ()
    lines: PatchLines | None = None  # of the whole diff, where the forge lists none with the files


def fetch_current(
    forge: ForgeReader, project: Project, key: ItemKey, event_item: Item | None = None, *, with_files: bool = True
) -> Fetched:
    """Return the item as it is now, with `with_files` a change's files too. Raises NotFound when it is gone.

    What fails is left out with a warning: without the forge's answer the event's own word counts, without files the
    text.
    """
    warnings = []
    try:
        item = forge.fetch_item(project, key)
    except NotFound:
        raise
    except LoreError as error:
        if event_item is None or not event_item.title:
            raise
        item = event_item
        warnings.append(f"{key.kind} {key.number} was read from the event: {error.message}")
    files: list[File] | None = None
    lines: PatchLines | None = None
    if key.kind == "change" and with_files:
        try:
            files = forge.fetch_files(project, key)
            if files and all(file.lines is None for file in files):  # Forgejo's list has no patches
                lines = fetch_lines(forge, project, [key]).lines[key]
        except LoreError as error:
            warnings.append(f"its files could not be read: {error.message}")
    return Fetched(item, files, tuple(warnings), lines)
