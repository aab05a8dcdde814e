"""The queue of jobs, work that is done later: fresh before failing, with back-off, and never cleared if queued again
meanwhile. Commands that only read count what waits, to say that an answer will change soon.
"""

import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from forgelore.store.database import Store
from forgelore.store.filters import in_view
from forgelore.store.sqlite.connection import each_of, one_of, pack_list
from forgelore.text.values import next_attempt_at
from forgelore.words import JobKind

# Jobs of confidential items. Keys name an item (`issue:12`), or the row of an item or of a document.
_OF_HIDDEN = """
    CASE
      WHEN kind = 'embed' THEN EXISTS (
        SELECT 1
        FROM documents d
        WHERE d.id = CAST(key AS INTEGER) AND d.is_confidential
      )
      WHEN kind IN ('document', 'replay') THEN EXISTS (
        SELECT 1
        FROM items i
        WHERE i.id = CAST(key AS INTEGER) AND i.is_confidential
      )
      ELSE EXISTS (
        SELECT 1
        FROM items i
        WHERE i.project_id = jobs.project_id AND i.kind = substr(key, 1, instr(key, ':') - 1)
          AND i.number = CAST(substr(key, instr(key, ':') + 1) AS INTEGER) AND i.is_confidential
      )
    END
"""


def and_visible(store: Store) -> str:
    """Return the condition, after others, that leaves out jobs of what the viewer may not see."""
    hidden = "" if store.viewer.includes_internal else f"AND NOT {_OF_HIDDEN}"
    return f"{hidden} AND {in_view(store, 'jobs')}"


def count_waiting(store: Store, kind: JobKind, project_ids: Iterable[int] = ()) -> int:
    """Return how many jobs of a kind wait, failing ones too; of all projects when none is named."""
    # The index knows jobs by project and kind: by kind alone it would be read from end to end.
    ids = tuple(project_ids)
    projects = ", ".join("?" * len(ids)) or "SELECT id FROM projects"
    sql = f"""
        SELECT count(*)
        FROM jobs
        WHERE project_id IN ({projects}) AND kind = ? {and_visible(store)}
    """
    return int(store.value(sql, *ids, kind))


def has_locks(store: Store) -> bool:
    """Tell whether somebody is at work on a project, or died at it."""
    return bool(store.value("SELECT EXISTS (SELECT 1 FROM locks WHERE name LIKE 'project %')"))


# What a sync does by itself after everything was fetched. The other kinds are parts that a forge has not given yet.
INDEX_JOBS = (JobKind.DOCUMENT, JobKind.EMBED)

# Items that never had such a job done.
_NEVER_HAD = {
    JobKind.THREADS: "i.threads_fetched_at IS NULL",
    JobKind.DETAIL: "i.detail_hash IS NULL",
    JobKind.LINKS: "i.detail_hash IS NOT NULL AND i.files_sha IS NULL",  # files without a head: GitHub's REST alone
    JobKind.FILES: "i.files_sha IS NULL AND NOT EXISTS (SELECT 1 FROM item_files f WHERE f.item_id = i.id)",
}


class Job(NamedTuple):
    kind: JobKind
    key: str
    version: int
    attempt_count: int


def queue_jobs(store: Store, project_id: int, kind: JobKind, keys: Iterable[str], now_ms: int) -> None:
    """Queue each key once; a key that is waiting gets a new version and its turn at once.

    Versions start anywhere: were each row to start at 1, a job that was finished and queued anew would look like the
    old one.
    """
    sql = """
        INSERT INTO jobs (project_id, kind, key, version, queued_at)
        VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (project_id, kind, key) DO UPDATE
        SET version = version + 1, queued_at = excluded.queued_at,
          attempt_count = 0, last_error = NULL, last_attempt_at = NULL, next_attempt_at = NULL
    """
    store.run_many(sql, [(project_id, kind, key, random.getrandbits(48), now_ms) for key in dict.fromkeys(keys)])


