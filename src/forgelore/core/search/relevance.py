"""Relevance of a hit, 0 to 1: how well it fits what was asked, whatever its place. Below `FLOOR` it fits badly.

    share of the query's telling words that it holds, cosine against what nonsense reaches -> relevance

Either is enough: a hit that holds every word has 1, and so has one that is as near as a repetition. A word that no
document holds takes something away from all: what was asked for is not here. Where that is every word, no hit fits,
however near: a model is near to anything in a language it was not made for.

Ranks order hits and cannot tell whether any of them is good: the first of a bad lot has the best rank there is.
"""

import math
from collections.abc import Collection, Sequence

from forgelore.core.search.weights import WeighedWord

# Of 412 titles that have an answer, 1 in 50 has no hit above it; of 300 titles of other trackers every second.
FLOOR = 0.4
STRONG = 0.75
_CURVE = 1.5  # half of the words say less than half
_REACH = 0.25  # from the cosine of nonsense: this much below it says nothing, this much above says all
_UNCOMPARED = 0.3  # where meaning was not compared, or nobody knows what nonsense reaches
_UNKNOWN_COST, _NOTHING_KNOWN_COST = 0.5, 0.65
# The nearest of more documents is nearer. The best cosine of titles from other trackers has a median of .27 among 1,076
# documents, .35 among 2,503, .44 among 36,214 and 44,931; embedders name theirs for some ten thousand.
_GROWTH = 0.03  # per e-fold
_USUAL_DOCUMENTS = 12_000


def rate_hit(
    words: Sequence[WeighedWord], found: Collection[str], *, cosine: float | None, nonsense: float | None
) -> float:
    """Return how well a hit fits. `found`: the words of the query that it holds; `nonsense`: the cosine that a query
    without sense reaches, None where it is not known.
    """
    total = sum(word.weight for word in words)
    if not total:
        return 1.0
    held = sum(word.weight for word in words if word.text in found) / total
    unknown = sum(word.weight for word in words if not word.is_known) / total
    near = _UNCOMPARED if cosine is None or nonsense is None else _clip((cosine - nonsense + _REACH) / (2 * _REACH))
    fit = 1 - (1 - math.pow(held, _CURVE)) * (1 - near)
    has_known = any(word.is_known for word in words)
    return fit * (1 - (_UNKNOWN_COST * unknown if has_known else _NOTHING_KNOWN_COST))


def name_fits(relevances: Sequence[float]) -> list[str]:
    """Return strong, fair or weak for hits in their order; the words never rise again further down.

    The order knows what relevance does not, and the other way round: where a later hit is rated higher, both and those
    between them share their mean.

    .9 .3 .7 .1 -> strong fair fair weak
    """
    pools: list[list[float]] = []
    for one in relevances:
        pools.append([one])
        while len(pools) > 1 and _mean(pools[-2]) < _mean(pools[-1]):
            pools[-2:] = [[*pools[-2], *pools[-1]]]
    return [_name_fit(_mean(pool)) for pool in pools for _ in pool]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _name_fit(relevance: float) -> str:
    if relevance >= STRONG:
        return "strong"
    return "fair" if relevance >= FLOOR else "weak"


def nonsense_among(floor: float, documents: int) -> float | None:
    """Return the cosine that nonsense reaches among so many documents, from what the embedder says (its `floor`);
    None where that is not known.
    """
    if floor <= -1:
        return None
    return floor + _GROWTH * math.log(max(documents, 1) / _USUAL_DOCUMENTS)


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))
