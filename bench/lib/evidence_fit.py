"""The logistic re-ranker: fitted on trackers, measured on another.

Weights may not be negative: evidence that two items share never speaks against them. It costs nothing on the tracker
that is left out and keeps a weight from undoing its neighbour's. Queries without an answer count a tenth, so that the
order among candidates matters most.
"""

import typing

import numpy as np

from forgelore.core.compare.calibration import Distribution
from forgelore.core.compare.evidence import FEATURES
from lib.evidence_data import Ranked, Tracker

GROUPS = {
    "vectors": ("cosine", "cosine_z"),
    "words": ("words_z", "cover", "info", "jaccard"),
    "titles": ("title", "title_in", "in_title", "known_title"),
    "marks": ("error", "frame", "identifier", "path", "version"),
    "recency": ("recency",),
    "length": ("length",),
}
# Not weighed: `cites` would learn from authors who have found the original already, `same` has a rule of its own, and
# `refs` is too rare to be fitted (a handful of pairs on one tracker).
RIDGE = 10.0
OTHERS = 0.1  # the weight of a query without an answer
NEAREST = 12  # of its candidates
LEAST_SPREAD = 0.05  # a column that hardly varies must not get a huge weight


class Fit(typing.NamedTuple):
    bias: float
    weights: np.ndarray  # by FEATURES

    def strengths(self, ranked: Ranked) -> np.ndarray:
        return ranked.features @ self.weights + self.bias

    def as_model(self) -> tuple[float, dict[str, float]]:
        kept = {name: round(float(weight), 3) for name, weight in zip(FEATURES, self.weights, strict=True) if weight}
        return round(self.bias, 3), kept


class Held(typing.NamedTuple):
    """A tracker, and what was fitted without it: here, or before, when the program was made (`shipped`)."""

    tracker: Tracker
    fit: Fit
    others: list[Tracker]
    shipped: Distribution | None = None


def columns(without: str = "", *, with_cosine: bool = True, with_vectors: bool = True) -> list[int]:
    names = {name for group, each in GROUPS.items() if group != without for name in each}
    if not with_vectors:
        names -= {"cosine", "cosine_z"}
    if not with_cosine:
        names -= {"cosine"}
    return [at for at, name in enumerate(FEATURES) if name in names]


def fit_trackers(trackers: list[Tracker], used: list[int]) -> Fit:
    """Fit on the issues of some trackers."""
    parts = [training_rows(tracker.queries) for tracker in trackers]
    features, is_gold, weight = (np.concatenate(each) for each in zip(*parts, strict=True))
    bias, found = fit_logistic(features[:, used].astype(np.float64), is_gold, weight)
    weights = np.zeros(len(FEATURES))
    weights[used] = found
    return Fit(bias, weights)


def training_rows(ranked: Ranked) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    taken, weight = [], []
    for at in range(len(ranked.number)):
        if ranked.is_change[at] or ranked.is_cited[at]:
            continue
        start, end = ranked.start[at], ranked.start[at + 1]
        end = end if ranked.gold_count[at] else min(end, start + NEAREST)
        taken += range(start, end)
        weight += [1.0 if ranked.gold_count[at] else OTHERS] * (end - start)
    return ranked.features[taken], ranked.is_gold[taken].astype(float), np.asarray(weight)


def fit_logistic(features: np.ndarray, right: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
    """Ridge regression by Newton's method; a weight that turns negative is left out and the rest fitted again."""
    mean = np.average(features, axis=0, weights=weight)
    spread = np.maximum(np.sqrt(np.average((features - mean) ** 2, axis=0, weights=weight)), LEAST_SPREAD)
    rows = np.c_[np.ones(len(features)), (features - mean) / spread]
    solution = np.zeros(rows.shape[1])
    active = np.arange(rows.shape[1])
    while True:
        solution = newton(rows[:, active], right, weight, solution[active], active, len(solution))
        negative = [at for at in active if at and solution[at] < 0]
        if not negative:
            break
        worst = min(negative, key=lambda at: solution[at])
        solution[worst] = 0
        active = active[active != worst]
    weights = solution[1:] / spread
    return float(solution[0] - weights @ mean), weights


def newton(rows, right, weight, start, active, size) -> np.ndarray:
    found = start.copy()
    ridge = np.eye(len(active)) * RIDGE
    ridge[0, 0] = 1e-6
    for _ in range(100):
        chance = 1 / (1 + np.exp(-np.clip(rows @ found, -30, 30)))
        gradient = rows.T @ (weight * (chance - right)) + ridge @ found
        curvature = (rows * (weight * chance * (1 - chance))[:, None]).T @ rows + ridge
        step = np.linalg.solve(curvature, gradient)
        found -= step
        if np.abs(step).max() < 1e-6:
            break
    whole = np.zeros(size)
    whole[active] = found
    return whole


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
