"""Decisions of judges and gates, the evidence behind them, overrides by people, runs of deduplication, and audits.

A source has at most one decision that is accepted. What people say is kept apart and outlives every rerun.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from typing import NamedTuple

from forgelore.errors import NotFound
from forgelore.records import Edge, HumanDecision, JudgedItem, LaneAnswer
from forgelore.store.database import Store
from forgelore.store.reviews import is_outdated, list_review_labels, list_review_words
from forgelore.store.sqlite.connection import json_list, one_of, pack_list

# Both texts are those that were judged: an edge rests on nothing else.
_UNCHANGED = """
    coalesce(s.content_version = i.content_version, TRUE) AND coalesce(m.content_version = t.content_version, TRUE)
"""


class Decision(NamedTuple):
    """What a judge and the gates decided about a source; columns as in the table."""

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


def save_decision(store: Store, new: Decision, now_ms: int) -> int:
    """Keep a decision; the earlier ones of its source and policy are superseded. In a transaction."""
    sql = "UPDATE decisions SET is_current = FALSE WHERE item_id = ? AND policy = ? AND is_current"
    store.run(sql, new.item_id, new.policy)
    names = ", ".join(Decision._fields)
    marks = ", ".join("?" * (len(Decision._fields) + 1))
    return store.insert(f"INSERT INTO decisions ({names}, decided_at) VALUES ({marks})", *new, now_ms)


def list_accepted(store: Store, project_id: int, kind: str, *, support: float = 0.0) -> list[Edge]:
    """Return the current accepted edges between live items whose texts are those that were judged, best first. What a
    model accepted counts where the two were at least as similar as `support` when it was asked.
    """
    sql = f"""
        SELECT d.item_id, d.target_id, d.confidence
        FROM decisions d
        JOIN items i ON i.id = d.item_id
        JOIN items t ON t.id = d.target_id
        LEFT JOIN candidate_sets s ON s.id = d.set_id
        LEFT JOIN candidate_set_members m ON m.set_id = s.id AND m.item_id = t.id
        WHERE d.project_id = ? AND i.kind = ? AND d.is_current AND d.outcome = 'accepted' AND d.policy = 'batch'
          AND i.deleted_at IS NULL AND t.deleted_at IS NULL AND {_UNCHANGED}
          AND (d.judge = 'builtin' OR coalesce(m.similarity, ?) >= ?)
        ORDER BY d.confidence DESC, i.number
    """
    return [Edge._make(row) for row in store.rows(sql, project_id, kind, support, support)]


def is_accepted(store: Store, item_id: int) -> bool:
    """Tell whether a source has an accepted edge."""
    sql = """
        SELECT EXISTS (
            SELECT 1
            FROM decisions
            WHERE item_id = ? AND is_current AND outcome = 'accepted' AND policy = 'batch'
        )
    """
    return bool(store.value(sql, item_id))


def list_judged_sets(store: Store, project_id: int, judge: str, model: str) -> set[int]:
    """Return the sets that this judge has decided on: a run that was stopped goes on behind them."""
    sql = """
        SELECT set_id
        FROM decisions
        WHERE project_id = ? AND judge = ? AND model = ? AND set_id NOTNULL AND policy = 'batch'
          AND reason NOT IN ('judge_failed', 'over_budget')
    """
    return {set_id for (set_id,) in store.rows(sql, project_id, judge, model)}


def save_override(store: Store, project_id: int, said: HumanDecision) -> None:
    """Keep what a person said; the last word counts. In a transaction."""
    opposite = {"accept": "reject", "reject": "accept"}.get(said.decision, said.decision)
    sql = "DELETE FROM overrides WHERE item_id = ? AND action IN (?, ?) AND target_id = ?"
    store.run(sql, said.item_id, said.decision, opposite, said.target_id)
    insert = """
        INSERT INTO overrides (project_id, item_id, target_id, action, said_by, said_at, item_version, target_version)
        VALUES (?, ?, ?, ?, ?, ?, (SELECT content_version FROM items WHERE id = ?),
            (SELECT content_version FROM items WHERE id = ?))
    """
    store.run(insert, project_id, *said[:5], said.item_id, said.target_id)


def each_override(store: Store, project_id: int) -> Iterator[HumanDecision]:
    """Yield what people said of a project, by command or in a review, oldest first."""
    sql = f"""
        SELECT item_id, target_id, action, said_by, said_at, NULL, {is_outdated("overrides")}
        FROM overrides
        WHERE project_id = ?
        ORDER BY id
    """
    said = (HumanDecision(*row) for row in store.rows(sql, project_id))
    return merge(said, list_review_words(store, project_id), key=lambda one: one.said_at)


def newest_decision_ms(store: Store, project_id: int) -> int:
    """Return when a person or a judge last said something about pairs; 0 where nobody did."""
    sql = """
        SELECT max(coalesce((SELECT max(said_at) FROM overrides WHERE project_id = ?1), 0),
          coalesce((SELECT max(said_at) FROM reviews WHERE project_id = ?1), 0),
          coalesce((SELECT max(decided_at) FROM decisions WHERE project_id = ?1), 0))
    """
    return int(store.value(sql, project_id))


_MAX_FILES = 30  # that a judge is told of a change


def load_judged(store: Store, item_ids: Iterable[int]) -> dict[int, JudgedItem]:
    """Return live public items. Marked is what the forge itself calls a duplicate, not what somebody wrote."""
    sql = f"""
        SELECT i.id, i.number, i.kind, i.title, coalesce(i.body, ''), coalesce(i.state, ''),
            coalesce(i.state_reason, '') = 'duplicate' OR EXISTS (
                SELECT 1
                FROM item_links l
                WHERE l.item_id = i.id AND l.relation = 'duplicate_of' AND NOT l.is_withdrawn AND l.source <> 'text'
            ),
            (SELECT {json_list("name")} FROM item_labels WHERE item_id = i.id), coalesce(i.url, ''),
            (SELECT {json_list("new_path")} FROM (SELECT new_path FROM item_files WHERE item_id = i.id LIMIT ?)),
            i.author, i.created_at
        FROM items i
        WHERE i.id {one_of()} AND i.deleted_at IS NULL AND NOT i.is_confidential
    """
    rows = store.rows(sql, _MAX_FILES, pack_list(item_ids))
    found = {}
    for *item, is_marked, labels, url, files, author, created_at in rows:
        names, paths = tuple(json.loads(labels)), tuple(json.loads(files))
        found[item[0]] = JudgedItem._make((*item, bool(is_marked), names, url, paths, "", "", author, created_at))
    return found


def load_said_targets(store: Store, item_id: int) -> set[int]:
    """Return the items of the same kind that an item was said to repeat: by the forge's own mark, or in a comment of
    somebody with the right to write, as far as the forge tells who has it.
    """
    sql = """
        SELECT t.id
        FROM item_links l
        JOIN items i ON i.id = l.item_id
        JOIN items t ON t.project_id = i.project_id AND t.number = l.target_number AND t.kind = i.kind AND t.id <> i.id
        LEFT JOIN notes n ON n.id = l.note_id
        WHERE i.id = ? AND l.relation = 'duplicate_of' AND NOT l.is_withdrawn AND l.target_project = ''
          AND coalesce(l.target_kind, i.kind) = i.kind AND t.deleted_at IS NULL
          AND (l.source <> 'text' OR n.author_role IN ('OWNER', 'MEMBER', 'COLLABORATOR'))
    """
    return {target_id for (target_id,) in store.rows(sql, item_id)}


def load_refused_pairs(store: Store, project_id: int) -> set[frozenset[int]]:
    """Return the pairs of which a person has said that they are no duplicates, whichever was named first."""
    last: dict[frozenset[int], str] = {}
    for word in each_override(store, project_id):
        if word.target_id:
            last[frozenset((word.item_id, word.target_id))] = word.decision
    return {pair for pair, action in last.items() if action == "reject"}


def load_accepted_decisions(store: Store, project_id: int) -> dict[int, Decision]:
    """Return source -> its current accepted decision."""
    sql = f"""
        SELECT {", ".join(Decision._fields)}
        FROM decisions
        WHERE project_id = ? AND is_current AND outcome = 'accepted' AND policy = 'batch'
    """
    return {row[1]: Decision._make(row) for row in store.rows(sql, project_id)}


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
        INSERT INTO dedupe_runs (project_id, step, of_run, status, parameters, began_at)
        VALUES (?, ?, ?, 'running', ?, ?)
    """
    row = (project_id, step, of_run, json.dumps(dict(parameters)), now_ms)
    run_id = store.insert(sql, *row)
    while store.value("SELECT EXISTS (SELECT 1 FROM write_journal WHERE run_id >= ?)", run_id):
        known, run_id = run_id, store.insert(sql, *row)
        store.run("DELETE FROM dedupe_runs WHERE id = ?", known)
    return run_id


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
        raise NotFound(f"run {run_id} not found", hint="list them with: forgelore dedupe runs")
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


