"""How good is a ranking? From the rank of each query's first right answer to recall, MRR and how sure they are.

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
    """Return what the ranks amount to; their order does not matter."""
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
