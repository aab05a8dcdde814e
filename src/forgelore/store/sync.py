"""The bookkeeping of sync: cursors, runs, and the lock that keeps two syncs of one project apart and says how far its
holder is.
"""

import json
import os
import socket
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from forgelore.errors import Locked
from forgelore.model import Cursor
from forgelore.records import QuotaLeft
from forgelore.store.database import Store
from forgelore.store.filters import visible
from forgelore.store.sqlite.connection import one_of, pack_list

STALE_AFTER_MS = 60_000

_held_here: set[str] = set()  # owners that this very process holds: its number alone may be a restarted container's


def load_cursor(store: Store, project_id: int, resource: str) -> Cursor:
    sql = """
        SELECT updated_at, tie_id, token, etag, swept_at, is_complete
        FROM sync_cursors
        WHERE project_id = ? AND resource = ?
    """
    row = store.row(sql, project_id, resource)
    if row is None:
        return Cursor()
    updated_at, tie_id, token, etag, swept_at, is_complete = row
    return Cursor(updated_at, tie_id, token, etag, swept_at, bool(is_complete))


def save_cursor(store: Store, project_id: int, resource: str, cursor: Cursor) -> None:
    """Move the cursor; called in the transaction that saves the rows it has passed. Equal cursors write nothing."""
    if load_cursor(store, project_id, resource) == cursor:
        return
    sql = """
        INSERT INTO sync_cursors (project_id, resource, updated_at, tie_id, token, etag, swept_at, is_complete)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (project_id, resource) DO UPDATE
        SET updated_at = excluded.updated_at, tie_id = excluded.tie_id, token = excluded.token, etag = excluded.etag,
          swept_at = excluded.swept_at, is_complete = excluded.is_complete
    """
    place = (cursor.updated_at, cursor.tie_id, cursor.token, cursor.etag)
    store.run(sql, project_id, resource, *place, cursor.swept_at, cursor.is_complete)


def reset_cursors(store: Store, project_id: int, resources: list[str] | None = None) -> None:
    """Forget where reading stopped (`--full`): the next pages start from the beginning."""
    if resources is None:
        store.run("DELETE FROM sync_cursors WHERE project_id = ?", project_id)
    for resource in resources or []:
        store.run("DELETE FROM sync_cursors WHERE project_id = ? AND resource = ?", project_id, resource)


KILLED = "the process ended without finishing; the next sync goes on"


def start_run(store: Store, project_id: int, command: str, now_ms: int) -> int:
    """Open a row in `sync_runs`; runs that died without a word are marked as interrupted."""
    dead = """
        UPDATE sync_runs
        SET status = 'interrupted', error = ?
        WHERE project_id = ? AND status = 'running'
    """
    store.run(dead, KILLED, project_id)
    new = """
        INSERT INTO sync_runs (project_id, command, started_at, status)
        VALUES (?, ?, ?, 'running')
        RETURNING id
    """
    return int(store.value(new, project_id, command, now_ms))


def finish_run(
    store: Store,
    run_id: int,
    now_ms: int,
    *,
    status: str,
    requests: int = 0,
    rows_written: int = 0,
    summary: dict[str, Any] | None = None,
    error_code: str | None = None,
    error: str | None = None,
) -> None:
    sql = """
        UPDATE sync_runs
        SET finished_at = ?, status = ?, error_code = ?, error = ?, requests = ?, rows_written = ?, summary = ?
        WHERE id = ?
    """
    counts = (requests, rows_written, json.dumps(summary or {}))
    store.run(sql, now_ms, status, error_code, error, *counts, run_id)


MEMORY_MS = 3_600_000  # how long an endpoint that was down is tried with less patience


def save_down_endpoints(store: Store, host: str, down: Mapping[str, str], now_ms: int) -> None:
    """Remember endpoint -> reason of what keeps failing on a host, and nothing else of it."""
    store.run("DELETE FROM down_endpoints WHERE host = ?", host)
    sql = "INSERT INTO down_endpoints (host, endpoint, reason, failed_at) VALUES (?, ?, ?, ?)"
    store.run_many(sql, [(host, endpoint, reason[:300], now_ms) for endpoint, reason in down.items()])


def load_down_endpoints(store: Store, host: str, now_ms: int) -> dict[str, str]:
    """Return endpoint -> reason of what kept failing within the last hour."""
    sql = "SELECT endpoint, reason FROM down_endpoints WHERE host = ? AND failed_at > ?"
    return dict(store.rows(sql, host, now_ms - MEMORY_MS))


