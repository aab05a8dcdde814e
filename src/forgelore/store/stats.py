"""The numbers of `stats`; whether they are right is `index/check`."""

from typing import NamedTuple

from forgelore.store.database import Store
from forgelore.store.filters import visible
from forgelore.store.jobs import and_visible
from forgelore.words import JobKind

_ERRORS = 5


def count_kinds(store: Store, project_id: int | None = None) -> dict[str, dict[str, int]]:
    """Return kind -> representation -> documents, of one project or of all."""
    sql = f"""
        SELECT kind, representation, count(*)
        FROM documents
        WHERE (?1 IS NULL OR project_id = ?1) AND {visible(store, "documents")}
        GROUP BY 1, 2
        ORDER BY 1, 2
    """
    found: dict[str, dict[str, int]] = {}
    for kind, representation, count in store.rows(sql, project_id):
        found.setdefault(kind, {})[representation] = count
    return found


def count_truncated(store: Store, project_id: int | None = None) -> dict[str, int]:
    """Return why documents were cut -> how many, of one project or of all."""
    sql = f"""
        SELECT truncated_reason, count(*)
        FROM documents
        WHERE is_truncated AND (?1 IS NULL OR project_id = ?1) AND {visible(store, "documents")}
        GROUP BY 1
        ORDER BY 1
    """
    return dict(store.rows(sql, project_id))


def count_project_documents(store: Store, project_id: int) -> tuple[int, int]:
    """Return how many documents a project has, and how many of them were cut for length."""
    sql = """
        SELECT count(*), coalesce(sum(is_truncated), 0)
        FROM documents
        WHERE project_id = ?
    """
    row = store.row(sql, project_id)
    return (row[0], row[1]) if row else (0, 0)


def count_document_types(store: Store, project_id: int) -> dict[str, int]:
    """Return how many documents of each type a project has: of items by their kind, else "thread" and "intent"."""
    sql = """
        SELECT CASE representation WHEN 'item' THEN kind ELSE representation END, count(*)
        FROM documents
        WHERE project_id = ?
        GROUP BY 1
    """
    return dict(store.rows(sql, project_id))


def count_all_documents(store: Store) -> int:
    return sum(sum(counts.values()) for counts in count_kinds(store).values())


class WaitingError(NamedTuple):
    """A job that failed: what it is about, how often it was tried, why, and when it is tried again."""

    key: str
    attempts: int
    error: str | None
    next_attempt_at: int | None


class WaitingQueue(NamedTuple):
    """The jobs of one kind: how many wait, how many of these have failed before, and the worst errors."""

    waiting: int = 0
    failing: int = 0
    errors: tuple[WaitingError, ...] = ()


def load_queues(store: Store, project_id: int | None = None) -> dict[str, WaitingQueue]:
    """Return kind -> waiting, failing and the worst errors; kinds that nothing waits for are there with zeros.
    Of one project or of all.
    """
    sql = f"""
        SELECT kind, count(*), sum(attempt_count > 0)
        FROM jobs
        WHERE (?1 IS NULL OR project_id = ?1) {and_visible(store)}
        GROUP BY kind
        ORDER BY kind
    """
    found: dict[str, WaitingQueue] = {kind: WaitingQueue() for kind in JobKind}
    for kind, waiting, failing in store.rows(sql, project_id):
        errors = _load_errors(store, kind, project_id) if failing else ()
        found[kind] = WaitingQueue(waiting, failing, errors)
    return found


def _load_errors(store: Store, kind: str, project_id: int | None) -> tuple[WaitingError, ...]:
    """Return the jobs of a kind that were tried most often."""
    sql = f"""
        SELECT key, attempt_count, last_error, next_attempt_at
        FROM jobs
        WHERE kind = ?1 AND attempt_count > 0 AND (?2 IS NULL OR project_id = ?2) {and_visible(store)}
        ORDER BY attempt_count DESC, key
        LIMIT ?3
    """
    return tuple(WaitingError(*row) for row in store.rows(sql, kind, project_id, _ERRORS))
