"""Gates: the named rules that may object to a verdict, the policies that ask them, and the builtin judge of rules.

    batch    `dedupe judge`: an accepted decision is an edge, from which clusters and closings come
    online   `dedupe detect-new`: one new item; what fails here is at most a maybe
    audit    `dedupe audit`: as batch, with the states that the snapshot has
    triage   the bot's comment: no verdict is needed, thresholds read similarity, and a model may only take away

The first gate that objects gives the reason; a gate can object and do nothing else, so another gate never turns a
rejection into an acceptance. A gate policy says which gates it asks, with which numbers and which words of a judge
object.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from forgelore.compare.differences import compare_titles
from forgelore.compare.evidence import are_siblings
from forgelore.compare.sameness import Sameness
from forgelore.compare.scoring import wilson
from forgelore.dedupe.reasons import ReasonCode
from forgelore.dedupe.verdict import ItemType, JudgeAnswer, JudgedCandidate, Question, Verdict
from forgelore.records import JudgedItem

PolicyName = Literal["batch", "online", "audit", "triage"]

MIN_EDGE = 0.85
MIN_FACTS = 2


class Option(NamedTuple):
    """A candidate as gates see it."""

    number: int
    strength: float
    similarity: float
    sameness: Sameness = "similar"
    is_open: bool = True
    is_duplicate: bool = False  # marked as one of something else
    item_type: ItemType = "unknown"
    is_newer_by_another: bool = False  # filed after the source, by somebody else
    group: int = 0  # the candidates with the same text as each other have the same number, which is not 0


class GateCase(NamedTuple):
    """Everything that gates look at: the source, what it could repeat, and what the judge said of it."""

    options: tuple[Option, ...]
    verdict: Verdict | str | None  # a text: what is wrong with the answer; None: no judge was asked
    is_vague: bool = False
    item_type: ItemType = "unknown"
    facts_found: int = 0  # of the judge's, in both texts
    is_refused: bool = False  # a person has said of the source and the target that they are not duplicates

    @property
    def target(self) -> Option | None:
        """The candidate that the judge names; without a judge the first."""
        if self.verdict is None:
            return self.options[0] if self.options else None
        if isinstance(self.verdict, str) or self.verdict.target is None:
            return None
        return next((one for one in self.options if one.number == self.verdict.target), None)


class Policy(NamedTuple):
    """Which gates are asked, and the numbers they read."""

    name: PolicyName
    gates: frozenset[str]
    min_confidence: float = MIN_EDGE
    min_gap: float = 0.0  # of strength
    min_similarity: float = 0.0
    vetoes: frozenset[tuple[str, str]] = frozenset()  # (field of the verdict, value) that objects


def object_to(case: GateCase, policy: Policy) -> ReasonCode | None:
    """Return why a case is not accepted under a policy; None: nothing objects."""
    for name, gate in GATES:
        if name in policy.gates and (reason := gate(case, policy)):
            return reason
    return None


def _is_vague(case: GateCase, _: Policy) -> ReasonCode | None:
    return ReasonCode.SOURCE_TOO_VAGUE if case.is_vague else None


def _has_candidates(case: GateCase, _: Policy) -> ReasonCode | None:
    return None if case.options else ReasonCode.NO_CANDIDATES


def _is_valid(case: GateCase, _: Policy) -> ReasonCode | None:
    return None if isinstance(case.verdict, Verdict) else ReasonCode.INVALID_VERDICT


def _says_duplicate(case: GateCase, _: Policy) -> ReasonCode | None:
    return ReasonCode.NOT_DUPLICATE if isinstance(case.verdict, Verdict) and not case.verdict.is_duplicate else None


def _is_candidate(case: GateCase, _: Policy) -> ReasonCode | None:
    return None if case.target else ReasonCode.TARGET_NOT_CANDIDATE


def _is_not_refused(case: GateCase, _: Policy) -> ReasonCode | None:
    return ReasonCode.SAID_OTHERWISE if case.is_refused else None


def _has_facts(case: GateCase, _: Policy) -> ReasonCode | None:
    return None if case.facts_found >= MIN_FACTS else ReasonCode.FACTS_NOT_FOUND


_FIELDS = {
    "relation": ReasonCode.RELATION_DIFFERS,
    "root_cause": ReasonCode.ROOT_CAUSE_DIFFERS,
    "scope": ReasonCode.SCOPE_DIFFERS,
    "path": ReasonCode.PATH_DIFFERS,
    "certainty": ReasonCode.NOT_SURE,
}


def _is_the_same(case: GateCase, policy: Policy) -> ReasonCode | None:
    if not isinstance(case.verdict, Verdict):
        return None
    said = case.verdict
    values = ((name, getattr(said, name)) for name in _FIELDS)
    return next((_FIELDS[name] for name, value in values if (name, value) in policy.vetoes), None)


def _is_of_one_type(case: GateCase, _: Policy) -> ReasonCode | None:
    types = {case.item_type, case.target.item_type if case.target else "unknown"}
    return ReasonCode.BUG_FEATURE_MISMATCH if types == {"bug", "feature"} else None


def _is_open(case: GateCase, _: Policy) -> ReasonCode | None:
    return ReasonCode.TARGET_NOT_OPEN if case.target and not case.target.is_open else None


def _is_original(case: GateCase, _: Policy) -> ReasonCode | None:
    return ReasonCode.TARGET_IS_DUPLICATE if case.target and case.target.is_duplicate else None


def _is_confident(case: GateCase, policy: Policy) -> ReasonCode | None:
    is_low = isinstance(case.verdict, Verdict) and case.verdict.confidence < policy.min_confidence
    return ReasonCode.LOW_CONFIDENCE if is_low else None


def _has_support(case: GateCase, policy: Policy) -> ReasonCode | None:
    is_low = case.target is None or case.target.similarity < policy.min_similarity
    return ReasonCode.LOW_SUPPORT if is_low else None


def _is_filed_first(case: GateCase, _: Policy) -> ReasonCode | None:
    """Quotes in both texts prove nothing where somebody copied one text from the other and filed it later."""
    return ReasonCode.TARGET_IS_NEWER if case.target and case.target.is_newer_by_another else None


def _stands_out(case: GateCase, policy: Policy) -> ReasonCode | None:
    """The target must be stronger than every other candidate by the gap, but for those with its own text."""
    lead = lead_of(case.target, case.options) if case.target else None
    return ReasonCode.GAP_TOO_SMALL if lead is not None and lead < policy.min_gap else None


def lead_of(target: Option, options: Iterable[Option]) -> float | None:
    """Return how much stronger a candidate is than the best of the others; None where it need not stand out: a copy of
    the source itself, since that other texts resemble it too takes nothing from that, and what has no others beside
    copies of it.
    """
    others = [
        one.strength
        for one in options
        if one.number != target.number and not (target.group and one.group == target.group)
    ]
    return target.strength - max(others) if others and target.sameness == "similar" else None


Gate = Callable[[GateCase, Policy], ReasonCode | None]
GATES: tuple[tuple[str, Gate], ...] = (
    ("vague source", _is_vague),
    ("candidates", _has_candidates),
    ("valid shape", _is_valid),
    ("says duplicate", _says_duplicate),
    ("target among the candidates", _is_candidate),
    ("nobody said otherwise", _is_not_refused),
    ("facts in both texts", _has_facts),
    ("structure", _is_the_same),
    ("bug against feature", _is_of_one_type),
    ("target is open", _is_open),
    ("target is no duplicate", _is_original),
    ("confidence", _is_confident),
    ("support", _has_support),
    ("target filed first", _is_filed_first),
    ("score gap", _stands_out),
)


MIN_SCORE = 0.75  # of similarity, for a candidate
BATCH_K, ONLINE_K = 4, 8
SHOWN_CLOSED = 4  # closed items that are kept beside the candidates
MIN_CLOSE = 0.90  # of confidence
MAYBE, DUPLICATE = 0.85, 0.92  # of confidence, online
SUPPORT = 0.90  # of similarity, online
MIN_GAP = 0.26  # of strength: it vetoes as many lists as 0.015 of cosine (bench/results/dedupe.md)

_EVERY_GATE = frozenset(name for name, _ in GATES)
# A source that asks for less than its target (`source_subset`) loses nothing when it is closed onto it; one that asks
# for more (`source_superset`) does. Online, a person sees the result at once and nobody reviews it: there
# `source_subset` objects too.
_VETOES = frozenset(
    {
        ("relation", "related_followup"),
        ("relation", "partial_overlap"),
        ("relation", "different"),
        ("root_cause", "adjacent"),
        ("root_cause", "different"),
        ("scope", "source_superset"),
        ("scope", "partial_overlap"),
        ("scope", "different_scope"),
        ("path", "different"),
        ("certainty", "unsure"),
    }
)

_OF_MODELS = frozenset({"support", "target filed first"})
BATCH = Policy("batch", _EVERY_GATE - _OF_MODELS, MIN_EDGE, MIN_GAP, 0.0, _VETOES)
AUDIT = BATCH._replace(name="audit")
ONLINE = Policy(
    "online", _EVERY_GATE - {"target filed first"}, DUPLICATE, MIN_GAP, SUPPORT, _VETOES | {("scope", "source_subset")}
)


def for_judge(policy: Policy, judge: str) -> Policy:
    """Return the policy for a judge: what a language model says needs the support of our own measure everywhere, and
    may name no newer item of another author. A text that gives a model orders can make it say anything.
    """
    if judge == "builtin":
        return policy
    support = policy.min_similarity if "support" in policy.gates else SUPPORT
    return policy._replace(gates=policy.gates | _OF_MODELS, min_similarity=support)


# The bot says "similar", shows why and closes nothing: only similarity limits what it reports.
TRIAGE = Policy("triage", frozenset({"vague source", "candidates", "nobody said otherwise", "support"}))


VERSION = 2  # grows with every change of rules: what an earlier version rejected is judged again
RuleName = Literal["a person said", "same text", "nearly same text", "same failure"]
# Of the evidence of the same failure. Two error lines, or more: one that is as rare as can be weighs 0.69.
MIN_SHARED: Mapping[str, float] = MappingProxyType({"rare_error": 0.6, "error": 0.7, "title": 0.4})
MIN_BODY = 8  # different words of a body that is nearly the same: shorter ones are habits ("Fix typos")
_FACTS = 6
_FACT_CHARS = 500


class Rule(NamedTuple):
    """A reason to call a candidate the original, and how often that was right on all trackers that were counted."""

    name: RuleName
    holds: Callable[[JudgedItem, JudgedCandidate], bool]  # of the source and a candidate
    right: int
    sample: int

    @property
    def confidence(self) -> float:
        """The lower bound of what was counted (Wilson, 95 %): eight lucky pairs are not certainty."""
        return round(wilson(self.right / self.sample, self.sample).low, 3)


def _is_said(_: JudgedItem, one: JudgedCandidate) -> bool:
    return one.is_said


def _is_same(_: JudgedItem, one: JudgedCandidate) -> bool:
    return one.sameness == "same_text"


def _is_nearly_same(source: JudgedItem, one: JudgedCandidate) -> bool:
    """Tell whether the texts are nearly the same, titles word for word, and neither a series by one author."""
    if one.sameness != "nearly_same_text" or are_siblings(one.features):
        return False
    found = compare_titles(source.title, one.item.title)
    is_short = min(len(set(each.split())) for each in (source.body, one.item.body)) < MIN_BODY
    return not (found.only_first or found.only_second or is_short)


def is_same_failure(source: JudgedItem, one: JudgedCandidate, least: Mapping[str, float] = MIN_SHARED) -> bool:
    """Tell whether both report one failure: several error lines stand in both, a message that is rare in the project
    among them, and the titles share much of what is rare in them and do not name different things ("Remove
    sun.misc.Unsafe" is not "Remove sun.misc.Signal", whatever log both quote).
    """
    is_shared = all(one.features.get(name, 0.0) >= value for name, value in least.items())
    return is_shared and not compare_titles(source.title, one.item.title).vetoes


# How often each was right: counted on four trackers, labels and readings together (bench/results/dedupe.md). Only the
# first two reach `MIN_EDGE`: the others put pairs before a person and connect nothing by themselves.
RULES = (
    Rule("a person said", _is_said, 1_236, 1_245),  # right: the project closed it
    Rule("same text", _is_same, 90, 91),
    Rule("nearly same text", _is_nearly_same, 10, 39),
    Rule("same failure", is_same_failure, 51, 65),
)


class RuleJudge:
    """The builtin judge: rules with a measured precision, which is their confidence. They find few duplicates. What no
    rule fits is "not a duplicate", whatever its similarity: at a similarity of 0.99 one pair in three is one.

    Without `trusts_statements` what people said counts for nothing, as in measurements: there it is the label itself.
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
