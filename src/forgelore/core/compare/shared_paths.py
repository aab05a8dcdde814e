"""Shared paths of two changes, weighed by rarity: how much it says that both touch the same files.

    weight of a path   ln((changes + 1) / (changes that touch it + 1)): a list of changes that all of them touch weighs
                       nothing, a file that nobody else touched weighs most
    shared_paths       the weights of the paths that both touch, added up
    path_share         the same as a share of what either touches: over the geometric mean of both sides' weights, so
                       that a change of every file in the project is not near to all others

The trackers that models are fitted on have no paths, so no model knows these numbers: `path_bonus` is a rule, added to
the strength that a model gives. Sharing a further path never lowers it. Where the paths of either side are not known,
there are no numbers, and nothing is added.
"""

import math
from collections.abc import Collection, Iterable, Mapping

MOST = 1.0  # of a strength: from position 0.75 to about 0.87, from 0.92 to about 0.96
_MUCH = 4.0  # shared weight that counts for two thirds: a file of two changes among 160


def weigh_paths(counts: Mapping[str, int], changes: int) -> dict[str, float]:
    """Return path -> weight, given how many of the project's changes touch each."""
    return {path: max(0.0, math.log((changes + 1) / (count + 1))) for path, count in counts.items()}


def compare_paths(mine: Collection[str], theirs: Collection[str], weights: Mapping[str, float]) -> dict[str, float]:
    """Return the numbers of a pair by their names; empty when the paths of either are not known.

    ({"a.py", "lock"}, {"a.py"}, {"a.py": 5.0, "lock": 0.0})  ->  {"shared_paths": 5.0, "path_share": 1.0}
    """
    if not mine or not theirs:
        return {}
    shared, ours, others = (math.fsum(weights[path] for path in each) for each in (_both(mine, theirs), mine, theirs))
    # A root, not a product: of two weights near nothing the product is nothing.
    whole = math.sqrt(ours) * math.sqrt(others)
    return {"shared_paths": shared, "path_share": min(1.0, shared / whole) if whole > 0 else 0.0}


def path_bonus(features: Mapping[str, float]) -> float:
    """Return what shared paths add to the strength of a pair: 0 to `MOST`."""
    shared = features.get("shared_paths", 0.0)
    return MOST * features.get("path_share", 0.0) * (1 - math.exp(-shared / _MUCH))


def telling_paths(mine: Collection[str], theirs: Collection[str], weights: Mapping[str, float]) -> list[str]:
    """Return the paths that both touch and that say something, the rarest first."""
    found = [path for path in _both(mine, theirs) if weights[path] > 0]
    return sorted(found, key=lambda path: (-weights[path], path))


def _both(mine: Collection[str], theirs: Collection[str]) -> Iterable[str]:
    return set(mine) & set(theirs)
