"""`dedupe report`: an audit as it was kept, and what stricter gates would have made of it. Nobody is asked again."""

from typing import NamedTuple

from forgelore.core.audit.classes import AuditReference, AuditScores
from forgelore.core.audit.simulation import GateBounds, JudgedPair, SweptBound, simulate, sweep
from forgelore.errors import InvalidValue, NotFound
from forgelore.flows.audit.recording import AuditReport, load_report
from forgelore.store.audits import list_cases
from forgelore.store.db import Store
from forgelore.store.dedupe_runs import DedupeRun, list_runs, load_run

_RUNS = 200


class AuditAnalysis(NamedTuple):
    """An audit, and the same under other bounds. `simulated` None: no bounds were given."""

    report: AuditReport
    bounds: GateBounds
    simulated: AuditScores | None
    sweeps: list[SweptBound]


def find_audit(store: Store, project_id: int, run_id: int | None) -> DedupeRun:
    """Return an audit by its number, or the newest one of a project that came to its end."""
    if run_id is not None:
        run = load_run(store, run_id)
        if run.step != "audit":
            raise InvalidValue(
                f"run {run_id} is no audit but a run of {run.step}", hint="see: forgelore dedupe runs --step audit"
            )
        return run
    found = list_done_audits(store, project_id)
    if not found:
        raise NotFound("there is no audit yet", hint="run: forgelore dedupe audit --against history")
    return found[0]


def list_done_audits(store: Store, project_id: int) -> list[DedupeRun]:
    """Return the audits of a project that came to their ends, newest first."""
    return [run for run in list_runs(store, project_id, step="audit", limit=_RUNS) if run.status == "done"]


def analyse_audit(store: Store, run: DedupeRun, bounds: GateBounds) -> AuditAnalysis:
    """Return an audit with sweeps of every bound, and with its scores under the given ones."""
    report = load_report(store, run)
    against: AuditReference = report.against  # type: ignore[assignment]
    cases = [
        JudgedPair(one.case.cheap, one.case.strong, one.case.audit_class != "unlabelled")
        for one in list_cases(store, run.id)
    ]
    simulated = simulate(cases, bounds, against) if any(one is not None for one in bounds) else None
    return AuditAnalysis(report, bounds, simulated, sweep(cases, bounds, against))
