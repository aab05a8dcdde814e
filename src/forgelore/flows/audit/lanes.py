"""`dedupe audit`: a cheap judge beside a strong one, on a sample of the latest candidates of open items.

Both answer the same questions and pass the same gates (policy AUDIT). Where they differ, people look.
"""

import random
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from forgelore.core.audit.classes import classify_answers
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
from forgelore.flows.dedupe.asking import AskedCase, ask_all
from forgelore.flows.dedupe.deciding import Decider, SetDecision
from forgelore.store.audits import StoredCase
from forgelore.store.candidate_sets import CandidateSet, each_latest_set
from forgelore.store.db import Store

SAMPLE = 100


class _Lane(NamedTuple):
    name: str
    judge: AnyJudge
    decider: Decider


def audit_lanes(context: AuditContext, cheap: AnyJudge, strong: AnyJudge, setting: AuditSetting) -> AuditReport:
    """Ask both judges about a sample, keep what they said, and return where they agree."""
    store, policy = context.store, audit_policy(setting)
    setting = setting._replace(sample=setting.sample or SAMPLE)
    sets = sample_sets(store, context.project_id, setting)
    parameters = as_parameters(cheap, setting) | {"strong_judge": strong.name, "strong_model": strong.model}
    first, second = (
        _Lane(name, judge, Decider(store, context.project_id, judge, policy))
        for name, judge in (("cheap", cheap), ("strong", strong))
    )
    with recording(context, "strong", parameters) as recorder:
        lane = partial(_ask, context, recorder, sets=sets, workers=setting.workers)
        said = {one.id: as_answer(decided) for one, decided in lane(first)}
        for one, decided in lane(second):
            if one.id in said:
                cheap_answer, strong_answer = said[one.id], as_answer(decided)
                case_class = classify_answers(cheap_answer, strong_answer)
                recorder.add(StoredCase(one.item_id, one.id, case_class, cheap_answer, strong_answer))
    return reload_report(store, recorder.run_id)


def _ask(
    context: AuditContext, recorder: AuditRecorder, lane: _Lane, *, sets: Sequence[CandidateSet], workers: int
) -> Iterator[tuple[CandidateSet, SetDecision]]:
    """Yield what one judge decides of each set; what needs no judge is decided without one."""
    early: list[tuple[CandidateSet, SetDecision]] = []

    def cases() -> Iterator[AskedCase]:
        for one in recorder.each(sets, len(sets), f"asked the {lane.name} judge"):
            prepared = lane.decider.prepare(one.item_id, one.members)
            if isinstance(prepared, SetDecision):
                early.append((one, prepared))
            elif prepared is not None:
                yield AskedCase(one, prepared)

    for case, answer in ask_all(lane.judge, cases(), workers=workers):
        recorder.spend(answer)
        yield case.candidate_set, lane.decider.weigh(case.prepared, answer)
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
