"""Hours of grace, read from the journal: which items were told that they will be closed, and were not yet."""

from forgelore.core.closing.grace import Grace
from forgelore.store.db import Store


def list_graces(store: Store, project_id: int) -> list[Grace]:
    """Return the hours of grace of a project that were neither taken back nor ended by a closing, oldest first."""
    sql = """
        SELECT i.id, j.run_id, coalesce(p.action, 'wait'), coalesce(p.reason, ''), r.ended_at
        FROM write_journal j
        JOIN dedupe_runs r ON r.id = j.run_id
        JOIN items i ON i.project_id = j.project_id AND i.kind = j.kind AND i.number = j.number
        LEFT JOIN planned_closings p ON p.run_id = j.run_id AND p.item_id = i.id
        WHERE j.project_id = ? AND j.step IN ('label', 'comment') AND j.status IN ('sent', 'done')
          AND json_extract(r.parameters, '$.close_after') > 0
          AND NOT EXISTS (
            SELECT 1
            FROM write_journal c
            WHERE c.run_id = j.run_id AND c.kind = j.kind AND c.number = j.number AND c.step = 'close'
              AND c.status IN ('sent', 'done')
          )
          AND NOT EXISTS (
            SELECT 1
            FROM write_journal b
            JOIN dedupe_runs back ON back.id = b.run_id
            WHERE back.of_run = j.run_id AND b.kind = j.kind AND b.number = j.number AND b.status = 'done'
          )
        GROUP BY i.id, j.run_id
        ORDER BY j.run_id, i.id
    """
    return [Grace._make(row) for row in store.rows(sql, project_id)]
