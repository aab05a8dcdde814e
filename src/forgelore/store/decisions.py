"""Decisions: what a judge said of an item, and what the gates made of it. A source has at most one that is accepted.

What people say (`overrides`) is kept apart and outlives every rerun.
"""

from collections.abc import Iterator
from typing import NamedTuple

from forgelore.store.db import Store

# Both texts are those that were judged: an edge rests on nothing else.
_UNCHANGED = """
    coalesce(s.content_version = i.content_version, 1) AND coalesce(m.content_version = t.content_version, 1)
"""


class NewDecision(NamedTuple):
    """A decision about to be saved; columns as in the table."""

    project_id: int
    item_id: int
    set_id: int | None
    run_id: int | None
    policy: str
    judge: str
    model: str
    prompt_hash: str
    says_duplicate: bool | None
    target_id: int | None
    confidence: float | None
    verdict: str
    outcome: str
    reason: str
    prompt_tokens: int = 0
    answer_tokens: int = 0


class AcceptedEdge(NamedTuple):
    """An accepted decision, as clusters see it."""

    decision_id: int
    item_id: int
    target_id: int
    confidence: float
    judge: str


class Override(NamedTuple):
    """What a person said: accept or reject a pair, take an item out of its cluster, make it the canonical."""

    item_id: int
    action: str
    target_id: int
    said_by: str
    said_at: int


def save_decision(store: Store, new: NewDecision, now_ms: int) -> int:
    """Keep a decision; the earlier ones of its source and policy are superseded. In a transaction."""
    sql = "UPDATE decisions SET is_current = 0 WHERE item_id = ? AND policy = ? AND is_current"
    store.run(sql, new.item_id, new.policy)
    names = ", ".join(NewDecision._fields)
    marks = ", ".join("?" * (len(NewDecision._fields) + 1))
    return store.insert(f"INSERT INTO decisions ({names}, decided_at) VALUES ({marks})", *new, now_ms)


def list_accepted(store: Store, project_id: int, kind: str) -> list[AcceptedEdge]:
    """Return the current accepted edges between live items whose texts are those that were judged, best first."""
    sql = f"""
        SELECT d.id, d.item_id, d.target_id, d.confidence, d.judge
        FROM decisions d
        JOIN items i ON i.id = d.item_id
        JOIN items t ON t.id = d.target_id
        LEFT JOIN candidate_sets s ON s.id = d.set_id
        LEFT JOIN candidate_set_members m ON m.set_id = s.id AND m.item_id = t.id
        WHERE d.project_id = ? AND i.kind = ? AND d.is_current AND d.outcome = 'accepted' AND d.policy = 'batch'
          AND i.deleted_at IS NULL AND t.deleted_at IS NULL AND {_UNCHANGED}
        ORDER BY d.confidence DESC, i.number
    """
    return [AcceptedEdge._make(row) for row in store.rows(sql, project_id, kind)]


def load_accepted(store: Store, item_id: int) -> AcceptedEdge | None:
    """Return the accepted edge of one source."""
    sql = """
        SELECT id, item_id, target_id, confidence, judge
        FROM decisions
        WHERE item_id = ? AND is_current AND outcome = 'accepted' AND policy = 'batch'
    """
    row = store.row(sql, item_id)
    return AcceptedEdge._make(row) if row else None


def list_judged_sets(store: Store, project_id: int, judge: str, model: str) -> set[int]:
    """Return the sets that this judge has decided on: a run that was stopped goes on behind them."""
    sql = """
        SELECT set_id
        FROM decisions
        WHERE project_id = ? AND judge = ? AND model = ? AND set_id NOTNULL AND policy = 'batch'
          AND reason NOT IN ('judge_failed', 'over_budget')
    """
    return {set_id for (set_id,) in store.rows(sql, project_id, judge, model)}


def save_override(store: Store, project_id: int, said: Override) -> None:
    """Keep what a person said; the last word counts. In a transaction."""
    opposite = {"accept": "reject", "reject": "accept"}.get(said.action)
    if opposite:
        sql = "DELETE FROM overrides WHERE item_id = ? AND action = ? AND target_id = ?"
        store.run(sql, said.item_id, opposite, said.target_id)
    insert = """
        INSERT OR REPLACE INTO overrides (project_id, item_id, action, target_id, said_by, said_at)
        VALUES (?, ?, ?, ?, ?, ?)
    """
    store.run(insert, project_id, *said)


def each_override(store: Store, project_id: int) -> Iterator[Override]:
    """Yield what people said of a project, oldest first."""
    sql = """
        SELECT item_id, action, target_id, said_by, said_at
        FROM overrides
        WHERE project_id = ?
        ORDER BY id
    """
    return (Override._make(row) for row in store.rows(sql, project_id))
