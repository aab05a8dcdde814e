"""Scores of a ranking: from the rank of each query's first right answer to recall, MRR and how sure they are.

A rank counts from 1; None, or a rank beyond `DEPTH`, is a miss. recall@k is the share of queries with a right answer
among the first k, MRR the mean of 1 / rank.

Recall is a share of yes and no, so it gets Wilson's interval: it needs no chance and stays honest when all or none
were found, where resampling would claim certainty. MRR has no such formula and is resampled, with a fixed seed, so that
equal ranks give equal figures. https://doi.org/10.1080/01621459.1927.10502953
"""

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

DEPTH = 100
CUTS = (1, 5, 10, 20)
METRICS = (*(f"recall@{cut}" for cut in CUTS), "mrr")
RESAMPLES = 2_000
_SEED = 5
_Z = 1.959964  # 95 % of a normal distribution lie within

Rank = int | None


class Interval(NamedTuple):
    low: float
    high: float


class Score(NamedTuple):
    """Values and 95 % intervals by metric; both empty when there was nothing to measure."""

    n: int
    values: dict[str, float]
    ci95: dict[str, Interval]


class Difference(NamedTuple):
    """How much better the second run is, on the same queries; `is_clear` when the interval leaves zero out."""

    value: float
    ci95: Interval

    @property
    def is_clear(self) -> bool:
        return self.ci95.low > 0 or self.ci95.high < 0


def score_ranks(ranks: Sequence[Rank]) -> Score:
    """Return the scores of the ranks; their order does not matter."""
    if not ranks:
        return Score(0, {}, {})
    values = {metric: _mean(gains(ranks, metric)) for metric in METRICS}
    ci95 = {f"recall@{cut}": wilson(values[f"recall@{cut}"], len(ranks)) for cut in CUTS}
    # Sorted: which query gave which gain must not move the interval.
    ci95["mrr"] = bootstrap(sorted(gains(ranks, "mrr")))
    return Score(len(ranks), values, ci95)


def compare_ranks(before: Sequence[Rank], after: Sequence[Rank]) -> dict[str, Difference]:
    """Return the difference of two runs by metric. Paired: ranks at the same place are of the same query.

    Queries are far more unlike than two rankings, so the difference is known better than either score.
    """
    if len(before) != len(after):
        raise ValueError(f"{len(before)} and {len(after)} ranks cannot be of the same queries")
    found: dict[str, Difference] = {}
    for metric in METRICS if before else ():
        pairs = zip(gains(before, metric), gains(after, metric), strict=True)
        steps = sorted(new - old for old, new in pairs)
        found[metric] = Difference(_mean(steps), bootstrap(steps))
    return found


def gains(ranks: Sequence[Rank], metric: str) -> list[float]:
    """Return what each query adds to a metric: 0 or 1 for recall, 1 / rank for MRR.

    [1, 4, None], "recall@1" -> [1.0, 0.0, 0.0]      [1, 4, None], "mrr" -> [1.0, 0.25, 0.0]
    """
    if metric == "mrr":
        return [1 / rank if rank and rank <= DEPTH else 0.0 for rank in ranks]
    cut = int(metric.removeprefix("recall@"))
    return [float(rank is not None and rank <= cut) for rank in ranks]


def wilson(share: float, n: int) -> Interval:
    """Return the 95 % interval of a share that was seen on n cases."""
    spread = _Z * math.sqrt(share * (1 - share) / n + _Z * _Z / (4 * n * n))
    centre, whole = share + _Z * _Z / (2 * n), 1 + _Z * _Z / n
    # Rounding must not push a bound past what was seen.
    return Interval(max(0.0, min(share, (centre - spread) / whole)), min(1.0, max(share, (centre + spread) / whole)))


def bootstrap(values: Sequence[float]) -> Interval:
    """Return the 95 % interval of a mean: the middle of the means of resamples. Costs 0.2 ms a value."""
    chance = random.Random(_SEED)  # noqa: S311 - statistics, not a secret
    means = sorted(_mean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    cut = RESAMPLES // 40  # 2.5 % on either side
    return Interval(means[cut], means[-cut - 1])


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


class Decided(NamedTuple):
    """One query that was decided on. `is_right`: what it named first is something it repeats."""

    score: float
    is_flagged: bool
    has_gold: bool
    is_right: bool


class DecisionScores(NamedTuple):
    """What a threshold would have done; None where there was nothing to measure.

    `precision` is of the queries as they are; `precision_at_prevalence` as if duplicates were as rare among them as in
    the project. `recall_at`: the share of duplicates that are named rightly when at most that share of the others is
    flagged.
    """

    threshold: float
    duplicates: int
    others: int
    precision: float | None
    recall: float | None
    false_alarms: float | None
    recall_at: dict[float, float | None]
    prevalence: float | None
    precision_at_prevalence: float | None


FALSE_ALARMS = (0.01, 0.05)


def score_decisions(decided: Sequence[Decided], *, threshold: float, prevalence: float | None) -> DecisionScores:
    """Return the scores of the decisions; their order does not matter."""
    known = [one for one in decided if one.has_gold]
    others = [one for one in decided if not one.has_gold]
    right = sum(one.is_flagged and one.is_right for one in known)
    flagged, alarms = sum(one.is_flagged for one in known), sum(one.is_flagged for one in others)
    at_prevalence = None
    if prevalence is not None and known and others:
        hits, noise = prevalence * flagged / len(known), (1 - prevalence) * alarms / len(others)
        at_prevalence = prevalence * right / len(known) / (hits + noise) if hits + noise else None
    return DecisionScores(
        threshold, len(known), len(others), _ratio(right, flagged + alarms), _ratio(right, len(known)),
        _ratio(alarms, len(others)), {share: _recall_at(known, others, share) for share in FALSE_ALARMS}, prevalence,
        at_prevalence,
    )  # fmt: skip


def _recall_at(known: Sequence[Decided], others: Sequence[Decided], share: float) -> float | None:
    """Return the recall at the lowest threshold that flags no more than a share of the others."""
    if not known or not others:
        return None
    allowed = int(share * len(others))
    bar = sorted((one.score for one in others), reverse=True)[allowed]  # the first that must not be flagged
    return sum(one.is_right and one.score > bar for one in known) / len(known)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
