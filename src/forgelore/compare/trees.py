"""Boosted trees: a ranker that LightGBM has grown, read from its file and evaluated with numpy.

The file is JSON with these keys, and `parse_trees` refuses any other format:

    format      1
    name        the family of embedders it is for
    version     grows with every change of trees or features: strengths of two versions are never compared
    features    names, in the order of their numbers
    made        with what and from what, with SHA-256 sums: for people
    trees       [features, thresholds, left, right, unknown, leaves, means], each a list with an entry per node:
                  a node with feature f and threshold t goes left where f <= t, and where f is unknown (NaN), left if
                  `unknown` is 1; a child c >= 0 is a node, c < 0 the leaf ~c; `means` are of the leaves below a node,
                  as often as they were reached: they explain a strength and take no part in it

The strength of a pair is the sum of one leaf of each tree, in the order of the trees and in double precision: the same
bits that LightGBM's own `predict(raw_score=True)` gives.

    [[0], [0.5], [-1], [-2], [0], [-1.0, 2.0], [0.3]]  with f0 = 0.5  ->  -1.0,  0.6 -> 2.0,  NaN -> 2.0

What comes with the program is in `ranker_data`, by family of embedders, written by `python training/evidence_ship.py`
from public trackers: trees, and the strengths and the chance that they give. What they are worth on a tracker that
they were not fitted on is in bench/results/evidence.md. "lore+minilm" is for stores that have vectors of both. "other"
is for embedders that nobody fitted on: it looks at positions in the list of neighbours, never at a cosine itself.
"words" is for no vectors at all.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pkgutil import get_data
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


VERSION = 3  # grows with every change of trees or evidence: strengths of two versions are never compared
FAMILIES = ("lore", "lore+minilm", "other", "words")
# Mean and deviation of the cosines of a list, of the embedders that were measured.
USUAL_COSINES = {"lore": (0.351, 0.07), "minilm": (0.321, 0.085)}
FORMAT = 1
UNKNOWN = math.nan
_ZERO = 1.0000000180025095e-35  # LightGBM treats smaller values as 0


class Nodes(NamedTuple):
    """The nodes of all trees in one list. A leaf leads to itself; the `value` of any other node is the mean below."""

    feature: "NDArray[np.intp]"
    threshold: "NDArray[np.float64]"
    left: "NDArray[np.intp]"
    right: "NDArray[np.intp]"
    unknown: "NDArray[np.intp]"
    value: "NDArray[np.float64]"


class Trees(NamedTuple):
    """A ranker: of two candidates of one item the stronger is more likely the original."""

    name: str
    version: int
    features: tuple[str, ...]
    nodes: Nodes
    roots: "NDArray[np.intp]"
    depth: int  # of the deepest tree

    def strengths(self, pairs: Sequence[Mapping[str, float]]) -> list[float]:
        """Return the strength of each pair. What a pair does not have is unknown, as NaN is."""
        if not pairs:
            return []
        import numpy as np

        *_, leaves = self._walk(pairs)
        # One after the other: numpy's own sum adds in pairs, which rounds otherwise.
        total: list[float] = np.add.accumulate(self.nodes.value[leaves], axis=1)[:, -1].tolist()
        return total

    @property
    def usual(self) -> float:
        """The mean strength of the candidates that the trees were grown on."""
        return float(self.nodes.value[self.roots].sum())

    def explain(self, pairs: Sequence[Mapping[str, float]]) -> list[dict[str, float]]:
        """Return by how much each feature moved each pair away from what is usual: the steps of the means on the way
        through every tree, which add up to the strength.
        """
        if not pairs:
            return []
        import numpy as np

        moved, means = np.zeros((len(pairs), len(self.features))), self.nodes.value
        line, at = np.arange(len(pairs))[:, None], self.roots[None, :]
        for below in self._walk(pairs):
            np.add.at(moved, (line, self.nodes.feature[at]), means[below] - means[at])
            at = below
        return [
            {name: step for name, step in zip(self.features, steps, strict=True) if step} for steps in moved.tolist()
        ]

    def _walk(self, pairs: Sequence[Mapping[str, float]]) -> "Iterator[NDArray[np.intp]]":
        """Yield where each pair stands in each tree, from the roots to the leaves: rows of pairs, columns of trees."""
        import numpy as np

        rows = np.array([[pair.get(name, UNKNOWN) for name in self.features] for pair in pairs])
        rows[np.abs(rows) <= _ZERO] = 0.0
        nodes, line = self.nodes, np.arange(len(rows))[:, None]
        at = np.broadcast_to(self.roots, (len(rows), len(self.roots)))
        yield at
        for _ in range(self.depth):
            values = rows[line, nodes.feature[at]]
            beyond = np.where(np.isnan(values), nodes.unknown[at], nodes.right[at])
            at = np.where(values <= nodes.threshold[at], nodes.left[at], beyond)
            yield at


@cache
def load_trees(family: str) -> Trees:
    """Return the trees of a family; read once, in 5 ms."""
    return parse_trees(read_shipped(family))


def read_shipped(name: str) -> str:
    """Return a file of what comes with the program."""
    text = get_data("forgelore.compare", f"ranker_data/{name}.json")
    assert text is not None, f"the package lacks ranker_data/{name}.json"
    return text.decode()


def parse_trees(text: str) -> Trees:
    """Return the ranker of a file."""
    import numpy as np

    parsed = json.loads(text)
    if parsed["format"] != FORMAT:
        raise ValueError(f"trees of format {parsed['format']!r} cannot be read; {FORMAT} can")
    nodes: list[tuple[int, float, int, int, int, float]] = []
    roots, depth = [], 0
    for tree in parsed["trees"]:
        roots.append(len(nodes))
        nodes += _parse_tree(len(nodes), *tree)
        depth = max(depth, _depth_of(tree[2], tree[3]))
    columns = Nodes._make(np.array(column) for column in zip(*nodes, strict=True))
    return Trees(parsed["name"], parsed["version"], tuple(parsed["features"]), columns, np.array(roots), depth)


def _parse_tree(
    start: int, features: list[int], thresholds: list[float], left: list[int], right: list[int], unknown: list[int],
    leaves: list[float], means: list[float],
) -> list[tuple[int, float, int, int, int, float]]:  # fmt: skip
    """Return the nodes of a tree, then its leaves, numbered from `start`."""
    low, high = (
        [start + (child if child >= 0 else len(features) + ~child) for child in each] for each in (left, right)
    )
    nodes = [
        (features[at], thresholds[at], low[at], high[at], low[at] if unknown[at] else high[at], means[at])
        for at in range(len(features))
    ]
    ends = range(start + len(features), start + len(features) + len(leaves))
    return [*nodes, *((0, 0.0, end, end, end, float(leaf)) for end, leaf in zip(ends, leaves, strict=True))]


def _depth_of(left: list[int], right: list[int]) -> int:
    """Return how many nodes the longest way to a leaf has. A node comes before its children."""
    depths = [1] * len(left)
    for at in range(len(left)):
        for child in (left[at], right[at]):
            if child >= 0:
                depths[child] = depths[at] + 1
    return max(depths, default=0)
