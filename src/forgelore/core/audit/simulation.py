"""Gate simulation: what stricter bounds would have made of decisions that were audited, without asking any judge again.

A bound takes acceptances away and never adds one, so of each pair of bounds the stricter one accepts a subset. What is
right stays as it was: only the judge that is measured is held to the bounds.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from forgelore.core.audit.classes import (
    AuditReference,
    AuditScores,
    LaneAnswer,
    classify_answers,
    score_classes,
)  # fmt: skip

BoundName = Literal["rank_max", "score_min", "gap_min", "confidence_min"]
RANKS = (1, 2, 3, 4)
SCORES = (0.75, 0.8, 0.85, 0.9, 0.92, 0.95, 0.97, 0.99)
GAPS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
CONFIDENCES = (0.85, 0.88, 0.9, 0.92, 0.94, 0.96, 0.98, 0.99)
SWEEPS: dict[BoundName, Sequence[float]] = {
    "rank_max": RANKS, "score_min": SCORES, "gap_min": GAPS, "confidence_min": CONFIDENCES,
}  # fmt: skip


class GateBounds(NamedTuple):
    """Bounds on the target's rank, similarity and lead in strength, and on the judge's confidence; None: none."""

    rank_max: float | None = None
    score_min: float | None = None
    gap_min: float | None = None
    confidence_min: float | None = None


class JudgedPair(NamedTuple):
    """One case of an audit. `is_labelled` False: nobody knows what is right."""

    cheap: LaneAnswer
    strong: LaneAnswer
    is_labelled: bool = True


class SweptBound(NamedTuple):
    """What one value of one bound would have made of an audit."""

    bound: BoundName
    value: float
    scores: AuditScores


def simulate(cases: Iterable[JudgedPair], bounds: GateBounds, against: AuditReference) -> AuditScores:
    """Return the classes as they would have been under these bounds."""
    return score_classes([_classify(one, bounds) for one in cases], against)


def sweep(cases: Sequence[JudgedPair], bounds: GateBounds, against: AuditReference) -> list[SweptBound]:
    """Return the scores for a row of values of each bound, the other bounds held as they are."""
    return [
        SweptBound(name, value, simulate(cases, bounds._replace(**{name: value}), against))
        for name, values in SWEEPS.items()
        for value in values
    ]


def hold_to(answer: LaneAnswer, bounds: GateBounds) -> LaneAnswer:
    """Return an answer as it would have been: an acceptance outside the bounds is a rejection."""
    if answer.outcome != "accepted":
        return answer
    is_outside = (
        _is_above(answer.rank, bounds.rank_max)
        or _is_below(answer.similarity, bounds.score_min)
        or _is_below(answer.gap, bounds.gap_min)
        or _is_below(answer.confidence, bounds.confidence_min)
    )
    return answer._replace(outcome="rejected") if is_outside else answer


def _classify(case: JudgedPair, bounds: GateBounds) -> str:
    held = hold_to(case.cheap, bounds)
    if not case.is_labelled:
        return "unlabelled" if held.outcome == "accepted" else "left out"
    return classify_answers(held, case.strong)


def _is_above(value: float | None, bound: float | None) -> bool:
    return bound is not None and value is not None and value > bound


def _is_below(value: float | None, bound: float | None) -> bool:
    return bound is not None and value is not None and value < bound
