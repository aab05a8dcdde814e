"""The precision gate: a plan is applied only where an audit has shown that its judge is right.

An audit is a run of the step `audit` that is done. Its parameters say `against` (history or human), `judge`, `model`
and `policy`; its counters are the classes tp, fp, fn, tn, conflict and incomplete.
"""

import json

from forgelore.core.dedupe.proof import AuditResult, find_gap
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
    against, judge, model, policy = (
        str(run.parameters.get(name) or "") for name in ("against", "judge", "model", "policy")
    )
    return AuditResult(run.id, against, judge, model, policy, run.counters)


def check_proof(store: Store, plan: DedupeRun) -> None:
    """Raise Unproven unless every judge behind the plan's closings was measured, on enough edges, to be right."""
    judges = [(judge, model) for judge, model in json.loads(str(plan.parameters.get("judges") or "[]"))]
    gap = find_gap(judges, load_audits(store, plan.project_id))
    if gap:
        raise Unproven(
            f"plan {plan.id} is not applied: {gap}",
            hint="measure it with: forgelore dedupe audit --against history (or human); --unproven applies it anyway,"
            " and then nobody knows how many of the closings are wrong",
        )
