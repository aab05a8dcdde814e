"""Waiting jobs, counted for commands that only read: they tell that an answer will be another one soon."""

from collections.abc import Iterable

from forgelore.store.db import Store
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


def and_visible(*, is_public: bool) -> str:
    """Return the condition, after others, that leaves out jobs of confidential items; "" where nothing is hidden."""
    return f"AND NOT {_OF_HIDDEN}" if is_public else ""


def count_waiting(store: Store, kind: JobKind, project_ids: Iterable[int] = (), *, is_public: bool = False) -> int:
    """Return how many jobs of a kind wait, failing ones too; of all projects when none is named. `is_public`: without
    those of confidential items.
    """
    # The index knows jobs by project and kind: by kind alone it would be read from end to end.
    ids = tuple(project_ids)
    projects = ", ".join("?" * len(ids)) or "SELECT id FROM projects"
    sql = f"""
        SELECT count(*)
        FROM jobs
        WHERE project_id IN ({projects}) AND kind = ? {and_visible(is_public=is_public)}
    """
    return int(store.value(sql, *ids, kind))
