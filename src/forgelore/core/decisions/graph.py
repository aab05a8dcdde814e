"""The graph of decisions: which of them replaced which, as their own words say.

A decision answers to names: those of its item (`#12`), its commit or its file. An edge names one of them. A decision is
superseded by whatever says that it supersedes it, or by what its own words name, never by an earlier one.
"""

from collections.abc import Sequence
from typing import NamedTuple

from forgelore.core.decisions.statements import DecisionEdge

_MIN_SHA = 7


class DecisionNode(NamedTuple):
    """A decision: what it is called in edges, what people call it, when it was made."""

    names: frozenset[str]
    shown: str
    at: int | None
    edges: tuple[DecisionEdge, ...] = ()


def find_superseded(nodes: Sequence[DecisionNode]) -> list[tuple[str, ...]]:
    """Return, for each decision, what superseded it; empty for one that still stands, as far as anybody said."""
    found: list[dict[str, None]] = [{} for _ in nodes]
    for at, node in enumerate(nodes):
        for edge in node.edges:
            meant = [other for other, one in enumerate(nodes) if other != at and _is_named(edge.target, one.names)]
            if edge.relation == "superseded_by":
                shown = [nodes[other].shown for other in meant] or [edge.target]
                found[at].update(dict.fromkeys(shown[:1]))
                continue
            for other in meant:
                if nodes[other].shown != node.shown and not _is_later(nodes[other], node):  # no item replaces itself
                    found[other][node.shown] = None
    return [tuple(names) for names in found]


def _is_named(target: str, names: frozenset[str]) -> bool:
    if target in names:
        return True
    is_sha = len(target) >= _MIN_SHA and not set("#!.").intersection(target)
    return is_sha and any(name.startswith(target) for name in names)


def _is_later(one: DecisionNode, other: DecisionNode) -> bool:
    return one.at is not None and other.at is not None and one.at > other.at
