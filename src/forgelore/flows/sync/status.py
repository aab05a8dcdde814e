"""`sync-status`: where each project stands, what waits, and how the last runs went."""

import json
from typing import NamedTuple

from msgspec import Struct

from forgelore.store.conversations import count_notes
from forgelore.store.db import Store
from forgelore.store.jobs import INDEX_JOBS, count_jobs, load_failures
from forgelore.store.live_items import count_live_by_kind
from forgelore.store.projects import StoredProject, list_projects
from forgelore.store.sync_history import (
    ListPosition,
    LockHolder,
    StoredRun,
    find_lock_holder,
    load_positions,
    load_runs,
)

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


class SyncRun(NamedTuple):
    """One sync, ingest or import of a project. `status`: running, succeeded, failed or interrupted."""

    command: str
    started_at: int
    finished_at: int | None
    status: str
    error: str | None
    requests: int
    rows_written: int
    warnings: list[str]


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


def load_status(
    store: Store, project: StoredProject | None, runs: int = 3, *, is_public: bool = False
) -> list[SyncStatus]:
    """Return the status of one project, or of all. `is_public`: confidential items and internal notes are not counted,
    nor what runs wrote, of which they are a part; what a run warned of may name them, and is left out.
    """
    projects = [project] if project else list_projects(store)
    return [_status(store, one, runs, is_public=is_public) for one in projects]


def _status(store: Store, project: StoredProject, runs: int, *, is_public: bool) -> SyncStatus:
    jobs = {kind: JobCount(*counts) for kind, counts in count_jobs(store, project.id, is_public=is_public).items()}
    return SyncStatus(
        project=str(project.name),
        items=count_live_by_kind(store, project.id, is_public=is_public),
        notes=count_notes(store, project.id, is_public=is_public),
        cursors=load_positions(store, project.id),
        jobs={kind: count for kind, count in jobs.items() if kind not in INDEX_JOBS},
        index={kind: count for kind, count in jobs.items() if kind in INDEX_JOBS},
        errors=[
            FailedJob(f"{kind} {key}", attempts, error, when)
            for kind, key, attempts, error, when in load_failures(store, project.id, _ERRORS, is_public=is_public)
        ],
        locked_by=find_lock_holder(store, f"project {project.id}"),
        runs=[_run(row, is_public=is_public) for row in load_runs(store, project.id, runs)],
    )


def _run(run: StoredRun, *, is_public: bool) -> SyncRun:
    if is_public:
        return SyncRun(*run[:-1], [])._replace(requests=0, rows_written=0)
    warnings: list[str] = json.loads(run.summary or "{}").get("warnings", [])
    return SyncRun(*run[:-1], warnings)
