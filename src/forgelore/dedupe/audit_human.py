"""`dedupe audit --against human`: kept decisions beside what people say of the same pairs, which they see blind.

    accepted decisions and as many others → shuffled pairs → duplicate, related, different or unsure → right or wrong

A pair is an item with its target, or with its first candidate; nothing shows what the judge said. Labels stay: an audit
that was broken off goes on where it was, another seed adds to what is there, and every label of a decided pair counts.
No judge is asked: the gates read its stored verdicts again.
"""

import random
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from forgelore.context import JobContext
from forgelore.dedupe.audit import (
    AuditReport,
    AuditSetting,
    as_answer,
    as_parameters,
    audit_policy,
    recording,
    reload_report,
)
from forgelore.dedupe.audit_rules import PairLabel, classify_answers, without_early_skips
from forgelore.dedupe.gates import MIN_FACTS
from forgelore.dedupe.judge import Decider
from forgelore.dedupe.reasons import ReasonCode
from forgelore.dedupe.verdict import AnyJudge, JudgeAnswer, Question, decode_verdict
from forgelore.errors import NotFound
from forgelore.records import HumanDecision, LaneAnswer
from forgelore.store.candidates import load_set
from forgelore.store.database import Store
from forgelore.store.decisions import (
    Decision,
    list_judged_sources,
    load_judged,
    load_labels_of_pairs,
    save_labels_of_pairs,
)
from forgelore.store.item_lists import find_live, load_number


class StoredJudge:
    """Answers with the verdict of one kept decision."""

    def __init__(self, decision: Decision) -> None:
        self.name, self.model, self._decision = decision.judge, decision.model, decision

    def ask(self, _question: Question) -> JudgeAnswer:
        decision = self._decision
        if not decision.verdict:
            return JudgeAnswer(None, ReasonCode(decision.reason) if decision.reason else None)
        # The facts were looked up then: a verdict that reached the later gates had enough of them.
        facts = 0 if decision.reason == ReasonCode.FACTS_NOT_FOUND else MIN_FACTS
        return JudgeAnswer(decode_verdict(decision.verdict), facts_found=facts)


SAMPLE = 100
MIN_OTHERS = 10  # pairs that the judge did not accept: without any, "yes" would always be right


class BlindItem(NamedTuple):
    """One of two items as a person sees it, who is not to know what a judge said."""

    number: int
    title: str
    body: str
    url: str


class BlindPair(NamedTuple):
    """A pair to be labelled. `first` is the one with the smaller number, whichever repeats the other."""

    kind: str
    number: int
    target: int
    first: BlindItem
    second: BlindItem


def list_blind_pairs(store: Store, project_id: int, judge: AnyJudge, setting: AuditSetting) -> list[BlindPair]:
    """Return the pairs of a sample that nobody has labelled yet: the same sample for the same seed."""
    pairs = _list_decided(store, project_id, judge, setting)
    if not pairs:
        raise NotFound(
            f"the judge {judge.name} {judge.model} has not decided anything yet", hint="run: forgelore dedupe judge"
        )
    labelled = _load_labels(store, project_id)
    chosen = [one for one in _sample(pairs, setting) if _key(one) not in labelled]
    known = load_judged(store, {item_id for one in chosen for item_id in _key(one)})
    items = {item_id: BlindItem(item.number, item.title, item.body, item.url) for item_id, item in known.items()}
    return [
        _as_blind(known[one.item_id].kind, items[one.item_id], items[one.target_id])
        for one in chosen
        if one.item_id in items and one.target_id in items
    ]


def save_pair_labels(store: Store, project_id: int, labels: Iterable[PairLabel], *, said_by: str, now_ms: int) -> int:
    """Save a person's labels of pairs; returns how many. Raises NotFound for an item that does not exist or that the
    viewer may not see.
    """
    find = partial(_find, store, project_id)
    rows = [
        HumanDecision(find(one.kind, one.number), find(one.kind, one.target), one.label, said_by, now_ms)
        for one in labels
    ]
    with store.transaction():
        save_labels_of_pairs(store, project_id, rows)
    return len(rows)


