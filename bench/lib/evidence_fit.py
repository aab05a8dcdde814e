"""The ranker: small boosted trees, grown on trackers and measured on another. Needs LightGBM
(requirements/ranker.txt); the product reads what comes out with numpy alone.

Trees are grown in up to two stages of one model. The first tells originals from all other candidates, those of ordinary
items too, so that strengths of different items can be compared. The second mends the order among the candidates of each
duplicate (LambdaRank), starting from there. How many trees of each, and how large, is a recipe: lib/evidence_choice.

Evidence that two texts share never speaks against them, and that an item was open never against it: monotone. Lists
have the same length for duplicates and ordinary items (60 candidates where there are as many), or their lengths would
tell them apart.
"""

import hashlib
import typing

import numpy as np

from forgelore.compare.calibration import Distribution, Distributions
from forgelore.compare.evidence import HISTORY, SECOND
from lib.evidence_data import COLUMNS, CONVERSATION, Ranked, Tracker
from quality import cache_folder

if typing.TYPE_CHECKING:
    import lightgbm

GROUPS = {
    "vectors": ("cosine", "cosine_z"),
    "second": SECOND,
    "words": ("words_z", "cover", "info", "jaccard"),
    "titles": ("title", "title_in", "in_title", "known_title"),
    "marks": ("error", "frame", "identifier", "path", "version"),
    "recency": ("recency",),
    "length": ("length",),
    "references": ("refs",),
    "open or closed": ("open", "closed_for"),
    "conversations": ("marked", "comments", "people", "quiet", "mentions", "duplicates", "took_part"),
    "authors": ("same_author",),
}
# Not weighed: `cites` would learn from authors who have found the original already, and `same` has a rule of its own.
RISING = {
    *(
        name
        for group in ("vectors", "second", "words", "titles", "marks", "references", "recency")
        for name in GROUPS[group]
    ),
    "open",
}


class Recipe(typing.NamedTuple):
    """How trees are grown: (objective, trees) of each stage, and what differs from `PARAMETERS`."""

    name: str
    stages: tuple[tuple[str, int], ...]
    parameters: tuple[tuple[str, float], ...] = ()

    def settings(self) -> dict:
        return {**PARAMETERS, **dict(self.parameters)}


PARAMETERS = {
    "num_leaves": 12, "learning_rate": 0.05, "min_data_in_leaf": 20, "lambda_l2": 5.0, "feature_fraction": 0.6,
    "bagging_fraction": 0.8, "bagging_freq": 1, "lambdarank_truncation_level": 20, "seed": 1,
    "monotone_constraints_method": "intermediate",
    # The same trees on every machine: one thread, no order of sums that could change.
    "num_threads": 1, "deterministic": True, "force_row_wise": True, "verbose": -1,
}  # fmt: skip


class Fit:
    """Trees, and the strengths they gave: every table asks for them again."""

    def __init__(self, booster: "lightgbm.Booster", used: list[int]) -> None:
        self.booster, self.used = booster, used
        self._given: list[tuple[np.ndarray, np.ndarray]] = []

    def strengths(self, ranked: Ranked) -> np.ndarray:
        for features, strengths in self._given:
            if features is ranked.features:
                return strengths
        found = self.booster.predict(ranked.features[:, self.used], raw_score=True)
        self._given.append((ranked.features, found))
        return found


class Held(typing.NamedTuple):
    """A tracker, the trees that were grown without it, and the distribution of the others."""

    tracker: Tracker
    fit: Fit
    recipe: Recipe
    shipped: Distributions = Distributions(Distribution(()))

    def strengths(self) -> np.ndarray:
        return self.fit.strengths(self.tracker.queries)


def columns(
    without: str = "", *, with_cosine: bool = True, with_vectors: bool = True, with_second: bool = False
) -> list[int]:
    names = {name for group, each in GROUPS.items() if group != without for name in each}
    if not with_second:
        names -= {*SECOND}
    if not with_vectors:
        names -= {"cosine", "cosine_z"}
    if not with_cosine:
        names -= {"cosine"}
    return [at for at, name in enumerate(COLUMNS) if name in names]


