"""Shipped rankers: the trees, distributions and curves that come with the program, by family of embedders.

Written by `python training/evidence_ship.py` from public trackers, trees as files in `ranker_data`; what they are worth
on a tracker they were not fitted on is in bench/results/evidence.md. "other" is for embedders that nobody fitted on: it
looks at positions in the list of neighbours, never at a cosine itself. "words" is for no vectors at all.
"""

from functools import cache
from pkgutil import get_data

from forgelore.core.compare.calibration import Curve, Distribution
from forgelore.core.compare.trees import Trees, parse_trees

VERSION = 2  # grows with every change of trees or evidence: strengths of two versions are never compared
FAMILIES = ("lore", "other", "words")
# Mean and deviation of the cosines of a list, of the embedders that were measured.
USUAL_COSINES = {"lore": (0.351, 0.07), "minilm": (0.321, 0.085)}


@cache
def load_trees(family: str) -> Trees:
    """Return the trees of a family; read once, in 5 ms."""
    text = get_data("forgelore.core.compare", f"ranker_data/{family}.json")
    assert text is not None, f"the package lacks the trees of {family}"
    return parse_trees(text.decode())


def _steps(text: str) -> Distribution:
    return Distribution(tuple(float(step) for step in text.split()))


DISTRIBUTIONS = {
    "lore": _steps(
        "-7.179 -6.959 -6.696 -6.568 -6.47 -6.383 -6.267 -6.21 -6.133 -6.063 -5.99 -5.939 -5.876 -5.818 "
        "-5.739 -5.69 -5.641 -5.587 -5.529 -5.475 -5.416 -5.363 -5.326 -5.28 -5.217 -5.172 -5.131 -5.09 "
        "-5.039 -4.993 -4.945 -4.905 -4.864 -4.81 -4.77 -4.705 -4.651 -4.611 -4.547 -4.491 -4.438 -4.388 "
        "-4.333 -4.292 -4.257 -4.208 -4.162 -4.089 -4.039 -3.988 -3.926 -3.858 -3.812 -3.749 -3.675 -3.627 "
        "-3.574 -3.525 -3.463 -3.402 -3.354 -3.299 -3.229 -3.164 -3.097 -3.049 -3.003 -2.945 -2.866 -2.771 "
        "-2.713 -2.657 -2.568 -2.497 -2.397 -2.354 -2.252 -2.174 -2.112 -2.045 -1.927 -1.82 -1.696 -1.638 "
        "-1.564 -1.475 -1.406 -1.213 -1.122 -1.01 -0.862 -0.705 -0.637 -0.431 -0.261 -0.045 0.116 0.356 0.468 "
        "1.04 "
    ),
    "other": _steps(
        "-6.884 -6.542 -6.329 -6.163 -6.037 -5.961 -5.887 -5.798 -5.725 -5.65 -5.573 -5.5 -5.441 -5.39 -5.34 "
        "-5.3 -5.239 -5.184 -5.15 -5.111 -5.054 -5.014 -4.973 -4.93 -4.886 -4.827 -4.758 -4.717 -4.658 -4.618 "
        "-4.568 -4.528 -4.469 -4.431 -4.375 -4.328 -4.286 -4.229 -4.187 -4.152 -4.106 -4.069 -4.014 -3.974 "
        "-3.932 -3.881 -3.821 -3.765 -3.715 -3.66 -3.606 -3.56 -3.523 -3.476 -3.422 -3.373 -3.302 -3.246 "
        "-3.19 -3.14 -3.084 -3.035 -2.995 -2.943 -2.898 -2.818 -2.754 -2.67 -2.624 -2.575 -2.454 -2.405 "
        "-2.343 -2.283 -2.223 -2.17 -2.101 -2.031 -1.951 -1.892 -1.814 -1.725 -1.652 -1.55 -1.443 -1.329 "
        "-1.263 -1.128 -1.037 -0.926 -0.818 -0.699 -0.539 -0.42 -0.22 -0.021 0.169 0.34 0.627 0.928 "
    ),
    "words": _steps(
        "-6.784 -6.509 -6.306 -6.087 -6.003 -5.904 -5.826 -5.764 -5.701 -5.611 -5.528 -5.44 -5.386 -5.328 "
        "-5.279 -5.211 -5.165 -5.117 -5.046 -5.01 -4.957 -4.917 -4.893 -4.847 -4.804 -4.749 -4.682 -4.638 "
        "-4.6 -4.562 -4.503 -4.449 -4.403 -4.372 -4.33 -4.285 -4.245 -4.207 -4.169 -4.132 -4.056 -4.013 "
        "-3.957 -3.904 -3.852 -3.795 -3.733 -3.686 -3.651 -3.587 -3.539 -3.508 -3.452 -3.405 -3.363 -3.311 "
        "-3.252 -3.195 -3.154 -3.106 -3.064 -3.03 -2.969 -2.921 -2.851 -2.798 -2.736 -2.659 -2.606 -2.557 "
        "-2.49 -2.436 -2.367 -2.258 -2.195 -2.127 -2.045 -1.954 -1.881 -1.799 -1.739 -1.65 -1.593 -1.453 "
        "-1.365 -1.287 -1.137 -1.063 -0.939 -0.801 -0.663 -0.55 -0.399 -0.282 -0.108 0.092 0.21 0.47 0.684 "
        "1.21 "
    ),
}
CURVES = {
    "lore": Curve(0.5993, -2.1618, 1406, most=0.5867),
    "other": Curve(0.6543, -2.2263, 1406, most=0.7389),
    "words": Curve(0.6703, -2.2634, 1406, most=0.5397),
}