def audit_human(context: JobContext, judge: AnyJudge, setting: AuditSetting) -> AuditReport:
    """Measure the decisions of a judge by every label that there is of their pairs."""
    store, project_id = context.store, context.project.id
    setting = setting._replace(sample=setting.sample or SAMPLE)
    labels, policy = _load_labels(store, project_id), audit_policy(setting)
    todo = [one for one in _list_decided(store, project_id, judge, setting) if _key(one) in labels]
    with recording(context, "human", as_parameters(judge, setting)) as recorder:
        for one in recorder.each(todo, len(todo), "labels read"):
            kept, stored = load_set(store, one.set_id), StoredJudge(one)
            decided = Decider(store, project_id, stored, policy).decide(one.item_id, kept.members if kept else ())
            if decided is None:
                continue
            answer, right = without_early_skips(as_answer(decided)), _as_right(store, one, labels[_key(one)])
            if answer.outcome == "accepted" and right.target not in (None, answer.target):
                continue  # a lower threshold accepts another pair than was shown
            case_class = classify_answers(answer, right)
            recorder.add(one.item_id, one.set_id, case_class, answer, right)
    return reload_report(store, recorder.run_id)


def _list_decided(store: Store, project_id: int, judge: AnyJudge, setting: AuditSetting) -> list[Decision]:
    """Return each pair once, as the decision onto what was accepted, or else onto the first candidate. Of two copies
    each may be accepted onto the other: that is one question.
    """
    found: dict[frozenset[int], Decision] = {}
    for one in _each_decided(store, project_id, judge, setting):
        known = found.get(_key(one))
        if known is None or (known.outcome != "accepted" and one.outcome == "accepted"):
            found[_key(one)] = one
    return list(found.values())


def _each_decided(store: Store, project_id: int, judge: AnyJudge, setting: AuditSetting) -> Iterator[Decision]:
    for kind in setting.kinds:
        for one in list_judged_sources(store, project_id, kind, judge.name, judge.model):
            target = one.target_id if one.outcome == "accepted" else _first_candidate(store, one)
            if target is not None:
                yield one._replace(target_id=target)


def _first_candidate(store: Store, decision: Decision) -> int | None:
    kept = load_set(store, decision.set_id)
    return next((one.item_id for one in kept.members if one.is_offered), None) if kept else None


def _sample(pairs: list[Decision], setting: AuditSetting) -> list[Decision]:
    """Return accepted pairs and as many others, shuffled."""
    chance = random.Random(setting.seed)  # noqa: S311 - statistics, not a secret
    wanted = setting.sample or SAMPLE
    accepted = [one for one in pairs if one.outcome == "accepted"]
    others = [one for one in pairs if one.outcome != "accepted"]
    first = chance.sample(accepted, min(len(accepted), (wanted + 1) // 2))
    count = min(len(others), wanted - len(first), max(len(first), MIN_OTHERS))
    chosen = [*first, *chance.sample(others, count)]
    chance.shuffle(chosen)
    return chosen


def _load_labels(store: Store, project_id: int) -> dict[frozenset[int], str]:
    """Return pair -> label, whichever of the two was named first."""
    return {frozenset(pair): label for pair, label in load_labels_of_pairs(store, project_id).items()}


def _key(one: Decision) -> frozenset[int]:
    return frozenset((one.item_id, one.target_id or 0))


def _as_right(store: Store, one: Decision, label: str) -> LaneAnswer:
    if label == "unsure":
        return LaneAnswer("skipped", label)
    number = load_number(store, one.target_id or 0)
    return LaneAnswer("accepted" if label == "duplicate" else "rejected", label, number)


def _as_blind(kind: str, source: BlindItem, target: BlindItem) -> BlindPair:
    first, second = sorted((source, target), key=lambda each: each.number)
    return BlindPair(kind, source.number, target.number, first, second)


def _find(store: Store, project_id: int, kind: str, number: int) -> int:
    item_id = find_live(store, project_id, kind, number)
    if item_id is None:
        raise NotFound(f"{kind} {number} is not in this project", hint="check the numbers of the label")
    return item_id
