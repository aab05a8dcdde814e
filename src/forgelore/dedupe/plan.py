"""Clusters and plans as they are kept: what accepted decisions connect, and which items would be closed onto which.

    accepted edges + what people said → `canonicalize` → clusters, kept → `plan_closings` → a line for each item, kept

Nothing is sent anywhere: a plan reads what is stored, and `apply` asks the forge again before each write. An item that
stays open has a reason, such as a grace period that an earlier run began.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, get_args

import msgspec

from forgelore.compare.sameness import find_sameness, without_boilerplate
from forgelore.context import JobContext
from forgelore.dedupe.closing_rules import SeenItem, find_waiting, speaks_against, why_waiting
from forgelore.dedupe.clusters import (
    ACCEPTED,
    BOUND,
    ClusterItem,
    EffectiveEdges,
    TargetPolicy,
    apply_overrides,
    chain_edges,
    choose_canonical,
    cluster_edges,
    copy_edges,
    is_english,
    is_newer_by_another,
    plan_cluster,
)
from forgelore.dedupe.gates import MIN_CLOSE, SUPPORT
from forgelore.dedupe.maintainers import find_maintainers
from forgelore.dedupe.reasons import ReasonCode
from forgelore.errors import InvalidValue
from forgelore.records import Edge, EdgeJudge, PlannedClosing
from forgelore.store.calibration import load_boilerplate
from forgelore.store.candidates import StoredCluster, list_clusters, replace_clusters
from forgelore.store.closings import (
    PlanItem,
    list_closings,
    list_graces,
    list_judges,
    list_reopened,
    list_unseen_closings,
    load_closed_onto,
    load_plan_items,
    save_closings,
)
from forgelore.store.database import Store
from forgelore.store.decisions import (
    DedupeRun,
    RunValue,
    begin_run,
    each_override,
    end_run,
    list_accepted,
    list_runs,
    newest_decision_ms,
    save_counters,
)
from forgelore.store.projects import StoredProject
from forgelore.text.markdown import KEEP_OPEN_LABELS

CLUSTERED = ("issue", "change")


class ClusterSettings(NamedTuple):
    """`language`: en prefers English text in the choice of a canonical, any has no preference."""

    bound: int = BOUND
    language: str = "en"
    maintainers: Sequence[str] = ()


class OverviewEdge(NamedTuple):
    """An edge inside a cluster, with who accepted it and why."""

    number: int
    target: int
    confidence: float
    judge: str
    reasoning: str
    facts: list[str]
    similarity: float | None


class ShownCluster(NamedTuple):
    """A cluster with its canonical; numbers as people see them. Where its evidence is looked at, it has its items, the
    one that stays first, and its edges.
    """

    kind: str
    canonical: int
    chosen_by: str
    numbers: list[int]
    title: str
    items: tuple[PlanItem, ...] = ()
    edges: tuple[OverviewEdge, ...] = ()

    @staticmethod
    def json_key(name: str) -> str:
        return "" if name in ("items", "edges") else name


class LeftOutEdge(NamedTuple):
    """An accepted edge that would have made its cluster larger than the bound."""

    kind: str
    number: int
    target: int
    confidence: float


class Canonicalized(NamedTuple):
    """What became of the accepted edges of a project. `run`: None where nothing was kept."""

    run: int | None
    clusters: list[ShownCluster]
    left_out: list[LeftOutEdge]
    edges: int


def canonicalize(context: JobContext, settings: ClusterSettings, *, dry_run: bool = False) -> Canonicalized:
    """Build the clusters of a project, choose the canonical of each, and keep them instead of the earlier ones."""
    store, project = context.store, context.project
    if settings.bound < 2:
        raise InvalidValue(f"invalid cluster size: {settings.bound}", hint="use 2 or more")
    shown: list[ShownCluster] = []
    left_out: list[LeftOutEdge] = []
    kept: dict[str, list[tuple[int, str, list[int]]]] = {}
    edges = 0
    for kind in CLUSTERED:
        standing = load_edges(store, project.id, kind)
        clusters, refused = cluster_edges(standing.edges, bound=settings.bound, alone=standing.alone)
        items = load_plan_items(store, [number for edge in standing.edges for number in edge[:2]])
        makers = _Chooser(store, project, settings, items, standing)
        choices = [(makers.choose(members), members) for members in clusters]
        kept[kind] = [(one.item_id, chosen_by, members) for (one, chosen_by), members in choices]
        shown += [_show_cluster(kind, one, members, items) for one, members in choices]
        left_out += [LeftOutEdge(kind, *_numbers(edge, items), edge.confidence) for edge in refused]
        edges += len(standing.edges)
    shown.sort(key=lambda one: (-len(one.numbers), one.kind, one.canonical))
    run = None if dry_run else _save_clusters(context, settings, kept, len(left_out), edges)
    return Canonicalized(run, shown, left_out, edges)


def load_edges(store: Store, project_id: int, kind: str) -> EffectiveEdges:
    """Return the edges of a kind that count: those that judges accepted, corrected by what people decided. What a model
    accepted needs the support of our own similarity; older versions did not ask for it.
    """
    words = list(each_override(store, project_id))
    named = load_plan_items(store, [number for word in words for number in (word.item_id, word.target_id) if number])
    ours = [word for word in words if word.item_id in named and named[word.item_id].kind == kind]
    ours = [word for word in ours if not word.target_id or word.target_id in named]
    return apply_overrides(list_accepted(store, project_id, kind, support=SUPPORT), ours)


def is_open_now(item: PlanItem, closed_onto: Mapping[int, int]) -> bool:
    """Tell whether an item is open, by what was stored and by what we closed since."""
    return item.state == "open" and item.id not in closed_onto


class _Chooser:
    """What the choice of canonicals asks of a project, loaded once."""

    def __init__(
        self, store: Store, project: StoredProject, settings: ClusterSettings, items: dict[int, PlanItem],
        standing: EffectiveEdges,
    ) -> None:  # fmt: skip
        self._items, self._standing, self._settings = items, standing, settings
        self._said = [edge for edge in standing.edges if edge.source in standing.by_people]
        self._closed = load_closed_onto(store, project.id)
        authors = {item.author for item in items.values() if item.author}
        self._maintainers = find_maintainers(store, project, authors, named=settings.maintainers)

    def choose(self, members: Sequence[int]) -> tuple[ClusterItem, str]:
        return choose_canonical([self._as_member(self._items[number]) for number in members if number in self._items])

    def _as_member(self, item: PlanItem) -> ClusterItem:
        originals = [self._items.get(edge.target) for edge in self._said if edge.source == item.id]
        is_in_language = self._settings.language == "any" or is_english(f"{item.title} {item.body or ''}")
        return ClusterItem(
            item.id, item.number, is_open_now(item, self._closed), item.id in self._standing.chosen, is_in_language,
            bool(item.author and self._maintainers.get(item.author)), item.people, item.created_at, author=item.author,
            is_said_duplicate=any(one is not None and is_open_now(one, self._closed) for one in originals),
        )  # fmt: skip


class Copies:
    """Which items of a kind have the same text, the lines of the project's forms aside."""

    def __init__(self, store: Store, project_id: int, kind: str, items: Mapping[int, PlanItem]) -> None:
        self._store, self._project_id, self._kind, self._items = store, project_id, kind, items

    @cached_property
    def _lines(self) -> frozenset[int]:
        return load_boilerplate(self._store, self._project_id, self._kind)

    def is_copy(self, one: int, other: int) -> bool:
        """Tell whether both items have the same text."""
        mine, theirs = self._items.get(one), self._items.get(other)
        if mine is None or theirs is None:
            return False
        return find_sameness(*self._words(mine), *self._words(theirs)) == "same_text"

    def _words(self, item: PlanItem) -> tuple[str, str]:
        return item.title, without_boilerplate(item.body or "", self._lines)


