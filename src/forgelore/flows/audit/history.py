"""`dedupe audit --against history`: a judge beside the project's own known duplicates, each replayed as of its filing.

    known duplicate -> candidates among what was there then, in the states of then -> judge -> gates -> right or wrong

Right is every item of the same group of known duplicates: who repeats #7, of which #5 is a duplicate, repeats #5 too.
Nearly all known duplicates are closed today, so that a sample of open items would hold none. What was said of other
items is unknown, not wrong; of those a few are asked about as well, and what the judge would accept of them is listed.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from forgelore.core.audit.classes import LaneAnswer, classify_answers, without_early_skips
from forgelore.core.dedupe.clusters import Edge, cluster_edges
from forgelore.core.dedupe.question import AnyJudge
from forgelore.errors import NotFound
from forgelore.flows.audit.recording import (
    AuditContext,
    AuditRecorder,
    AuditReport,
    AuditSetting,
    as_answer,
    as_parameters,
    audit_policy,
    recording,
    reload_report,
)  # fmt: skip
from forgelore.flows.dedupe.asking import ask_all
from forgelore.flows.dedupe.candidate_ranking import CandidateSetting, RankedSource, rank_source
from forgelore.flows.dedupe.deciding import Decider, PreparedCase, SetDecision
from forgelore.flows.search.retriever import Retriever
from forgelore.store.audits import StoredCase
from forgelore.store.calibrations import load_duplicates
from forgelore.store.db import Store
from forgelore.store.hits import load_subject
from forgelore.store.item_lists import list_oldest, load_number

_ALL = 2**31
_Row = TypeVar("_Row")
DEFAULTS = CandidateSetting()


class ReplayedItem(NamedTuple):
    """An item that is judged as of its filing. `right`: what it repeats; empty where nobody has said."""

    item_id: int
    right: frozenset[int]


class ReplayedCase(NamedTuple):
    """An item with its candidates of then, and the question that they make."""

    replayed: ReplayedItem
    ranked: RankedSource
    prepared: PreparedCase


def audit_history(
    context: AuditContext, retriever: Retriever, judge: AnyJudge, setting: AuditSetting,
    candidates: CandidateSetting = DEFAULTS,
) -> AuditReport:  # fmt: skip
    """Measure a judge by the known duplicates of a project. Raises NotFound where nobody knows any."""
    todo = choose_items(context.store, context.project_id, setting)
    decider = Decider(context.store, context.project_id, judge, audit_policy(setting))
    parameters = as_parameters(judge, setting) | candidates._asdict() | {"others": setting.others}
    with recording(context, "history", parameters) as recorder:
        replay = _Replay(retriever, decider, candidates, recorder)
        cases = replay.cases(recorder.each(todo, len(todo), "items replayed"))
        for case, answer in ask_all(judge, cases, workers=setting.workers):
            replay.take(case.replayed, case.ranked, decider.weigh(case.prepared, answer))
    return reload_report(context.store, recorder.run_id)


def choose_items(store: Store, project_id: int, setting: AuditSetting) -> list[ReplayedItem]:
    """Return the known duplicates, or a sample of them, and a few other items; the same for the same seed."""
    chance = random.Random(setting.seed)  # noqa: S311 - statistics, not a secret
    known: list[ReplayedItem] = []
    others: list[ReplayedItem] = []
    for kind in setting.kinds:
        pairs = load_duplicates(store, project_id, kind, limit=_ALL)
        groups = _group(pairs)
        known += [ReplayedItem(item_id, groups[item_id] - {item_id}) for item_id in pairs]
        rest = [item_id for item_id in list_oldest(store, project_id, kind) if item_id not in groups] if pairs else []
        others += [ReplayedItem(item_id, frozenset()) for item_id in _pick(chance, rest, setting.others)]
    if not known:
        raise NotFound(
            "nobody has marked a duplicate in this project", hint="use: forgelore dedupe audit --against human"
        )
    return [*_pick(chance, known, setting.sample or len(known)), *others]


def _pick(chance: random.Random, rows: Sequence[_Row], count: int) -> list[_Row]:
    return chance.sample(list(rows), min(count, len(rows)))


def _group(pairs: Mapping[int, set[int]]) -> dict[int, frozenset[int]]:
    """Return item -> everything that is connected with it by what was said."""
    edges = [Edge(item_id, target, 1.0) for item_id, targets in pairs.items() for target in targets]
    found = cluster_edges(edges, bound=_ALL).clusters
    return {member: frozenset(members) for members in found for member in members}


class _Replay:
    """One audit: ranks and judges an item as of its filing, and keeps what came of it."""

    def __init__(
        self, retriever: Retriever, decider: Decider, setting: CandidateSetting, recorder: AuditRecorder
    ) -> None:
        self._retriever, self._decider, self._setting, self._recorder = retriever, decider, setting, recorder

    def cases(self, todo: Iterable[ReplayedItem]) -> Iterator[ReplayedCase]:
        """Yield what the judge is to be asked; what needs none is taken on the way."""
        for one in todo:
            filed_at = load_subject(self._retriever.store, one.item_id).created_at
            ranked = rank_source(self._retriever, one.item_id, self._setting, as_of=filed_at) if filed_at else None
            prepared = self._decider.prepare(one.item_id, ranked.members) if ranked else None
            if ranked is None or prepared is None:  # not for everybody to read, or without a time
                continue
            if isinstance(prepared, SetDecision):
                self.take(one, ranked, prepared)
            else:
                yield ReplayedCase(one, ranked, prepared)

    def take(self, one: ReplayedItem, ranked: RankedSource, decided: SetDecision) -> None:
        """Keep what was decided of an item."""
        counts = self._recorder.counts
        self._recorder.spend(decided.answer)
        answer = without_early_skips(as_answer(decided))
        if not one.right:
            self._take_other(one, answer)
            return
        counts["known"] += 1
        counts["original_offered"] += any(
            member.is_offered and member.item_id in one.right for member in ranked.members
        )
        right = self._label(one)
        self._recorder.add(StoredCase(one.item_id, None, classify_answers(answer, right), answer, right))

    def _take_other(self, one: ReplayedItem, answer: LaneAnswer) -> None:
        """Of an item that nobody called a duplicate an acceptance is news, and neither right nor wrong."""
        self._recorder.counts["others"] += 1
        if answer.outcome == "accepted":
            self._recorder.add(StoredCase(one.item_id, None, "unlabelled", answer, LaneAnswer("skipped")))

    def _label(self, one: ReplayedItem) -> LaneAnswer:
        numbers = sorted(self._numbers(one.right))
        return LaneAnswer("accepted", target=numbers[0], also=tuple(numbers[1:]))

    def _numbers(self, item_ids: frozenset[int]) -> Iterator[int]:
        for item_id in item_ids:
            number = load_number(self._retriever.store, item_id)
            if number is not None:
                yield number