def queue_documents(store: Store, project_id: int, item_ids: Iterable[int]) -> None:
    """Queue the documents of these items: they are out of date. Called in the transaction that changes them."""
    ids = list(dict.fromkeys(item_ids))
    if not ids:
        return
    # One statement for all: half the time of one per item, and every row of an import passes here.
    sql = f"""
        INSERT INTO jobs (project_id, kind, key, version, queued_at)
        SELECT ?, 'document', value, abs(random() >> 16), 0
        FROM {each_of()}
        WHERE true
        ON CONFLICT (project_id, kind, key) DO UPDATE
        SET version = version + 1,
          attempt_count = 0, last_error = NULL, last_attempt_at = NULL, next_attempt_at = NULL
    """
    store.run(sql, project_id, pack_list(ids))


def queue_replays(store: Store, project_id: int, kinds: Iterable[str] = ()) -> None:
    """Queue items of these kinds (none: all) for a replay: what the forge said is read again from its payloads."""
    sql = f"""
        INSERT INTO jobs (project_id, kind, key, version, queued_at)
        SELECT project_id, 'replay', id, abs(random() >> 16), 0
        FROM items
        WHERE project_id = ?1 AND (?2 = '[]' OR kind {one_of(2)})
        ON CONFLICT (project_id, kind, key) DO UPDATE
        SET version = version + 1
    """
    store.run(sql, project_id, pack_list(kinds))


def ready_jobs(
    store: Store, project_id: int, kind: JobKind, now_ms: int, limit: int, *, max_attempts: int = 1 << 30,
    is_newest_first: bool = False,
) -> list[Job]:  # fmt: skip
    """Return jobs whose time has come. A time more than the cap away was written under another clock: it counts as
    come. One that has failed `max_attempts` times waits until somebody asks for it.
    """
    sql = f"""
        SELECT kind, key, version, attempt_count
        FROM jobs
        WHERE project_id = ? AND kind = ? AND attempt_count < ?
          AND (next_attempt_at IS NULL OR next_attempt_at <= ? OR next_attempt_at > ?)
        ORDER BY attempt_count, {"length(key) DESC, key DESC" if is_newest_first else "queued_at, key"}
        LIMIT ?
    """
    rows = store.rows(sql, project_id, kind, max_attempts, now_ms, now_ms + 2 * 3_600_000, limit)
    return [Job(JobKind(row[0]), *row[1:]) for row in rows]


def finish_job(store: Store, project_id: int, job: Job) -> bool:
    """Clear a job unless it was queued again since it was taken; returns whether it was cleared."""
    sql = "DELETE FROM jobs WHERE project_id = ? AND kind = ? AND key = ? AND version = ?"
    return bool(store.run(sql, project_id, job.kind, job.key, job.version))


def fail_job(store: Store, project_id: int, job: Job, error: str, now_ms: int) -> None:
    when = next_attempt_at(now_ms, job.attempt_count + 1, random.uniform(0.9, 1.1))  # noqa: S311 - jitter, not a secret
    sql = """
        UPDATE jobs
        SET attempt_count = attempt_count + 1, last_attempt_at = ?, last_error = ?, next_attempt_at = ?
        WHERE project_id = ? AND kind = ? AND key = ? AND version = ?
    """
    store.run(sql, now_ms, error[:500], when, project_id, job.kind, job.key, job.version)


def queue_missing_part(store: Store, project_id: int, job: Job, error: str, now_ms: int) -> None:
    """Queue a part that another job tried in vain to fetch, with the reason."""
    queue_jobs(store, project_id, job.kind, [job.key], now_ms)
    sql = "SELECT version FROM jobs WHERE project_id = ? AND kind = ? AND key = ?"
    version = store.value(sql, project_id, job.kind, job.key)
    fail_job(store, project_id, job._replace(version=version, attempt_count=0), error, now_ms)


