"""Clusters: items that accepted decisions connect, which of them stays, and which may be closed onto which.

    edges of judges → what people said laid over them → clusters, at most `bound` items each → a canonical → closings

Edges are taken best first; one that would make a cluster larger than the bound is left out, so that a cluster is split
at its weakest edge. Without a bound one chain of weak edges grew to 455 members. The order in which edges come in does
not matter: of equally confident ones the smaller numbers go first.

The canonical is chosen by an order of preferences:
open > what a person said > filed first > in the preferred language > written by a maintainer > activity > age > number.

"Filed first" lets nobody choose what survives by copying it: an item is closed onto an older one, or onto another one
of its own author. So the preferences after it decide only among the items that one author filed before anybody else.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from forgelore.dedupe.gates import MIN_CLOSE
from forgelore.dedupe.reasons import ReasonCode
from forgelore.records import Edge, HumanDecision, PlannedClosing
from forgelore.text.fence import folded

BOUND = 40


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
    activity: int = 0  # people other than the author who commented
    created_at: int | None = None
    is_duplicate: bool = False  # marked already
    author: str | None = None
    assignees: tuple[str, ...] | None = None
    is_said_duplicate: bool = False  # a person accepted that it repeats another


class FiledItem(Protocol):
    """An item by who filed it, and when."""

    @property
    def number(self) -> int: ...
    @property
    def author(self) -> str | None: ...
    @property
    def created_at(self) -> int | None: ...


def is_newer_by_another(target: FiledItem, item: FiledItem) -> bool:
    """Tell whether somebody else filed the target, and after the item. An unknown author counts as somebody else; where
    a date is missing, the numbers decide.
    """
    is_own = item.author is not None and (target.author or "").lower() == item.author.lower()
    return not is_own and filed_after(target, item)


def filed_after(one: FiledItem, other: FiledItem) -> bool:
    """Tell whether one item was filed after another."""
    if one.created_at is None or other.created_at is None:
        return one.number > other.number
    return (one.created_at, one.number) > (other.created_at, other.number)


_PREFERENCES: tuple[tuple[str, Callable[[ClusterItem], int]], ...] = (
    ("language", lambda one: not one.is_in_language),
    ("maintainer", lambda one: not one.is_by_maintainer),
    ("activity", lambda one: -one.activity),
    ("age", lambda one: one.created_at or 0),
    ("number", lambda one: one.number),
)


def choose_canonical(members: Sequence[ClusterItem]) -> tuple[ClusterItem, str]:
    """Return the canonical, and the preference that decided; the order of the members does not matter.

    If any item is open, an open one is chosen, whatever else speaks for a closed one; a person's choice of a closed one
    waits until none is open.
    """
    standing = [one for one in members if not one.is_said_duplicate] or members
    rivals = [one for one in standing if one.is_open] or standing
    late = {one.number for one in members if any(is_newer_by_another(one, rival) for rival in rivals)}
    order: tuple[tuple[str, Callable[[ClusterItem], int]], ...] = (
        ("open", lambda one: not one.is_open),
        ("a person", lambda one: 0 if one.is_chosen else 2 if one.is_said_duplicate else 1),
        ("age", lambda one: one.number in late),
        *_PREFERENCES,
    )
    ordered = sorted(members, key=lambda one: [key(one) for _, key in order])
    if len(ordered) == 1:
        return ordered[0], ""
    first, second = ordered[:2]
    return first, next((name for name, key in order if key(first) != key(second)), "number")


# Short words that few other languages have: enough to recognise English in a few sentences.
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
    by_people: Collection[int] = (),
) -> list[PlannedClosing]:
    """Return what becomes of every item of a cluster but its canonical.

    An item is closed only if it is open, nobody who maintains the project wrote it or is assigned to it (and that is
    known), an accepted decision leads directly from it to its target with enough confidence, and the target stays open.
    Nor is it closed onto a newer item of another author, unless a person accepted that very pair (`by_people`: sources
    of such edges). `edges`: of a source, its own decision comes first.

        canonical-only     the target is the cluster's canonical
        direct-fallback    or else the target of its own accepted decision, if that is open, no duplicate, and not
                           closed by this plan itself

    `maintainers`: login -> is one; a login that is missing is unknown. `targets_of_others`: what was closed onto what
    before, so that runs together never close a circle.
    """
    by_id = {one.item_id: one for one in items}
    direct: dict[int, list[Edge]] = {}
    for edge in edges:
        direct.setdefault(edge.source, []).append(edge)
    closed: dict[int, int] = dict(targets_of_others or {})
    lines: list[PlannedClosing] = []
    for item in sorted(items, key=lambda each: each.number):
        if item.item_id == canonical_id:
            continue
        line = _plan_item(item, by_id, direct, canonical_id, maintainers, policy, min_close)
        target = None if line.reason else line.target_id
        is_free = item.item_id in by_people
        if target is not None and not is_free and is_newer_by_another(by_id[target], item):
            line, target = line._replace(reason=ReasonCode.TARGET_IS_NEWER), None
        if target is not None and reaches(closed, target, item.item_id):
            line = line._replace(reason=ReasonCode.WOULD_CYCLE)
        elif target is not None:
            closed[item.item_id] = target
        lines.append(line)
    return _keep_targets_open(lines)


def _plan_item(
    item: ClusterItem,
    by_id: Mapping[int, ClusterItem],
    direct: Mapping[int, Sequence[Edge]],
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
    edges = direct.get(item.item_id, ())
    onto_canonical = next((one for one in edges if one.target == canonical_id), None)
    edge = onto_canonical or (edges[0] if edges and policy == "direct-fallback" else None)
    if edge is None:
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
    """Return why an item must not be closed: it is a maintainer's, or may be."""
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
    """The edges that count, items that stand alone, items that people chose as canonical, sources of edges by people,
    pairs that people rejected, and pairs that they accepted before one of the two was edited.
    """

    edges: list[Edge]
    alone: frozenset[int]
    chosen: frozenset[int]
    by_people: frozenset[int]
    rejected: frozenset[frozenset[int]] = frozenset()
    outdated: frozenset[frozenset[int]] = frozenset()


