"""Classes of an audit: what one judge decided of an item beside what is right, or beside what a better judge decided.

    tp          both accept the same target              fp   accepted here, not there
    conflict    both accept, and name different targets  fn   not accepted here, accepted there
    tn          neither accepts                          incomplete   one of them gave no answer
    unlabelled  accepted here, and nobody knows what is right: it is shown, and counts for nothing

Precision and recall are shares of yes and no, so they have Wilson's intervals (core/compare/scoring). Between two
judges a conflict is counted by itself: either may be right. Against labels it is an error like any other.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from forgelore.core.compare.scoring import Interval, wilson
from forgelore.core.dedupe.reasons import ReasonCode

AuditClass = Literal["tp", "fp", "fn", "tn", "conflict", "incomplete", "unlabelled"]
AuditReference = Literal["strong", "history", "human"]
CLASSES: tuple[AuditClass, ...] = ("tp", "fp", "fn", "tn", "conflict", "incomplete")
DISAGREEING = ("fp", "conflict", "fn", "unlabelled")
_FAILURES = (ReasonCode.JUDGE_FAILED, ReasonCode.INVALID_VERDICT, ReasonCode.OVER_BUDGET)


class LaneAnswer(NamedTuple):
    """What one side says of a source. Numbers are those of items on the forge; `also`: further targets that would be
    right. Rank, similarity and gap are those of the target among the candidates.
    """

    outcome: str  # accepted, rejected, skipped
    reason: str = ""
    target: int | None = None
    confidence: float | None = None
    rank: int | None = None
    similarity: float | None = None
    gap: float | None = None  # None: there is nothing that it must stand out from
    also: tuple[int, ...] = ()


class MeasuredShare(NamedTuple):
    """A share with its 95 % interval, and what it was counted on."""

    value: float
    low: float
    high: float
    right: int
    of: int


class AuditScores(NamedTuple):
    """Classes counted, and what follows from them; None where there was nothing to measure."""

    classes: dict[str, int]
    precision: MeasuredShare | None
    recall: MeasuredShare | None


def classify_answers(cheap: LaneAnswer, strong: LaneAnswer) -> AuditClass:
    """Return the class of a case: the judge that is measured first."""
    if "skipped" in (cheap.outcome, strong.outcome):
        return "incomplete"
    is_here, is_there = cheap.outcome == "accepted", strong.outcome == "accepted"
    if is_here and is_there:
        return "tp" if cheap.target in (strong.target, *strong.also) else "conflict"
    if is_here:
        return "fp"
    return "fn" if is_there else "tn"


def without_early_skips(answer: LaneAnswer) -> LaneAnswer:
    """Return a skip as a rejection, unless the judge failed: beside labels, what nobody asks about is not found."""
    is_early = answer.outcome == "skipped" and answer.reason not in _FAILURES
    return answer._replace(outcome="rejected") if is_early else answer


def score_classes(classes: Iterable[str], against: AuditReference) -> AuditScores:
    """Return how many there are of each class, with precision and recall."""
    found = Counter(classes)
    counts: dict[str, int] = {name: found[name] for name in CLASSES}
    if found["unlabelled"]:
        counts["unlabelled"] = found["unlabelled"]
    return AuditScores(counts, *share_counts(counts, against))


def share_counts(
    counts: Mapping[str, int], against: AuditReference
) -> tuple[MeasuredShare | None, MeasuredShare | None]:
    """Return precision and recall of classes that were counted."""
    right, wrong = counts.get("tp", 0), 0 if against == "strong" else counts.get("conflict", 0)
    precision = measure_share(right, right + counts.get("fp", 0) + wrong)
    return precision, measure_share(right, right + counts.get("fn", 0) + wrong)


def measure_share(right: int, of: int) -> MeasuredShare | None:
    """Return a share with its interval; None of nothing."""
    if not of:
        return None
    interval: Interval = wilson(right / of, of)
    return MeasuredShare(right / of, interval.low, interval.high, right, of)
