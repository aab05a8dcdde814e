"""The precision gate: a plan is applied only where an audit has shown that its judge is right.

An audit is a run of the step `audit` that is done. Its parameters say `against` (history or human), `judge`, `model`,
`policy`, the thresholds `min_edge` and `min_gap`, and `kinds`; its counters are the classes tp, fp, fn, tn, conflict
and incomplete. A plan keeps by which judges its edges were accepted, and at which thresholds.
"""

import json

from forgelore.core.dedupe.proof import AuditResult, JudgedEdges, find_gap
from forgelore.errors import Unproven
from forgelore.store.db import Store
from forgelore.store.dedupe_runs import DedupeRun, list_runs

_LABELLED = ("history", "human")  # an audit of one model against another has no labels
_RUNS = 200


def load_audits(store: Store, project_id: int) -> list[AuditResult]:
    """Return the finished audits of a project that had labels."""
    runs = [run for run in list_runs(store, project_id, step="audit", limit=_RUNS) if run.status == "done"]
    return [_as_result(run) for run in runs if run.parameters.get("against") in _LABELLED]


def _as_result(run: DedupeRun) -> AuditResult:
    against, judge, model, policy, kinds = (
        str(run.parameters.get(name) or "") for name in ("against", "judge", "model", "policy", "kinds")
    )
    min_edge, min_gap = (_number(run.parameters.get(name)) for name in ("min_edge", "min_gap"))
    of_kinds = frozenset(kinds.split(",")) if kinds else None
    return AuditResult(run.id, against, judge, model, policy, run.counters, min_edge, min_gap, of_kinds)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def load_edges_judged(plan: DedupeRun) -> list[JudgedEdges]:
    """Return the judges behind a plan. What is closed passed the plan's own least confidence as well as theirs."""
    min_close = _number(plan.parameters.get("min_close")) or 0.0
    rows = json.loads(str(plan.parameters.get("judges") or "[]"))
    found = []
    for judge, model, *rest in rows:
        kind, min_edge, min_gap = rest or ("", 0.0, 0.0)  # an older plan: nobody kept them
        found.append(JudgedEdges(judge, model, kind, max(min_edge, min_close) if rest else 0.0, min_gap))
    return found


def check_proof(store: Store, plan: DedupeRun) -> None:
    """Raise Unproven unless every judge behind the plan's closings was measured, on enough edges, to be right."""
    gap = find_gap(load_edges_judged(plan), load_audits(store, plan.project_id))
    if gap:
        raise Unproven(
            f"plan {plan.id} is not applied: {gap}",
            hint="measure it with: forgelore dedupe audit --against history (or human); --unproven applies it anyway,"
            " and then nobody knows how many of the closings are wrong",
        )
