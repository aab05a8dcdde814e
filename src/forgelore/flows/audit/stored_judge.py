"""Stored judge: what a judge said of an item once, said again. Nobody is asked, and the gates read it anew."""

from msgspec import DecodeError, ValidationError, json

from forgelore.core.dedupe.gates import MIN_FACTS
from forgelore.core.dedupe.question import JudgeAnswer, Question
from forgelore.core.dedupe.reasons import ReasonCode
from forgelore.core.dedupe.verdict import InvalidVerdict, Verdict
from forgelore.store.audits import JudgedSource


class StoredJudge:
    """Answers with the verdict of one kept decision."""

    def __init__(self, name: str, model: str, decision: JudgedSource) -> None:
        self.name, self.model, self._decision = name, model, decision

    def ask(self, _question: Question) -> JudgeAnswer:
        decision = self._decision
        if not decision.verdict:
            return JudgeAnswer(None, ReasonCode(decision.reason) if decision.reason else None)
        # The facts were looked up then: what came to the gates behind that one had them.
        facts = 0 if decision.reason == ReasonCode.FACTS_NOT_FOUND else MIN_FACTS
        return JudgeAnswer(_parse(decision.verdict), facts_found=facts)


def _parse(text: str) -> Verdict | InvalidVerdict:
    try:
        return json.decode(text, type=Verdict)
    except (ValidationError, DecodeError) as error:
        return InvalidVerdict(str(error))
