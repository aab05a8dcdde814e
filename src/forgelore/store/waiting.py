"""Waiting jobs, counted for commands that only read: they tell that an answer will be another one soon."""

from collections.abc import Iterable

from forgelore.store.db import Store
from forgelore.words import JobKind


def count_waiting(store: Store, kind: JobKind, project_ids: Iterable[int] = ()) -> int:
    """Return how many jobs of a kind wait, failing ones too; of all projects when none is named."""
    # The index knows jobs by project and kind: by kind alone it would be read from end to end.
    ids = tuple(project_ids)
    projects = ", ".join("?" * len(ids)) or "SELECT id FROM projects"
    sql = f"""
        SELECT count(*)
        FROM jobs
        WHERE project_id IN ({projects}) AND kind = ?
    """
    return int(store.value(sql, *ids, kind))
