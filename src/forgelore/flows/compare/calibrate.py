"""`calibrate`: what the project's own duplicates say about the chance that a match is one.

    links "duplicate of" (notes, the forge's own fields, events) -> pairs: an item, and what it was said to repeat
    every such item, and a sample of others, ranked among earlier items -> strength of the first match, right or wrong
    -> the curve from strength to chance, and precision and recall at the thresholds that people set

Nothing that is fitted is measured on the items it was fitted on. Too little history keeps what came with the program.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from forgelore.clock import machine_ms
from forgelore.core.compare.calibration import (
    Best,
    Case,
    Curve,
    calibration_error,
    fit_curve,
    log_loss,
)  # fmt: skip
from forgelore.core.compare.shipped import VERSION
from forgelore.flows.compare.rank import Match
from forgelore.flows.compare.reference import load_distribution, scope_of, shipped_curve
from forgelore.flows.compare.sample import KINDS, build_sample, learn_boilerplate, rank_earlier
from forgelore.flows.progress import Watcher
from forgelore.flows.search.retriever import Retriever
from forgelore.store.calibrations import (
    LEARNED,
    CalibrationScope,
    StoredCalibration,
    forget_outdated,
    load_duplicates,
    load_strengths_of,
    save_calibration,
)  # fmt: skip
from forgelore.store.hits import load_subject
from forgelore.store.live_items import count_live
from forgelore.store.rehearsal import rehearsing

LEAST_PAIRS = 30
MOST_PAIRS = 500  # the newest; more would take minutes and say the same
SAMPLE = 500
THRESHOLDS = (0.75, 0.92, 0.99)
_FOLDS = 5


class AtThreshold(NamedTuple):
    """What a threshold on similarity would have done. Shares are of the project's own mix of items."""

    similarity: float
    precision: float | None  # of the items at or above it, how many had the right one first; None: there were none
    recall: float  # of the known duplicates, how many were at or above it with the right one first
    flagged: int  # of the ranked items


class Calibrated(NamedTuple):
    """What a project's known duplicates say about one kind of item."""

    kind: str
    pairs: int  # known duplicates whose original is older and stored
    others: int  # items without a known duplicate
    items: int  # of the kind, in the project
    found_first: int
    thresholds: tuple[AtThreshold, ...]
    curve: Curve  # what is used from now on
    error: float | None  # expected calibration error, on items that took no part in fitting
    kept: str = ""  # why the shipped curve stays; "": it does not


class _Ranked(NamedTuple):
    """A known duplicate as it was ranked."""

    strength: float
    similarity: float
    is_right: bool


def calibrate(
    retriever: Retriever, project_id: int, *, is_dry: bool = False, watcher: Watcher | None = None,
    should_stop: Callable[[], bool] = lambda: False, now_ms: Callable[[], int] = machine_ms,
) -> list[Calibrated]:  # fmt: skip
    """Return what was learned of each kind that has items, and store it. A dry run says the same and stores nothing.

    Raises KeyboardInterrupt when it is to stop: the sample is kept, and whatever was calibrated before stays.
    """
    rehearsal = rehearsing(retriever.store, LEARNED) if is_dry else contextlib.nullcontext()
    with rehearsal:
        return _calibrate(retriever, project_id, watcher or Watcher(), should_stop, now_ms)


def _calibrate(
    retriever: Retriever, project_id: int, watcher: Watcher, should_stop: Callable[[], bool], now_ms: Callable[[], int]
) -> list[Calibrated]:
    learn_boilerplate(retriever.store, project_id, is_forced=True, now_ms=now_ms)
    found: list[tuple[CalibrationScope, Calibrated]] = []
    for kind in KINDS:
        if not count_live(retriever.store, project_id, kind):
            continue
        build_sample(retriever, project_id, kind, size=SAMPLE, watcher=watcher, should_stop=should_stop)
        if should_stop():
            raise KeyboardInterrupt
        scope = scope_of(retriever, project_id, kind)
        found.append((scope, _calibrate_kind(retriever, scope, watcher, should_stop)))
    with retriever.store.transaction():
        for scope, one in found:
            if not one.kept:
                save_calibration(retriever.store, scope, _stored(one, now_ms()))
        forget_outdated(retriever.store, project_id, VERSION)
    return [one for _, one in found]


