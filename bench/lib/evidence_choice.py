"""The choice of a recipe: how many trees, how large, for what. Nothing is chosen on the tracker it is reported on.

A recipe is worth what it gives on trackers left out: the mean of R@10, MRR and the recall at 5 % of ordinary issues
flagged, over the trackers, each left out in turn. For a tracker that is reported, only the three others are asked (two
grow the trees, the third is measured); for what is shipped, all four. To choose, trees are grown on the trackers as
they are: growing them on less known, too, would take three times as long.
"""

import typing

import numpy as np

from forgelore.core.compare.scoring import score_ranks
from lib.common import table
from lib.evidence_data import Tracker
from lib.evidence_fit import Recipe, fit_trackers, gold_ranks, is_asked, recall_at

BOTH = (("binary", 60), ("lambdarank", 60))
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


def choose_recipe(trackers: list[Tracker], used: list[int]) -> Recipe:
    """The recipe that is worth most on these trackers, each left out; of equals the first."""
    return max(RECIPES, key=lambda recipe: mean_worth(trackers, used, recipe))


def mean_worth(trackers: list[Tracker], used: list[int], recipe: Recipe) -> float:
    return float(np.mean([worth_on(tracker, trackers, used, recipe).mean for tracker in trackers]))


def worth_on(tracker: Tracker, trackers: list[Tracker], used: list[int], recipe: Recipe) -> Worth:
    """What a recipe gives on a tracker, grown on the other ones of `trackers`."""
    queries = tracker.queries
    fit = fit_trackers([other for other in trackers if other.name != tracker.name], used, recipe)
    strengths = fit.strengths(queries)
    score = score_ranks(gold_ranks(queries, strengths, is_asked(queries))).values
    return Worth(score["recall@10"], score["mrr"], recall_at(queries, strengths, 0.05))


def choice_table(trackers: list[Tracker], used: list[int]) -> str:
    """What each recipe is worth to whom: by the other three, on which it was chosen, and on the tracker itself."""
    rows = []
    for tracker in trackers:
        others = [other for other in trackers if other.name != tracker.name]
        chosen = choose_recipe(others, used)
        for recipe in RECIPES:
            worth = worth_on(tracker, trackers, used, recipe)
            inner = f"{mean_worth(others, used, recipe):.4f}"
            mark = "chosen" if recipe is chosen else ""
            rows.append([tracker.name, recipe.name, inner, mark, *(f"{value:.3f}" for value in worth)])
    shipped = choose_recipe(trackers, used)
    rows += [
        [
            "shipped",
            recipe.name,
            f"{mean_worth(trackers, used, recipe):.4f}",
            "chosen" * (recipe is shipped),
            "",
            "",
            "",
        ]
        for recipe in RECIPES
    ]
    head = ["left out", "recipe", "worth on the others", "", "R@10 on it", "MRR", "recall at 5 % flagged"]
    return table(head, rows)
