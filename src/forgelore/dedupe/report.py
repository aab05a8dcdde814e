"""`dedupe report`: an audit as it was kept, with what stricter gates would have made of it; and what reviewers look at:
clusters with the evidence of each edge, the newest plan, the audits. Nobody is asked again.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from forgelore.dedupe.audit import AuditReport, load_report
from forgelore.dedupe.audit_rules import (
    AuditReference,
    AuditScores,
    GateBounds,
    SweptBound,
    simulate,
    sweep,
)
from forgelore.dedupe.plan import CLUSTERED, ClosingPlan, OverviewEdge, ShownCluster, load_closing_plan, load_edges
from forgelore.dedupe.review import RECENTLY_MS, QueueSetting, ReviewQueue, load_queue
from forgelore.dedupe.verdict import Verdict, decode_verdict
from forgelore.errors import InvalidValue, NotFound
from forgelore.records import Edge
from forgelore.store.calibration import load_duplicates
from forgelore.store.candidates import StoredCluster, list_clusters, load_set
from forgelore.store.closings import PlanItem, load_plan_items
from forgelore.store.database import Store
from forgelore.store.decisions import Decision, DedupeRun, list_cases, list_runs, load_accepted_decisions, load_run
from forgelore.store.projects import StoredProject
from forgelore.store.reviews import list_review_words

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
                f"run {run_id} is not an audit but a run of {run.step}", hint="see: forgelore dedupe runs --step audit"
            )
        return run
    found = list_done_audits(store, project_id)
    if not found:
        raise NotFound("no audit yet", hint="run: forgelore dedupe audit --against history")
    return found[0]


def list_done_audits(store: Store, project_id: int) -> list[DedupeRun]:
    """Return the audits of a project that came to their ends, newest first."""
    return [run for run in list_runs(store, project_id, step="audit", limit=_RUNS) if run.status == "done"]


def analyse_audit(store: Store, run: DedupeRun, bounds: GateBounds) -> AuditAnalysis:
    """Return an audit with sweeps of every bound, and with its scores under the given ones."""
    report = load_report(store, run)
    against: AuditReference = report.against  # type: ignore[assignment]
    cases = [(one.judged, one.right, one.audit_class != "unlabelled") for one in list_cases(store, run.id)]
    simulated = simulate(cases, bounds, against) if any(one is not None for one in bounds) else None
    return AuditAnalysis(report, bounds, simulated, sweep(cases, bounds, against))


MAX_CLUSTERS = 200  # on a page that people read
_FACTS = 8
_EVERY_DUPLICATE = 1_000_000


class DedupeOverview(NamedTuple):
    """Everything that a reviewer looks at. `more_clusters`: how many smaller ones are left out."""

    project: str
    made_at: int
    clusters: list[ShownCluster]
    more_clusters: int
    plan: ClosingPlan | None
    audits: list[AuditAnalysis]
    queue: ReviewQueue


def load_overview(store: Store, project: StoredProject, now_ms: int, *, most: int = MAX_CLUSTERS) -> DedupeOverview:
    """Return the clusters, largest first, the newest plan, the newest audit by each kind of reference, and the pairs
    that nobody has decided.
    """
    found = load_clusters(store, project.id)
    plans = list_runs(store, project.id, step="plan", limit=1)
    plan = load_closing_plan(store, project, plans[0]) if plans else None
    return DedupeOverview(
        str(project.name), now_ms, found[:most], len(found[most:]), plan,
        _load_audits(store, project.id),
        load_queue(store, project, QueueSetting(CLUSTERED, now_ms - RECENTLY_MS), person=""),
    )  # fmt: skip


def load_clusters(store: Store, project_id: int) -> list[ShownCluster]:
    """Return the clusters with the evidence of each edge, the largest first, without items that the viewer may not
    see.
    """
    decisions = load_accepted_decisions(store, project_id)
    found: list[ShownCluster] = []
    for kind in CLUSTERED:
        standing = load_edges(store, project_id, kind)
        for cluster in list_clusters(store, project_id, kind):
            members = set(cluster.members)
            edges = [one for one in standing.edges if one.source in members and one.target in members]
            found.append(_show(store, kind, cluster, edges, decisions))
    return sorted(
        (one for one in found if one.canonical and len(one.items) > 1),
        key=lambda one: (-len(one.items), one.kind, one.canonical),
    )


def load_magnets(store: Store, project_id: int, *, limit: int) -> list[ShownCluster]:
    """Return the open items with the most confirmed duplicates: marks of the forge, statements on closed items, and
    what reviewers called the same. Items that merely look alike do not count: most of those are an area's hub.
    """
    found: list[ShownCluster] = []
    confirmed = [one[:2] for one in list_review_words(store, project_id) if one.decision == "accept"]
    for kind in CLUSTERED:
        copies: dict[int, set[int]] = {}
        known = load_duplicates(store, project_id, kind, limit=_EVERY_DUPLICATE, shown=True)
        for item_id, target_id in [*((one, each) for one, targets in known.items() for each in targets), *confirmed]:
            copies.setdefault(target_id, set()).add(item_id)
        items = _load_visible(store, {*copies, *(one for each in copies.values() for one in each)})
        for target_id, ids in copies.items():
            target, seen = items.get(target_id), [items[one] for one in ids if one in items]
            if target and target.state == "open" and target.kind == kind and seen:
                members = (target, *sorted(seen, key=lambda one: one.number))
                numbers = [one.number for one in members]
                found.append(ShownCluster(kind, target.number, "confirmed", numbers, target.title, members))
    return sorted(found, key=lambda one: (-len(one.items), one.kind, one.canonical))[:limit]


def _load_visible(store: Store, item_ids: Iterable[int]) -> dict[int, PlanItem]:
    items = load_plan_items(store, item_ids)
    sees_all = store.viewer.includes_internal
    return {key: one for key, one in items.items() if sees_all or not one.is_confidential}


def _load_audits(store: Store, project_id: int) -> list[AuditAnalysis]:
    newest = {}
    for run in reversed(list_done_audits(store, project_id)):
        key = tuple(run.parameters.get(name) for name in ("against", "judge", "model"))
        newest[key] = run
    runs = sorted(newest.values(), key=lambda run: -run.id)
    return [analyse_audit(store, run, GateBounds()) for run in runs]


def _show(
    store: Store, kind: str, cluster: StoredCluster, edges: list[Edge], decisions: Mapping[int, Decision]
) -> ShownCluster:
    items = _load_visible(store, cluster.members)
    edges = [one for one in edges if {*one[:2]} <= items.keys()]
    ordered = sorted(items.values(), key=lambda one: (one.id != cluster.canonical_id, one.number))
    shown = [_show_edge(store, one, items, decisions.get(one.source)) for one in _once(edges, cluster.canonical_id)]
    shown.sort(key=lambda one: (-one.confidence, one.number))
    stays = items.get(cluster.canonical_id)
    return ShownCluster(
        kind, stays.number if stays else 0, cluster.chosen_by, [one.number for one in ordered],
        stays.title if stays else "", tuple(ordered), tuple(shown),
    )  # fmt: skip


def _once(edges: list[Edge], canonical_id: int) -> list[Edge]:
    """Return each pair once. Of two copies that repeat each other, the edge onto the item that stays is kept."""
    ordered = sorted(edges, key=lambda one: (one.source == canonical_id, one.source))
    found: dict[frozenset[int], Edge] = {}
    for one in ordered:
        found.setdefault(frozenset(one[:2]), one)
    return list(found.values())


def _show_edge(store: Store, edge: Edge, items: Mapping[int, PlanItem], made: Decision | None) -> OverviewEdge:
    """Return an edge with its evidence. Without a decision behind it, a person accepted it."""
    source, target = items[edge.source].number, items[edge.target].number
    if made is None or made.target_id != edge.target:
        return OverviewEdge(source, target, edge.confidence, "a person", "", [], None)
    kept = load_set(store, made.set_id)
    known = next((one for one in kept.members if one.item_id == edge.target), None) if kept else None
    verdict = decode_verdict(made.verdict)
    reasoning, named = (verdict.reasoning, verdict.facts) if isinstance(verdict, Verdict) else ("", [])
    facts = list(dict.fromkeys([*(known.marks if known else ()), *named]))
    judge = f"{made.judge} {made.model}".strip()
    similarity = known.similarity if known else None
    return OverviewEdge(source, target, edge.confidence, judge, reasoning, facts[:_FACTS], similarity)
