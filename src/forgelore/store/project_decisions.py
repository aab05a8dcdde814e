"""Project decisions that a language model read in conversations: the graph of what was decided, where, by whom, and
what replaced it. A conversation that is read again loses what was kept of it before.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from forgelore.records import CheckedDecision
from forgelore.store.database import Store
from forgelore.store.filters import visible
from forgelore.store.item_lists import grouped
from forgelore.store.sqlite.connection import one_of, pack_list


class DecisionSource(NamedTuple):
    """A conversation that a model read, in which version, with which prompt."""

    item_id: int
    content_hash: str
    prompt_version: int
    model: str
    tokens_in: int
    tokens_out: int
    refused: int


def load_decision_sources(store: Store, item_ids: Iterable[int]) -> dict[int, DecisionSource]:
    """Return item -> how it was read; items that no model has read are missing."""
    sql = f"""
        SELECT {", ".join(DecisionSource._fields)}
        FROM decision_sources
        WHERE item_id {one_of()}
    """
    return {row[0]: DecisionSource._make(row) for row in store.rows(sql, pack_list(item_ids))}


def save_decisions(
    store: Store, project_id: int, source: DecisionSource, decisions: Sequence[CheckedDecision], now_ms: int
) -> None:
    """Write what was read in a conversation, in place of what was kept of it. In a transaction."""
    store.run("DELETE FROM decision_sources WHERE item_id = ?", source.item_id)
    sql = f"""
        INSERT INTO decision_sources ({", ".join(DecisionSource._fields)}, project_id, asked_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    """
    store.run(sql, *source, project_id, now_ms)
    sql = """
        INSERT INTO project_decisions (
          project_id, item_id, summary, quote, first_line, last_line, author, decided_at
        )
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    """
    ids = [store.insert(sql, project_id, source.item_id, *one[:6]) for one in decisions]
    for decision_id, one in zip(ids, decisions, strict=True):
        _add_parts(store, decision_id, one)
        earlier = _find_at(ids, decisions, one)
        if earlier is not None:
            _add_edge(store, decision_id, "supersedes", "", earlier)


def load_kept_decisions(store: Store, item_ids: Iterable[int]) -> dict[int, list[CheckedDecision]]:
    """Return item -> what is kept of its decisions, in the order of their lines. The target of an edge may be another
    decision of the item (`decision_name`).
    """
    sql = f"""
        SELECT d.id, d.item_id, d.summary, d.quote, d.first_line, d.last_line, d.author, d.decided_at, s.content_hash
        FROM project_decisions d
        JOIN decision_sources s ON s.item_id = d.item_id
        WHERE d.item_id {one_of()}
        ORDER BY d.item_id, d.first_line, d.id
    """
    rows = store.rows(sql, pack_list(item_ids))
    ids = pack_list([row[0] for row in rows])
    sql = f"SELECT decision_id, path FROM decision_paths WHERE decision_id {one_of()}"
    paths = grouped((row[0], row[1]) for row in store.rows(sql, ids))
    sql = f"""
        SELECT decision_id, relation, target, target_id
        FROM decision_edges
        WHERE decision_id {one_of()}
        ORDER BY id
    """
    edges = grouped((row[0], (row[1], row[2] or decision_name(row[3] or 0))) for row in store.rows(sql, ids))
    return grouped(
        (
            item_id,
            CheckedDecision._make((*said, tuple(paths.get(key, ())), tuple(edges.get(key, ())), None, key, digest)),
        )
        for key, item_id, *said, digest in rows
    )


def decision_name(decision_id: int) -> str:
    """Return what edges call a kept decision."""
    return f"decision:{decision_id}"


def load_edges_to(
    store: Store, project_id: int, targets: Iterable[str]
) -> list[tuple[str, str, int, str | None, int, int | None]]:
    """Return the kept decisions of a project that say they replace one of these: (target, kind, number and tag of the
    item, first line, time).
    """
    sql = f"""
        SELECT e.target, i.kind, i.number, i.tag, d.first_line, d.decided_at
        FROM decision_edges e
        JOIN project_decisions d ON d.id = e.decision_id
        JOIN items i ON i.id = d.item_id
        WHERE d.project_id = ? AND e.relation = 'supersedes' AND e.target {one_of()}
          AND i.deleted_at IS NULL AND {visible(store, "i")}
        ORDER BY e.id
    """
    return store.rows(sql, project_id, pack_list(sorted(targets)))


def _add_parts(store: Store, decision_id: int, decision: CheckedDecision) -> None:
    sql = "INSERT INTO decision_paths (decision_id, path) VALUES (?, ?) ON CONFLICT DO NOTHING"
    store.run_many(sql, [(decision_id, path) for path in decision.paths])
    for relation, target in decision.edges:
        _add_edge(store, decision_id, relation, target, None)


def _add_edge(store: Store, decision_id: int, relation: str, target: str, target_id: int | None) -> None:
    sql = "INSERT INTO decision_edges (decision_id, relation, target, target_id) VALUES (?, ?, ?, ?)"
    store.run(sql, decision_id, relation, target, target_id)


def _find_at(ids: Sequence[int], decisions: Sequence[CheckedDecision], of: CheckedDecision) -> int | None:
    """Return the earlier decision that stands at the line which this one replaces."""
    if of.replaces_line is None:
        return None
    meant = (
        decision_id
        for decision_id, one in zip(ids, decisions, strict=True)
        if one.last_line < of.first_line and one.first_line <= of.replaces_line <= one.last_line
    )
    return next(meant, None)
