"""`dedupe judge`: decide of every open item whether it repeats one of its candidates.

    latest set -> skipped beforehand (no candidates, too vague, accepted before) -> judge -> gates -> decision

Every decision is kept by itself with what the judge said and which gate objected. A set is judged once by a judge and
its model; an accepted edge stays until `is_rejudged` replaces it.
"""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from forgelore.clock import machine_ms
from forgelore.core.dedupe.gates import MIN_EDGE
from forgelore.core.dedupe.policies import BATCH
from forgelore.core.dedupe.question import AnyJudge
from forgelore.core.dedupe.reasons import ReasonCode
from forgelore.flows.dedupe.deciding import Decider, SetDecision
from forgelore.flows.progress import Watcher
from forgelore.store.candidate_sets import CandidateSet, each_latest_set
from forgelore.store.db import Store
from forgelore.store.decisions import list_judged_sets, load_accepted, save_decision
from forgelore.store.dedupe_runs import begin_run, end_run, save_counters

_SAVED_EVERY = 20  # sets between two looks at the counters


class JudgeSetting(NamedTuple):
    """`min_edge`: confidence from which on a decision is accepted."""

    min_edge: float = MIN_EDGE
    is_rejudged: bool = False
    allows_stale: bool = False


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


def judge_sets(
    store: Store, project_id: int, kind: str, judge: AnyJudge, setting: JudgeSetting = DEFAULTS, *,
    watcher: Watcher | None = None, should_stop: Callable[[], bool] = lambda: False,
    now_ms: Callable[[], int] = machine_ms,
) -> DecisionsMade:  # fmt: skip
    """Decide on the latest set of every open item that this judge has not decided on yet."""
    sets = list(each_latest_set(store, project_id, kind, allows_stale=setting.allows_stale))
    known = set() if setting.is_rejudged else list_judged_sets(store, project_id, judge.name, judge.model)
    todo = [one for one in sets if one.id not in known]
    done = DecisionsMade(kind, judge.name, judge.model, None, len(sets), len(sets) - len(todo))
    if not todo:
        return done
    parameters = {"kind": kind, "judge": judge.name, "model": judge.model, **setting._asdict()}
    with store.transaction():
        run_id = begin_run(store, project_id, "judge", parameters, now_ms())
    run = _JudgeRun(store, Decider(store, project_id, judge, BATCH._replace(min_confidence=setting.min_edge)), run_id)
    watcher, part = watcher or Watcher(), f"{kind}s judged"
    watcher.begin(part, part, len(todo))
    is_stopped = True
    try:
        for at, one in enumerate(todo, start=1):
            run.judge(one, is_rejudged=setting.is_rejudged, now_ms=now_ms(), is_counted=at % _SAVED_EVERY == 0)
            watcher.saved(part, 1)
            if should_stop():
                break
        is_stopped = should_stop()
    finally:
        with store.transaction():
            save_counters(store, run_id, run.counts)
            end_run(store, run_id, "stopped" if is_stopped else "done", now_ms())
    watcher.done(part)
    outcomes = {name: run.counts.pop(name, 0) for name in ("accepted", "rejected", "skipped")}
    return done._replace(
        run_id=run_id, accepted=outcomes["accepted"], rejected=outcomes["rejected"], skipped=outcomes["skipped"],
        reasons=dict(sorted(run.counts.items())), is_stopped=is_stopped,
    )  # fmt: skip


class _JudgeRun:
    """One run: what it decided, by outcome and by reason."""

    def __init__(self, store: Store, decider: Decider, run_id: int) -> None:
        self._store, self._decider, self._id = store, decider, run_id
        self.counts: Counter[str] = Counter()

    def judge(self, one: CandidateSet, *, is_rejudged: bool, now_ms: int, is_counted: bool) -> None:
        """Decide on one set and keep it. An accepted edge stays as it is: nothing is written over it."""
        if not is_rejudged and load_accepted(self._store, one.item_id):
            self._count("skipped", ReasonCode.ALREADY_ACCEPTED)
            return
        decided = self._decider.decide(one.item_id, one.members)
        if decided is None:
            return
        outcome = outcome_of(decided)
        with self._store.transaction():
            save_decision(self._store, self._decider.as_row(decided, outcome, set_id=one.id, run_id=self._id), now_ms)
            self._count(outcome, decided.reason)
            if is_counted:
                save_counters(self._store, self._id, self.counts)

    def _count(self, outcome: str, reason: ReasonCode | None) -> None:
        self.counts[outcome] += 1
        if reason:
            self.counts[str(reason)] += 1


def outcome_of(decided: SetDecision) -> str:
    """Return accepted, rejected, or skipped: nobody was asked, or nobody answered."""
    if decided.reason is None:
        return "accepted"
    has_answer = decided.answer is not None and decided.answer.verdict is not None
    return "rejected" if has_answer and decided.reason != ReasonCode.INVALID_VERDICT else "skipped"
