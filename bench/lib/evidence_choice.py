"""The choice of a recipe: how many trees, how large, for what. Nothing is chosen on the tracker it is reported on.

A recipe is worth what it gives on trackers left out: the mean of R@10, MRR and the recall at 5 % of ordinary issues
flagged. For a tracker that is reported, the three others choose: two grow the trees, the third is measured, in turn.
"""

import typing

import numpy as np

from lib.common import table
from lib.evidence_data import Tracker
from lib.evidence_fit import Held, Recipe, fit_without, gold_ranks, is_asked, recall_at

BOTH = (("binary", 60), ("lambdarank", 60))
# The first is shipped. It was first seen on rust, among others: what is told of rust by it is a little too good.
RECIPES = (
    Recipe("60 + 60 trees", BOTH),
    Recipe("120 + 0", (("binary", 120),)),
    Recipe("0 + 120", (("lambdarank", 120),)),
    Recipe("60 + 60 of 8 leaves", BOTH, (("num_leaves", 8),)),
)


class Worth(typing.NamedTuple):
    recall_at_10: float
    mrr: float
    recall_at_5_percent: float

    @property
    def mean(self) -> float:
        return sum(self) / len(self)


def hold_out_nested(trackers: list[Tracker], used: list[int]) -> list[Held]:
    """Each tracker with trees that were grown on the others, by the recipe that these others chose."""
    found = []
    for tracker in trackers:
        recipe = choose_recipe([other for other in trackers if other is not tracker], used)
        found.append(Held(tracker, fit_without(tracker, trackers, used, recipe), recipe))
    return found


def choose_recipe(trackers: list[Tracker], used: list[int]) -> Recipe:
    """The recipe that is worth most on these trackers, each left out; of equals the first."""
    return max(RECIPES, key=lambda recipe: mean_worth(trackers, used, recipe))


def mean_worth(trackers: list[Tracker], used: list[int], recipe: Recipe) -> float:
    return float(np.mean([worth_on(tracker, trackers, used, recipe).mean for tracker in trackers]))


_KNOWN: dict[tuple[object, ...], Worth] = {}  # tables and choices ask for the same again and again


def worth_on(tracker: Tracker, trackers: list[Tracker], used: list[int], recipe: Recipe) -> Worth:
    """What a recipe gives on a tracker, grown on the other ones of `trackers`."""
    others = [other for other in trackers if other.name != tracker.name]
    sizes = tuple((one.name, len(one.queries.features)) for one in (tracker, *others))
    key = (sizes, tuple(used), recipe)
    if key not in _KNOWN:
        queries = tracker.queries
        strengths = fit_without(tracker, trackers, used, recipe).strengths(queries)
        gains = [1 / rank if rank else 0.0 for rank in gold_ranks(queries, strengths, is_asked(queries))]
        in_ten = float(np.mean([gain >= 0.1 for gain in gains]))
        _KNOWN[key] = Worth(in_ten, float(np.mean(gains)), recall_at(queries, strengths, 0.05))
    return _KNOWN[key]


def choice_table(held: list[Held], used: list[int]) -> str:
    """What each recipe was worth to those who chose."""
    rows = []
    for one in held:
        others = [other.tracker for other in held if other is not one]
        worths = [f"{mean_worth(others, used, recipe):.4f}" for recipe in RECIPES]
        rows.append([one.tracker.name, *worths, one.recipe.name])
    return table(["left out", *(recipe.name for recipe in RECIPES), "chosen"], rows)
