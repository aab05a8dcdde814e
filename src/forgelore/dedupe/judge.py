"""`dedupe judge`: decide of every open item whether it repeats one of its candidates.

    latest set → skipped beforehand (no candidates, too vague, accepted before) → judge → gates → decision

`Decider` asks a judge about one set and lets the gates read its answer; batch, online and audits share it. Every
decision is kept with what the judge said and which gate objected. A set is judged once by a judge and its model; an
accepted edge stays until `is_rejudged` replaces it. What no judge answered (no connection, no budget) is asked again by
the next run, and replaces nothing.
"""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import combinations, islice
from queue import SimpleQueue
from typing import NamedTuple, TypeVar

from msgspec import json

from forgelore.compare.sameness import find_sameness, why_not_compare, without_boilerplate
from forgelore.context import JobContext
from forgelore.dedupe.candidates import FALLBACK
from forgelore.dedupe.clusters import is_newer_by_another
from forgelore.dedupe.gates import BATCH, MIN_EDGE, GateCase, Option, Policy, for_judge, object_to
from forgelore.dedupe.reasons import ReasonCode
from forgelore.dedupe.verdict import (
    AnyJudge,
    ItemType,
    JudgeAnswer,
    JudgedCandidate,
    Question,
    Verdict,
    count_shared_facts,
    find_item_type,
)
from forgelore.errors import AuthError, ChatModelNotFound, ConfigError, format_error
from forgelore.records import JudgedItem
from forgelore.store.calibration import load_boilerplate
from forgelore.store.candidates import Candidate, CandidateSet, each_latest_set, load_card_texts, load_versions
from forgelore.store.database import Store
from forgelore.store.decisions import (
    Decision,
    begin_run,
    end_run,
    is_accepted,
    list_judged_sets,
    load_judged,
    load_refused_pairs,
    load_said_targets,
    save_counters,
    save_decision,
)
from forgelore.words import Source

_PROBLEM_CHARS = 500


class SetDecision(NamedTuple):
    """What a judge said of a source, and which gate objects first; None: none does. `answer` None: nobody was asked."""

    source: JudgedItem
    options: tuple[Option, ...]
    answer: JudgeAnswer | None
    reason: ReasonCode | None
    target: JudgedItem | None = None

    @property
    def verdict(self) -> Verdict | None:
        said = self.answer.verdict if self.answer else None
        return said if isinstance(said, Verdict) else None


