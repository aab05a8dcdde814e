"""Review rules: in which order pairs are shown to people, which are left out, and how many duplicates to expect.

order     strength tells duplicates from strangers, and hardly tells same from related at the top of the list; the
          cosine of the texts does. Each is measured in standard deviations of the project's own candidates, and the
          two are added.
joined    a pair that people have put together is left out: one names the other, a duplicate mark says it, both are
          marked as repeats of a third one, one change closes both.
forecast  the chance that is shipped with the program speaks of what people marked on trackers in general, a quarter of
          what a reader calls the same. So its level is raised from the beginning, and after every 20 answers moved by
          one number, fitted on the answers; the order stays as it is. Measured on two trackers: refitting
          the order from 20 to 60 answers gained nothing.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from forgelore.compare.calibration import sigmoid
from forgelore.errors import InvalidValue
from forgelore.records import CandidatePair

ReviewAnswer = Literal["same", "related", "twin", "not", "unsure"]
ANSWERS: tuple[ReviewAnswer, ...] = ("same", "related", "twin", "not", "unsure")
REFIT_EVERY = 20  # answers
NEXT = 20  # pairs that a forecast looks ahead
WORTH = 0.05  # the least chance of a pair that is worth a look; one in twenty
# The shift of log-odds before any answer, and its standard deviation between trackers. Of 47 pairs that a reader called
# the same, 12 were marked (bench/results/review.md). Unshifted, the first 20 held 9 more than foretold on one tracker.
_LEVEL, _PRIOR = 1.0, 1.5
_ROUNDS = 50


def order_pairs(pairs: Sequence[CandidatePair]) -> list[CandidatePair]:
    """Return pairs best first, each pair once: of two numbers for one pair, the stronger counts."""
    best: dict[frozenset[int], CandidatePair] = {}
    for one in pairs:
        known = best.get(one.key)
        if known is None or one.strength > known.strength:
            best[one.key] = one
    found = list(best.values())
    strengths = _deviations([one.strength for one in found])
    cosines = _deviations([one.cosine for one in found])
    ordered = [one._replace(order=first + second) for one, first, second in zip(found, strengths, cosines, strict=True)]
    return sorted(ordered, key=lambda one: (-one.order, -one.item_id, one.target_id))


def _deviations(values: Sequence[float | None]) -> list[float]:
    """Return how many standard deviations each value is from the mean; 0 for what is unknown."""
    known = [value for value in values if value is not None]
    if not known:
        return [0.0] * len(values)
    mean = sum(known) / len(known)
    spread = math.sqrt(sum((value - mean) ** 2 for value in known) / len(known)) or 1.0
    return [0.0 if value is None else (value - mean) / spread for value in values]


class Joined:
    """Which pairs people have put together already.

    `mentions` are (item, other, is a duplicate mark); `closed_by` are (change, item).
    """

    def __init__(self, mentions: Iterable[tuple[int, int, bool]], closed_by: Iterable[tuple[int, int]]) -> None:
        self._near: defaultdict[int, set[int]] = defaultdict(set)
        self._marked: defaultdict[int, set[int]] = defaultdict(set)
        self._changes: defaultdict[int, set[int]] = defaultdict(set)
        for item, other, is_mark in mentions:
            self._near[item].add(other)
            self._near[other].add(item)
            if is_mark:
                self._marked[item].add(other)
                self._marked[other].add(item)
        for change, item in closed_by:
            self._changes[item].add(change)

    def has(self, one: int, other: int) -> bool:
        if other in self._near.get(one, ()) or self._changes.get(one, set()) & self._changes.get(other, set()):
            return True
        # The repeats of a report stand for it: who names one of them has seen the others there.
        mine, theirs = {one} | self._marked.get(one, set()), {other} | self._marked.get(other, set())
        return bool(mine & theirs) or any(self._near.get(each, set()) & theirs for each in mine)


def settle(answers: Mapping[str, str]) -> tuple[ReviewAnswer | Literal[""], bool]:
    """Return what people say together of a pair, who -> what they answered, and whether they disagree: somebody who
    says same, and somebody who says anything else but unsure, do. "": nobody is sure, or they disagree.

    {"ana": "same", "ben": "unsure"} -> same; {"ana": "same", "ben": "related"} -> disputed
    """
    sure = {answer for answer in answers.values() if answer != "unsure"}
    if "same" in sure and len(sure) > 1:
        return "", True
    last = next((answer for answer in reversed(list(answers.values())) if answer != "unsure"), "")
    return last or ("unsure" if answers else ""), False  # type: ignore[return-value]


class Forecast(NamedTuple):
    """What a reviewer may expect. `duplicates` of the `pairs` that are in the queue, and of the `next` ones; numbers of
    pairs, not rounded. `worth_a_look`: how many of the queue are. `may_stop`: little is left to be found.
    """

    pairs: int
    duplicates: float
    next: int
    next_duplicates: float
    worth_a_look: int
    may_stop: bool


def forecast(chances: Sequence[float], answered: Sequence[tuple[float, bool]], *, shown: int) -> Forecast:
    """Return how many duplicates to expect among pairs with these shipped chances, best first; the first `shown` are
    asked about. `answered`: the chance that each answered pair had, and whether it was the same, oldest first.
    """
    fitted = answered[: len(answered) - len(answered) % REFIT_EVERY]
    level = fit_level(fitted)
    moved = [sigmoid(_logit(chance) + level) for chance in chances]
    ahead = moved[:NEXT]
    is_poor = len(fitted) >= REFIT_EVERY and sum(ahead) < len(ahead) * WORTH + 0.5
    worth = sum(chance >= WORTH for chance in moved)
    return Forecast(
        min(shown, len(moved)), sum(moved[:shown]), len(ahead), sum(ahead), max(worth, min(NEXT, len(moved))), is_poor
    )


def fit_level(answered: Sequence[tuple[float, bool]]) -> float:
    """Return what is added to the log-odds of every chance so that the answers fit best.

    A prior holds it: five answers move it a little, sixty are believed.
    """
    odds = [_logit(chance) for chance, _ in answered]
    right = sum(is_same for _, is_same in answered)
    shift = _LEVEL
    for _ in range(_ROUNDS):
        expected = [sigmoid(one + shift) for one in odds]
        slope = right - sum(expected) - (shift - _LEVEL) / _PRIOR**2
        step = slope / (sum(one * (1 - one) for one in expected) + 1 / _PRIOR**2)
        shift += max(-1.0, min(1.0, step))
        if abs(step) < 1e-9:
            break
    return shift


def _logit(chance: float) -> float:
    held = min(max(chance, 1e-6), 1 - 1e-6)
    return math.log(held / (1 - held))


def parse_answer(text: str) -> ReviewAnswer:
    """Return the answer for a word or its first letter. Raises InvalidValue."""
    word = text.strip().lower()
    for answer in ANSWERS:
        if word and answer.startswith(word) and (word == answer or len(word) == 1):
            return answer
    raise InvalidValue(f"unknown answer: {text}", hint=f"use {', '.join(ANSWERS)}")
