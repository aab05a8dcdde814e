"""Planned closings: the lines of a plan, and, below the run that applies it, what became of each."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from forgelore.store.db import Store


class PlannedClosing(NamedTuple):
    """One line. In a plan `action` is close or skip; in an apply closed, skip or wait (its days of grace run)."""

    item_id: int
    target_id: int | None
    cluster_id: int | None
    action: str
    reason: str
    confidence: float | None
    seen: str  # JSON; of the item and of its target


def save_closings(store: Store, run_id: int, lines: Iterable[PlannedClosing]) -> None:
    """Keep lines of a run; one of the same item is replaced. In a transaction."""
    names = ", ".join(PlannedClosing._fields)
    marks = ", ".join("?" * (len(PlannedClosing._fields) + 1))
    store.run_many(
        f"INSERT OR REPLACE INTO planned_closings (run_id, {names}) VALUES ({marks})",
        [(run_id, *line) for line in lines],
    )


def list_closings(store: Store, run_id: int) -> list[PlannedClosing]:
    """Return the lines of a run, by the numbers of their items."""
    sql = f"""
        SELECT {", ".join(f"p.{name}" for name in PlannedClosing._fields)}
        FROM planned_closings p
        JOIN items i ON i.id = p.item_id
        WHERE p.run_id = ?
        ORDER BY i.kind, i.number
    """
    return [PlannedClosing._make(row) for row in store.rows(sql, run_id)]


def find_run_of(store: Store, run_id: int, step: str) -> int | None:
    """Return the run that carries out a plan, or takes back an apply; None when there is none yet."""
    sql = "SELECT max(id) FROM dedupe_runs WHERE of_run = ? AND step = ?"
    found: int | None = store.value(sql, run_id, step)
    return found


class EdgeJudge(NamedTuple):
    """Who accepted edges of a kind, and the lowest thresholds that they had to pass; 0 where nobody kept them."""

    judge: str
    model: str
    kind: str
    min_edge: float
    min_gap: float


def list_judges(store: Store, item_ids: Iterable[int]) -> list[EdgeJudge]:
    """Return who made the current accepted decisions about these items."""
    sql = """
        SELECT d.judge, d.model, i.kind, min(coalesce(json_extract(r.parameters, '$.min_edge'), 0.0)),
          min(coalesce(json_extract(r.parameters, '$.min_gap'), 0.0))
        FROM decisions d
        JOIN items i ON i.id = d.item_id
        LEFT JOIN dedupe_runs r ON r.id = d.run_id
        WHERE d.item_id IN (SELECT value FROM json_each(?)) AND d.is_current AND d.outcome = 'accepted'
          AND d.policy = 'batch'
        GROUP BY 1, 2, 3
        ORDER BY 1, 2, 3
    """
    return [EdgeJudge._make(row) for row in store.rows(sql, json.dumps(sorted(item_ids)))]
