"""Clusters: items that accepted decisions connect, which of them stays, and which may be closed onto which.

    edges of judges → what people said laid over them → clusters, at most `bound` items each → a canonical → closings

Edges are taken best first; one that would make a cluster larger than the bound is left out, so that a cluster is split
at its weakest edge. Without a bound one chain of weak edges grew to 455 members. The order in which edges come in does
not matter: of equally confident ones the smaller numbers go first.

The canonical is chosen by an order of preferences:
open > what a person said > in the preferred language > written by a maintainer > activity > age > number.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from forgelore.dedupe.gates import MIN_CLOSE
from forgelore.dedupe.reasons import ReasonCode
from forgelore.records import Override, PlannedClosing
from forgelore.text.fence import folded

BOUND = 40


class Edge(NamedTuple):
    """An accepted decision: `source` repeats `target`."""

    source: int
    target: int
    confidence: float


def cluster_edges(
    edges: Iterable[Edge], *, bound: int = BOUND, alone: Collection[int] = ()
) -> tuple[list[list[int]], list[Edge]]:
    """Return the clusters of two and more that edges make, each sorted, and the edges that the bound left out. `alone`:
    items that a person has taken out of any cluster.
    """
    parents: dict[int, int] = {}
    sizes: dict[int, int] = {}
    left_out: list[Edge] = []
    for edge in sorted(edges, key=lambda one: (-one.confidence, *sorted(one[:2]))):
        if edge.source in alone or edge.target in alone or edge.source == edge.target:
            continue
        first, second = _root(parents, edge.source), _root(parents, edge.target)
        if first == second:
            continue
        size = sizes.get(first, 1) + sizes.get(second, 1)
        if size > bound:
            left_out.append(edge)
            continue
        parents[max(first, second)] = min(first, second)
        sizes[min(first, second)] = size
    members: dict[int, list[int]] = {}
    for item in sorted(parents):
        members.setdefault(_root(parents, item), []).append(item)
    return [each for each in members.values() if len(each) > 1], left_out


def _root(parents: dict[int, int], item: int) -> int:
    parents.setdefault(item, item)
    while parents[item] != item:
        parents[item] = parents[parents[item]]
        item = parents[item]
    return item


class ClusterItem(NamedTuple):
    """An item of a cluster, as the choice of a canonical and a plan see it."""

    item_id: int
    number: int
    is_open: bool
    is_chosen: bool = False  # by a person
    is_in_language: bool = True
    is_by_maintainer: bool = False
    activity: int = 0  # comments, of a change those on its lines too
    created_at: int = 0
    is_duplicate: bool = False  # marked already
    author: str | None = None
    assignees: tuple[str, ...] | None = None


_ORDER: tuple[tuple[str, Callable[[ClusterItem], int]], ...] = (
    ("open", lambda one: not one.is_open),
    ("a person", lambda one: not one.is_chosen),
    ("language", lambda one: not one.is_in_language),
    ("maintainer", lambda one: not one.is_by_maintainer),
    ("activity", lambda one: -one.activity),
    ("age", lambda one: one.created_at),
    ("number", lambda one: one.number),
)


def choose_canonical(members: Sequence[ClusterItem]) -> tuple[ClusterItem, str]:
    """Return the canonical, and which preference told it from the next; the order of the members does not matter.

    If any item is open, an open one is chosen, whatever else speaks for a closed one; a person's choice of a closed one
    waits until none is open.
    """
    ordered = sorted(members, key=lambda one: [key(one) for _, key in _ORDER])
    if len(ordered) == 1:
        return ordered[0], ""
    first, second = ordered[:2]
    return first, next((name for name, key in _ORDER if key(first) != key(second)), "number")


# Short words that hardly another language has: enough to tell "is this English" from a few sentences.
_ENGLISH = frozenset(
    ("the", "and", "is", "to", "of", "in", "it", "that", "for", "with", "this", "not", "when", "are", "be", "on", "as",
     "from", "have", "but", "or", "can")
)  # fmt: skip
_MIN = 8  # words; what is shorter is not held against anybody


def is_english(text: str) -> bool:
    """Tell whether a text is likely English: one word in twelve is among the commonest, and most letters are Latin."""
    words = folded(text[:4_000]).split()
    if len(words) < _MIN:
        return not any(ord(sign) > 0x24F and sign.isalpha() for sign in text[:200])
    return sum(word.strip(".,:;!?()") in _ENGLISH for word in words) * 12 >= len(words)


TargetPolicy = Literal["canonical-only", "direct-fallback"]


def plan_cluster(
    items: Sequence[ClusterItem],
    canonical_id: int,
    edges: Iterable[Edge],
    maintainers: Mapping[str, bool | None],
    *,
    policy: TargetPolicy = "canonical-only",
    min_close: float = MIN_CLOSE,
    targets_of_others: Mapping[int, int] | None = None,
) -> list[PlannedClosing]:
    """Return what becomes of every item of a cluster but its canonical.

    An item is closed only if it is open, nobody who maintains the project wrote it or is assigned to it (and that is
    known), an accepted decision leads directly from it to its target with enough confidence, and the target stays open.

        canonical-only     the target is the cluster's canonical
        direct-fallback    or else the target of its own accepted decision, if that is open, no duplicate, and not
                           closed by this plan itself

    `maintainers`: login -> is one; a login that is missing is unknown. `targets_of_others`: what was closed onto what
    before, so that no circle comes about across runs.
    """
    by_id = {one.item_id: one for one in items}
    direct = {edge.source: edge for edge in edges}
    closed: dict[int, int] = dict(targets_of_others or {})
    lines: list[PlannedClosing] = []
    for item in sorted(items, key=lambda each: each.number):
        if item.item_id == canonical_id:
            continue
        line = _plan_item(item, by_id, direct, canonical_id, maintainers, policy, min_close)
        target = None if line.reason else line.target_id
        if target is not None and reaches(closed, target, item.item_id):
            line = line._replace(reason=ReasonCode.WOULD_CYCLE)
        elif target is not None:
            closed[item.item_id] = target
        lines.append(line)
    return _keep_targets_open(lines)


def _plan_item(
    item: ClusterItem,
    by_id: Mapping[int, ClusterItem],
    direct: Mapping[int, Edge],
    canonical_id: int,
    maintainers: Mapping[str, bool | None],
    policy: TargetPolicy,
    min_close: float,
) -> PlannedClosing:
    def skip(reason: ReasonCode, edge: Edge | None = None) -> PlannedClosing:
        return PlannedClosing(item.item_id, edge.target if edge else None, edge.confidence if edge else None, reason)

    if reason := ReasonCode.NOT_OPEN if not item.is_open else protects(item.author, item.assignees, maintainers):
        return skip(reason)
    if not any(other.is_open for other in by_id.values() if other.item_id != item.item_id):
        return skip(ReasonCode.LAST_OPEN_OF_CLUSTER)
    edge = direct.get(item.item_id)
    if edge is None or (edge.target != canonical_id and policy == "canonical-only"):
        return skip(ReasonCode.MISSING_ACCEPTED_EDGE)
    target = by_id.get(edge.target)
    if target is None or not target.is_open:
        return skip(ReasonCode.TARGET_NOT_OPEN, edge)
    if target.is_duplicate:
        return skip(ReasonCode.TARGET_IS_DUPLICATE, edge)
    is_weak = edge.confidence < min_close
    return PlannedClosing(item.item_id, edge.target, edge.confidence, ReasonCode.LOW_CONFIDENCE if is_weak else "")


def protects(
    author: str | None, assignees: Sequence[str] | None, maintainers: Mapping[str, bool | None]
) -> ReasonCode | None:
    """Return why an item is nobody's to close: a maintainer's, or perhaps one's."""
    if author is None or assignees is None:
        return ReasonCode.UNCERTAIN_MAINTAINER_IDENTITY
    is_maintainers, assigned = maintainers.get(author), [maintainers.get(login) for login in assignees]
    if is_maintainers:
        return ReasonCode.MAINTAINER_AUTHOR
    if any(assigned):
        return ReasonCode.MAINTAINER_ASSIGNEE
    return ReasonCode.UNCERTAIN_MAINTAINER_IDENTITY if is_maintainers is None or None in assigned else None


