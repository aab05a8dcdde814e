"""The history of syncs, for `sync-status`: how far each list was read, who holds a lock, how the last runs went."""

from typing import NamedTuple

from forgelore.store.db import Store


class ListPosition(NamedTuple):
    """How far a list of the forge was read: up to an update, and whether to its end."""

    resource: str
    updated_at: int | None
    is_complete: bool


class StoredRun(NamedTuple):
    """A row of `sync_runs`. `finished_at` is None while it runs; `summary` is JSON: rows written, warnings."""

    command: str
    started_at: int
    finished_at: int | None
    status: str
    error: str | None
    requests: int
    rows_written: int
    summary: str | None


class LockHolder(NamedTuple):
    """The process that holds a lock, and when it last said so."""

    machine: str
    pid: int
    heartbeat_at: int


def load_positions(store: Store, project_id: int) -> list[ListPosition]:
    """Return how far every list was read, by name; sweeps for deletions are none."""
    sql = """
        SELECT resource, updated_at, is_complete
        FROM sync_cursors
        WHERE project_id = ? AND resource NOT LIKE 'sweep:%'
        ORDER BY resource
    """
    rows = store.rows(sql, project_id)
    return [ListPosition(resource, updated_at, bool(is_complete)) for resource, updated_at, is_complete in rows]


def has_cursors(store: Store, project_id: int) -> bool:
    """Whether a sync ever began to read lists; a project that was only imported has no cursors."""
    return bool(store.value("SELECT EXISTS (SELECT 1 FROM sync_cursors WHERE project_id = ?)", project_id))


def load_runs(store: Store, project_id: int, limit: int) -> list[StoredRun]:
    """Return the last runs, newest first."""
    sql = f"""
        SELECT {", ".join(StoredRun._fields)}
        FROM sync_runs
        WHERE project_id = ?
        ORDER BY id DESC
        LIMIT ?
    """
    return [StoredRun._make(row) for row in store.rows(sql, project_id, limit)]


def was_interrupted(store: Store, project_id: int) -> bool:
    """True when the run before this one did not come to its end."""
    sql = """
        SELECT status
        FROM sync_runs
        WHERE project_id = ?
        ORDER BY id DESC
        LIMIT 2
    """
    rows = store.rows(sql, project_id)
    return len(rows) == 2 and rows[1][0] != "succeeded"


def find_lock_holder(store: Store, name: str) -> LockHolder | None:
    """Return who holds a lock; None when nobody does."""
    sql = """
        SELECT machine, pid, heartbeat_at
        FROM locks
        WHERE name = ?
    """
    row = store.row(sql, name)
    return LockHolder._make(row) if row else None
