"""Rules: the builtin judge. Each has a measured precision, and its confidence is that precision.

    a person said      somebody with the right to write said "duplicate of #N", or the forge has it marked
    same text          title and text are equal (core/compare/sameness)
    nearly same text   ... but for a few words
    same failure       several error lines stand in both, a message that is rare in the project among them; the titles
                       share much of what is rare in them, and do not name different things ("Remove sun.misc.Unsafe"
                       is not "Remove sun.misc.Signal", whatever log both quote)

How often each was right was counted on trackers whose duplicates are known and, where nobody had said so, by reading
(bench/results/dedupe.md). One wrong and one right are added to each count, so that eight lucky ones are not certainty.
The rules find few duplicates. What no rule fits is "not a duplicate" to this judge, whatever its similarity: at a
similarity of 0.99 one pair in three is one.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from forgelore.core.compare.signatures import parse_signature
from forgelore.core.dedupe.question import JudgeAnswer, JudgedCandidate, JudgedItem, Question
from forgelore.core.dedupe.verdict import Verdict

VERSION = 1  # grows with every change of rules: what an earlier version rejected is judged again
RuleName = Literal["a person said", "same text", "nearly same text", "same failure"]
# Of the evidence of the same failure. Two error lines, or more: one that is as rare as can be weighs 0.69.
LEAST_SHARED: Mapping[str, float] = MappingProxyType({"rare_error": 0.6, "error": 0.7, "title": 0.4})
_NAMES = ("identifier", "path", "version")
_FACTS = 6
_FACT_CHARS = 500


class Rule(NamedTuple):
    """A reason to call a candidate the original, and how often that was right."""

    name: RuleName
    holds: Callable[[JudgedItem, JudgedCandidate], bool]  # of the source and a candidate
    right: int
    sample: int

    @property
    def confidence(self) -> float:
        return round((self.right + 1) / (self.sample + 2), 3)


def _is_said(_: JudgedItem, one: JudgedCandidate) -> bool:
    return one.is_said


def _is_same(_: JudgedItem, one: JudgedCandidate) -> bool:
    return one.sameness == "same_text"


def _is_nearly_same(_: JudgedItem, one: JudgedCandidate) -> bool:
    return one.sameness == "nearly_same_text"


def is_same_failure(source: JudgedItem, one: JudgedCandidate, least: Mapping[str, float] = LEAST_SHARED) -> bool:
    """Tell whether both report one failure: enough of its error lines, and titles that may be of one thing."""
    is_shared = all(one.features.get(name, 0.0) >= value for name, value in least.items())
    return is_shared and not _name_different_things(source.title, one.item.title)


def _name_different_things(title: str, other: str) -> bool:
    """Tell whether both titles name something (an identifier, a file, a version) and nothing of it is the same."""
    mine, theirs = (
        {mark.key for mark in parse_signature(each).marks if mark.what in _NAMES} for each in (title, other)
    )
    return bool(mine and theirs) and not mine & theirs


RULES = (
    Rule("a person said", _is_said, 1_236, 1_245),  # right: the project closed it
    Rule("same text", _is_same, 29, 30),
    Rule("nearly same text", _is_nearly_same, 5, 5),
    # 37 of 38 at the shipped thresholds, which were chosen with these pairs in view; this is the count before that. It
    # is enough for an edge and not for a closing.
    Rule("same failure", is_same_failure, 41, 45),
)


class RuleJudge:
    """The builtin judge. Without `trusts_statements` what people said counts for nothing, as in measurements: there it
    is the label itself.
    """

    def __init__(self, *, trusts_statements: bool = True) -> None:
        self._rules = RULES if trusts_statements else RULES[1:]
        self.name = "builtin"
        self.model = f"rules {VERSION}" + ("" if trusts_statements else " without statements")

    def ask(self, question: Question) -> JudgeAnswer:
        """Return the verdict of the surest rule that fits a candidate, of several candidates the first."""
        for rule in sorted(self._rules, key=lambda one: -one.confidence):
            for candidate in question.candidates:
                if rule.holds(question.source, candidate):
                    return _accuse(rule, candidate)
        return JudgeAnswer(_NOTHING, facts_found=0)


def _accuse(rule: Rule, candidate: JudgedCandidate) -> JudgeAnswer:
    counted = f"right in {rule.right} of {rule.sample} such pairs"
    marks = [mark[:_FACT_CHARS] for mark in candidate.marks if mark.strip()]
    facts = list(dict.fromkeys([*marks, candidate.item.title[:_FACT_CHARS]]))[:_FACTS]
    verdict = Verdict(
        is_duplicate=True, target=candidate.item.number, confidence=rule.confidence, relation="same_instance",
        root_cause="same", scope="same_scope", path="unknown", certainty="sure",
        reasoning=f"rule: {rule.name}; {counted}", facts=[fact for fact in facts if fact],
    )  # fmt: skip
    # What a rule names it has found in both texts: two marks, or all that there is.
    return JudgeAnswer(verdict, facts_found=max(2, len(facts)))


_NOTHING = Verdict(
    is_duplicate=False, target=None, confidence=0.0, relation="different", root_cause="different",
    scope="different_scope", path="unknown", certainty="unsure", reasoning="no rule fits", facts=[],
)  # fmt: skip