class Decider:
    """Decides about the items of one project with one judge, under one policy."""

    def __init__(self, store: Store, project_id: int, judge: AnyJudge, policy: Policy) -> None:
        self._store, self.judge, self._project_id = store, judge, project_id
        self._policy = for_judge(policy, judge.name)
        self._refused = load_refused_pairs(store, project_id)
        self._lines: dict[str, Collection[int]] = {}

    def decide(self, item_id: int, members: Sequence[Candidate], *, representation: str = "raw") -> SetDecision | None:
        """Return what is decided of a source and its candidates; None when the source is gone."""
        prepared = self.prepare(item_id, members, representation=representation)
        return self.weigh(prepared, self.judge.ask(prepared)) if isinstance(prepared, Question) else prepared

    def prepare(
        self, item_id: int, members: Sequence[Candidate], *, representation: str = "raw"
    ) -> Question | SetDecision | None:
        """Return what a judge is to be asked, or the decision where it need not be: the source says too little, or has
        no candidate that may be offered; one that was edited since it was listed is none, its numbers are those of
        another text. None when the source is gone. `representation`: where cards chose the candidates, a
        judge is shown them.
        """
        offered = self._unchanged([one for one in members if one.is_offered])
        known = self._load([item_id, *(one.item_id for one in offered)], representation=representation)
        source = known.get(item_id)
        if source is None:
            return None
        if self._policy.name == "audit":
            known |= {one.item_id: _as_it_was(known[one.item_id], one) for one in offered if one.item_id in known}
        said = load_said_targets(self._store, item_id)
        candidates = tuple(_candidate(one, known[one.item_id], said) for one in offered if one.item_id in known)
        # These two gates need no verdict; the others look at the candidates once there is one.
        asked = self._policy._replace(gates=self._policy.gates & {"vague source", "candidates"})
        is_vague = bool(why_not_compare(source.title, source.body, self._boilerplate(source.kind)))
        options = tuple(Option(one.item.number, one.strength, one.similarity) for one in candidates)
        if reason := object_to(GateCase(options, None, is_vague=is_vague), asked):
            return SetDecision(source, options, None, reason)
        return Question(source, candidates)

    def _load(self, item_ids: list[int], *, representation: str) -> dict[int, JudgedItem]:
        known = load_judged(self._store, item_ids)
        cards = load_card_texts(self._store, known) if representation == "intent" else {}
        return {item_id: item._replace(card=cards.get(item_id, "")) for item_id, item in known.items()}

    def _unchanged(self, members: list[Candidate]) -> list[Candidate]:
        versions = load_versions(self._store, [one.item_id for one in members])
        return [one for one in members if one.item_id in versions and versions[one.item_id][0] == one.content_version]

    def weigh(self, question: Question, answer: JudgeAnswer) -> SetDecision:
        """Return what the gates make of a judge's answer."""
        source, candidates = question
        options = self._list_options(question)
        if answer.verdict is None:
            return SetDecision(source, options, answer, answer.reason or ReasonCode.JUDGE_FAILED)
        verdict = answer.verdict
        number = verdict.target if isinstance(verdict, Verdict) else None
        target = next((one.item for one in candidates if one.item.number == number), None)
        case = GateCase(
            options, verdict, item_type=_type_of(source), facts_found=_count_facts(answer, source, target),
            is_refused=target is not None and frozenset((source.item_id, target.item_id)) in self._refused,
        )  # fmt: skip
        return SetDecision(source, options, answer, object_to(case, self._policy), target)

    def _list_options(self, question: Question) -> tuple[Option, ...]:
        source, candidates = question
        groups = _group_copies([(one.item.title, self._own(one.item)) for one in candidates])
        return tuple(
            Option(
                one.item.number, one.strength, one.similarity, one.sameness, one.item.state == "open",
                one.item.is_marked, _type_of(one.item), is_newer_by_another(one.item, source), group,
            )
            for one, group in zip(candidates, groups, strict=True)
        )  # fmt: skip

    def as_row(self, decided: SetDecision, outcome: str, *, set_id: int | None, run_id: int | None) -> Decision:
        """Return a decision as it is kept."""
        answer, verdict = decided.answer or JudgeAnswer(None), decided.verdict
        return Decision(
            self._project_id, decided.source.item_id, set_id, run_id, self._policy.name, self.judge.name,
            self.judge.model, answer.prompt_hash, verdict.is_duplicate if verdict else None,
            decided.target.item_id if decided.target else None, verdict.confidence if verdict else None,
            _as_text(answer), outcome, str(decided.reason or ""), answer.prompt_tokens, answer.answer_tokens,
        )  # fmt: skip

    def _own(self, item: JudgedItem) -> str:
        return without_boilerplate(item.body, frozenset(self._boilerplate(item.kind)))

    def _boilerplate(self, kind: str) -> Collection[int]:
        if kind not in self._lines:
            self._lines[kind] = load_boilerplate(self._store, self._project_id, kind)
        return self._lines[kind]


def _candidate(member: Candidate, item: JudgedItem, said: set[int]) -> JudgedCandidate:
    return JudgedCandidate(
        item, member.strength, member.similarity, member.sameness, member.marks,  # type: ignore[arg-type]
        member.features, member.item_id in said,
    )  # fmt: skip


def _as_it_was(item: JudgedItem, member: Candidate) -> JudgedItem:
    """Return a candidate in the state that its set recorded: an audit asks what was right then."""
    return item._replace(state=member.state, is_marked=bool(member.features.get("marked")))


