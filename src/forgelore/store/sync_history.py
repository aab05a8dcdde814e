"""How far each list was read, who holds a lock and how the last runs went: what `sync-status` tells."""

from forgelore.store.db import SqlRow, Store


def load_positions(store: Store, project_id: int) -> list[tuple[str, int | None, bool]]:
    """Return (list, read up to, whether it was read to its end) of every list; sweeps for deletions are none."""
    sql = """
        SELECT resource, updated_at, is_complete
        FROM sync_cursors
        WHERE project_id = ? AND resource NOT LIKE 'sweep:%'
        ORDER BY resource
    """
    rows = store.rows(sql, project_id)
    return [(resource, updated_at, bool(is_complete)) for resource, updated_at, is_complete in rows]


def has_cursors(store: Store, project_id: int) -> bool:
    """Whether a sync ever began to read lists; a project that was only imported has no cursors."""
    return bool(store.value("SELECT EXISTS (SELECT 1 FROM sync_cursors WHERE project_id = ?)", project_id))


def load_runs(store: Store, project_id: int, limit: int) -> list[SqlRow]:
    """Return (command, started, finished, status, error, requests, rows written, summary) of the last runs."""
    sql = """
        SELECT command, started_at, finished_at, status, error, requests, rows_written, summary
        FROM sync_runs
        WHERE project_id = ?
        ORDER BY id DESC
        LIMIT ?
    """
    return store.rows(sql, project_id, limit)


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


def find_lock_holder(store: Store, name: str) -> tuple[str, int, int] | None:
    """Return (machine, process, last heartbeat) of who holds a lock."""
    sql = """
        SELECT machine, pid, heartbeat_at
        FROM locks
        WHERE name = ?
    """
    row = store.row(sql, name)
    return (row[0], row[1], row[2]) if row else None
