"""`dedupe audit`: how often is a judge right? By a stronger judge, or by the duplicates that the project knows.

    audit_lanes      a sample of open items: both judges get the same questions and pass the same gates (policy AUDIT)
    audit_history    known duplicates, each judged on the candidates and states of the time when it was filed

Known duplicates of one group repeat each other: right is any of them. Nearly all are closed today, so a sample of open
items would hold none. What nobody said of other items is unknown, not wrong; a few of those are asked about, and what
the judge would accept of them is listed.

An audit is a run of the step `audit`; `dedupe/apply` reads its parameters (against, judge, model, policy, min_edge,
min_gap, kinds) and its counters, which are the classes.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, TypeVar

from forgelore.context import JobContext
from forgelore.dedupe.audit_rules import (
    DISAGREEING,
    AuditReference,
    MeasuredShare,
    classify_answers,
    score_classes,
    share_counts,
    without_early_skips,
)
from forgelore.dedupe.candidates import CandidateSetting, rank_source
from forgelore.dedupe.clusters import cluster_edges
from forgelore.dedupe.gates import AUDIT, MIN_EDGE, Policy, lead_of
from forgelore.dedupe.judge import Decider, FailureLimit, SetDecision, ask_all, outcome_of
from forgelore.dedupe.verdict import AnyJudge, JudgeAnswer, Question
from forgelore.errors import NotFound
from forgelore.records import Edge, LaneAnswer
from forgelore.search.retriever import Retriever
from forgelore.store.calibration import load_duplicates
from forgelore.store.candidates import CandidateSet, each_latest_set
from forgelore.store.database import Store
from forgelore.store.decisions import (
    AuditCase,
    DedupeRun,
    RunValue,
    begin_run,
    end_run,
    list_cases,
    load_run,
    save_case,
    save_counters,
)
from forgelore.store.hits import load_subject
from forgelore.store.item_lists import list_oldest, load_number

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


class AuditRecorder:
    """One audit while it runs: cases are kept as they come."""

    def __init__(self, context: JobContext, run_id: int, against: AuditReference) -> None:
        self._context, self._against, self.run_id = context, against, run_id
        self._classes: list[str] = []
        self.counts: Counter[str] = Counter()  # beside the classes
        self._tokens, self._cost, self._patience = (0, 0), 0.0, FailureLimit()

    def add(self, item_id: int, set_id: int | None, audit_class: str, judged: LaneAnswer, right: LaneAnswer) -> None:
        self._classes.append(audit_class)
        with self._context.store.transaction():
            save_case(self._context.store, self.run_id, item_id, set_id, audit_class, judged, right)
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
    context: JobContext, against: AuditReference, parameters: Mapping[str, RunValue]
) -> Iterator[AuditRecorder]:
    """Write an audit down, and how it ended: one that was stopped or failed proves nothing."""
    with context.store.transaction():
        run_id = begin_run(
            context.store, context.project.id, "audit", {"against": against, **parameters}, context.now_ms()
        )
    recorder = AuditRecorder(context, run_id, against)
    is_stopped = True
    try:
        yield recorder
        is_stopped = context.should_stop()
    finally:
        recorder.end(is_stopped=is_stopped)


def audit_policy(setting: AuditSetting) -> Policy:
    """Return the gates of an audit: those of the batch, with the states that the sets recorded."""
    return AUDIT._replace(min_confidence=setting.min_edge)


def as_parameters(judge: AnyJudge, setting: AuditSetting) -> dict[str, RunValue]:
    """Return the parameters that a run is stored with. The policy is that of the edges it stands for."""
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
    shown = [one for one in list_cases(store, run.id) if one.audit_class in DISAGREEING]
    shown.sort(key=lambda one: DISAGREEING.index(one.audit_class))
    names = {"history": "known duplicates", "human": "people"}
    reference = (
        names.get(against) or f"{run.parameters.get('strong_judge')} {run.parameters.get('strong_model')}".strip()
    )
    return AuditReport(
        run.id, run.project_id, run.status, against, str(run.parameters.get("judge")),
        str(run.parameters.get("model") or ""), reference, run.parameters, run.counters, precision, recall,
        shown, run.prompt_tokens, run.answer_tokens, run.cost,
    )  # fmt: skip


def reload_report(store: Store, run_id: int) -> AuditReport:
    return load_report(store, load_run(store, run_id))


SAMPLE = 100


def audit_lanes(context: JobContext, cheap: AnyJudge, strong: AnyJudge, setting: AuditSetting) -> AuditReport:
    """Ask both judges about a sample, keep what they said, and return where they agree."""
    store, policy = context.store, audit_policy(setting)
    setting = setting._replace(sample=setting.sample or SAMPLE)
    sets = sample_sets(store, context.project.id, setting)
    parameters = as_parameters(cheap, setting) | {"strong_judge": strong.name, "strong_model": strong.model}
    first, second = (Decider(store, context.project.id, judge, policy) for judge in (cheap, strong))
    with recording(context, "strong", parameters) as recorder:
        lane = partial(_ask, context, recorder, sets=sets, workers=setting.workers)
        said = {one.id: as_answer(decided) for one, decided in lane("cheap", first)}
        for one, decided in lane("strong", second):
            if one.id in said:
                cheap_answer, strong_answer = said[one.id], as_answer(decided)
                case_class = classify_answers(cheap_answer, strong_answer)
                recorder.add(one.item_id, one.id, case_class, cheap_answer, strong_answer)
    return reload_report(store, recorder.run_id)


def _ask(
    context: JobContext,
    recorder: AuditRecorder,
    lane: str,
    decider: Decider,
    *,
    sets: Sequence[CandidateSet],
    workers: int,
) -> Iterator[tuple[CandidateSet, SetDecision]]:
    """Yield what one judge decides of each set; what needs no judge is decided without one."""
    early: list[tuple[CandidateSet, SetDecision]] = []

    def cases() -> Iterator[tuple[CandidateSet, Question]]:
        for one in recorder.each(sets, len(sets), f"asked the {lane} judge"):
            prepared = decider.prepare(one.item_id, one.members)
            if isinstance(prepared, SetDecision):
                early.append((one, prepared))
            elif prepared is not None:
                yield one, prepared

    for one, prepared, answer in ask_all(decider.judge, cases(), workers=workers):
        recorder.spend(answer)
        yield one, decider.weigh(prepared, answer)
    if not context.should_stop():
        yield from early


def sample_sets(store: Store, project_id: int, setting: AuditSetting) -> list[CandidateSet]:
    """Return a sample of the latest fresh sets of open items that offer something: the same for the same seed. Raises
    NotFound where there are none.
    """
    found = [
        one
        for kind in setting.kinds
        for one in each_latest_set(store, project_id, kind)
        if any(member.is_offered for member in one.members)
    ]
    if not found:
        raise NotFound("no open item has fresh candidates", hint="run: forgelore dedupe candidates")
    chosen = random.Random(setting.seed)  # noqa: S311 - statistics, not a secret
    return chosen.sample(sorted(found, key=lambda one: one.item_id), min(setting.sample or SAMPLE, len(found)))


_ALL = 2**31
DEFAULTS = CandidateSetting()


ReplayedItem = tuple[int, frozenset[int]]  # its id, and what it repeats; empty where nobody has said


def audit_history(
    context: JobContext, retriever: Retriever, judge: AnyJudge, setting: AuditSetting,
    candidates: CandidateSetting = DEFAULTS,
) -> AuditReport:  # fmt: skip
    """Measure a judge by the known duplicates of a project. Raises NotFound where nobody knows any."""
    todo = choose_items(context.store, context.project.id, setting)
    decider = Decider(context.store, context.project.id, judge, audit_policy(setting))
    parameters = as_parameters(judge, setting) | candidates._asdict() | {"others": setting.others}
    with recording(context, "history", parameters) as recorder:
        replay = _Replay(retriever, decider, candidates, recorder)
        cases = replay.cases(recorder.each(todo, len(todo), "items replayed"))
        for (one, ranked), prepared, answer in ask_all(judge, cases, workers=setting.workers):
            replay.take(one, ranked, decider.weigh(prepared, answer))
    return reload_report(context.store, recorder.run_id)


def choose_items(store: Store, project_id: int, setting: AuditSetting) -> list[ReplayedItem]:
    """Return the known duplicates, or a sample of them, and a few other items; the same for the same seed."""
    chance = random.Random(setting.seed)  # noqa: S311 - statistics, not a secret
    known: list[ReplayedItem] = []
    others: list[ReplayedItem] = []
    for kind in setting.kinds:
        pairs = load_duplicates(store, project_id, kind, limit=_ALL)
        groups = _group(pairs)
        known += [(item_id, groups[item_id] - {item_id}) for item_id in pairs]
        rest = [item_id for item_id in list_oldest(store, project_id, kind) if item_id not in groups] if pairs else []
        others += [(item_id, frozenset[int]()) for item_id in _pick(chance, rest, setting.others)]
    if not known:
        raise NotFound(
            "no duplicate has been marked in this project", hint="use: forgelore dedupe audit --against human"
        )
    return [*_pick(chance, known, setting.sample or len(known)), *others]


def _pick(chance: random.Random, rows: Sequence[_Row], count: int) -> list[_Row]:
    return chance.sample(list(rows), min(count, len(rows)))


def _group(pairs: Mapping[int, set[int]]) -> dict[int, frozenset[int]]:
    """Return item -> everything that is connected with it by what was said."""
    edges = [Edge(item_id, target, 1.0) for item_id, targets in pairs.items() for target in targets]
    found, _ = cluster_edges(edges, bound=_ALL)
    return {member: frozenset(members) for members in found for member in members}


class _Replay:
    """One audit: ranks and judges an item as of its filing, and keeps what came of it."""

    def __init__(
        self, retriever: Retriever, decider: Decider, setting: CandidateSetting, recorder: AuditRecorder
    ) -> None:
        self._retriever, self._decider, self._setting, self._recorder = retriever, decider, setting, recorder

    def cases(self, todo: Iterable[ReplayedItem]) -> Iterator[tuple[tuple[ReplayedItem, CandidateSet], Question]]:
        """Yield what the judge is to be asked; what needs none is taken on the way."""
        for one in todo:
            filed_at = load_subject(self._retriever.store, one[0]).created_at
            ranked = rank_source(self._retriever, one[0], self._setting, as_of=filed_at) if filed_at else None
            prepared = self._decider.prepare(one[0], ranked.members) if ranked else None
            if ranked is None or prepared is None:  # not for everybody to read, or without a time
                continue
            if isinstance(prepared, SetDecision):
                self.take(one, ranked, prepared)
            else:
                yield (one, ranked), prepared

    def take(self, one: ReplayedItem, ranked: CandidateSet, decided: SetDecision) -> None:
        """Keep what was decided of an item."""
        item_id, originals = one
        counts = self._recorder.counts
        self._recorder.spend(decided.answer)
        answer = without_early_skips(as_answer(decided))
        if not originals:
            self._take_other(item_id, answer)
            return
        counts["known"] += 1
        counts["original_offered"] += any(
            member.is_offered and member.item_id in originals for member in ranked.members
        )
        right = self._label(originals)
        self._recorder.add(item_id, None, classify_answers(answer, right), answer, right)

    def _take_other(self, item_id: int, answer: LaneAnswer) -> None:
        """Of an item that nobody called a duplicate an acceptance is news, and neither right nor wrong."""
        self._recorder.counts["others"] += 1
        if answer.outcome == "accepted":
            self._recorder.add(item_id, None, "unlabelled", answer, LaneAnswer("skipped"))

    def _label(self, originals: frozenset[int]) -> LaneAnswer:
        numbers = sorted(self._numbers(originals))
        return LaneAnswer("accepted", target=numbers[0], also=tuple(numbers[1:]))

    def _numbers(self, item_ids: frozenset[int]) -> Iterator[int]:
        for item_id in item_ids:
            number = load_number(self._retriever.store, item_id)
            if number is not None:
                yield number
