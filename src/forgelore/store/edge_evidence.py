"""Edge evidence: what stands behind the accepted decisions of a project, for people who review them."""

import json
from typing import NamedTuple

from forgelore.store.db import Store


class EdgeEvidence(NamedTuple):
    """Who accepted an edge, how sure they were, what they said, and what both texts share."""

    target_id: int
    confidence: float
    judge: str
    model: str
    verdict: str  # JSON
    similarity: float | None
    marks: tuple[str, ...]


def load_edge_evidence(store: Store, project_id: int) -> dict[int, EdgeEvidence]:
    """Return source -> the evidence of its current accepted decision."""
    sql = """
        SELECT d.item_id, d.target_id, d.confidence, d.judge, d.model, d.verdict, m.similarity,
            coalesce(m.marks, '[]')
        FROM decisions d
        LEFT JOIN candidate_set_members m ON m.set_id = d.set_id AND m.item_id = d.target_id
        WHERE d.project_id = ? AND d.is_current AND d.outcome = 'accepted' AND d.policy = 'batch'
    """
    return {
        item_id: EdgeEvidence(*rest, tuple(json.loads(marks)))  # type: ignore[call-arg]
        for item_id, *rest, marks in store.rows(sql, project_id)
    }
