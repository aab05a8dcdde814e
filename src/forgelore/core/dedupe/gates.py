"""Gates: the named rules that may object to a verdict. One ordered tuple for every policy.

    batch    `dedupe judge`: an accepted decision is an edge, from which clusters and closings come
    online   `dedupe detect-new`: one new item; what fails here is at most a maybe
    audit    `dedupe audit`: as batch, with the states that the snapshot has
    triage   the bot's comment: no verdict is needed, thresholds read similarity, and a model may only take away

The first gate that objects gives the reason; a gate can object and do nothing else, so another gate never turns a
rejection into an acceptance. A policy says which gates it asks, and with which numbers.
"""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from forgelore.core.compare.sameness import Sameness
from forgelore.core.dedupe.reasons import ReasonCode
from forgelore.core.dedupe.verdict import InvalidVerdict, Verdict

PolicyName = Literal["batch", "online", "audit", "triage"]
ItemType = Literal["bug", "feature", "unknown"]

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
    group: int = 0  # the candidates with the same text as each other have the same number, which is not 0


class GateCase(NamedTuple):
    """Everything that gates look at: the source, what it could repeat, and what the judge said of it."""

    options: tuple[Option, ...]
    verdict: Verdict | InvalidVerdict | None  # None: no judge was asked
    is_vague: bool = False
    item_type: ItemType = "unknown"
    facts_found: int = 0  # of the judge's, in both texts
    is_refused: bool = False  # a person has said of the source and the target that they are not duplicates

    @property
    def target(self) -> Option | None:
        """The candidate that the judge names; without a judge the first."""
        if self.verdict is None:
            return self.options[0] if self.options else None
        if isinstance(self.verdict, InvalidVerdict) or self.verdict.target is None:
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
    ("score gap", _stands_out),
)