class WorkProgress(NamedTuple):
    """How far work is: rows `done` of `expected` in a stage, as people call it, since when; and until when it waits,
    and what for.
    """

    stage: str | None = None
    done: int = 0
    expected: int | None = None
    stage_began_at: int | None = None
    waiting_until: int | None = None
    waiting_for: str | None = None


class Lock:
    """A held lock row. `confirm` inside each write transaction proves that nobody took it over."""

    def __init__(self, store: Store, name: str, owner: str, shown: str = "this project") -> None:
        self._store, self._name, self._owner, self._shown = store, name, owner, shown
        self.progress = WorkProgress()  # for other processes to show: written by the next `confirm`
        self.meter: Callable[[], tuple[int, list[QuotaLeft]]] = lambda: (0, [])  # requests made, and what is left
        self._written: tuple[int, WorkProgress | None] = (0, None)

    def confirm(self, now_ms: int) -> None:
        sql = """
            UPDATE locks
            SET heartbeat_at = ?, stage = ?, done = ?, expected = ?, stage_began_at = ?, waiting_until = ?,
              waiting_for = ?, requests = ?, quotas = ?
            WHERE name = ? AND owner = ?
        """
        progress, (requests, quotas) = self.progress, self.meter()
        measured = (requests, json.dumps(quotas))
        if not self._store.run(sql, now_ms, *progress, *measured, self._name, self._owner):
            raise Locked(
                f"another process took over {self._shown}", hint="let it finish; everything saved so far is kept"
            )
        self._written = now_ms, progress

    def confirm_if_due(self, now_ms: int, every_ms: int) -> None:
        """Confirm if nobody did for so long, or there is something new to show."""
        if self._written[1] != self.progress or not 0 <= now_ms - self._written[0] < every_ms:
            self.confirm(now_ms)

    def release(self) -> None:
        _held_here.discard(self._owner)
        self._store.run("DELETE FROM locks WHERE name = ? AND owner = ?", self._name, self._owner)


def acquire_lock(store: Store, name: str, now_ms: int, *, shown: str = "", force: bool = False) -> Lock:
    """Take the lock, or raise Locked. A lock whose process is gone is taken; `force` takes one that has gone quiet.

    `shown` is what people call the thing that is locked.
    """
    owner = uuid.uuid4().hex
    machine, pid = socket.gethostname(), os.getpid()
    with store.transaction():
        row = store.row("SELECT machine, pid, owner, heartbeat_at FROM locks WHERE name = ?", name)
        if row is not None:
            _check_takeover(shown or name, row, machine=machine, now_ms=now_ms, force=force)
            store.run("DELETE FROM locks WHERE name = ?", name)
        sql = "INSERT INTO locks (name, owner, machine, pid, acquired_at, heartbeat_at) VALUES (?, ?, ?, ?, ?, ?)"
        store.run(sql, name, owner, machine, pid, now_ms, now_ms)
    _held_here.add(owner)
    return Lock(store, name, owner, shown or name)


def _check_takeover(name: str, row: tuple[Any, ...], *, machine: str, now_ms: int, force: bool) -> None:
    held_by, pid, owner, heartbeat_at = row
    is_local = held_by == machine
    if is_local and not _is_alive(pid, owner):
        return
    # A heartbeat from the future was written under another clock: it says nothing about how long ago it was.
    is_quiet = not 0 <= now_ms - heartbeat_at < STALE_AFTER_MS
    if force and is_quiet:
        return
    quiet = f"silent for {max(0, now_ms - heartbeat_at) // 1000} s" if is_quiet else "still working"
    hint = (
        "take over with: forgelore sync --force"
        if is_quiet
        else "wait for it to finish; how far it is: forgelore sync-status"
    )
    raise Locked(f"{name} is locked by process {pid} on {held_by} ({quiet})", hint=hint)


def _is_alive(pid: int, owner: str) -> bool:
    if pid == os.getpid():
        return owner in _held_here
    if os.name != "posix":  # signal 0 means something else there; the heartbeat decides
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


class ListPosition(NamedTuple):
    """How far a list of the forge was read: up to an update, and whether to its end."""

    resource: str
    updated_at: int | None
    is_complete: bool


class SyncRun(NamedTuple):
    """One sync, ingest or import of a project. `status`: running, succeeded, incomplete, failed or interrupted.
    `unread`: what an incomplete one could not read, each with its reason.
    """

    command: str
    started_at: int
    finished_at: int | None
    status: str
    error: str | None
    requests: int
    rows_written: int
    warnings: list[str]
    unread: list[str]


