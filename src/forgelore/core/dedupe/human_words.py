"""Human words: what people said of pairs and clusters, laid over what judges decided. The last word counts.

    accept    this item repeats that one: an edge with full confidence, instead of the item's own
    reject    these two are not duplicates, in neither direction
    split     this item belongs to no cluster
    canonical this item stays, of its cluster

Accepting a pair, or choosing an item as the canonical, takes back an earlier split of it.
"""

from collections.abc import Iterable
from typing import NamedTuple

from forgelore.core.dedupe.clusters import Edge


class HumanWord(NamedTuple):
    item_id: int
    action: str
    target_id: int  # of accept and reject


class StandingEdges(NamedTuple):
    """Edges as they count, items that stand alone, items that people chose as canonical, sources of human edges."""

    edges: list[Edge]
    alone: frozenset[int]
    chosen: frozenset[int]
    by_people: frozenset[int]


def lay_over(edges: Iterable[Edge], words: Iterable[HumanWord]) -> StandingEdges:
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
    return StandingEdges(kept, frozenset(alone), frozenset(chosen), frozenset(accepted))
