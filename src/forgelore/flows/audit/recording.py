"""Recording of an audit: a run with its parameters, a row for each case, and the classes as counters.

`flows/closing/proof_gate` reads these: `against`, `judge`, `model`, `policy`, `min_edge`, `min_gap`, and the classes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from forgelore.core.audit.classes import (
    DISAGREEING,
    AuditReference,
    LaneAnswer,
    MeasuredShare,
    score_classes,
    share_counts,
)  # fmt: skip
from forgelore.core.dedupe.gates import MIN_EDGE, Policy, lead_of
from forgelore.core.dedupe.policies import AUDIT
from forgelore.core.dedupe.question import AnyJudge, JudgeAnswer
from forgelore.flows.dedupe.asking import JudgePatience
from forgelore.flows.dedupe.deciding import SetDecision
from forgelore.flows.dedupe.judge import outcome_of
from forgelore.flows.progress import Watcher
from forgelore.store.audits import ShownCase, StoredCase, list_cases, save_case
from forgelore.store.db import Store
from forgelore.store.dedupe_runs import DedupeRun, RunValue, begin_run, end_run, load_run, save_counters

_Row = TypeVar("_Row")
_SAVED_EVERY = 20  # cases between two looks at the counters


class AuditSetting(NamedTuple):
    """What an audit looks at. `sample` None: the default of its kind; `others`: items without a known duplicate."""

    kinds: tuple[str, ...] = ("issue", "change")
    sample: int | None = None
    seed: int = 0
    min_edge: float = MIN_EDGE
    others: int = 100
    workers: int = 1  # questions at once, to a model


class AuditCase(NamedTuple):
    """A case as people see it."""

    audit_class: str
    kind: str
    number: int
    title: str
    url: str
    judged: LaneAnswer
    right: LaneAnswer


class AuditReport(NamedTuple):
    """What an audit found. `reference`: what the judge was measured by; `disagreements` are all cases that are neither
    right nor unanswered.
    """

    run: int
    project_id: int
    status: str
    against: str
    judge: str
    model: str
    reference: str
    parameters: dict[str, RunValue]
    counters: dict[str, int]
    precision: MeasuredShare | None
    recall: MeasuredShare | None
    disagreements: list[AuditCase]
    prompt_tokens: int = 0
    answer_tokens: int = 0
    cost: float = 0.0  # by the prices of the settings


class AuditContext(NamedTuple):
    """What every audit needs: where it is kept, who watches, when to stop."""

    store: Store
    project_id: int
    watcher: Watcher
    should_stop: Callable[[], bool]
    now_ms: Callable[[], int]


class AuditRecorder:
    """One audit while it runs: cases are kept as they come."""

    def __init__(self, context: AuditContext, run_id: int, against: AuditReference) -> None:
        self._context, self._against, self.run_id = context, against, run_id
        self._classes: list[str] = []
        self.counts: Counter[str] = Counter()  # beside the classes
        self._tokens, self._cost, self._patience = (0, 0), 0.0, JudgePatience()

    def add(self, case: StoredCase) -> None:
        self._classes.append(case.audit_class)
        with self._context.store.transaction():
            save_case(self._context.store, self.run_id, case)
            if len(self._classes) % _SAVED_EVERY == 0:
                self._save()

    def spend(self, answer: JudgeAnswer | None) -> None:
        """Count what an answer cost. Raises what keeps a judge from answering at all."""
        if answer is None:
            return
        self._tokens = self._tokens[0] + answer.prompt_tokens, self._tokens[1] + answer.answer_tokens
        self._cost += answer.cost
        self._patience.take(answer)

    def each(self, rows: Iterable[_Row], total: int, part: str) -> Iterator[_Row]:
        """Yield rows one by one with progress, until somebody stops it."""
        watcher = self._context.watcher
        watcher.begin(part, part, total)
        for row in rows:
            if self._context.should_stop():
                break
            yield row
            watcher.saved(part, 1)
        watcher.done(part)

    def end(self, *, is_stopped: bool) -> None:
        with self._context.store.transaction():
            self._save()
            end_run(self._context.store, self.run_id, "stopped" if is_stopped else "done", self._context.now_ms())

    def _save(self) -> None:
        counters = score_classes(self._classes, self._against).classes | dict(self.counts)
        save_counters(self._context.store, self.run_id, counters, tokens=self._tokens, cost=self._cost)


@contextmanager
def recording(
    context: AuditContext, against: AuditReference, parameters: Mapping[str, RunValue]
) -> Iterator[AuditRecorder]:
    """Write an audit down, and how it ended: one that was stopped or failed proves nothing."""
    with context.store.transaction():
        run_id = begin_run(
            context.store, context.project_id, "audit", {"against": against, **parameters}, context.now_ms()
        )
    recorder = AuditRecorder(context, run_id, against)
    is_stopped = True
    try:
        yield recorder
        is_stopped = context.should_stop()
    finally:
        recorder.end(is_stopped=is_stopped)


def audit_policy(setting: AuditSetting) -> Policy:
    """Return the gates of an audit: those of the batch, on the states that the sets tell of."""
    return AUDIT._replace(min_confidence=setting.min_edge)


def as_parameters(judge: AnyJudge, setting: AuditSetting) -> dict[str, RunValue]:
    """Return what a run is told by. The policy is that of the edges it stands for."""
    policy = audit_policy(setting)
    return {
        "judge": judge.name, "model": judge.model, "policy": "batch", "kinds": ",".join(setting.kinds),
        "sample": setting.sample, "seed": setting.seed, "min_edge": policy.min_confidence, "min_gap": policy.min_gap,
    }  # fmt: skip


def as_answer(decided: SetDecision) -> LaneAnswer:
    """Return a decision as audits keep it."""
    verdict, target = decided.verdict, decided.target
    option = next((one for one in decided.options if target and one.number == target.number), None)
    lead = lead_of(option, decided.options) if option else None
    return LaneAnswer(
        outcome_of(decided), str(decided.reason or ""), target.number if target else None,
        verdict.confidence if verdict else None, decided.options.index(option) + 1 if option else None,
        round(option.similarity, 4) if option else None, None if lead is None else round(lead, 4),
    )  # fmt: skip


def load_report(store: Store, run: DedupeRun) -> AuditReport:
    """Return an audit as it is kept."""
    against: AuditReference = str(run.parameters["against"])  # type: ignore[assignment]
    precision, recall = share_counts(run.counters, against)
    shown = [one for one in list_cases(store, run.id) if one.case.audit_class in DISAGREEING]
    shown.sort(key=lambda one: DISAGREEING.index(one.case.audit_class))
    names = {"history": "known duplicates", "human": "people"}
    reference = (
        names.get(against) or f"{run.parameters.get('strong_judge')} {run.parameters.get('strong_model')}".strip()
    )
    return AuditReport(
        run.id, run.project_id, run.status, against, str(run.parameters.get("judge")),
        str(run.parameters.get("model") or ""), reference, run.parameters, run.counters, precision, recall,
        [_as_shown(one) for one in shown], run.prompt_tokens, run.answer_tokens, run.cost,
    )  # fmt: skip


def reload_report(store: Store, run_id: int) -> AuditReport:
    return load_report(store, load_run(store, run_id))


def _as_shown(one: ShownCase) -> AuditCase:
    case = one.case
    return AuditCase(case.audit_class, one.kind, one.number, one.title, one.url, case.cheap, case.strong)
