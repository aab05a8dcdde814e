"""Audit rules: classes of cases, labels of pairs in files, and what stricter gates would have made of an audit.

    tp          both accept the same target              fp   accepted here, not there
    conflict    both accept, and name different targets  fn   not accepted here, accepted there
    tn          neither accepts                          incomplete   one of them gave no answer
    unlabelled  accepted here, and nobody knows what is right: it is shown, and counts for nothing

"Here" is the judge that is measured, "there" what it is measured by. Precision and recall come with Wilson's intervals
(compare/scoring). Between two judges a conflict is counted by itself, since either may be right; against labels it is
an error like any other.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from forgelore.compare.scoring import Interval, wilson
from forgelore.dedupe.reasons import ReasonCode
from forgelore.errors import InvalidValue
from forgelore.records import LaneAnswer

AuditClass = Literal["tp", "fp", "fn", "tn", "conflict", "incomplete", "unlabelled"]
AuditReference = Literal["strong", "history", "human"]
CLASSES: tuple[AuditClass, ...] = ("tp", "fp", "fn", "tn", "conflict", "incomplete")
DISAGREEING = ("fp", "conflict", "fn", "unlabelled")
_FAILURES = (ReasonCode.JUDGE_FAILED, ReasonCode.INVALID_VERDICT, ReasonCode.OVER_BUDGET)


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


LabelWord = Literal["duplicate", "related", "different", "unsure"]
WORDS: tuple[LabelWord, ...] = ("duplicate", "related", "different", "unsure")
_EXAMPLE = '{"kind": "issue", "number": 12, "target": 7, "label": "duplicate"}'


class PairLabel(Struct, frozen=True):
    """What a person says of a pair, by the numbers of its items. duplicate: they are the same; related, different: they
    are not; unsure: nobody can tell, and it counts for nothing.
    """

    kind: Literal["issue", "change"]
    number: int
    target: int
    label: LabelWord | Literal[""]  # "": nobody has filled in the line yet


def parse_labels(lines: Iterable[tuple[int, bytes]]) -> list[PairLabel]:
    """Return the labels of numbered lines of JSON. Other keys, such as the titles that came with the file, are left
    alone; an empty label is not filled in yet. Raises InvalidValue at the first line that is not a label.
    """
    found = []
    for at, line in lines:
        if not line.strip():
            continue
        try:
            said = msgspec.json.decode(line, type=PairLabel)
        except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InvalidValue(f"line {at} is not a label: {error}", hint=f"write: {_EXAMPLE}") from error
        if said.label:
            found.append(said)
    return found


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


JudgedPair = tuple[LaneAnswer, LaneAnswer, bool]  # what was said, what is right, and whether anybody knows that


class SweptBound(NamedTuple):
    """What one value of one bound would have made of an audit."""

    bound: BoundName
    value: float
    scores: AuditScores


def simulate(cases: Iterable[JudgedPair], bounds: GateBounds, against: AuditReference) -> AuditScores:
    """Return the classes as they would have been under these bounds, without asking any judge again. A bound takes
    acceptances away and never adds one; what is right stays as it was.
    """
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
    said, right, is_labelled = case
    held = hold_to(said, bounds)
    if not is_labelled:
        return "unlabelled" if held.outcome == "accepted" else "left out"
    return classify_answers(held, right)


def _is_above(value: float | None, bound: float | None) -> bool:
    return bound is not None and value is not None and value > bound


def _is_below(value: float | None, bound: float | None) -> bool:
    return bound is not None and value is not None and value < bound
