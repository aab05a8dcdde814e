"""What `sync_status` and `sync` answer to an agent: how fresh the history is."""

from typing import TYPE_CHECKING, NamedTuple

from forgelore.surfaces.mcp.answers import ToolAnswer
from forgelore.surfaces.mcp.fence import fence, one_line
from forgelore.surfaces.present.text import ago, format_ms

if TYPE_CHECKING:
    from forgelore.api import SyncedProject, SyncStatus


class ProjectStatus(NamedTuple):
    """Where a project stands. `synced_at`: when the last run ended that worked; null where none did. `waiting`: jobs
    that wait for the forge or for the index.
    """

    project: str
    items: dict[str, int]
    notes: int
    synced_at: str | None
    last_status: str | None
    last_error: str
    is_syncing: bool
    waiting: int


class ProjectStatuses(NamedTuple):
    """Every project of the database, or the one that was asked for."""

    projects: list[ProjectStatus]


class SyncReport(NamedTuple):
    """What a sync brought. `written`: rows by kind."""

    project: str
    written: dict[str, int]
    requests: int
    deleted: int
    pending_jobs: int
    warnings: list[str]


def answer_status(statuses: "list[SyncStatus]", now_ms: int) -> ToolAnswer:
    data = ProjectStatuses([_status(status) for status in statuses])
    if not statuses:
        return ToolAnswer("no projects yet; a person has to fetch one first", data)
    ended = [_last_success(status) for status in statuses]
    lines = [
        _write(one, "never" if when is None else ago(when, now_ms))
        for one, when in zip(data.projects, ended, strict=True)
    ]
    return ToolAnswer("\n".join(lines), data)


def answer_sync(synced: "SyncedProject") -> ToolAnswer:
    result = synced.result
    warnings = [one_line(warning, 200) for warning in result.warnings[:10]]
    data = SyncReport(
        result.project, dict(result.written), result.requests, result.deleted, result.pending_jobs, warnings
    )
    written = ", ".join(f"{count} {kind}" for kind, count in result.written.items() if count) or "nothing new"
    first = f"{result.project}: {written}; {result.requests} requests"
    return ToolAnswer("\n".join([first, *([fence("\n".join(warnings))] if warnings else [])]), data)


def _status(status: "SyncStatus") -> ProjectStatus:
    last = status.runs[0] if status.runs else None
    ended = _last_success(status)
    return ProjectStatus(
        status.project, status.items, status.notes, format_ms(ended) if ended is not None else None,
        last.status if last else None, one_line(last.error, 300) if last else "", status.locked_by is not None,
        sum(job.waiting for jobs in (status.jobs, status.index) for job in jobs.values()),
    )  # fmt: skip


def _last_success(status: "SyncStatus") -> int | None:
    return next((run.finished_at for run in status.runs if run.status == "succeeded"), None)


def _write(status: ProjectStatus, when: str) -> str:
    counts = ", ".join(f"{count} {kind}s" for kind, count in status.items.items()) or "empty"
    parts = [f"{status.project}: {counts}, {status.notes} notes", f"last synced {when}"]
    parts += ["a sync is running"] if status.is_syncing else []
    parts += [f"last run {status.last_status}: {status.last_error}"] if status.last_error else []
    parts += [f"{status.waiting} jobs wait"] if status.waiting else []
    return "; ".join(parts)