def _show_cluster(
    kind: str, choice: tuple[ClusterItem, str], members: Sequence[int], items: dict[int, PlanItem]
) -> ShownCluster:
    canonical, chosen_by = choice
    numbers = sorted(items[one].number for one in members if one in items)
    return ShownCluster(kind, canonical.number, chosen_by, numbers, items[canonical.item_id].title)


def _numbers(edge: Edge, items: dict[int, PlanItem]) -> tuple[int, int]:
    return items[edge.source].number, items[edge.target].number


def _save_clusters(
    context: JobContext, settings: ClusterSettings, kept: dict[str, list[tuple[int, str, list[int]]]], left_out: int,
    edges: int,
) -> int:  # fmt: skip
    store, project_id, now_ms = context.store, context.project.id, context.now_ms()
    with store.transaction():
        parameters: dict[str, RunValue] = {"bound": settings.bound, "language": settings.language}
        run_id = begin_run(store, project_id, "canonicalize", parameters, now_ms)
        counts = {f"{kind}s": replace_clusters(store, project_id, kind, rows, now_ms) for kind, rows in kept.items()}
        largest = max((len(members) for rows in kept.values() for *_, members in rows), default=0)
        counters = {"edges": edges, **counts, "largest": largest, "edges left out": left_out}
        save_counters(store, run_id, counters)
        end_run(store, run_id, "done", now_ms)
    return run_id


