"""`evaluate` and `calibrate` as data: shares with four digits, null where nothing could be measured."""

from typing import TYPE_CHECKING, Literal, NamedTuple

from forgelore.surfaces.present.data import MISSING, Absence

if TYPE_CHECKING:
    from forgelore.api import AtThreshold, BadLine, Calibrated, DecisionScores, Evaluation, QueryResult, Score

Ends = tuple[float, float]


def _key(name: str) -> str:
    """`recall_at_10` is written as recall@10."""
    return name.replace("recall_at_", "recall@")


class DecisionData(NamedTuple):
    """What a warning at a threshold of similarity would have done. `recall@fa5`: of the duplicates, how many are named
    rightly when at most 5 % of the others are flagged.
    """

    threshold: float
    precision: float | None
    recall: float | None
    false_alarms: float | None
    recall_at_fa1: float | None
    recall_at_fa5: float | None
    precision_at_prevalence: float | None
    duplicates: int
    others: int
    prevalence: float | None

    @staticmethod
    def json_key(name: str) -> str:
        return _key(name)


class IntervalData(NamedTuple):
    """95 % intervals by metric."""

    recall_at_1: Ends | None
    recall_at_5: Ends | None
    recall_at_10: Ends | None
    recall_at_20: Ends | None
    mrr: Ends | None

    @staticmethod
    def json_key(name: str) -> str:
        return _key(name)


class ScoreData(NamedTuple):
    """How well the queries of one group were answered; `decision` is there with --decide."""

    n: int
    recall_at_1: float | None
    recall_at_5: float | None
    recall_at_10: float | None
    recall_at_20: float | None
    mrr: float | None
    ci95: IntervalData
    decision: DecisionData | Absence | None = MISSING

    @staticmethod
    def json_key(name: str) -> str:
        return _key(name)


class EvaluationData(NamedTuple):
    """`not_duplicates`: lines without gold. `left_out`: lines that could not be asked."""

    mode: str
    issue: ScoreData
    change: ScoreData
    golden: ScoreData
    missed: "list[QueryResult]"
    not_duplicates: int
    left_out: "list[BadLine]"


class CurveData(NamedTuple):
    """How chance follows strength from now on."""

    source: str
    slope: float
    intercept: float
    most: float
    pairs: int
    calibration_error: float | None


class CalibratedData(NamedTuple):
    """What was learned of one kind; `kept`: why the shipped chance stays, null where it does not."""

    kind: str
    pairs: int
    others: int
    items: int
    found_first: int
    thresholds: "list[AtThreshold]"
    chance: CurveData
    kept: str | None


class CalibrationData(NamedTuple):
    project: str
    dry_run: bool
    kinds: list[CalibratedData]


def present_evaluation(result: "Evaluation", *, missed: int | None) -> EvaluationData:
    return EvaluationData(
        mode=result.mode,
        issue=_score(result.score("issue"), _decision(result, "issue")),
        change=_score(result.score("change"), _decision(result, "change")),
        golden=_score(result.score("golden"), _decision(result, "golden")),
        missed=[one for one in result.outcomes if one.is_missed][:missed],
        not_duplicates=result.not_duplicates,
        left_out=result.left_out,
    )


def _score(score: "Score", decision: DecisionData | Absence | None) -> ScoreData:
    """Every key is always there; nothing measured is null."""
    value = {metric: round(share, 4) for metric, share in score.values.items()}
    ends = {metric: (round(low, 4), round(high, 4)) for metric, (low, high) in score.ci95.items()}
    return ScoreData(
        score.n, value.get("recall@1"), value.get("recall@5"), value.get("recall@10"), value.get("recall@20"),
        value.get("mrr"), IntervalData(*(ends.get(_key(name)) for name in IntervalData._fields)), decision,
    )  # fmt: skip


def _decision(result: "Evaluation", group: Literal["issue", "change", "golden"]) -> DecisionData | Absence | None:
    if not result.decisions:
        return MISSING
    return present_decision(result.decisions[group]) if group in result.decisions else None


def present_decision(one: "DecisionScores") -> DecisionData:
    return DecisionData(
        threshold=round(one.threshold, 4),
        precision=_rounded(one.precision),
        recall=_rounded(one.recall),
        false_alarms=_rounded(one.false_alarms),
        recall_at_fa1=_rounded(one.recall_at[0.01]),
        recall_at_fa5=_rounded(one.recall_at[0.05]),
        precision_at_prevalence=_rounded(one.precision_at_prevalence),
        duplicates=one.duplicates,
        others=one.others,
        prevalence=_rounded(one.prevalence),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def present_calibration(project: str, found: "list[Calibrated]", *, is_dry: bool) -> CalibrationData:
    return CalibrationData(project, is_dry, [_calibrated(one) for one in found])


def _calibrated(one: "Calibrated") -> CalibratedData:
    curve = one.curve
    chance = CurveData(
        curve.source, round(curve.slope, 4), round(curve.intercept, 4), round(curve.most, 4), curve.pairs,
        _rounded(one.error),
    )  # fmt: skip
    return CalibratedData(
        one.kind, one.pairs, one.others, one.items, one.found_first, list(one.thresholds), chance,
        one.kept or None,
    )  # fmt: skip