def copy_edges(
    sources: Iterable[int], target: int, standing: EffectiveEdges, is_copy: Callable[[int, int], bool]
) -> list[Edge]:
    """Return the edges from copies in a cluster to its canonical that no decision names: a judge names one original of
    each item, and of three copies any repeats any. The confidence of each is the lower of the best confidences of
    its two items. What a person decided about an item or a pair stands.
    """
    best: dict[int, float] = {}
    for edge in standing.edges:
        for item in edge[:2]:
            best[item] = max(best.get(item, 0.0), edge.confidence)
    known = {edge.source for edge in standing.edges if edge.target == target} | standing.by_people | {target}
    return [
        Edge(source, target, min(best.get(source, 0.0), best.get(target, 0.0)))
        for source in sources
        if source not in known
        and frozenset((source, target)) not in standing.rejected
        and not {source, target} & standing.alone
        and is_copy(source, target)
    ]


def chain_edges(sources: Iterable[int], target: int, standing: EffectiveEdges) -> list[Edge]:
    """Return the edges from items to a target that follow from what people said: of two that are the same as a third
    one. What somebody said of the pair itself stands, and what was said of another text connects nothing.
    """
    near: dict[int, set[int]] = {}
    for source, other, _ in standing.edges:
        if source in standing.by_people and frozenset((source, other)) not in standing.outdated:
            near.setdefault(source, set()).add(other)
            near.setdefault(other, set()).add(source)
    reached, waiting = {target}, [target]
    while waiting:
        found = near.get(waiting.pop(), set()) - reached
        reached |= found
        waiting += found
    direct = {edge.source for edge in standing.edges if edge.target == target}
    return [
        Edge(source, target, 1.0)
        for source in sources
        if source in reached - direct - standing.alone - {target}
        and target not in standing.alone
        and frozenset((source, target)) not in standing.rejected
    ]


ACCEPTED = ("accept", "same")  # by which a person makes an edge


def apply_overrides(edges: Iterable[Edge], words: Iterable[HumanDecision]) -> EffectiveEdges:
    """Return what counts in the end: edges of judges, with what people said laid over them. `words` are oldest first;
    the last one counts.

        accept    this item repeats that one: an edge with full confidence, instead of the item's own
        same      these two are the same: such an edge beside those of earlier such answers
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
    same: set[tuple[int, int]] = set()
    outdated: set[frozenset[int]] = set()
    for word in words:
        pair = frozenset((word.item_id, word.target_id))
        if word.decision in ACCEPTED:
            if word.decision == "same":
                same.add((word.item_id, word.target_id))
            else:
                accepted[word.item_id] = word.target_id
            rejected.discard(pair)
            alone -= pair
            outdated = outdated | {pair} if word.is_outdated else outdated - {pair}
        elif word.decision == "reject":
            rejected.add(pair)
            accepted = {source: target for source, target in accepted.items() if {source, target} != pair}
            same = {one for one in same if {*one} != pair}
        elif word.decision == "split":
            alone.add(word.item_id)
            chosen.discard(word.item_id)
        elif word.decision == "canonical":
            chosen.add(word.item_id)
            alone.discard(word.item_id)
    said = sorted(same | set(accepted.items()))
    by_people = frozenset(source for source, _ in said)
    edges = [*(edge for edge in found.values() if edge.source not in by_people), *(Edge(*pair, 1.0) for pair in said)]
    kept = [edge for edge in edges if frozenset(edge[:2]) not in rejected]
    return EffectiveEdges(
        kept, frozenset(alone), frozenset(chosen), by_people, frozenset(rejected), frozenset(outdated)
    )