def load_waiting(store: Store, project_id: int, *, except_run: int | None = None) -> dict[int, ReasonCode]:
    """Return item -> why only the run that began its grace period may close it."""
    accepted_at = {one.item_id: one.said_at for one in each_override(store, project_id) if one.decision in ACCEPTED}
    return find_waiting([one for one in list_graces(store, project_id) if one.run_id != except_run], accepted_at)


class PlanSettings(NamedTuple):
    target_policy: TargetPolicy = "canonical-only"
    min_close: float = MIN_CLOSE
    kinds: tuple[str, ...] = CLUSTERED
    maintainers: Sequence[str] = ()
    keep_open: Sequence[str] = KEEP_OPEN_LABELS
    language: str = "en"  # of clusters that are built first


class PlanLine(NamedTuple):
    """One item of a plan, as people see it. `reason`: why it stays open; "" where it would be closed. `by_person`: a
    person accepted this very pair, which may then be closed onto a newer item of another author.
    """

    kind: str
    number: int
    title: str
    url: str | None
    target: int | None
    target_title: str
    target_url: str | None
    confidence: float | None
    reason: str
    author: str | None = None
    created_at: int | None = None
    target_author: str | None = None
    target_created_at: int | None = None
    by_person: bool = False


class ClosingPlan(NamedTuple):
    """A plan of closings. `run`: its number, None for one that was not kept."""

    run: int | None
    project: str
    policy: TargetPolicy
    min_close: float
    lines: list[PlanLine]
    counters: dict[str, int]


def plan_closings(context: JobContext, settings: PlanSettings, *, dry_run: bool = False) -> ClosingPlan:
    """Make a plan from the stored clusters, and keep it unless it is a dry run."""
    store, project = context.store, context.project
    _check(settings)
    _cluster_again(context, settings, dry_run=dry_run)
    planned: list[tuple[PlannedClosing, PlanLine]] = []
    judges: list[EdgeJudge] = []
    for kind in settings.kinds:
        lines, items, by_people, copies = _plan_kind(store, project, kind, settings)
        planned += [(one, _show_line(one, items, by_people)) for one in lines]
        closing = [one.item_id for one in lines if one.action == "close"]
        judged = [one for one in closing if one not in by_people]
        judges += list_judges(store, [*judged, *(other for one in judged for other in copies.get(one, ()))])
        judges += [EdgeJudge("human", "", kind, 1.0, 1.0)] if by_people & set(closing) else []
    counters = _count(planned)
    run = None if dry_run else _save_plan(context, settings, [one for one, _ in planned], judges, counters)
    shown = [line for _, line in planned]
    return ClosingPlan(run, str(project.name), settings.target_policy, settings.min_close, shown, counters)


def _cluster_again(context: JobContext, settings: PlanSettings, *, dry_run: bool) -> None:
    """Build the clusters, where there are none, or somebody has decided something since; a dry run keeps nothing."""
    store, project = context.store, context.project
    last = next(iter(list_runs(store, project.id, step="canonicalize", limit=1)), None)
    if last is None and dry_run:
        raise InvalidValue("no clusters yet", hint="run: forgelore dedupe canonicalize")
    if dry_run or (last and newest_decision_ms(store, project.id) <= last.began_at):
        return
    before = last.parameters if last else {}
    bound, language = int(before.get("bound") or BOUND), str(before.get("language") or settings.language)
    canonicalize(context, ClusterSettings(bound, language, settings.maintainers))