def _type_of(item: JudgedItem) -> ItemType:
    return find_item_type(item.title, item.body, item.labels)


def _count_facts(answer: JudgeAnswer, source: JudgedItem, target: JudgedItem | None) -> int:
    if answer.facts_found is not None:
        return answer.facts_found
    if target is None or not isinstance(answer.verdict, Verdict):
        return 0
    return count_shared_facts(answer.verdict.facts, source.quotable, target.quotable)


def _group_copies(texts: Sequence[tuple[str, str]]) -> list[int]:
    """Return a number for each text: the same one, and not 0, for copies of each other."""
    groups = [0] * len(texts)
    for first, second in combinations(range(len(texts)), 2):
        if find_sameness(*texts[first], *texts[second]) != "similar":
            groups[first] = groups[first] or first + 1
            groups[second] = groups[first]
    return groups


def _as_text(answer: JudgeAnswer) -> str:
    """Return what a judge said as JSON, or what was wrong with it; "": nobody was asked."""
    if isinstance(answer.verdict, Verdict):
        return json.encode(answer.verdict).decode()
    problem = answer.verdict or (format_error(answer.error) if answer.error else "")
    return json.encode({"problem": problem[:_PROBLEM_CHARS]}).decode() if problem else ""


class FailureLimit:
    """When to give up on a judge that fails: at once after an error that any question would meet, else after five in a
    row.
    """

    def __init__(self) -> None:
        self._failures = 0

    def take(self, answer: JudgeAnswer) -> None:
        """Raise what keeps the judge from answering."""
        self._failures = self._failures + 1 if answer.error else 0
        if answer.error and (self._failures >= _FAILURES or isinstance(answer.error, _FOR_ALL)):
            raise answer.error


_FAILURES = 5
_FOR_ALL = (AuthError, ChatModelNotFound, ConfigError)
_Case = TypeVar("_Case")  # what the caller asks about


def ask_all(
    judge: AnyJudge, cases: Iterable[tuple[_Case, Question]], *, workers: int
) -> Iterator[tuple[_Case, Question, JudgeAnswer]]:
    """Yield each case with its question and the answer, in the order in which answers come. A model takes seconds to
    answer, so several threads ask; the caller's own thread makes the cases and takes the answers, and the store is its
    alone. A case is taken when there is somebody to ask about it, so that whoever makes them may stop; what was asked
    is waited for.
    """
    if workers == 1:
        for case, question in cases:
            yield case, question, judge.ask(question)
        return
    waiting = iter(cases)
    todo: SimpleQueue[tuple[_Case, Question] | None] = SimpleQueue()
    done: SimpleQueue[tuple[_Case, Question, JudgeAnswer | BaseException]] = SimpleQueue()
    for _ in range(workers):
        threading.Thread(target=_work, args=(judge, todo, done), daemon=True).start()
    under_way = 0
    try:
        for first in islice(waiting, workers):
            todo.put(first)
            under_way += 1
        while under_way:
            case, question, answer = done.get()
            under_way -= 1
            if isinstance(answer, BaseException):
                raise answer
            yield case, question, answer
            if (following := next(waiting, None)) is not None:
                todo.put(following)
                under_way += 1
    finally:
        for _ in range(workers):
            todo.put(None)


def _work(
    judge: AnyJudge,
    todo: "SimpleQueue[tuple[_Case, Question] | None]",
    done: "SimpleQueue[tuple[_Case, Question, JudgeAnswer | BaseException]]",
) -> None:
    while (asked := todo.get()) is not None:
        try:
            done.put((*asked, judge.ask(asked[1])))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
            done.put((*asked, error))


_SAVED_EVERY = 20  # sets between two looks at the counters
_UNSAID = (ReasonCode.JUDGE_FAILED, ReasonCode.OVER_BUDGET, ReasonCode.INVALID_VERDICT)


