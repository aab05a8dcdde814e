"""Audits as they are kept: the cases of a run, and what people said of pairs that they were shown blind."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from forgelore.core.audit.classes import LaneAnswer
from forgelore.store.db import Store


class StoredCase(NamedTuple):
    """One case of an audit: the item, its class, what the judge said and what is right."""

    item_id: int
    set_id: int | None
    audit_class: str
    cheap: LaneAnswer
    strong: LaneAnswer


class ShownCase(NamedTuple):
    """A case with what people need to find the item."""

    kind: str
    number: int
    title: str
    url: str
    case: StoredCase


class JudgedSource(NamedTuple):
    """The current decision of one judge about an open item, with the set that it was made on."""

    item_id: int
    set_id: int
    outcome: str
    reason: str
    target_id: int | None
    confidence: float | None
    verdict: str


class HumanLabel(NamedTuple):
    """What a person said of a pair: duplicate, related, different or unsure."""

    item_id: int
    target_id: int
    label: str
    said_by: str
    said_at: int


def save_case(store: Store, run_id: int, case: StoredCase) -> None:
    """Keep a case. In a transaction."""
    sql = """
        INSERT INTO audit_cases (run_id, item_id, set_id, class, cheap, strong)
        VALUES (?, ?, ?, ?, ?, ?)
    """
    cheap, strong = (json.dumps(one._asdict()) for one in (case.cheap, case.strong))
    store.run(sql, run_id, case.item_id, case.set_id, case.audit_class, cheap, strong)


def list_cases(store: Store, run_id: int) -> list[ShownCase]:
    """Return the cases of a run by their numbers."""
    sql = """
        SELECT i.kind, i.number, i.title, coalesce(i.url, ''), c.item_id, c.set_id, c.class, c.cheap, c.strong
        FROM audit_cases c
        JOIN items i ON i.id = c.item_id
        WHERE c.run_id = ?
        ORDER BY i.kind, i.number
    """
    found = []
    for kind, number, title, url, item_id, set_id, name, cheap, strong in store.rows(sql, run_id):
        case = StoredCase(item_id, set_id, name, _as_answer(cheap), _as_answer(strong))
        found.append(ShownCase(kind, number, title, url, case))
    return found


def _as_answer(text: str) -> LaneAnswer:
    known = json.loads(text)
    return LaneAnswer(**known | {"also": tuple(known["also"])})


def save_labels_of_pairs(store: Store, project_id: int, labels: Iterable[HumanLabel]) -> None:
    """Keep what a person said of pairs; their earlier word on the same pair is replaced. In a transaction."""
    sql = """
        INSERT OR REPLACE INTO human_labels (project_id, item_id, target_id, label, said_by, said_at)
        VALUES (?, ?, ?, ?, ?, ?)
    """
    store.run_many(sql, [(project_id, *label) for label in labels])


def load_labels_of_pairs(store: Store, project_id: int) -> dict[tuple[int, int], str]:
    """Return (item, target) -> the last word of anybody on it."""
    sql = """
        SELECT item_id, target_id, label
        FROM human_labels
        WHERE project_id = ?
        ORDER BY said_at, said_by
    """
    return {(item_id, target_id): label for item_id, target_id, label in store.rows(sql, project_id)}


def list_judged_sources(store: Store, project_id: int, kind: str, judge: str, model: str) -> list[JudgedSource]:
    """Return the current decisions of a judge about live open items of a kind, by their ids."""
    sql = """
        SELECT d.item_id, d.set_id, d.outcome, d.reason, d.target_id, d.confidence, d.verdict
        FROM decisions d
        JOIN items i ON i.id = d.item_id
        WHERE d.project_id = ? AND i.kind = ? AND d.judge = ? AND d.model = ? AND d.policy = 'batch' AND d.is_current
          AND d.set_id NOTNULL AND i.state = 'open' AND i.deleted_at IS NULL AND NOT i.is_confidential
        ORDER BY d.item_id
    """
    return [JudgedSource._make(row) for row in store.rows(sql, project_id, kind, judge, model)]