def excuse_job(store: Store, project_id: int, job: Job, error: str) -> None:
    """Say why a job was not begun. That does not count as an attempt: it goes first next time."""
    sql = "UPDATE jobs SET last_error = ? WHERE project_id = ? AND kind = ? AND key = ? AND version = ?"
    store.run(sql, error[:500], project_id, job.kind, job.key, job.version)


def drop_jobs(store: Store, project_id: int, kind: JobKind, keys: Iterable[str]) -> None:
    """Forget jobs that something else has done by the way."""
    sql = "DELETE FROM jobs WHERE project_id = ? AND kind = ? AND key = ?"
    store.run_many(sql, [(project_id, kind, key) for key in keys])


def load_reasons(store: Store, project_id: int) -> list[tuple[str, int, str]]:
    """Return why parts are still missing: (reason, how many, the first), most first."""
    sql = f"""
        SELECT last_error, count(*), min(key)
        FROM jobs
        WHERE project_id = ? AND last_error IS NOT NULL AND kind NOT {one_of()}
        GROUP BY 1
        ORDER BY 2 DESC, 3
    """
    rows = store.rows(sql, project_id, pack_list(INDEX_JOBS))
    return [(reason, count, first) for reason, count, first in rows]


def load_failures(store: Store, project_id: int, limit: int) -> list[tuple[str, str, int, str, int | None]]:
    """Return (kind, key, attempts, error, time of the next attempt) of jobs that failed, the most tried first."""
    sql = f"""
        SELECT kind, key, attempt_count, last_error, next_attempt_at
        FROM jobs
        WHERE project_id = ? AND last_error IS NOT NULL {and_visible(store)}
        ORDER BY attempt_count DESC, key
        LIMIT ?
    """
    rows = store.rows(sql, project_id, limit)
    return [(kind, key, attempts, error, when) for kind, key, attempts, error, when in rows]


def find_without_job(store: Store, project_id: int, job_kind: JobKind, kinds: Sequence[str]) -> list[str]:
    """Return job keys of items of these kinds that never had such a job done and do not wait for one."""
    sql = f"""
        SELECT i.kind || ':' || i.number
        FROM items i
        WHERE i.project_id = ? AND {_NEVER_HAD[job_kind]} AND i.deleted_at IS NULL
          AND i.kind {one_of()}
          AND NOT EXISTS (
            SELECT 1
            FROM jobs j
            WHERE j.project_id = i.project_id AND j.kind = ? AND j.key = i.kind || ':' || i.number
          )
    """
    rows = store.rows(sql, project_id, pack_list(kinds), job_kind)
    return [key for (key,) in rows]


def retry_jobs(store: Store, project_id: int, kind: JobKind) -> list[Job]:
    """Give every failed job of a kind its turn now; returns them."""
    sql = """
        UPDATE jobs
        SET attempt_count = 0, last_attempt_at = NULL, next_attempt_at = NULL
        WHERE project_id = ? AND kind = ? AND attempt_count > 0
        RETURNING kind, key, version, attempt_count
    """
    rows = store.rows(sql, project_id, kind)
    return [Job(JobKind(row[0]), *row[1:]) for row in rows]


def count_jobs(store: Store, project_id: int) -> dict[str, tuple[int, int]]:
    """Return kind -> (waiting, failing)."""
    sql = f"""
        SELECT kind, count(*), sum(attempt_count > 0)
        FROM jobs
        WHERE project_id = ? {and_visible(store)}
        GROUP BY kind
    """
    rows = store.rows(sql, project_id)
    return {kind: (total, failing or 0) for kind, total, failing in rows}


def count_untired(store: Store, kind: JobKind, max_attempts: int) -> int:
    """Return how many jobs of a kind will still be tried, in all projects."""
    return int(store.value("SELECT count(*) FROM jobs WHERE kind = ? AND attempt_count < ?", kind, max_attempts))