def _calibrate_kind(
    retriever: Retriever, scope: CalibrationScope, watcher: Watcher, should_stop: Callable[[], bool]
) -> Calibrated:
    store, kind = retriever.store, scope.kind
    known = load_duplicates(store, scope.project_id, kind, limit=MOST_PAIRS)
    items = count_live(store, scope.project_id, kind)
    ranked = _rank_known(retriever, known, watcher, kind, should_stop)
    others = load_strengths_of(store, scope, without=set(known))
    table = _Table(retriever, scope, ranked, others, items)
    shipped = shipped_curve(scope)
    kept = _why_keep(ranked)
    curve: Curve = shipped
    error: float | None = None
    if not kept:
        before, after = table.losses(shipped)
        if after < before:
            curve, error = table.fit(shipped)
        else:
            kept = "one that was fitted here was no better on items that took no part in it"
    found_first = sum(one.is_right for one in ranked)
    return Calibrated(kind, len(ranked), len(others), items, found_first, table.thresholds(), curve, error, kept)


def _why_keep(ranked: list[_Ranked]) -> str:
    if len(ranked) < LEAST_PAIRS:
        return f"{len(ranked)} known duplicates are too few; {LEAST_PAIRS} are needed"
    if sum(one.is_right for one in ranked) < LEAST_PAIRS // 3:
        return "too few of the known duplicates come first"
    return ""


def _rank_known(
    retriever: Retriever, known: dict[int, set[int]], watcher: Watcher, kind: str, should_stop: Callable[[], bool]
) -> list[_Ranked]:
    part = f"{kind} duplicates"
    watcher.begin(part, part, len(known))
    found = []
    for item_id, originals in known.items():
        if should_stop():
            raise KeyboardInterrupt
        first = next(iter(rank_earlier(retriever, load_subject(retriever.store, item_id)).matches), None)
        if first is not None:
            found.append(_Ranked(first.strength, first.similarity, _is_one_of(first, originals)))
        watcher.saved(part, 1)
    watcher.done(part)
    return found


def _is_one_of(match: Match, item_ids: set[int]) -> bool:
    return match.hit.row.item_id in item_ids


class _Table:
    """The ranked items of one kind, weighed so that they stand for all of it."""

    def __init__(
        self, retriever: Retriever, scope: CalibrationScope, ranked: list[_Ranked], others: list[Best], items: int
    ) -> None:
        distribution = load_distribution(retriever.store, scope)
        self._weight = max(items - len(ranked), len(others)) / max(len(others), 1)
        self._ranked = ranked
        self._others = [_Ranked(best.strength, distribution.position(best), False) for best in others]
        self._cases = [Case(one.strength, one.is_right) for one in ranked] + [
            Case(one.strength, False, self._weight) for one in self._others
        ]

    def fit(self, shipped: Curve) -> tuple[Curve, float]:
        """Return the curve of all cases, and how far it was off on cases that it had not seen."""
        cases = [
            (curve.chance(case.strength).value, case.is_right, case.weight)
            for curve, unseen in self._folds(shipped)
            for case in unseen
        ]
        return fit_curve(self._cases, shipped), calibration_error(cases)

    def losses(self, shipped: Curve) -> tuple[float, float]:
        """Return the loss of the shipped curve, and of curves fitted without the cases they are measured on."""
        total = sum(case.weight for case in self._cases)
        before = log_loss(self._cases, shipped)
        after = sum(
            log_loss(unseen, curve) * sum(case.weight for case in unseen) for curve, unseen in self._folds(shipped)
        )
        return before, after / total

    def _folds(self, shipped: Curve) -> Iterator[tuple[Curve, list[Case]]]:
        for fold in range(_FOLDS):
            seen = [case for at, case in enumerate(self._cases) if at % _FOLDS != fold]
            yield fit_curve(seen, shipped), self._cases[fold::_FOLDS]

    def thresholds(self) -> tuple[AtThreshold, ...]:
        return tuple(self._at(threshold) for threshold in THRESHOLDS)

    def _at(self, threshold: float) -> AtThreshold:
        above = [one for one in self._ranked if one.similarity >= threshold]
        noise = [one for one in self._others if one.similarity >= threshold]
        right = sum(one.is_right for one in above)
        flagged = len(above) + self._weight * len(noise)
        return AtThreshold(
            threshold, right / flagged if flagged else None, right / len(self._ranked) if self._ranked else 0.0,
            len(above) + len(noise),
        )  # fmt: skip


def _stored(found: Calibrated, now_ms: int) -> StoredCalibration:
    report = {
        "items": found.items, "found_first": found.found_first, "calibration_error": found.error,
        "thresholds": [threshold._asdict() for threshold in found.thresholds],
    }  # fmt: skip
    curve = found.curve
    return StoredCalibration(curve.slope, curve.intercept, curve.most, found.pairs, found.others, report, now_ms)
