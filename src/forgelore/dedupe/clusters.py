"""Clusters: items that accepted decisions connect, never more than a bound of them.

Edges are taken best first; one that would make a cluster larger than the bound is left out, and so the cluster is split
at its weakest edge. Without a bound one chain of weak edges grew to 455 members. The order in which edges come in does
not matter: of equally confident ones the smaller numbers go first.

Canonical: the item of a cluster that stays, by an order of preferences.

    what a person said > open > in the preferred language > written by a maintainer > activity > age > number

If any item of the cluster is open, an open one is chosen, whatever else speaks for a closed one; a person's choice of a
closed one waits until none is open.

Closings of a plan: which items of a cluster may be closed, onto which, and why not.

An item is closed only if it is open, nobody who maintains the project wrote it or is assigned to it (and that is
known), an accepted decision leads directly from it to its target with enough confidence, and the target stays open.

    canonical-only     the target is the cluster's canonical
    direct-fallback    or else the target of its own accepted decision, if that is open, no duplicate, and not closed by
                       this plan itself

Human words: what people said of pairs and clusters, laid over what judges decided. The last word counts.

    accept    this item repeats that one: an edge with full confidence, instead of the item's own
    reject    these two are not duplicates, in neither direction
    split     this item belongs to no cluster
    canonical this item stays, of its cluster

Accepting a pair, or choosing an item as the canonical, takes back an earlier split of it.

Maintainers: who of a project's people is one, as far as the forge tells. Unknown means that nothing is closed.

    GitHub     admin, maintain, write among the collaborators; where the list is refused, the association of what they
               wrote: OWNER, MEMBER, COLLABORATOR
    GitLab     Developer and above among the members
    Forgejo    collaborators and the owner; who else may write (teams) is not told, so all others are unknown

The setting `maintainers` names them instead; it is then taken as complete.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from forgelore.dedupe.gates import MIN_CLOSE
from forgelore.dedupe.reasons import ReasonCode
from forgelore.text.fence import folded

BOUND = 40


class Edge(NamedTuple):
    """An accepted decision: `source` repeats `target`."""

    source: int
    target: int
    confidence: float


class Clustered(NamedTuple):
    """Clusters of two and more, each sorted, and the edges that the bound left out."""

    clusters: list[list[int]]
    left_out: list[Edge]


def cluster_edges(edges: Iterable[Edge], *, bound: int = BOUND, alone: Collection[int] = ()) -> Clustered:
    """Return the clusters that edges make. `alone`: items that a person has taken out of any cluster."""
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
    return Clustered([each for each in members.values() if len(each) > 1], left_out)


def _root(parents: dict[int, int], item: int) -> int:
    parents.setdefault(item, item)
    while parents[item] != item:
        parents[item] = parents[parents[item]]
        item = parents[item]
    return item


class ClusterItem(NamedTuple):
    """An item of a cluster, as far as the choice needs it."""

    item_id: int
    number: int
    is_open: bool
    is_chosen: bool = False  # by a person
    is_in_language: bool = True
    is_by_maintainer: bool = False
    activity: int = 0  # comments, of a change those on its lines too
    created_at: int = 0


class Choice(NamedTuple):
    """The canonical of a cluster, and which preference told it from the next."""

    member: ClusterItem
    chosen_by: str


_ORDER: tuple[tuple[str, Callable[[ClusterItem], int]], ...] = (
    ("open", lambda one: not one.is_open),
    ("a person", lambda one: not one.is_chosen),
    ("language", lambda one: not one.is_in_language),
    ("maintainer", lambda one: not one.is_by_maintainer),
    ("activity", lambda one: -one.activity),
    ("age", lambda one: one.created_at),
    ("number", lambda one: one.number),
)


def choose_canonical(members: Sequence[ClusterItem]) -> Choice:
    """Return the canonical; the order of the members does not matter."""
    ordered = sorted(members, key=lambda one: [key(one) for _, key in _ORDER])
    if len(ordered) == 1:
        return Choice(ordered[0], "")
    first, second = ordered[:2]
    return Choice(first, next((name for name, key in _ORDER if key(first) != key(second)), "number"))


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


class ClosingItem(NamedTuple):
    """An item as a plan sees it. `is_maintainer` answers for a login; None: nobody knows."""

    item_id: int
    number: int
    is_open: bool
    is_duplicate: bool  # marked already
    author: str | None
    assignees: tuple[str, ...] | None


class Closing(NamedTuple):
    """One line of a plan. `target_id` None or a reason: it stays open."""

    item_id: int
    target_id: int | None
    confidence: float | None
    reason: ReasonCode | None


def plan_cluster(
    items: Sequence[ClosingItem],
    canonical_id: int,
    edges: Iterable[Edge],
    maintainers: Mapping[str, bool | None],
    *,
    policy: TargetPolicy = "canonical-only",
    min_close: float = MIN_CLOSE,
    targets_of_others: Mapping[int, int] | None = None,
) -> list[Closing]:
    """Return what becomes of every item of a cluster but its canonical.

    `maintainers`: login -> is one; a login that is missing is unknown. `targets_of_others`: what was closed onto what
    before, so that no circle comes about across runs.
    """
    by_id = {one.item_id: one for one in items}
    direct = {edge.source: edge for edge in edges}
    closed: dict[int, int] = dict(targets_of_others or {})
    lines: list[Closing] = []
    for item in sorted(items, key=lambda each: each.number):
        if item.item_id == canonical_id:
            continue
        line = _plan_item(item, by_id, direct, canonical_id, maintainers, policy, min_close)
        target = line.target_id if line.reason is None else None
        if target is not None and reaches(closed, target, item.item_id):
            line = line._replace(reason=ReasonCode.WOULD_CYCLE)
        elif target is not None:
            closed[item.item_id] = target
        lines.append(line)
    return _keep_targets_open(lines)


def _plan_item(
    item: ClosingItem,
    by_id: Mapping[int, ClosingItem],
    direct: Mapping[int, Edge],
    canonical_id: int,
    maintainers: Mapping[str, bool | None],
    policy: TargetPolicy,
    min_close: float,
) -> Closing:
    def skip(reason: ReasonCode, edge: Edge | None = None) -> Closing:
        return Closing(item.item_id, edge.target if edge else None, edge.confidence if edge else None, reason)

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
    reason = ReasonCode.LOW_CONFIDENCE if edge.confidence < min_close else None
    return Closing(item.item_id, edge.target, edge.confidence, reason)


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


def _keep_targets_open(lines: list[Closing]) -> list[Closing]:
    """Leave out closings onto something that the plan closes itself: so a cluster keeps an open item, its target."""
    closing = {one.item_id for one in lines if one.reason is None}
    kept = []
    for line in lines:
        is_onto_closed = line.reason is None and line.target_id in closing
        if is_onto_closed:
            closing.discard(line.item_id)
        kept.append(line._replace(reason=ReasonCode.TARGET_NOT_OPEN) if is_onto_closed else line)
    return kept


class HumanWord(NamedTuple):
    item_id: int
    action: str
    target_id: int  # of accept and reject


class EffectiveEdges(NamedTuple):
    """Edges as they count, items that stand alone, items that people chose as canonical, sources of human edges."""

    edges: list[Edge]
    alone: frozenset[int]
    chosen: frozenset[int]
    by_people: frozenset[int]


def apply_overrides(edges: Iterable[Edge], words: Iterable[HumanWord]) -> EffectiveEdges:
    """Return what counts in the end. `words` are oldest first."""
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


_WRITES = frozenset(
    ("admin", "maintain", "write", "developer", "maintainer", "owner", "collaborator", "member", "30", "40", "50")
)
_READS = frozenset(("read", "triage", "guest", "planner", "reporter", "none", "0", "5", "10", "15", "20"))
_ASSOCIATED = frozenset(("OWNER", "MEMBER", "COLLABORATOR"))


class People(NamedTuple):
    """What is known of a project's people. `roles`: login -> role, empty where the list is refused."""

    roles: Mapping[str, str]
    associations: Mapping[str, frozenset[str]]  # login -> what the forge says beside what they wrote
    is_list_complete: bool
    owner: str = ""
    named: Collection[str] = ()  # by the settings


def is_maintainer(people: People, login: str) -> bool | None:
    """Tell whether somebody maintains the project; None: nobody knows."""
    name = login.lower()
    if people.named:
        return name in {one.lower() for one in people.named}
    role = people.roles.get(name)
    if role is not None or (people.owner and name == people.owner.lower()):
        return True if role is None else writes(role)
    if people.roles:
        return False if people.is_list_complete else None
    said = people.associations.get(name)
    return bool(said & _ASSOCIATED) if said else None


def is_associated(association: str | None) -> bool:
    """Tell whether what GitHub says beside an item (its association) makes its author a maintainer."""
    return association in _ASSOCIATED


def writes(role: str) -> bool | None:
    """Tell whether a role may write to the project; None for one that an organisation has made up."""
    return True if role.lower() in _WRITES else False if role.lower() in _READS else None
