"""`sync-status`: where each project stands, what waits, and how the last runs went."""

import json
from typing import Any

from forgelore.store.conversations import count_notes
from forgelore.store.db import Store
from forgelore.store.jobs import INDEX_JOBS, count_jobs, load_failures
from forgelore.store.live_items import count_live_by_kind
from forgelore.store.projects import StoredProject, list_projects
from forgelore.store.sync_history import StoredRun, find_lock_holder, load_positions, load_runs

_ERRORS = 5


def load_status(store: Store, project: StoredProject | None, runs: int = 3) -> list[dict[str, Any]]:
    projects = [project] if project else list_projects(store)
    return [_status(store, one, runs) for one in projects]


def _status(store: Store, project: StoredProject, runs: int) -> dict[str, Any]:
    jobs = {
        kind: {"waiting": waiting, "failing": failing}
        for kind, (waiting, failing) in count_jobs(store, project.id).items()
    }
    return {
        "project": str(project.name),
        "items": count_live_by_kind(store, project.id),
        "notes": count_notes(store, project.id),
        "cursors": [position._asdict() for position in load_positions(store, project.id)],
        "jobs": {kind: count for kind, count in jobs.items() if kind not in INDEX_JOBS},
        "index": {kind: count for kind, count in jobs.items() if kind in INDEX_JOBS},
        "errors": [
            {"job": f"{kind} {key}", "attempts": attempts, "error": error, "next_attempt_at": when}
            for kind, key, attempts, error, when in load_failures(store, project.id, _ERRORS)
        ],
        "locked_by": _lock(store, project),
        "runs": [_run(one) for one in load_runs(store, project.id, runs)],
    }


def _run(run: StoredRun) -> dict[str, Any]:
    row = run._asdict()
    summary = json.loads(row.pop("summary") or "{}")
    return {**row, "warnings": summary.get("warnings", [])}


def _lock(store: Store, project: StoredProject) -> dict[str, Any] | None:
    holder = find_lock_holder(store, f"project {project.id}")
    return holder._asdict() if holder else None
