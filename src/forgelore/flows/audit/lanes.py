"""`dedupe audit`: a cheap judge beside a strong one, on a sample of the latest candidates of open items.

Both answer the same questions and pass the same gates (policy AUDIT). Where they differ, people look.
"""

import random

from forgelore.core.audit.classes import classify_answers
from forgelore.core.dedupe.question import AnyJudge
from forgelore.errors import NotFound
from forgelore.flows.audit.recording import (
    AuditContext,
    AuditReport,
    AuditSetting,
    as_answer,
    as_parameters,
    audit_policy,
    recording,
    reload_report,
)  # fmt: skip
from forgelore.flows.dedupe.deciding import Decider
from forgelore.store.audits import StoredCase
from forgelore.store.candidate_sets import CandidateSet, each_latest_set
from forgelore.store.db import Store

SAMPLE = 100


def audit_lanes(context: AuditContext, cheap: AnyJudge, strong: AnyJudge, setting: AuditSetting) -> AuditReport:
    """Ask both judges about a sample, keep what they said, and return where they agree."""
    store, policy = context.store, audit_policy(setting)
    setting = setting._replace(sample=setting.sample or SAMPLE)
    sets = sample_sets(store, context.project_id, setting)
    parameters = as_parameters(cheap, setting) | {"strong_judge": strong.name, "strong_model": strong.model}
    lanes = [Decider(store, context.project_id, judge, policy) for judge in (cheap, strong)]
    with recording(context, "strong", parameters) as recorder:
        for one in recorder.each(sets, len(sets), "items audited"):
            decided = [lane.decide(one.item_id, one.members) for lane in lanes]
            answers = [as_answer(each) for each in decided if each is not None]
            if len(answers) == len(lanes):
                case_class = classify_answers(*answers)
                recorder.add(StoredCase(one.item_id, one.id, case_class, answers[0], answers[1]))
    return reload_report(store, recorder.run_id)


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