def fit_trackers(trackers: list[Tracker], used: list[int], recipe: Recipe) -> Fit:
    """Grow trees on the issues of some trackers; what was grown before from the same is read again."""
    import lightgbm

    kept = cache_folder() / f"trees-{digest_of(trackers, used, recipe)}.txt"
    if not kept.exists():
        grow_trees(trackers, used, recipe).save_model(kept)
    return Fit(lightgbm.Booster(model_file=kept), used)


def fit_without(tracker: Tracker, trackers: list[Tracker], used: list[int], recipe: Recipe) -> Fit:
    """Trees that the tracker took no part in, as they would be shipped."""
    return fit_trackers(with_less_known([other for other in trackers if other.name != tracker.name]), used, recipe)


def digest_of(trackers: list[Tracker], used: list[int], recipe: Recipe) -> str:
    digest = hashlib.sha256(repr((used, recipe.stages, recipe.settings(), sorted(RISING))).encode())
    for tracker in trackers:
        for array in tracker.queries._replace(features=tracker.queries.features[:, used]):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def grow_trees(trackers: list[Tracker], used: list[int], recipe: Recipe) -> "lightgbm.Booster":
    import lightgbm

    names = [COLUMNS[at] for at in used]
    rising = [int(name in RISING) for name in names]
    booster = None
    for objective, count in recipe.stages:
        is_order = objective == "lambdarank"
        rows, groups = training_rows(trackers, has_gold=is_order)
        features = np.concatenate([ranked.features[at][:, used] for ranked, at in rows])
        is_gold = np.concatenate([ranked.is_gold[at] for ranked, at in rows]).astype(int)
        told = lightgbm.Dataset(
            features, is_gold, group=groups if is_order else None, feature_name=names, free_raw_data=False
        )
        settings = {**recipe.settings(), "objective": objective, "monotone_constraints": rising}
        booster = lightgbm.train(settings, told, count, init_model=booster)
    return booster


def with_less_known(trackers: list[Tracker]) -> list[Tracker]:
    """The trackers, once more without conversations where they have some (a bot's index knows no more), and once more
    without any history: trees that never saw an unknown state would take it for closed.
    """
    known = COLUMNS.index("comments")
    told = [one for one in trackers if not np.isnan(one.queries.features[:, known]).all()]
    return [*trackers, *(one.without(CONVERSATION) for one in told), *(one.without(HISTORY) for one in trackers)]


def training_rows(trackers: list[Tracker], *, has_gold: bool) -> tuple[list[tuple[Ranked, np.ndarray]], list[int]]:
    """The candidates of issues, with `has_gold` of those alone whose original is among them, and how many each has."""
    rows, groups = [], []
    for tracker in trackers:
        ranked, taken = tracker.queries, []
        for at in np.flatnonzero((ranked.is_change == 0) & (ranked.is_cited == 0)):
            start, end = ranked.start[at], ranked.start[at + 1]
            if end > start and (not has_gold or ranked.is_gold[start:end].any()):
                taken.append(np.arange(start, end))
                groups.append(int(end - start))
        rows.append((ranked, np.concatenate(taken)))
    return rows, groups


def gold_ranks(ranked: Ranked, strengths: np.ndarray, chosen: np.ndarray) -> list[int | None]:
    """The rank of the first right candidate of each chosen item."""
    found: list[int | None] = []
    for at in np.flatnonzero(chosen):
        start, end = ranked.start[at], ranked.start[at + 1]
        order = np.argsort(-strengths[start:end], kind="stable")
        right = np.flatnonzero(ranked.is_gold[start:end][order])
        found.append(int(right[0]) + 1 if len(right) else None)
    return found


def is_asked(ranked: Ranked, *, is_change: bool = False, has_gold: bool = True) -> np.ndarray:
    return (ranked.is_change == is_change) & ((ranked.gold_count > 0) == has_gold)


def recall_at(ranked: Ranked, strengths: np.ndarray, share: float) -> float:
    """Of the duplicates among issues, how many have the right item first, and stronger than that share of ordinary
    issues has anything.
    """
    best, first = ranked.best(strengths), ranked.first(strengths)
    ordinary = np.sort(best[is_asked(ranked, has_gold=False)])[::-1]
    bar = ordinary[int(share * len(ordinary))]
    known = np.flatnonzero(is_asked(ranked))
    return float(np.mean([first[at] >= 0 and bool(ranked.is_gold[first[at]]) and best[at] > bar for at in known]))
