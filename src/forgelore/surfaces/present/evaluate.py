"""`evaluate` and `calibrate` as data: shares with four digits, null where nothing could be measured."""

from typing import TYPE_CHECKING, Literal, NamedTuple

from forgelore.surfaces.present.data import MISSING, Absence

if TYPE_CHECKING:
    from forgelore.api import BadLine, Calibrated, DecisionScores, Evaluation, QueryResult, Score

Ends = tuple[float, float]
_METRICS = ("recall@1", "recall@5", "recall@10", "recall@20", "mrr")


def _key(name: str) -> str:
    """`recall_at_10` is written as recall@10."""
    return name.replace("recall_at_", "recall@")


class ScoreData(NamedTuple):
    """How well the queries of one group were answered; `decision` is there with --decide."""

    n: int
    recall_at_1: float | None
    recall_at_5: float | None
    recall_at_10: float | None
    recall_at_20: float | None
    mrr: float | None
    ci95: dict[str, Ends | None]  # 95 % intervals by metric
    decision: "DecisionScores | Absence | None" = MISSING

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


class CalibrationData(NamedTuple):
    project: str
    dry_run: bool
    kinds: "list[Calibrated]"


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


def _score(score: "Score", decision: "DecisionScores | Absence | None") -> ScoreData:
    """Every key is always there; nothing measured is null."""
    value = {metric: round(share, 4) for metric, share in score.values.items()}
    ends = {metric: (round(low, 4), round(high, 4)) for metric, (low, high) in score.ci95.items()}
    return ScoreData(
        score.n, value.get("recall@1"), value.get("recall@5"), value.get("recall@10"), value.get("recall@20"),
        value.get("mrr"), {metric: ends.get(metric) for metric in _METRICS}, decision,
    )  # fmt: skip


def _decision(result: "Evaluation", group: Literal["issue", "change", "golden"]) -> "DecisionScores | Absence | None":
    if not result.decisions:
        return MISSING
    return result.decisions.get(group)


def present_calibration(project: str, found: "list[Calibrated]", *, is_dry: bool) -> CalibrationData:
    return CalibrationData(project, is_dry, found)
