"""`sync --plan`: what a sync would cost, before any quota is spent on it.

Three requests at most are made: the project, its totals. The rest is arithmetic over what the store already has.
"""

from typing import NamedTuple

from forgelore.flows.sync.stored import KnownStore
from forgelore.model import Kind, ProjectName
from forgelore.ports import Forge
from forgelore.store.db import Store
from forgelore.store.jobs import INDEX_JOBS, count_jobs
from forgelore.store.projects import find_project
from forgelore.store.sync_state import load_cursor

_BYTES_PER_ITEM = 7_300  # database growth per item with its conversation, from bench/results/ingest.md
_NOTES_PER_ITEM = 5


class SyncEstimate(NamedTuple):
    """What a sync would take. By kind of item: how many there are, and how many are not in the store. `unfinished`:
    lists that were never read to their end. `is_counted`: the forge tells its totals to this reader.
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
    requests = len(resources) + 3 + waiting + forge.cost(missing, notes=items * _NOTES_PER_ITEM)
    return SyncEstimate(
        project=str(project.name),
        on_forge=totals,
        missing=missing,
        is_first=stored is None,
        unfinished=unfinished,
        waiting_jobs=waiting,
        requests=requests,
        seconds=round(requests / rate, 1),
        megabytes=round(items * _BYTES_PER_ITEM / 1e6, 1),
        is_counted=bool(totals),
    )
