"""Canonicalize: accepted decisions and what people said become clusters with a canonical each, and are kept."""

from collections.abc import Sequence
from typing import NamedTuple

from forgelore.core.dedupe.canonical import Choice, ClusterItem, choose_canonical, is_english
from forgelore.core.dedupe.clusters import BOUND, Edge, cluster_edges
from forgelore.core.dedupe.human_words import HumanWord, StandingEdges, lay_over
from forgelore.errors import InvalidValue
from forgelore.flows.dedupe.maintainers import find_maintainers
from forgelore.store.closing_items import PlanItem, load_plan_items
from forgelore.store.clusters import replace_clusters
from forgelore.store.db import Store
from forgelore.store.decisions import each_override, list_accepted
from forgelore.store.dedupe_runs import RunValue, begin_run, end_run, save_counters
from forgelore.store.projects import StoredProject
from forgelore.store.write_journal import load_closed_onto

CLUSTERED = ("issue", "change")


class ClusterSettings(NamedTuple):
    """`language`: en prefers English text in the choice of a canonical, any has no preference."""

    bound: int = BOUND
    language: str = "en"
    maintainers: Sequence[str] = ()


class ShownCluster(NamedTuple):
    """A cluster with its canonical; numbers as people see them."""

    kind: str
    canonical: int
    chosen_by: str
    numbers: list[int]
    title: str


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


def canonicalize(
    store: Store, project: StoredProject, settings: ClusterSettings, now_ms: int, *, is_dry: bool = False
) -> Canonicalized:
    """Build the clusters of a project anew, choose the canonical of each, and keep them."""
    if settings.bound < 2:
        raise InvalidValue(f"a cluster of at most {settings.bound} items is none", hint="give a bound of 2 or more")
    shown: list[ShownCluster] = []
    left_out: list[LeftOutEdge] = []
    kept: dict[str, list[tuple[int, str, list[int]]]] = {}
    edges = 0
    for kind in CLUSTERED:
        standing = load_edges(store, project.id, kind)
        found = cluster_edges(standing.edges, bound=settings.bound, alone=standing.alone)
        items = load_plan_items(store, [number for edge in standing.edges for number in edge[:2]])
        makers = _Chooser(store, project, settings, items, standing.chosen)
        choices = [(makers.choose(members), members) for members in found.clusters]
        kept[kind] = [(one.member.item_id, one.chosen_by, members) for one, members in choices]
        shown += [_show(kind, one, members, items) for one, members in choices]
        left_out += [LeftOutEdge(kind, *_numbers(edge, items), edge.confidence) for edge in found.left_out]
        edges += len(standing.edges)
    shown.sort(key=lambda one: (-len(one.numbers), one.kind, one.canonical))
    run = None if is_dry else _keep(store, project.id, settings, kept, len(left_out), edges, now_ms)
    return Canonicalized(run, shown, left_out, edges)


def load_edges(store: Store, project_id: int, kind: str) -> StandingEdges:
    """Return the edges of a kind that count: what judges accepted, with the words of people laid over it."""
    words = [HumanWord(one.item_id, one.action, one.target_id) for one in each_override(store, project_id)]
    named = load_plan_items(store, [number for word in words for number in (word.item_id, word.target_id) if number])
    ours = [word for word in words if word.item_id in named and named[word.item_id].kind == kind]
    ours = [word for word in ours if not word.target_id or word.target_id in named]
    accepted = [Edge(one.item_id, one.target_id, one.confidence) for one in list_accepted(store, project_id, kind)]
    return lay_over(accepted, ours)


def is_open_now(item: PlanItem, closed_onto: dict[int, int]) -> bool:
    """Tell whether an item is open, by what was stored and by what we closed since."""
    return item.state == "open" and item.id not in closed_onto


class _Chooser:
    """What the choice of canonicals asks of a project, loaded once."""

    def __init__(
        self, store: Store, project: StoredProject, settings: ClusterSettings, items: dict[int, PlanItem],
        chosen: frozenset[int],
    ) -> None:  # fmt: skip
        self._items, self._chosen, self._settings = items, chosen, settings
        self._closed = load_closed_onto(store, project.id)
        authors = {item.author for item in items.values() if item.author}
        self._maintainers = find_maintainers(store, project, authors, named=settings.maintainers)

    def choose(self, members: Sequence[int]) -> Choice:
        return choose_canonical([self._as_member(self._items[number]) for number in members if number in self._items])

    def _as_member(self, item: PlanItem) -> ClusterItem:
        is_in_language = self._settings.language == "any" or is_english(f"{item.title} {item.body or ''}")
        return ClusterItem(
            item.id, item.number, is_open_now(item, self._closed), item.id in self._chosen, is_in_language,
            bool(item.author and self._maintainers.get(item.author)),
            (item.comment_count or 0) + (item.review_comment_count or 0), item.created_at or 0,
        )  # fmt: skip


def _show(kind: str, choice: Choice, members: Sequence[int], items: dict[int, PlanItem]) -> ShownCluster:
    numbers = sorted(items[one].number for one in members if one in items)
    return ShownCluster(kind, choice.member.number, choice.chosen_by, numbers, items[choice.member.item_id].title)


def _numbers(edge: Edge, items: dict[int, PlanItem]) -> tuple[int, int]:
    return items[edge.source].number, items[edge.target].number


def _keep(
    store: Store, project_id: int, settings: ClusterSettings, kept: dict[str, list[tuple[int, str, list[int]]]],
    left_out: int, edges: int, now_ms: int,
) -> int:  # fmt: skip
    with store.transaction():
        parameters: dict[str, RunValue] = {"bound": settings.bound, "language": settings.language}
        run_id = begin_run(store, project_id, "canonicalize", parameters, now_ms)
        counts = {f"{kind}s": replace_clusters(store, project_id, kind, rows, now_ms) for kind, rows in kept.items()}
        largest = max((len(members) for rows in kept.values() for *_, members in rows), default=0)
        counters = {"edges": edges, **counts, "largest": largest, "edges left out": left_out}
        save_counters(store, run_id, counters)
        end_run(store, run_id, "done", now_ms)
    return run_id
