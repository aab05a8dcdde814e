"""`sync-status`: where each project stands, what waits, and how the last runs went."""

import json
from typing import Any

from forgelore.store.db import Store
from forgelore.store.jobs import INDEX_JOBS, count_jobs
from forgelore.store.projects import StoredProject, list_projects


def load_status(store: Store, project: StoredProject | None, runs: int = 3) -> list[dict[str, Any]]:
    projects = [project] if project else list_projects(store)
    return [_status(store, one, runs) for one in projects]


def _status(store: Store, project: StoredProject, runs: int) -> dict[str, Any]:
    kinds = store.rows(
        "SELECT kind, count(*) FROM items WHERE project_id = ? AND deleted_at IS NULL GROUP BY 1 ORDER BY 1", project.id
    )
    jobs = {
        kind: {"waiting": waiting, "failing": failing}
        for kind, (waiting, failing) in count_jobs(store, project.id).items()
    }
    return {
        "project": str(project.name),
        "items": dict(kinds),
        "notes": store.value("SELECT count(*) FROM notes WHERE project_id = ?", project.id),
        "cursors": [
            {"resource": resource, "updated_at": updated_at, "is_complete": bool(is_complete)}
            for resource, updated_at, is_complete in store.rows(
                "SELECT resource, updated_at, is_complete FROM sync_cursors WHERE project_id = ? AND resource NOT"
                " LIKE 'sweep:%'"
                " ORDER BY resource", project.id,
            )
        ],
        "jobs": {kind: count for kind, count in jobs.items() if kind not in INDEX_JOBS},
        "index": {kind: count for kind, count in jobs.items() if kind in INDEX_JOBS},
        "errors": [
            {"job": f"{kind} {key}", "attempts": attempts, "error": error, "next_attempt_at": when}
            for kind, key, attempts, error, when in store.rows(
                "SELECT kind, key, attempt_count, last_error, next_attempt_at FROM jobs WHERE project_id = ? AND"
                " last_error IS NOT NULL"
                " ORDER BY attempt_count DESC, key LIMIT 5", project.id,
            )
        ],
        "locked_by": _lock(store, project),
        "runs": [_run(*row) for row in store.rows(
            "SELECT command, started_at, finished_at, status, error, requests, rows_written, summary FROM sync_runs"
            " WHERE project_id = ?"
            " ORDER BY id DESC LIMIT ?", project.id, runs)],
    }  # fmt: skip


def _run(
    command: str,
    started_at: int,
    finished_at: int | None,
    status: str,
    error: str | None,
    requests: int,
    rows_written: int,
    summary: str | None,
) -> dict[str, Any]:
    return {
        "command": command, "started_at": started_at, "finished_at": finished_at, "status": status, "error": error,
        "requests": requests,
        "rows_written": rows_written, "warnings": json.loads(summary or "{}").get("warnings", []),
    }  # fmt: skip


def _lock(store: Store, project: StoredProject) -> dict[str, Any] | None:
    row = store.row("SELECT machine, pid, heartbeat_at FROM locks WHERE name = ?", f"project {project.id}")
    return {"machine": row[0], "pid": row[1], "heartbeat_at": row[2]} if row else None