class JudgeSetting(NamedTuple):
    """`min_edge`: confidence from which on a decision is accepted. `budget`: most tokens of the run. `source`: only
    sets chosen by texts, or by cards; None: the latest of either.
    """

    min_edge: float = MIN_EDGE
    is_rejudged: bool = False
    allows_stale: bool = False
    workers: int = 1
    budget: int | None = None
    source: Source | None = None


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


def judge_sets(context: JobContext, kind: str, judge: AnyJudge, setting: JudgeSetting = DEFAULTS) -> DecisionsMade:
    """Decide on the latest set of every open item that this judge has not decided on yet. Raises what keeps a judge
    from answering at all; what was decided before is kept.
    """
    store, project_id, watcher = context.store, context.project.id, context.watcher
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
        run_id = begin_run(store, project_id, "judge", parameters, context.now_ms())
    run = _JudgeRun(context, Decider(store, project_id, judge, policy), run_id, setting)
    part = f"{kind}s judged"
    watcher.begin(part, part, len(todo))
    is_stopped = True
    try:
        cases = run.cases(todo, on_set=lambda: watcher.saved(part, 1))
        for one, prepared, answer in ask_all(judge, cases, workers=setting.workers):
            run.take(one, prepared, answer)
            watcher.saved(part, 1)
        is_stopped = context.should_stop()
    finally:
        run.end("stopped" if is_stopped else "done")
    watcher.done(part)
    return run.describe(done._replace(run_id=run_id, is_stopped=is_stopped))


class _JudgeRun:
    """One run: what it decided, by outcome and by reason, and what that cost."""

    def __init__(self, context: JobContext, decider: Decider, run_id: int, setting: JudgeSetting) -> None:
        self._context, self._decider, self._id, self._setting = context, decider, run_id, setting
        self._store = context.store
        self._counts: Counter[str] = Counter()
        self._tokens, self._cost = (0, 0), 0.0
        self._patience = FailureLimit()

    def cases(self, todo: list[CandidateSet], *, on_set: Callable[[], None]) -> Iterator[tuple[CandidateSet, Question]]:
        """Yield what a judge is to be asked; what needs none is decided on the way."""
        for one in todo:
            if not self._setting.is_rejudged and is_accepted(self._store, one.item_id):
                self._count("skipped", ReasonCode.ALREADY_ACCEPTED)
            elif isinstance(prepared := self._prepare(one), SetDecision):
                self._save(one, prepared)
            elif prepared is not None:
                yield one, prepared
                if self._context.should_stop():
                    return
                continue
            on_set()
            if self._context.should_stop():
                return

    def _prepare(self, one: CandidateSet) -> Question | SetDecision | None:
        return self._decider.prepare(one.item_id, one.members, representation=one.representation)

    def take(self, one: CandidateSet, prepared: Question, answer: JudgeAnswer) -> None:
        """Keep what the gates make of an answer. Raises what keeps the judge from answering, now or again and again."""
        self._tokens = self._tokens[0] + answer.prompt_tokens, self._tokens[1] + answer.answer_tokens
        self._cost += answer.cost
        self._save(one, self._decider.weigh(prepared, answer))
        self._patience.take(answer)

    def _save(self, one: CandidateSet, decided: SetDecision) -> None:
        """Keep a decision. An accepted edge is replaced by what a judge said, never by its silence."""
        outcome = outcome_of(decided)
        is_kept = decided.reason not in _UNSAID or not is_accepted(self._store, one.item_id)
        with self._store.transaction():
            if is_kept:
                row = self._decider.as_row(decided, outcome, set_id=one.id, run_id=self._id)
                save_decision(self._store, row, self._context.now_ms())
            self._count(outcome, decided.reason)
            if sum(self._counts[name] for name in _OUTCOMES) % _SAVED_EVERY == 0:
                self._save_counters()

    def end(self, status: str) -> None:
        with self._store.transaction():
            self._save_counters()
            end_run(self._store, self._id, status, self._context.now_ms())

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
