"""Second opinion of a judge on a warning: what the reader of split mode asks before it writes its judgement.

A judge may take the warning away and do nothing else. It is asked where there is one, about open items alone, by the
rules of `dedupe detect-new`; what says nothing (no answer, prose, a number that was not offered) leaves it as it is.
Nobody who holds a token that writes asks: a model reads strangers' words.
"""

from forgelore.core.dedupe.question import AnyJudge
from forgelore.core.dedupe.reasons import ReasonCode
from forgelore.flows.dedupe.detect_new import SAID_NOTHING, Detection, detect_new
from forgelore.flows.triage.item import TriageContext, TriageResult, without_warning


def ask_judge(context: TriageContext, found: TriageResult, judge: AnyJudge) -> TriageResult:
    """Return what was found, without its warning where the judge does not agree."""
    number = found.first_number
    if found.outcome != "duplicate" or number is None:
        return found
    detected = detect_new(context.retriever, found.item_id, judge, now_ms=context.now_ms)
    found = found._replace(warnings=(*found.warnings, *detected.warnings))
    return found if _leaves_it(detected, number) else without_warning(found)


def _leaves_it(detected: Detection, number: int) -> bool:
    offered = {one.number for one in detected.candidates if one.is_offered}
    if number not in offered or (detected.reason and ReasonCode(detected.reason) in SAID_NOTHING):
        return True  # nobody has said anything of that item
    return detected.outcome != "not_duplicate" and detected.target == number
