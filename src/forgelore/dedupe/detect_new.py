"""`dedupe detect-new`: is one item, just filed, a duplicate of an open one? Three answers, for workflows.

    duplicate         the judge's confidence is at least 0.92, the named item's similarity at least 0.90, and no gate
                      objects (policy online)
    maybe_duplicate   the judge leans to it with at least 0.85, and a gate objects
    not_duplicate     everything else

A judge that gives no valid verdict, or names an item that was not offered, has said nothing: then the nearest
candidate's similarity decides between maybe and not, and never more than maybe.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from forgelore.dedupe.candidates import CandidateSetting, rank_source
from forgelore.dedupe.gates import DUPLICATE, MAYBE, MIN_SCORE, ONLINE, ONLINE_K, SUPPORT
from forgelore.dedupe.judge import Decider, SetDecision
from forgelore.dedupe.reasons import ReasonCode
from forgelore.dedupe.verdict import AnyJudge, JudgeAnswer
from forgelore.errors import NotFound, format_error
from forgelore.search.retriever import Retriever
from forgelore.store.candidates import Candidate, CandidateSet, save_set
from forgelore.store.database import Store
from forgelore.store.decisions import load_judged, save_decision
from forgelore.text.dates import machine_ms
from forgelore.words import Source

DetectionOutcome = Literal["duplicate", "maybe_duplicate", "not_duplicate"]
SAID_NOTHING = (
    ReasonCode.INVALID_VERDICT,
    ReasonCode.TARGET_NOT_CANDIDATE,
    ReasonCode.JUDGE_FAILED,
    ReasonCode.OVER_BUDGET,
)


class DetectionSetting(NamedTuple):
    """Thresholds. `maybe` and `duplicate` read confidence, `min_score` and `support` similarity. `source`: whether
    texts or intent cards choose the candidates.
    """

    k: int = ONLINE_K
    min_score: float = MIN_SCORE
    maybe: float = MAYBE
    duplicate: float = DUPLICATE
    support: float = SUPPORT
    source: Source = "raw"


DEFAULTS = DetectionSetting()


class Detection(NamedTuple):
    """What was found out about an item. `reason`: why it is not more than it is; empty for a duplicate."""

    number: int
    kind: str
    title: str
    url: str
    outcome: DetectionOutcome
    reason: str
    target: int | None  # number of the item that it repeats, or may repeat
    confidence: float | None
    reasoning: str
    judge: str
    model: str
    candidates: tuple[Candidate, ...]
    decision_id: int
    warnings: tuple[str, ...] = ()
    prompt_tokens: int = 0
    answer_tokens: int = 0
    source: str = "raw"  # what chose the candidates: raw, intent, or intent_raw where the item has no card


def detect_new(
    retriever: Retriever, item_id: int, judge: AnyJudge, setting: DetectionSetting = DEFAULTS, *,
    now_ms: Callable[[], int] = machine_ms,
) -> Detection:  # fmt: skip
    """Return whether an item of the store is a duplicate, and keep the decision with its candidates."""
    store = retriever.store
    wanted = CandidateSetting(setting.k, setting.min_score, representation=setting.source)
    ranked = rank_source(retriever, item_id, wanted)
    policy = ONLINE._replace(min_confidence=setting.duplicate, min_similarity=setting.support)
    decider = Decider(store, ranked.project_id, judge, policy) if ranked else None
    decided = None
    if ranked and decider:
        decided = decider.decide(item_id, ranked.members, representation=ranked.representation)
    if ranked is None or decider is None or decided is None:
        raise NotFound(f"item {item_id} is not in this database, or not public")
    outcome, reason = classify(decided, ranked.members, setting)
    decided = decided._replace(reason=reason)
    with store.transaction():
        set_id, _ = save_set(store, ranked, now_ms())
        row = decider.as_row(decided, outcome, set_id=set_id, run_id=None)
        decision_id = save_decision(store, row, now_ms())
    return _tell(store, judge, ranked, decided, outcome, decision_id)


def classify(
    decided: SetDecision, members: tuple[Candidate, ...], setting: DetectionSetting
) -> tuple[DetectionOutcome, ReasonCode | None]:
    """Return the outcome, and why it is not more."""
    verdict, reason = decided.verdict, decided.reason
    if decided.answer is None or reason in (ReasonCode.NOT_DUPLICATE, ReasonCode.SAID_OTHERWISE):
        return "not_duplicate", reason
    if reason in SAID_NOTHING or verdict is None:
        nearest = max((one.similarity for one in members if one.is_offered), default=0.0)
        is_near = nearest >= max(setting.min_score, setting.maybe)
        return "maybe_duplicate" if is_near else "not_duplicate", reason
    if verdict.confidence < setting.maybe:
        return "not_duplicate", ReasonCode.BELOW_MAYBE
    return ("duplicate", None) if reason is None else ("maybe_duplicate", reason)


def _tell(
    store: Store,
    judge: AnyJudge,
    ranked: CandidateSet,
    decided: SetDecision,
    outcome: DetectionOutcome,
    decision_id: int,
) -> Detection:
    known = load_judged(store, [one.item_id for one in ranked.members])
    candidates = tuple(
        one._replace(number=known[one.item_id].number, title=known[one.item_id].title, url=known[one.item_id].url)
        for one in ranked.members
        if one.item_id in known
    )
    source, verdict, answer = decided.source, decided.verdict, decided.answer or JudgeAnswer(None)
    is_named = outcome != "not_duplicate"
    return Detection(
        source.number, source.kind, source.title, source.url, outcome, str(decided.reason or ""),
        decided.target.number if decided.target and is_named else None, verdict.confidence if verdict else None,
        verdict.reasoning if verdict else "", judge.name, judge.model, candidates, decision_id,
        warnings=(f"the judge did not answer: {format_error(answer.error)}",) if answer.error else (),
        prompt_tokens=answer.prompt_tokens, answer_tokens=answer.answer_tokens,
        source=ranked.representation,
    )  # fmt: skip
