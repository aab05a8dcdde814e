"""Clusters: items that accepted decisions connect, never more than a bound of them.

Edges are taken best first; one that would make a cluster larger than the bound is left out, and so the cluster is split
at its weakest edge. Without a bound one chain of weak edges grew to 455 members. The order in which edges come in does
not matter: of equally confident ones the smaller numbers go first.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

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