def load_closing_plan(store: Store, project: StoredProject, run: DedupeRun) -> ClosingPlan:
    """Return a kept plan as it was made; titles and states are those of today."""
    lines = list_closings(store, run.id)
    named = [item_id for line in lines for item_id in (line.item_id, line.target_id) if item_id is not None]
    items = load_plan_items(store, named)
    policy: TargetPolicy = str(run.parameters["target_policy"])  # type: ignore[assignment]
    by_people = {pair for kind in CLUSTERED for pair in load_edges(store, project.id, kind).by_people}
    shown = [_show_line(line, items, by_people) for line in lines if line.item_id in items]
    return ClosingPlan(run.id, str(project.name), policy, float(run.parameters["min_close"] or 0), shown, run.counters)


def _check(settings: PlanSettings) -> None:
    if settings.target_policy not in get_args(TargetPolicy):
        raise InvalidValue(
            f"unknown target policy: {settings.target_policy!r}", hint=f"one of: {', '.join(get_args(TargetPolicy))}"
        )
    if not 0 <= settings.min_close <= 1:
        raise InvalidValue(f"invalid confidence: {settings.min_close:g}", hint="use 0 to 1")
    if wrong := [kind for kind in settings.kinds if kind not in CLUSTERED]:
        raise InvalidValue(f"{wrong[0]}s are not closed as duplicates", hint="use issues or changes")


def _plan_kind(
    store: Store, project: StoredProject, kind: str, settings: PlanSettings
) -> tuple[list[PlannedClosing], dict[int, PlanItem], frozenset[int], dict[int, Sequence[int]]]:
    """Return the lines of a kind, their items, those that people decided about, and of a closing onto a copy that no
    decision names the members of its cluster, whose judges stand for it.
    """
    clusters = list_clusters(store, project.id, kind)
    items = load_plan_items(store, [number for cluster in clusters for number in cluster.members])
    standing = load_edges(store, project.id, kind)
    closed_onto = load_closed_onto(store, project.id)
    people = {login for item in items.values() for login in (item.author, *item.assignees) if login}
    maintainers = find_maintainers(store, project, people, named=settings.maintainers)
    waiting = load_waiting(store, project.id)
    unseen, reopened = list_unseen_closings(store, project.id), list_reopened(store, project.id)
    same = Copies(store, project.id, kind, items)
    lines: list[PlannedClosing] = []
    copies: dict[int, Sequence[int]] = {}
    said = set(standing.by_people)
    for cluster in clusters:
        chains = _chains(standing, cluster, items)
        edges, more = (
            _within(standing, cluster),
            copy_edges(cluster.members, cluster.canonical_id, standing, same.is_copy),
        )
        found = plan_cluster(
            [_as_cluster_item(items[one], closed_onto) for one in cluster.members if one in items],
            cluster.canonical_id, [*edges, *chains, *(one for one in more if one.source not in standing.chosen)],
            maintainers,
            policy=settings.target_policy, min_close=settings.min_close, targets_of_others=closed_onto,
            by_people=standing.by_people,
        )  # fmt: skip
        unnamed = {(one.source, one.target) for one in more}
        said |= {one.source for one in chains}
        copies |= {one.item_id: cluster.members for one in found if (one.item_id, one.target_id) in unnamed}
        for one in found:
            reason = _object_to(one, items, closed_onto, unseen, reopened, waiting, settings.keep_open, standing)
            lines.append(_as_line(one._replace(reason=reason or "", cluster_id=cluster.id), items))
    return lines, items, frozenset(said), copies


def _chains(standing: EffectiveEdges, cluster: StoredCluster, items: Mapping[int, PlanItem]) -> list[Edge]:
    """Return what follows from several answers of people about a cluster. Onto a newer item of another author only a
    pair leads that a person accepted itself.
    """
    target = items.get(cluster.canonical_id)
    sources = [one for one in cluster.members if one in items and one not in standing.chosen]
    found = chain_edges(sources, cluster.canonical_id, standing) if target else []
    return [edge for edge in found if target and not is_newer_by_another(target, items[edge.source])]


def _as_cluster_item(item: PlanItem, closed_onto: Mapping[int, int]) -> ClusterItem:
    is_open = is_open_now(item, closed_onto)
    return ClusterItem(
        item.id, item.number, is_open, is_duplicate=item.is_marked, author=item.author, assignees=item.assignees,
        created_at=item.created_at,
    )  # fmt: skip


