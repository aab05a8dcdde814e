"""Decisions on one set of candidates: the judge is asked, the gates read its answer. The same for batch and online."""

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import NamedTuple

from msgspec import json

from forgelore.core.compare.boilerplate import without_boilerplate
from forgelore.core.compare.sameness import find_sameness
from forgelore.core.compare.vague import why_not_compare
from forgelore.core.dedupe.gates import GateCase, ItemType, Option, Policy, object_to
from forgelore.core.dedupe.item_type import find_item_type
from forgelore.core.dedupe.question import AnyJudge, JudgeAnswer, JudgedCandidate, JudgedItem, Question
from forgelore.core.dedupe.reasons import ReasonCode
from forgelore.core.dedupe.shared_facts import count_shared_facts
from forgelore.core.dedupe.verdict import Verdict
from forgelore.errors import in_words
from forgelore.store.calibrations import load_boilerplate
from forgelore.store.candidate_sets import SetMember, load_versions
from forgelore.store.db import Store
from forgelore.store.decisions import NewDecision
from forgelore.store.intent_cards import load_card_texts
from forgelore.store.judged_items import load_judged, load_refused_pairs, load_said_targets

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


class PreparedCase(NamedTuple):
    """A question to a judge, and what the gates know besides its answer."""

    question: Question
    case: GateCase


class Decider:
    """Decides about the items of one project with one judge, under one policy."""

    def __init__(self, store: Store, project_id: int, judge: AnyJudge, policy: Policy) -> None:
        self._store, self._judge, self._policy, self._project_id = store, judge, policy, project_id
        self._refused = load_refused_pairs(store, project_id)
        self._lines: dict[str, Collection[int]] = {}

    def decide(self, item_id: int, members: Sequence[SetMember], *, with_cards: bool = False) -> SetDecision | None:
        """Return what is decided of a source and its candidates; None when the source is gone."""
        prepared = self.prepare(item_id, members, with_cards=with_cards)
        if not isinstance(prepared, PreparedCase):
            return prepared
        return self.weigh(prepared, self._judge.ask(prepared.question))

    def prepare(
        self, item_id: int, members: Sequence[SetMember], *, with_cards: bool = False
    ) -> PreparedCase | SetDecision | None:
        """Return what a judge is to be asked, or the decision where it need not be: the source says too little, or has
        no candidate that may be offered; one that was edited since it was listed is none, its numbers are those of
        another text. None when the source is gone. `with_cards`: a judge is shown their cards.
        """
        offered = self._unchanged([one for one in members if one.is_offered])
        known = self._load([item_id, *(one.item_id for one in offered)], with_cards=with_cards)
        source = known.get(item_id)
        if source is None:
            return None
        if self._policy.name == "audit":
            known |= {one.item_id: _as_it_was(known[one.item_id], one) for one in offered if one.item_id in known}
        said = load_said_targets(self._store, item_id)
        candidates = tuple(_candidate(one, known[one.item_id], said) for one in offered if one.item_id in known)
        case = GateCase(
            self._options(candidates), None, is_vague=bool(self._why_vague(source)), item_type=_type_of(source)
        )
        asked = self._policy._replace(gates=self._policy.gates & {"vague source", "candidates"})
        if reason := object_to(case, asked):
            return SetDecision(source, case.options, None, reason)
        return PreparedCase(Question(source, candidates), case)

    def _load(self, item_ids: list[int], *, with_cards: bool) -> dict[int, JudgedItem]:
        known = load_judged(self._store, item_ids)
        cards = load_card_texts(self._store, known) if with_cards else {}
        return {item_id: item._replace(card=cards.get(item_id, "")) for item_id, item in known.items()}

    def _unchanged(self, members: list[SetMember]) -> list[SetMember]:
        versions = load_versions(self._store, [one.item_id for one in members])
        return [one for one in members if one.item_id in versions and versions[one.item_id][0] == one.content_version]

    def weigh(self, prepared: PreparedCase, answer: JudgeAnswer) -> SetDecision:
        """Return what the gates make of a judge's answer."""
        (source, candidates), case = prepared
        if answer.verdict is None:
            return SetDecision(source, case.options, answer, answer.reason or ReasonCode.JUDGE_FAILED)
        verdict = answer.verdict
        number = verdict.target if isinstance(verdict, Verdict) else None
        target = next((one.item for one in candidates if one.item.number == number), None)
        case = case._replace(
            verdict=verdict, facts_found=_count_facts(answer, source, target),
            is_refused=target is not None and frozenset((source.item_id, target.item_id)) in self._refused,
        )  # fmt: skip
        return SetDecision(source, case.options, answer, object_to(case, self._policy), target)

    def as_row(self, decided: SetDecision, outcome: str, *, set_id: int | None, run_id: int | None) -> NewDecision:
        """Return a decision as it is kept."""
        answer, verdict = decided.answer or JudgeAnswer(None), decided.verdict
        return NewDecision(
            self._project_id, decided.source.item_id, set_id, run_id, self._policy.name, self._judge.name,
            self._judge.model, answer.prompt_hash, verdict.is_duplicate if verdict else None,
            decided.target.item_id if decided.target else None, verdict.confidence if verdict else None,
            _as_text(answer), outcome, str(decided.reason or ""), answer.prompt_tokens, answer.answer_tokens,
        )  # fmt: skip

    def _options(self, candidates: Sequence[JudgedCandidate]) -> tuple[Option, ...]:
        groups = _group_copies([(one.item.title, self._own(one.item)) for one in candidates])
        return tuple(
            Option(
                one.item.number, one.strength, one.similarity, one.sameness, one.item.state == "open",
                one.item.is_marked, _type_of(one.item), group,
            )
            for one, group in zip(candidates, groups, strict=True)
        )  # fmt: skip

    def _own(self, item: JudgedItem) -> str:
        return without_boilerplate(item.body, frozenset(self._boilerplate(item.kind)))

    def _why_vague(self, item: JudgedItem) -> str:
        return why_not_compare(item.title, item.body, self._boilerplate(item.kind))

    def _boilerplate(self, kind: str) -> Collection[int]:
        if kind not in self._lines:
            self._lines[kind] = load_boilerplate(self._store, self._project_id, kind)
        return self._lines[kind]


def _candidate(member: SetMember, item: JudgedItem, said: set[int]) -> JudgedCandidate:
    return JudgedCandidate(
        item, member.strength, member.similarity, member.sameness, member.marks,  # type: ignore[arg-type]
        member.features, member.item_id in said,
    )  # fmt: skip


def _as_it_was(item: JudgedItem, member: SetMember) -> JudgedItem:
    """Return a candidate in the state that its set tells of: an audit asks what was right to say then."""
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
    problem = answer.verdict.problem if answer.verdict else in_words(answer.error) if answer.error else ""
    return json.encode({"problem": problem[:_PROBLEM_CHARS]}).decode() if problem else ""