def reaches(closed: Mapping[int, int], start: int, goal: int) -> bool:
    """Tell whether following closings from one item leads to another."""
    seen: set[int] = set()
    at = start
    while at in closed and at not in seen:
        seen.add(at)
        at = closed[at]
        if at == goal:
            return True
    return start == goal


def _keep_targets_open(lines: list[PlannedClosing]) -> list[PlannedClosing]:
    """Leave out closings onto something that the plan closes itself: so a cluster keeps an open item, its target."""
    closing = {one.item_id for one in lines if not one.reason}
    kept = []
    for line in lines:
        is_onto_closed = not line.reason and line.target_id in closing
        if is_onto_closed:
            closing.discard(line.item_id)
        kept.append(line._replace(reason=ReasonCode.TARGET_NOT_OPEN) if is_onto_closed else line)
    return kept


class EffectiveEdges(NamedTuple):
    """Edges as they count, items that stand alone, items that people chose as canonical, sources of human edges."""

    edges: list[Edge]
    alone: frozenset[int]
    chosen: frozenset[int]
    by_people: frozenset[int]


def apply_overrides(edges: Iterable[Edge], words: Iterable[Override]) -> EffectiveEdges:
    """Return what counts in the end: edges of judges, with what people said laid over them. `words` are oldest first;
    the last one counts.

        accept    this item repeats that one: an edge with full confidence, instead of the item's own
        reject    these two are not duplicates, in neither direction
        split     this item belongs to no cluster
        canonical this item stays, of its cluster

    Accepting a pair, or choosing an item as the canonical, takes back an earlier split of it.
    """
    found = {edge.source: edge for edge in edges}
    alone: set[int] = set()
    chosen: set[int] = set()
    rejected: set[frozenset[int]] = set()
    accepted: dict[int, int] = {}
    for word in words:
        pair = frozenset((word.item_id, word.target_id))
        if word.action == "accept":
            accepted[word.item_id] = word.target_id
            rejected.discard(pair)
            alone -= pair
        elif word.action == "reject":
            rejected.add(pair)
            accepted = {source: target for source, target in accepted.items() if {source, target} != pair}
        elif word.action == "split":
            alone.add(word.item_id)
            chosen.discard(word.item_id)
        elif word.action == "canonical":
            chosen.add(word.item_id)
            alone.discard(word.item_id)
    found |= {source: Edge(source, target, 1.0) for source, target in accepted.items()}
    kept = [edge for edge in found.values() if frozenset(edge[:2]) not in rejected]
    return EffectiveEdges(kept, frozenset(alone), frozenset(chosen), frozenset(accepted))
