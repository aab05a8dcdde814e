"""From evidence to the three numbers that people see: strength, similarity, chance.

strength     the sum of the leaves that the evidence of a pair reaches (compare/trees); orders candidates
similarity   a position: the share of the project's items whose best earlier match was weaker. 0.92 is nearer than
             92 of 100 items are to anything before them, so a threshold bounds the noise with any model. A match
             that was closed is compared with matches that were closed, an open one with open ones
chance       the probability that the best match is a duplicate, with the number of known pairs it rests on

Facts that moved a match: its strength taken apart into what people know.

Every node of a tree knows the mean of the candidates that came through it (compare/trees). A candidate's way from
the root to a leaf moves that mean from node to node, and each step is owed to the number that the node asks for. Added
up over all trees:

    strength = what is usual + the sum of what each fact moved (shared files, a rule beside the trees, included)

which holds exactly, up to the rounding of sums. It says what the trees looked at, not why two items are the same.
"""

import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple

from forgelore.compare.evidence import path_bonus
from forgelore.compare.trees import Trees, read_shipped
from forgelore.records import BestMatch

CurveSource = Literal["shipped", "project"]

SAME = 0.99  # the minimum similarity of items with nearly the same text
MIN = 100  # strengths that make a distribution of their own
MIN_OF_STATE = 50  # ... of open or of closed matches alone


class Chance(NamedTuple):
    """The chance that a match is a duplicate, and how many known pairs it was fitted on."""

    value: float
    pairs: int
    source: CurveSource

    @staticmethod
    def json_digits() -> int:
        return 4


class Curve(NamedTuple):
    """How chance follows strength: 1 / (1 + exp(-(slope * strength + intercept))), and at most what was ever seen."""

    slope: float
    intercept: float
    pairs: int
    source: CurveSource = "shipped"
    most: float = 1.0
    calibration_error: float | None = None  # on cases that took no part in fitting; None: not measured here

    @staticmethod
    def json_digits() -> int:
        return 4

    def chance(self, strength: float) -> Chance:
        return Chance(min(self.most, sigmoid(self.slope * strength + self.intercept)), self.pairs, self.source)


class Distribution(NamedTuple):
    """The best strengths of a sample of items, ascending."""

    strengths: tuple[float, ...]
    source: CurveSource = "shipped"

    @classmethod
    def of(cls, strengths: Sequence[float], source: CurveSource = "project") -> "Distribution":
        return cls(tuple(sorted(strengths)), source)

    def position(self, strength: float) -> float:
        """Return the share of the sample that is weaker, between its steps in proportion; never quite 0 or 1.

        Beyond the strongest it goes on towards 1, so that of two such pairs the stronger one still shows.
        """
        values = self.strengths
        size = len(values)
        if not size:
            return 0.0
        low, high = bisect_left(values, strength), bisect_right(values, strength)
        if low == size:
            return 1 - math.exp(values[-1] - strength) / (size + 1)
        if high == 0:
            return math.exp(strength - values[0]) / (size + 1)
        if low < high:
            return (low + high + 1) / 2 / (size + 1)
        below, above = values[low - 1], values[low]
        return (low + (strength - below) / (above - below)) / (size + 1)


class Distributions(NamedTuple):
    """The distribution of all best strengths, of those of open matches and of those of closed ones.

    Most originals are open, so trees rank what was closed lower, and order better for it. Being closed makes two texts
    no less alike, though: among all matches, a near copy of what was fixed last week ranked too low to be reported.
    Compared within each state it does not, and the same share of each is reported.
    """

    every: Distribution
    of_open: Distribution | None = None  # None: too few of them
    of_closed: Distribution | None = None

    @classmethod
    def of(cls, best: Iterable[BestMatch], source: CurveSource = "project") -> "Distributions":
        known = list(best)
        parts = [[one.strength for one in known if one.is_open is state] for state in (True, False)]
        of_states = [Distribution.of(part, source) if len(part) >= MIN_OF_STATE else None for part in parts]
        return cls(Distribution.of([one.strength for one in known], source), *of_states)

    @property
    def source(self) -> CurveSource:
        return self.every.source

    def position(self, best: BestMatch) -> float:
        of_state = None if best.is_open is None else self.of_open if best.is_open else self.of_closed
        return (of_state or self.every).position(best.strength)


@cache
def load_shipped(family: str) -> tuple[Distributions, Curve]:
    """Return what comes with the program for a family of trees: the strengths that are usual, and the chance."""
    known = json.loads(read_shipped("strengths"))[family]
    parts = (Distribution(tuple(strengths)) for strengths in known["strengths"])
    return Distributions(*parts), Curve(**known["curve"])


def sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


class Case(NamedTuple):
    """One item and its best match. `weight`: how many items of the project it stands for."""

    strength: float
    is_right: bool
    weight: float = 1.0
    similarity: float = 0.0  # no part of a fit


PRIOR = 1.0  # how firmly the shipped slope is held; 0 to 30 gave the same on three trackers, none where pairs are few
_ROUNDS = 50
_HALVINGS = 30
_ENOUGH = 1e-10  # of a gain
_TINY = 1e-9
_MIN_SLOPE = 0.05  # stronger is never less likely
_TAIL = 20  # of the strongest cases that measure anything


def fit_curve(cases: Sequence[Case], start: Curve, *, prior: float = PRIOR) -> Curve:
    """Return the curve that fits the cases best, its slope drawn towards that of `start`: few pairs say where a
    project's duplicates begin long before they say how steeply. Newton's method; the same cases give the same curve.
    """
    place = (start.slope, start.intercept)
    loss = _penalised(cases, place, start.slope, prior)
    for _ in range(_ROUNDS):
        step = _newton_step(cases, place, start.slope, prior)
        # Half of a step that went too far, until it leads down: far from the solution Newton overshoots.
        for halving in range(_HALVINGS):
            there = (place[0] - step[0] / 2**halving, place[1] - step[1] / 2**halving)
            lower = _penalised(cases, there, start.slope, prior)
            if lower < loss:
                break
        else:
            break
        place, gain, loss = there, loss - lower, lower
        if gain < _ENOUGH:
            break
    pairs = sum(case.is_right for case in cases)
    return Curve(max(place[0], _MIN_SLOPE), place[1], pairs, "project", _highest(cases))


def _penalised(cases: Sequence[Case], place: tuple[float, float], usual_slope: float, prior: float) -> float:
    slope, intercept = place
    loss = prior / 2 * (slope - usual_slope) ** 2
    for strength, is_right, weight, _ in cases:
        logit = slope * strength + intercept
        towards = -logit if is_right else logit
        loss += weight * (towards + math.log1p(math.exp(-towards)) if towards > 0 else math.log1p(math.exp(towards)))
    return loss


def _newton_step(
    cases: Sequence[Case], place: tuple[float, float], usual_slope: float, prior: float
) -> tuple[float, float]:
    slope, intercept = place
    down_slope, down_intercept = prior * (slope - usual_slope), 0.0
    a, b, c = prior + _TINY, 0.0, _TINY  # the curvature: [[a, b], [b, c]]
    for strength, is_right, weight, _ in cases:
        chance = sigmoid(slope * strength + intercept)
        error, curvature = weight * (chance - is_right), weight * chance * (1 - chance)
        down_slope += error * strength
        down_intercept += error
        a += curvature * strength * strength
        b += curvature * strength
        c += curvature
    determinant = a * c - b * b
    if determinant <= 0:
        return down_slope, down_intercept
    return (c * down_slope - b * down_intercept) / determinant, (a * down_intercept - b * down_slope) / determinant


def _highest(cases: Sequence[Case]) -> float:
    """Return the best share of right matches among the strongest: beyond it a curve only guesses."""
    ordered = sorted(cases, key=lambda case: -case.strength)
    right = total = best = 0.0
    for at, case in enumerate(ordered, 1):
        right += case.is_right * case.weight
        total += case.weight
        is_last_of_equals = at == len(ordered) or ordered[at].strength < case.strength
        if at >= min(_TAIL, len(ordered)) and is_last_of_equals:
            best = max(best, right / total)
    return best


def log_loss(cases: Sequence[Case], curve: Curve) -> float:
    """Return how wrong the chances are, on average: 0 would be certainty that is always right."""
    total = sum(case.weight for case in cases)
    loss = 0.0
    for strength, is_right, weight, _ in cases:
        chance = min(max(curve.chance(strength).value, 1e-6), 1 - 1e-6)
        loss -= weight * math.log(chance if is_right else 1 - chance)
    return loss / total if total else 0.0


def calibration_error(cases: Sequence[tuple[float, bool, float]], *, bins: int = 10) -> float:
    """Return the mean distance between the chance that was stated and how often it was right, over bins of equal size.

    Each entry is (chance, is right, weight).
    """
    ordered = sorted(cases)
    total = sum(weight for _, _, weight in ordered)
    error = 0.0
    for group in reliability(ordered, bins=bins):
        error += group.weight / total * abs(group.stated - group.right)
    return error


class Bin(NamedTuple):
    stated: float
    right: float
    weight: float
    n: int