def _within(standing: EffectiveEdges, cluster: StoredCluster) -> list[Edge]:
    """Return the edges inside a cluster. What people said since the clusters were built counts already."""
    members = set(cluster.members) - standing.alone
    return [
        edge
        for edge in standing.edges
        if edge.source in members and edge.target in members and edge.source not in standing.chosen
    ]


def _object_to(
    line: PlannedClosing, items: Mapping[int, PlanItem], closed_onto: Mapping[int, int],
    unseen: Collection[int], reopened: Collection[int], waiting: Mapping[int, ReasonCode], keep_open: Sequence[str],
    standing: EffectiveEdges,
) -> str | None:  # fmt: skip
    """Return why an item stays open. One that we closed and that a later sync found open was reopened by somebody, and
    stays open. So does one in a grace period, its own or its target's, and one that a person judged by other words than
    it has now.
    """
    item, target = items[line.item_id], items.get(line.target_id or 0)
    if line.reason:
        return _why_closed(item, closed_onto, unseen) if line.reason == ReasonCode.NOT_OPEN else line.reason
    objections = (
        (item.is_confidential or (target is not None and target.is_confidential), ReasonCode.CONFIDENTIAL),
        (item.is_locked, ReasonCode.CONVERSATION_LOCKED),
        (speaks_against(item.labels, keep_open), ReasonCode.LABELLED_AGAINST),
        (item.id in reopened and item.id not in standing.by_people, ReasonCode.REOPENED_SINCE_PLAN),
        (_is_outdated(line, standing), ReasonCode.EDITED_SINCE_PLAN),
    )
    found = next((reason for holds, reason in objections if holds), None)
    return found or why_waiting(waiting, item.id, line.target_id)


def _is_outdated(line: PlannedClosing, standing: EffectiveEdges) -> bool:
    return line.item_id in standing.by_people and {line.item_id, line.target_id} in standing.outdated


def _why_closed(item: PlanItem, closed_onto: Mapping[int, int], unseen: Collection[int]) -> ReasonCode:
    if item.id in unseen:
        return ReasonCode.ALREADY_CLOSED
    is_reopened = item.state == "open" and item.id in closed_onto
    return ReasonCode.REOPENED_SINCE_PLAN if is_reopened else ReasonCode.NOT_OPEN


def _as_line(line: PlannedClosing, items: Mapping[int, PlanItem]) -> PlannedClosing:
    target = items.get(line.target_id) if line.target_id is not None else None
    seen = {"item": _seen(items[line.item_id]), "target": _seen(target) if target else None}
    return line._replace(action="skip" if line.reason else "close", seen=json.dumps(seen))


def _seen(item: PlanItem) -> dict[str, object]:
    seen = SeenItem(
        item.content_hash, item.assignees, item.comment_count, item.review_comment_count, item.updated_at,
        item.newest_comment, item.head_sha, item.milestone,
    )  # fmt: skip
    return dict(msgspec.to_builtins(seen))


def _show_line(line: PlannedClosing, items: Mapping[int, PlanItem], by_people: Collection[int]) -> PlanLine:
    item, target = items[line.item_id], items.get(line.target_id or 0)
    return PlanLine(
        item.kind, item.number, item.title, item.url, target.number if target else None, target.title if target else "",
        target.url if target else None, line.confidence, line.reason, item.author, item.created_at,
        target.author if target else None, target.created_at if target else None,
        by_person=not line.reason and line.item_id in by_people,
    )  # fmt: skip


def _count(planned: Sequence[tuple[PlannedClosing, PlanLine]]) -> dict[str, int]:
    counters = {"close": sum(line.action == "close" for line, _ in planned)}
    for line, _ in planned:
        if line.reason:
            counters[str(line.reason)] = counters.get(str(line.reason), 0) + 1
    return counters


def _save_plan(
    context: JobContext, settings: PlanSettings, lines: Sequence[PlannedClosing], judges: Sequence[EdgeJudge],
    counters: dict[str, int],
) -> int:  # fmt: skip
    store, now_ms = context.store, context.now_ms()
    parameters = {
        "target_policy": settings.target_policy, "min_close": settings.min_close, "kinds": ",".join(settings.kinds),
        "judges": json.dumps(sorted(judges)),
    }  # fmt: skip
    with store.transaction():
        run_id = begin_run(store, context.project.id, "plan", parameters, now_ms)
        save_closings(store, run_id, lines)
        save_counters(store, run_id, counters)
        end_run(store, run_id, "done", now_ms)
    return run_id