class LockHolder(NamedTuple):
    """The process that holds a lock, when it last said so, and how far it was then: rows `done` of `expected` in a
    stage, as people call it, at `rate` a second, so that the stage takes `left_s` more. None: it has not begun, or
    nobody knows. `requests`: those of this run; `quotas`: what the forge last said is left.
    """

    machine: str
    pid: int
    heartbeat_at: int
    stage: str | None = None
    done: int = 0
    expected: int | None = None
    rate: float | None = None
    left_s: int | None = None
    waiting_until: int | None = None
    waiting_for: str | None = None
    requests: int = 0
    quotas: list[QuotaLeft] = []  # noqa: RUF012 - never changed


def load_positions(store: Store, project_id: int) -> list[ListPosition]:
    """Return how far every list was read, by name; what only comparisons remember has a colon in it."""
    sql = """
        SELECT resource, updated_at, is_complete
        FROM sync_cursors
        WHERE project_id = ? AND resource NOT LIKE '%:%'
        ORDER BY resource
    """
    rows = store.rows(sql, project_id)
    return [ListPosition(resource, updated_at, bool(is_complete)) for resource, updated_at, is_complete in rows]


def has_cursors(store: Store, project_id: int) -> bool:
    """Whether a sync ever began to read lists; a project that was only imported has no cursors."""
    return bool(store.value("SELECT EXISTS (SELECT 1 FROM sync_cursors WHERE project_id = ?)", project_id))


def was_fetched(store: Store, project_id: int) -> bool:
    """Whether a run ever asked the forge; an import asks nobody."""
    sql = "SELECT EXISTS (SELECT 1 FROM sync_runs WHERE project_id = ? AND command <> 'import' AND requests > 0)"
    return bool(store.value(sql, project_id))


def load_runs(store: Store, project_id: int, limit: int) -> list[SyncRun]:
    """Return the last runs, newest first."""
    sql = f"""
        SELECT {", ".join(SyncRun._fields[:-2])}, summary
        FROM sync_runs
        WHERE project_id = ?
        ORDER BY id DESC
        LIMIT ?
    """
    rows = store.rows(sql, project_id, limit)
    found = []
    for *row, text in rows:
        summary = json.loads(text or "{}")
        unread = [f"{one['title']}: {one['reason']}" for one in summary.get("unread", [])]
        found.append(SyncRun._make((*row, summary.get("warnings", []), unread)))
    return found


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
    """Return who holds a lock; None when nobody does, or a process of this machine that is gone."""
    sql = f"""
        SELECT machine, pid, owner, heartbeat_at, requests, quotas, {", ".join(WorkProgress._fields)}
        FROM locks
        WHERE name = ?
    """
    row = store.row(sql, name)
    if row is None or (row[0] == socket.gethostname() and not _is_alive(row[1], row[2])):
        return None
    machine, pid, _, heartbeat_at, requests, quotas = row[:6]
    work = WorkProgress._make(row[6:])
    seconds = (heartbeat_at - (work.stage_began_at or heartbeat_at)) / 1000
    rate = round(work.done / seconds, 1) if seconds > 0 else None
    left = (work.expected or 0) - work.done
    return LockHolder(
        machine, pid, heartbeat_at, work.stage, work.done, work.expected, rate,
        round(left / rate) if rate and left > 0 else None, work.waiting_until, work.waiting_for, requests,
        [QuotaLeft(*one) for one in json.loads(quotas)],
    )  # fmt: skip


def count_arriving(store: Store, project_ids: Iterable[int], now_ms: int) -> tuple[int, int]:
    """Return how many items of the projects that are being synced just now were read, and how many of them are
    searchable; zeros where no sync is running. No projects: all.
    """
    wanted, here = set(project_ids), socket.gethostname()
    locks = store.rows("SELECT name, machine, pid, owner, heartbeat_at FROM locks WHERE name LIKE 'project %'")
    ids = [
        int(name.removeprefix("project "))
        for name, machine, pid, owner, heartbeat_at in locks
        if (_is_alive(pid, owner) if machine == here else 0 <= now_ms - heartbeat_at < STALE_AFTER_MS)
    ]
    ids = [project_id for project_id in ids if not wanted or project_id in wanted]
    if not ids:
        return 0, 0
    sql = f"""
        SELECT count(*), coalesce(sum(EXISTS (SELECT 1 FROM documents d WHERE d.item_id = i.id)), 0)
        FROM items i
        WHERE i.project_id {one_of()} AND i.deleted_at IS NULL AND {visible(store, "i")}
    """
    read, searchable = store.rows(sql, pack_list(ids))[0]
    return read, searchable