def reliability(cases: Sequence[tuple[float, bool, float]], *, bins: int = 10) -> list[Bin]:
    """Return the chance that was stated and how often it was right, in bins of equal weight, ascending."""
    ordered = sorted(cases)
    total = sum(weight for _, _, weight in ordered)
    groups: list[list[tuple[float, bool, float]]] = [[] for _ in range(bins)]
    passed = 0.0
    for entry in ordered:
        groups[min(bins - 1, int(bins * passed / total))].append(entry)
        passed += entry[2]
    return [_bin(group) for group in groups if group]


def _bin(group: list[tuple[float, bool, float]]) -> Bin:
    weight = sum(each[2] for each in group)
    stated = sum(chance * its for chance, _, its in group) / weight
    right = sum(is_right * its for _, is_right, its in group) / weight
    return Bin(stated, right, weight, len(group))


_GROUPS = {
    "meaning": ("cosine", "cosine_z", "cosine_2", "cosine_2_z"),
    "words": ("words_z", "cover", "info", "jaccard"),
    "title": ("title", "title_in", "in_title", "known_title"),
    "marks": ("error", "frame", "identifier", "path", "version"),
    "time": ("recency",),
    "length": ("length",),
    "references": ("refs",),
    "state": ("open", "closed_for"),
    "conversation": ("marked", "comments", "people", "quiet", "mentions", "duplicates", "took_part"),
    "author": ("same_author",),
    "files": ("shared_paths",),
}
_GROUP_OF = {name: group for group, names in _GROUPS.items() for name in names}
_WORDS = {  # for a match, and against it
    "meaning": ("what the texts mean", "texts that mean other things"),
    "words": ("words that both use", "few words that both use"),
    "title": ("the words of the titles", "titles that differ"),
    "marks": ("error lines, names, paths or versions in both", "few error lines, names, paths or versions in both"),
    "time": ("little time between them", "much time between them"),
    "length": ("how long the texts are", "how long the texts are"),
    "references": ("what both refer to", "nothing that both refer to"),
    "conversation": ("what was said below it", "what was said below it"),
    "files": ("files that both change", "no files that both change"),
}
_STATES = {1.0: "it was open", 0.0: "it was closed"}
_AUTHORS = {1.0: "the same author", 0.0: "another author"}
_MIN = 0.1  # of a strength: what moved it less is not worth a word
_MAX = 3  # facts that speak for a match, or against it


class Fact(NamedTuple):
    """What moved a strength, and by how much. `says`: in words."""

    name: str
    says: str
    moved: float

    @staticmethod
    def json_digits() -> int:
        return 4


class Explanation(NamedTuple):
    """The facts of a match, those that moved most first. `usual` is the mean of the candidates of other trackers."""

    usual: float
    facts: tuple[Fact, ...]

    @staticmethod
    def json_digits() -> int:
        return 4

    @staticmethod
    def json_key(name: str) -> str:
        return "each" if name == "facts" else name

    @property
    def speaking_for(self) -> tuple[str, ...]:
        return tuple(fact.says for fact in self.facts if fact.moved >= _MIN)[:_MAX]

    @property
    def speaking_against(self) -> tuple[str, ...]:
        known = (fact for fact in self.facts if not fact.says.endswith("unknown"))  # which says nothing against it
        return tuple(fact.says for fact in known if fact.moved <= -_MIN)[:_MAX]


def find_facts(trees: Trees, pairs: Sequence[Mapping[str, float]]) -> list[Explanation]:
    """Return what moved the strength of each pair."""
    found = []
    for features, steps in zip(pairs, trees.explain(pairs), strict=True):
        bonus = path_bonus(features)
        moved = {**steps, "shared_paths": bonus} if bonus else steps
        found.append(Explanation(trees.usual, _group(features, moved)))
    return found


def _group(features: Mapping[str, float], steps: Mapping[str, float]) -> tuple[Fact, ...]:
    groups: dict[str, float] = {}
    for name, step in steps.items():
        group = _GROUP_OF.get(name, name)
        groups[group] = groups.get(group, 0.0) + step
    facts = [Fact(group, _describe(group, features, step), step) for group, step in groups.items()]
    return tuple(sorted(facts, key=lambda fact: -abs(fact.moved)))


def _describe(group: str, features: Mapping[str, float], step: float) -> str:
    if group == "state":
        return _STATES.get(features.get("open", -1.0), "its state is unknown")
    if group == "author":
        return _AUTHORS.get(features.get("same_author", -1.0), "an author is unknown")
    return _WORDS[group][step < 0] if group in _WORDS else group
