"""What waits, for commands that only read: they tell that an answer will be another one soon."""

from forgelore.store.db import Store
from forgelore.words import JobKind


def count_waiting(store: Store, kind: JobKind) -> int:
    """Return how many jobs of a kind wait, in all projects."""
    sql = "SELECT count(*) FROM jobs WHERE project_id IN (SELECT id FROM projects) AND kind = ?"
    return int(store.value(sql, kind))
