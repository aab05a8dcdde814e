"""The rule of the same failure, fitted without the tracker it is measured on: one procedure, no eye on the outcome.

Of a grid of thresholds that one is taken which finds most right pairs on the other trackers while enough of what it
accepts there is right; what nobody has read counts as wrong. Of equals the strictest. Enough is told in two ways: at
least 90 %, or a confidence of at least 0.90 as the program counts it, with one right and one wrong pair added.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

GRID = {
    "rare_error": (0.4, 0.5, 0.6, 0.7, 0.8), "error": (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    "title": (0.35, 0.4, 0.45, 0.5, 0.6, 0.7),
}  # fmt: skip
MIN_PRECISION = 0.9


class HeldOut(NamedTuple):
    """What thresholds from elsewhere accept on a tracker."""

    tracker: str
    least: Mapping[str, float]
    pairs: list


def hold_out(
    trackers: Sequence[str], accept: Callable[[str, Mapping[str, float]], list], *, added: int
) -> list[HeldOut]:
    """Return each tracker with what the fit on the others accepts there. `accept(tracker, least)` gives pairs that
    have `is_right`: True, False, or None where nobody knows. `added`: right and wrong pairs that are added to each
    count, 0 or 1.
    """
    settings = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    counts = {name: [_count(accept(name, least)) for least in settings] for name in trackers}
    found = []
    for name in trackers:
        others = [counts[each] for each in trackers if each != name]
        summed = [tuple(map(sum, zip(*at, strict=True))) for at in zip(*others, strict=True)]
        good = [
            at
            for at, (right, accepted) in enumerate(summed)
            if accepted and right + added >= MIN_PRECISION * (accepted + 2 * added)
        ]
        if not good:  # too little to fit on: the strictest
            good = [len(settings) - 1]
        best = max(good, key=lambda at: (summed[at][0], -summed[at][1], sum(settings[at].values())))
        found.append(HeldOut(name, settings[best], accept(name, settings[best])))
    return found


def _count(pairs: list) -> tuple[int, int]:
    return sum(bool(one.is_right) for one in pairs), len(pairs)
