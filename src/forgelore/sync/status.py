"""`sync-status`: where each project stands, what waits, and how the last runs went.

Also `sync --plan`: what a sync would cost. It asks for the project, its totals and a page of each list, a dozen
requests at most; the rest is arithmetic. A first sync of many items asks the same, and says what came of it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from forgelore.errors import AuthError, ForgeError, NotFound, RateLimited
from forgelore.model import Kind, Project, ProjectName
from forgelore.ports.forge import FetchCost, Forge, Resource
from forgelore.store.database import Store
from forgelore.store.item_lists import count_live_by_kind
from forgelore.store.jobs import INDEX_JOBS, count_jobs, load_failures
from forgelore.store.notes import count_notes
from forgelore.store.projects import StoredProject, find_project, list_projects
from forgelore.store.sqlite.schema import measure_megabytes
from forgelore.store.sync import (
    KILLED,
    ListPosition,
    LockHolder,
    SyncRun,
    find_lock_holder,
    load_cursor,
    load_positions,
    load_runs,
)
from forgelore.sync.pages import KnownStore

_ERRORS = 5


class JobCount(NamedTuple):
    """How many jobs of a kind wait, and how many of these have failed before."""

    waiting: int
    failing: int


class FailedJob(NamedTuple):
    """A job that failed: its kind and item, and when it is tried again (None: with the next sync)."""

    job: str
    attempts: int
    error: str
    next_attempt_at: int | None


class SyncStatus(Struct, frozen=True):
    """Where a project stands. `items` by kind; `jobs` and `index` by kind of job: what waits for the forge, and what
    waits to be indexed.
    """

    project: str
    items: dict[str, int]
    notes: int
    cursors: list[ListPosition]
    jobs: dict[str, JobCount]
    index: dict[str, JobCount]
    errors: list[FailedJob]
    locked_by: LockHolder | None
    runs: list[SyncRun]


def load_status(store: Store, project: StoredProject | None, runs: int = 3) -> list[SyncStatus]:
    """Return the status of one project, or of all."""
    projects = [project] if project else list_projects(store)
    return [_status(store, one, runs) for one in projects]


def _status(store: Store, project: StoredProject, runs: int) -> SyncStatus:
    holder = _holder(store, project)
    jobs = {kind: JobCount(*counts) for kind, counts in count_jobs(store, project.id).items()}
    return SyncStatus(
        project=str(project.name),
        items=count_live_by_kind(store, project.id),
        notes=count_notes(store, project.id),
        cursors=load_positions(store, project.id),
        jobs={kind: count for kind, count in jobs.items() if kind not in INDEX_JOBS},
        index={kind: count for kind, count in jobs.items() if kind in INDEX_JOBS},
        errors=[
            FailedJob(f"{kind} {key}", attempts, error, when)
            for kind, key, attempts, error, when in load_failures(store, project.id, _ERRORS)
        ],
        locked_by=holder,
        runs=[_run(store, row, is_locked=holder is not None) for row in load_runs(store, project.id, runs)],
    )


def _holder(store: Store, project: StoredProject) -> LockHolder | None:
    """How many rows came is not for everybody: some of them may be confidential."""
    holder = find_lock_holder(store, f"project {project.id}")
    if store.viewer.includes_internal or not holder:
        return holder
    return holder._replace(done=0, expected=None, rate=None, left_s=None)


def _run(store: Store, run: SyncRun, *, is_locked: bool) -> SyncRun:
    if run.status == "running" and not is_locked:
        run = run._replace(status="interrupted", error=KILLED)
    return run if store.viewer.includes_internal else run._replace(warnings=[], requests=0, rows_written=0)


# Growth of the database, with payloads, search documents and both sets of vectors: bench/results/plan.md.
_EMPTY_MB, _BYTES_PER_ITEM, _BYTES_PER_NOTE, _BYTES_PER_CHAR = 0.7, 6_000, 1_000, 2.6


class PlanCheck(NamedTuple):
    """What a first sync was expected to take, as `sync --plan` says it, and what it took."""

    requests: int
    requests_taken: int
    megabytes: float
    megabytes_taken: float

    def ended(self, store: Store, requests: int) -> "PlanCheck":
        """Return it with what was taken, which began below zero: with the plan's own requests, and the file's size."""
        grown = round(self.megabytes_taken + measure_megabytes(store), 1)
        return self._replace(requests_taken=self.requests_taken + requests, megabytes_taken=grown)


def plan_work(
    store: Store, forge: Forge, project: Project, missing: dict[Kind, int], resources: Sequence[Resource]
) -> PlanCheck | None:
    """Return what fetching these items takes; None where the forge does not say, because nobody asked for it."""
    before = forge.requests()
    try:
        cost = forge.estimate(project, missing)
    except (ForgeError, AuthError, NotFound, RateLimited):
        return None
    megabytes = round(count_megabytes(cost, sum(missing.values())), 1)
    spent = forge.requests() - before
    return PlanCheck(count_requests(cost, resources), -spent, megabytes, -measure_megabytes(store))


def count_requests(cost: FetchCost, resources: Sequence[Resource]) -> int:
    """Return how many requests a sync takes: those that fetch, one for each list, and a few for totals."""
    return len(resources) + 3 + cost.requests


def count_megabytes(cost: FetchCost, items: int) -> float:
    """Return by how much so many items make the file grow."""
    return (items * _BYTES_PER_ITEM + cost.notes * _BYTES_PER_NOTE + cost.chars * _BYTES_PER_CHAR) / 1e6


class SyncEstimate(NamedTuple):
    """What a sync would take. By kind of item: how many there are, and how many are not in the store. `unfinished`:
    lists that were never read to their end. `is_counted`: the forge tells its totals to this reader. `points`: of
    GraphQL, where they are limited; `notes`: how many come with the missing items.
    """

    project: str
    on_forge: dict[Kind, int]
    missing: dict[Kind, int]
    is_first: bool
    unfinished: list[str]
    waiting_jobs: int
    requests: int
    seconds: float
    megabytes: float
    is_counted: bool
    points: int = 0
    notes: int = 0


def estimate_sync(store: Store | None, forge: Forge, name: ProjectName, rate: float) -> SyncEstimate:
    """Return requests, seconds and megabytes a sync would take at so many requests a second, and what is missing."""
    project = forge.fetch_project(name)
    totals = {kind: total for kind, total in forge.counts(project).items() if total is not None}
    stored = find_project(store, project.name, project.forge_id) if store else None
    known = KnownStore(store, stored.id) if store and stored else None
    missing = {kind: max(0, total - (known.live_count(kind) if known else 0)) for kind, total in totals.items()}
    resources = forge.resources(project)
    unfinished = [
        r.name for r in resources if not (store and stored and load_cursor(store, stored.id, r.name).is_complete)
    ]
    jobs = count_jobs(store, stored.id) if store and stored else {}
    waiting = sum(total for kind, (total, _) in jobs.items() if kind not in INDEX_JOBS)
    items = sum(missing.values())
    cost = forge.estimate(project, missing) if items else FetchCost(0)
    requests = count_requests(cost, resources) + waiting
    return SyncEstimate(
        project=str(project.name),
        on_forge=totals,
        missing=missing,
        is_first=stored is None,
        unfinished=unfinished,
        waiting_jobs=waiting,
        requests=requests,
        seconds=round(requests / rate, 1),
        megabytes=round(count_megabytes(cost, items) + (_EMPTY_MB if stored is None else 0), 1),
        points=cost.points,
        notes=cost.notes,
        is_counted=bool(totals),
    )
