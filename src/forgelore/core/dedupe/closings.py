"""Closings of a plan: which items of a cluster may be closed, onto which, and why not.

An item is closed only if it is open, nobody who maintains the project wrote it or is assigned to it (and that is
known), an accepted decision leads directly from it to its target with enough confidence, and the target stays open.

    canonical-only     the target is the cluster's canonical
    direct-fallback    or else the target of its own accepted decision, if that is open, no duplicate, and not closed by
                       this plan itself
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from forgelore.core.dedupe.clusters import Edge
from forgelore.core.dedupe.policies import MIN_CLOSE
from forgelore.core.dedupe.reasons import ReasonCode

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