class AuditCase(NamedTuple):
    """A case of an audit: an item, its class, what the judge said of it, and what is right."""

    audit_class: str
    kind: str
    number: int
    title: str
    url: str
    judged: LaneAnswer
    right: LaneAnswer


def save_case(
    store: Store, run_id: int, item_id: int, set_id: int | None, audit_class: str, judged: LaneAnswer, right: LaneAnswer
) -> None:
    """Keep a case. In a transaction."""
    sql = """
        INSERT INTO audit_cases (run_id, item_id, set_id, class, cheap, strong)
        VALUES (?, ?, ?, ?, ?, ?)
    """
    answers = (json.dumps(one._asdict()) for one in (judged, right))
    store.run(sql, run_id, item_id, set_id, audit_class, *answers)


def list_cases(store: Store, run_id: int) -> list[AuditCase]:
    """Return the cases of a run by their numbers."""
    sql = """
        SELECT c.class, i.kind, i.number, i.title, coalesce(i.url, ''), c.cheap, c.strong
        FROM audit_cases c
        JOIN items i ON i.id = c.item_id
        WHERE c.run_id = ?
        ORDER BY i.kind, i.number
    """
    return [AuditCase._make((*row[:5], *map(_as_answer, row[5:]))) for row in store.rows(sql, run_id)]


