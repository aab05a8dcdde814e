"""Plan: which items of the clusters would be closed, onto which, and why the others not. Nothing is sent anywhere.

A plan reads what is stored; `apply` asks the forge again before each write.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple, get_args

import msgspec

from forgelore.core.closing.recheck import SeenItem
from forgelore.core.dedupe.closings import Closing, ClosingItem, TargetPolicy, plan_cluster
from forgelore.core.dedupe.clusters import Edge
from forgelore.core.dedupe.human_words import StandingEdges
from forgelore.core.dedupe.policies import MIN_CLOSE
from forgelore.core.dedupe.reasons import ReasonCode
from forgelore.errors import InvalidValue
from forgelore.flows.dedupe.canonicalize import CLUSTERED, is_open_now, load_edges
from forgelore.flows.dedupe.graces import load_graces
from forgelore.flows.dedupe.maintainers import find_maintainers
from forgelore.store.closing_items import PlanItem, load_plan_items
from forgelore.store.closings import EdgeJudge, PlannedClosing, list_closings, list_judges, save_closings
from forgelore.store.clusters import StoredCluster, list_clusters
from forgelore.store.db import Store
from forgelore.store.dedupe_runs import DedupeRun, begin_run, end_run, list_runs, save_counters
from forgelore.store.projects import StoredProject
from forgelore.store.write_journal import load_closed_onto


class PlanSettings(NamedTuple):
    target_policy: TargetPolicy = "canonical-only"
    min_close: float = MIN_CLOSE
    kinds: tuple[str, ...] = CLUSTERED
    maintainers: Sequence[str] = ()


class PlanLine(NamedTuple):
    """One item of a plan, as people see it. `reason`: why it stays open; "" where it would be closed."""

    kind: str
    number: int
    title: str
    url: str | None
    target: int | None
    target_title: str
    target_url: str | None
    confidence: float | None
    reason: str


class ClosingPlan(NamedTuple):
    """A plan of closings. `run`: its number, None for one that was not kept."""

    run: int | None
    project: str
    policy: TargetPolicy
    min_close: float
    lines: list[PlanLine]
    counters: dict[str, int]


def plan_closings(
    store: Store, project: StoredProject, settings: PlanSettings, now_ms: int, *, is_dry: bool = False
) -> ClosingPlan:
    """Make a plan from the stored clusters, and keep it unless it is a dry run."""
    _check(settings)
    if not list_runs(store, project.id, step="canonicalize", limit=1):
        raise InvalidValue("there are no clusters yet", hint="run: forgelore dedupe canonicalize")
    planned: list[tuple[PlannedClosing, PlanLine]] = []
    judges: list[EdgeJudge] = []
    for kind in settings.kinds:
        lines, items, by_people = _plan_kind(store, project, kind, settings)
        planned += [(one, _show(one, items)) for one in lines]
        closing = [one.item_id for one in lines if one.action == "close"]
        judges += list_judges(store, [one for one in closing if one not in by_people])
        judges += [EdgeJudge("human", "", kind, 1.0, 1.0)] if by_people & set(closing) else []
    counters = _count(planned)
    run = None if is_dry else _keep(store, project.id, settings, [one for one, _ in planned], judges, counters, now_ms)
    shown = [line for _, line in planned]
    return ClosingPlan(run, str(project.name), settings.target_policy, settings.min_close, shown, counters)


def load_closing_plan(store: Store, project: StoredProject, run: DedupeRun) -> ClosingPlan:
    """Return a kept plan as it was made; titles and states are those of today."""
    lines = list_closings(store, run.id)
    named = [item_id for line in lines for item_id in (line.item_id, line.target_id) if item_id is not None]
    items = load_plan_items(store, named)
    policy: TargetPolicy = str(run.parameters["target_policy"])  # type: ignore[assignment]
    shown = [_show(line, items) for line in lines if line.item_id in items]
    return ClosingPlan(run.id, str(project.name), policy, float(run.parameters["min_close"] or 0), shown, run.counters)


def _check(settings: PlanSettings) -> None:
    if settings.target_policy not in get_args(TargetPolicy):
        raise InvalidValue(
            f"{settings.target_policy!r} is no policy for targets", hint=f"one of: {', '.join(get_args(TargetPolicy))}"
        )
    if not 0 <= settings.min_close <= 1:
        raise InvalidValue(f"a confidence of {settings.min_close:g} is none", hint="give a number from 0 to 1")
    if wrong := [kind for kind in settings.kinds if kind not in CLUSTERED]:
        raise InvalidValue(f"{wrong[0]}s are not closed as duplicates", hint="use issues or changes")


def _plan_kind(
    store: Store, project: StoredProject, kind: str, settings: PlanSettings
) -> tuple[list[PlannedClosing], dict[int, PlanItem], frozenset[int]]:
    clusters = list_clusters(store, project.id, kind)
    items = load_plan_items(store, [number for cluster in clusters for number in cluster.members])
    standing = load_edges(store, project.id, kind)
    closed_onto = load_closed_onto(store, project.id)
    people = {login for item in items.values() for login in (item.author, *item.assignees) if login}
    maintainers = find_maintainers(store, project, people, named=settings.maintainers)
    facts = _PlanFacts(items, closed_onto, load_graces(store, project.id))
    lines: list[PlannedClosing] = []
    for cluster in clusters:
        found = plan_cluster(
            [_as_closing_item(items[one], closed_onto) for one in cluster.members if one in items],
            cluster.canonical_id, _within(standing, cluster), maintainers, policy=settings.target_policy,
            min_close=settings.min_close, targets_of_others=closed_onto,
        )  # fmt: skip
        lines += [_as_line(one, cluster, facts) for one in found]
    return lines, items, standing.by_people


def _as_closing_item(item: PlanItem, closed_onto: Mapping[int, int]) -> ClosingItem:
    is_open = is_open_now(item, dict(closed_onto))
    return ClosingItem(item.id, item.number, is_open, item.is_marked, item.author, item.assignees)


def _within(standing: StandingEdges, cluster: StoredCluster) -> list[Edge]:
    """Return the edges inside a cluster. What people said since the clusters were built counts already."""
    members = set(cluster.members) - standing.alone
    return [
        edge
        for edge in standing.edges
        if edge.source in members and edge.target in members and edge.source not in standing.chosen
    ]


class _PlanFacts(NamedTuple):
    """What is known of the items of a kind, beside the clusters."""

    items: Mapping[int, PlanItem]
    closed_onto: Mapping[int, int]
    graces: Mapping[int, ReasonCode]

    def object_to(self, line: Closing) -> ReasonCode | None:
        """Return why an item stays open. One that we closed before and that is open again in the store was reopened by
        somebody: that stands. So do hours of grace, its own or its target's.
        """
        item, target = self.items[line.item_id], self.items.get(line.target_id or 0)
        if line.reason == ReasonCode.NOT_OPEN and item.state == "open" and item.id in self.closed_onto:
            return ReasonCode.REOPENED_SINCE_PLAN
        if line.reason:
            return line.reason
        if item.is_confidential or (target and target.is_confidential):
            return ReasonCode.CONFIDENTIAL
        is_target_waiting = self.graces.get(line.target_id or 0) == ReasonCode.IN_GRACE
        return self.graces.get(item.id) or (ReasonCode.IN_GRACE if is_target_waiting else None)


def _as_line(line: Closing, cluster: StoredCluster, facts: _PlanFacts) -> PlannedClosing:
    reason = facts.object_to(line)
    target = facts.items.get(line.target_id) if line.target_id is not None else None
    seen = {"item": _seen(facts.items[line.item_id]), "target": _seen(target) if target else None}
    return PlannedClosing(
        line.item_id, line.target_id, cluster.id, "skip" if reason else "close", reason or "", line.confidence,
        json.dumps(seen),
    )  # fmt: skip


def _seen(item: PlanItem) -> dict[str, object]:
    seen = SeenItem(
        item.content_hash, item.assignees, item.comment_count, item.review_comment_count, item.updated_at,
        item.newest_comment, item.head_sha,
    )  # fmt: skip
    return dict(msgspec.to_builtins(seen))


def _show(line: PlannedClosing, items: Mapping[int, PlanItem]) -> PlanLine:
    item, target = items[line.item_id], items.get(line.target_id or 0)
    return PlanLine(
        item.kind, item.number, item.title, item.url, target.number if target else None, target.title if target else "",
        target.url if target else None, line.confidence, line.reason,
    )  # fmt: skip


def _count(planned: Sequence[tuple[PlannedClosing, PlanLine]]) -> dict[str, int]:
    counters = {"close": sum(line.action == "close" for line, _ in planned)}
    for line, _ in planned:
        if line.reason:
            counters[str(line.reason)] = counters.get(str(line.reason), 0) + 1
    return counters


def _keep(
    store: Store, project_id: int, settings: PlanSettings, lines: Sequence[PlannedClosing],
    judges: Sequence[EdgeJudge], counters: dict[str, int], now_ms: int,
) -> int:  # fmt: skip
    parameters = {
        "target_policy": settings.target_policy, "min_close": settings.min_close, "kinds": ",".join(settings.kinds),
        "judges": json.dumps(sorted(judges)),
    }  # fmt: skip
    with store.transaction():
        run_id = begin_run(store, project_id, "plan", parameters, now_ms)
        save_closings(store, run_id, lines)
        save_counters(store, run_id, counters)
        end_run(store, run_id, "done", now_ms)
    return run_id
