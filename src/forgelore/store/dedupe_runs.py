"""Runs of the steps of deduplication: parameters, counters and what they cost, one row each."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from forgelore.errors import NotFound
from forgelore.store.db import Store

RunValue = str | int | float | bool | None  # what a parameter of a run may be: flat, for tables and schemas


class DedupeRun(NamedTuple):
    """A run as it is kept. `of_run`: the plan that an apply carries out, the apply that a rollback takes back."""

    id: int
    project_id: int
    step: str
    of_run: int | None
    status: str
    parameters: dict[str, RunValue]
    counters: dict[str, int]
    prompt_tokens: int
    answer_tokens: int
    cost: float
    began_at: int
    ended_at: int | None


def begin_run(
    store: Store,
    project_id: int,
    step: str,
    parameters: Mapping[str, RunValue],
    now_ms: int,
    *,
    of_run: int | None = None,
) -> int:
    """Write a run down before it does anything. In a transaction. A number that the journal knows is not given twice,
    also when its run was forgotten: what that run wrote would be this one's.
    """
    sql = """
        INSERT INTO dedupe_runs (id, project_id, step, of_run, status, parameters, began_at)
        VALUES (
            1 + max(
                (SELECT coalesce(max(id), 0) FROM dedupe_runs),
                (SELECT coalesce(max(run_id), 0) FROM write_journal)
            ), ?, ?, ?, 'running', ?, ?
        )
    """
    return store.insert(sql, project_id, step, of_run, json.dumps(dict(parameters)), now_ms)


def save_counters(
    store: Store, run_id: int, counters: Mapping[str, int], *, tokens: tuple[int, int] = (0, 0), cost: float = 0.0
) -> None:
    """Keep how far a run has come, so that one that is killed tells it too. In a transaction."""
    sql = """
        UPDATE dedupe_runs
        SET counters = ?, prompt_tokens = ?, answer_tokens = ?, cost = ?
        WHERE id = ?
    """
    store.run(sql, json.dumps(dict(counters)), *tokens, cost, run_id)


def end_run(store: Store, run_id: int, status: str, now_ms: int) -> None:
    """Write down how a run ended: done, or stopped before its end. In a transaction."""
    store.run("UPDATE dedupe_runs SET status = ?, ended_at = ? WHERE id = ?", status, now_ms, run_id)


def resume_run(store: Store, run_id: int) -> None:
    """Go on with a run that has ended or was killed. In a transaction."""
    store.run("UPDATE dedupe_runs SET status = 'running', ended_at = NULL WHERE id = ?", run_id)


def load_run(store: Store, run_id: int) -> DedupeRun:
    """Return a run. Raises NotFound."""
    row = store.row(f"SELECT {', '.join(DedupeRun._fields)} FROM dedupe_runs WHERE id = ?", run_id)
    if row is None:
        raise NotFound(f"there is no run {run_id}", hint="see them with: forgelore dedupe runs")
    return _as_run(row)


def list_runs(store: Store, project_id: int, *, step: str | None = None, limit: int = 50) -> list[DedupeRun]:
    """Return the newest runs of a project first."""
    sql = f"""
        SELECT {", ".join(DedupeRun._fields)}
        FROM dedupe_runs
        WHERE project_id = ? AND step = coalesce(?, step)
        ORDER BY id DESC
        LIMIT ?
    """
    return [_as_run(row) for row in store.rows(sql, project_id, step, limit)]


def _as_run(row: tuple[object, ...]) -> DedupeRun:
    run = DedupeRun._make(row)
    return run._replace(parameters=json.loads(str(run.parameters)), counters=json.loads(str(run.counters)))