def _as_answer(text: str) -> LaneAnswer:
    known = json.loads(text)
    return LaneAnswer(**known | {"also": tuple(known["also"])})


def save_labels_of_pairs(store: Store, project_id: int, labels: Iterable[HumanDecision]) -> None:
    """Keep what a person said of pairs; their earlier word on the same pair is replaced. In a transaction."""
    sql = """
        INSERT INTO human_labels (project_id, item_id, target_id, label, said_by, said_at)
        VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (item_id, target_id, said_by) DO UPDATE
        SET label = excluded.label, said_at = excluded.said_at
    """
    store.run_many(sql, [(project_id, *label[:5]) for label in labels])


def load_labels_of_pairs(store: Store, project_id: int) -> dict[tuple[int, int], str]:
    """Return (item, target) -> the last word of anybody on it, from an audit or a review."""
    sql = """
        SELECT item_id, target_id, label
        FROM human_labels
        WHERE project_id = ?
        ORDER BY said_at, said_by
    """
    labels = {(item_id, target_id): label for item_id, target_id, label in store.rows(sql, project_id)}
    return labels | list_review_labels(store, project_id)


def list_judged_sources(store: Store, project_id: int, kind: str, judge: str, model: str) -> list[Decision]:
    """Return the current decisions of a judge about live open items of a kind, made on kept sets, by their ids."""
    sql = f"""
        SELECT {", ".join(f"d.{name}" for name in Decision._fields)}
        FROM decisions d
        JOIN items i ON i.id = d.item_id
        WHERE d.project_id = ? AND i.kind = ? AND d.judge = ? AND d.model = ? AND d.policy = 'batch' AND d.is_current
          AND d.set_id NOTNULL AND i.state = 'open' AND i.deleted_at IS NULL AND NOT i.is_confidential
        ORDER BY d.item_id
    """
    return [Decision._make(row) for row in store.rows(sql, project_id, kind, judge, model)]
