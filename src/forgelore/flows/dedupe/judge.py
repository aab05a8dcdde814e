"""`dedupe judge`: decide of every open item whether it repeats one of its candidates.

    latest set -> skipped beforehand (no candidates, too vague, accepted before) -> judge -> gates -> decision

Every decision is kept by itself with what the judge said and which gate objected. A set is judged once by a judge and
its model; an accepted edge stays until `is_rejudged` replaces it. What no judge has answered (no connection, no budget)
is asked again by the next run, and replaces nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from forgelore.clock import machine_ms
from forgelore.core.dedupe.gates import MIN_EDGE
from forgelore.core.dedupe.policies import BATCH
from forgelore.core.dedupe.question import AnyJudge, JudgeAnswer
from forgelore.core.dedupe.reasons import ReasonCode
from forgelore.flows.dedupe.asking import AskedCase, JudgePatience, ask_all
from forgelore.flows.dedupe.candidate_ranking import FALLBACK, Representation
from forgelore.flows.dedupe.deciding import Decider, PreparedCase, SetDecision
from forgelore.flows.progress import Watcher
from forgelore.store.candidate_sets import CandidateSet, each_latest_set
from forgelore.store.db import Store
from forgelore.store.decisions import list_judged_sets, load_accepted, save_decision
from forgelore.store.dedupe_runs import begin_run, end_run, save_counters

_SAVED_EVERY = 20  # sets between two looks at the counters
_UNSAID = (ReasonCode.JUDGE_FAILED, ReasonCode.OVER_BUDGET, ReasonCode.INVALID_VERDICT)


class JudgeSetting(NamedTuple):
    """`min_edge`: confidence from which on a decision is accepted. `budget`: most tokens of the run. `source`: only
    sets that texts chose, or that cards did; None: whatever the latest are.
    """

    min_edge: float = MIN_EDGE
    is_rejudged: bool = False
    allows_stale: bool = False
    workers: int = 1
    budget: int | None = None
    source: Representation | None = None


DEFAULTS = JudgeSetting()


class DecisionsMade(NamedTuple):
    """What became of the sets of a kind. `run_id` None: there was nothing to do."""

    kind: str
    judge: str
    model: str
    run_id: int | None
    sets: int
    decided_before: int
    accepted: int = 0
    rejected: int = 0
    skipped: int = 0
    reasons: dict[str, int] = {}  # noqa: RUF012 - never changed
    is_stopped: bool = False
    prompt_tokens: int = 0
    answer_tokens: int = 0
    cost: float = 0.0  # by the prices of the settings


def judge_sets(
    store: Store, project_id: int, kind: str, judge: AnyJudge, setting: JudgeSetting = DEFAULTS, *,
    watcher: Watcher | None = None, should_stop: Callable[[], bool] = lambda: False,
    now_ms: Callable[[], int] = machine_ms,
) -> DecisionsMade:  # fmt: skip
    """Decide on the latest set of every open item that this judge has not decided on yet. Raises what keeps a judge
    from answering at all; what was decided before is kept.
    """
    made_by = {None: None, "raw": ("raw",), "intent": ("intent", FALLBACK)}[setting.source]
    latest = each_latest_set(store, project_id, kind, representations=made_by, allows_stale=setting.allows_stale)
    sets = list(latest)
    known = set() if setting.is_rejudged else list_judged_sets(store, project_id, judge.name, judge.model)
    todo = [one for one in sets if one.id not in known]
    done = DecisionsMade(kind, judge.name, judge.model, None, len(sets), len(sets) - len(todo))
    if not todo:
        return done
    policy = BATCH._replace(min_confidence=setting.min_edge)
    parameters = {
        "kind": kind, "judge": judge.name, "model": judge.model, "min_gap": policy.min_gap, **setting._asdict()
    }  # fmt: skip
    with store.transaction():
        run_id = begin_run(store, project_id, "judge", parameters, now_ms())
    run = _JudgeRun(store, Decider(store, project_id, judge, policy), run_id, setting, now_ms)
    watcher, part = watcher or Watcher(), f"{kind}s judged"
    watcher.begin(part, part, len(todo))
    is_stopped = True
    try:
        cases = run.cases(todo, should_stop=should_stop, on_set=lambda: watcher.saved(part, 1))
        for case, answer in ask_all(judge, cases, workers=setting.workers):
            run.take(case, answer)
            watcher.saved(part, 1)
        is_stopped = should_stop()
    finally:
        run.end("stopped" if is_stopped else "done")
    watcher.done(part)
    return run.describe(done._replace(run_id=run_id, is_stopped=is_stopped))


class _JudgeRun:
    """One run: what it decided, by outcome and by reason, and what that cost."""

    def __init__(
        self, store: Store, decider: Decider, run_id: int, setting: JudgeSetting, now_ms: Callable[[], int]
    ) -> None:
        self._store, self._decider, self._id, self._setting, self._now_ms = store, decider, run_id, setting, now_ms
        self._counts: Counter[str] = Counter()
        self._tokens, self._cost = (0, 0), 0.0
        self._patience = JudgePatience()

    def cases(
        self, todo: list[CandidateSet], *, should_stop: Callable[[], bool], on_set: Callable[[], None]
    ) -> Iterator[AskedCase]:
        """Yield what a judge is to be asked; what needs none is decided on the way."""
        for one in todo:
            if not self._setting.is_rejudged and load_accepted(self._store, one.item_id):
                self._count("skipped", ReasonCode.ALREADY_ACCEPTED)
            elif isinstance(prepared := self._prepare(one), SetDecision):
                self._save(one, prepared)
            elif prepared is not None:
                yield AskedCase(one, prepared)
                if should_stop():
                    return
                continue
            on_set()
            if should_stop():
                return

    def _prepare(self, one: CandidateSet) -> PreparedCase | SetDecision | None:
        return self._decider.prepare(one.item_id, one.members, with_cards=one.representation == "intent")

    def take(self, case: AskedCase, answer: JudgeAnswer) -> None:
        """Keep what the gates make of an answer. Raises what keeps the judge from answering, now or again and again."""
        self._tokens = self._tokens[0] + answer.prompt_tokens, self._tokens[1] + answer.answer_tokens
        self._cost += answer.cost
        self._save(case.candidate_set, self._decider.weigh(case.prepared, answer))
        self._patience.take(answer)

    def _save(self, one: CandidateSet, decided: SetDecision) -> None:
        """Keep a decision. An accepted edge is replaced by what a judge said, never by its silence."""
        outcome = outcome_of(decided)
        is_kept = decided.reason not in _UNSAID or load_accepted(self._store, one.item_id) is None
        with self._store.transaction():
            if is_kept:
                row = self._decider.as_row(decided, outcome, set_id=one.id, run_id=self._id)
                save_decision(self._store, row, self._now_ms())
            self._count(outcome, decided.reason)
            if sum(self._counts[name] for name in _OUTCOMES) % _SAVED_EVERY == 0:
                self._save_counters()

    def end(self, status: str) -> None:
        with self._store.transaction():
            self._save_counters()
            end_run(self._store, self._id, status, self._now_ms())

    def describe(self, made: DecisionsMade) -> DecisionsMade:
        reasons = {name: count for name, count in sorted(self._counts.items()) if name not in _OUTCOMES}
        accepted, rejected, skipped = (self._counts[name] for name in _OUTCOMES)
        return made._replace(
            accepted=accepted, rejected=rejected, skipped=skipped, reasons=reasons, prompt_tokens=self._tokens[0],
            answer_tokens=self._tokens[1], cost=round(self._cost, 6),
        )  # fmt: skip

    def _save_counters(self) -> None:
        save_counters(self._store, self._id, self._counts, tokens=self._tokens, cost=self._cost)

    def _count(self, outcome: str, reason: ReasonCode | None) -> None:
        self._counts[outcome] += 1
        if reason:
            self._counts[str(reason)] += 1


_OUTCOMES = ("accepted", "rejected", "skipped")


def outcome_of(decided: SetDecision) -> str:
    """Return accepted, rejected, or skipped: nobody was asked, or nobody answered."""
    if decided.reason is None:
        return "accepted"
    has_answer = decided.answer is not None and decided.answer.verdict is not None
    return "rejected" if has_answer and decided.reason != ReasonCode.INVALID_VERDICT else "skipped"
