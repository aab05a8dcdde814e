"""`calibrate`: what the project's own duplicates say about the chance that a match is one.

    links "duplicate of" (notes, the forge's own fields, events) -> pairs: an item, and what it was said to repeat
    every such item, and a sample of others, ranked among earlier items -> strength of the first match, right or wrong
    -> the curve from strength to chance, and precision and recall at the thresholds that people set

Nothing that is fitted is measured on the items it was fitted on. With too little history the shipped curve stays. The
sample is of the newest items, without looking at labels: the nearest neighbour of a new item grows nearer as a tracker
grows, so what was usual five years ago is not usual now.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from forgelore.compare.calibration import Case, Curve, calibration_error, fit_curve, log_loss
from forgelore.compare.rank import CompareRequest, Match, Ranking, rank_matches
from forgelore.compare.reference import STRENGTHS, load_distribution, scope_of, shipped_curve
from forgelore.compare.sameness import READ, learn
from forgelore.compare.trees import VERSION
from forgelore.errors import Stopped
from forgelore.ports.progress import Watcher
from forgelore.records import BestMatch
from forgelore.search.retriever import Retriever
from forgelore.store.calibration import (
    LEARNED,
    CalibrationScope,
    forget_outdated,
    list_learned,
    list_outdated,
    load_boilerplate_size,
    load_duplicates,
    load_sampled,
    load_strengths_of,
    save_boilerplate,
    save_calibration,
    save_strengths,
)
from forgelore.store.database import Store
from forgelore.store.filters import Filters
from forgelore.store.hits import Subject, load_subject
from forgelore.store.item_lists import count_live, each_author_and_text, list_newest
from forgelore.text.dates import machine_ms

KINDS = ("issue", "change")
_GROWTH = 0.2  # of a kind before its templates are learned again
_MIN_ITEMS = 50
_BATCH = 20


def learn_boilerplate(
    store: Store, project_id: int, *, is_forced: bool = False, now_ms: Callable[[], int] = machine_ms
) -> int:
    """Learn the lines that many items share, where items were added since; returns how many lines are known of those
    kinds. One pass: two seconds for 30,000 items.
    """
    known = 0
    for kind in KINDS:
        items = count_live(store, project_id, kind)
        if items < _MIN_ITEMS:
            continue
        if not is_forced and items <= (1 + _GROWTH) * load_boilerplate_size(store, project_id, kind):
            continue
        lines, total = learn(each_author_and_text(store, project_id, kind, max_chars=READ))
        with store.transaction():
            save_boilerplate(store, project_id, kind, lines=lines, items=total, now_ms=now_ms())
        known += len(lines)
    return known


def build_sample(
    retriever: Retriever, project_id: int, kind: str, *, size: int = 500, watcher: Watcher | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> int:  # fmt: skip
    """Rank the newest items that are not in the sample yet, until it has `size`; returns how many were added.

    Saved every few items, so that a run that ends early goes on where it was.
    """
    store = retriever.store
    todo = _unsampled(retriever, project_id, kind, size)
    watcher = watcher or Watcher()
    part = f"sample of {kind}s"
    watcher.begin(part, part, len(todo))
    added = 0
    for at in range(0, len(todo), _BATCH):
        if should_stop():
            break
        batch = [load_subject(store, item_id) for item_id in todo[at : at + _BATCH]]
        added += remember_strengths(store, [(subject, rank_earlier(retriever, subject)) for subject in batch])
        watcher.saved(part, len(batch))
    watcher.done(part)
    return added


def _unsampled(retriever: Retriever, project_id: int, kind: str, size: int) -> list[int]:
    """Return the newest items without a strength; the very first items of a project have nothing before them."""
    store = retriever.store
    known = load_sampled(store, scope_of(retriever, project_id, kind))
    return [item_id for item_id in list_newest(store, project_id, kind, limit=size) if item_id not in known]


def rank_earlier(retriever: Retriever, subject: Subject) -> Ranking:
    """Return what an item resembled when it was filed: among earlier items of its kind and project."""
    filters = Filters(
        types=(subject.kind,),
        project_ids=(subject.project_id,),
        not_items=(subject.item_id,),
        before=subject.created_at,
    )
    request = CompareRequest(subject, filters, limit=1, is_bare=True, as_of=subject.created_at)
    return rank_matches(retriever, request)


def remember_strengths(store: Store, ranked: Iterable[tuple[Subject, Ranking]]) -> int:
    """Add the best strength of items that were ranked among earlier ones of their kind; returns how many had one."""
    rows: dict[CalibrationScope, list[tuple[int, int, BestMatch]]] = {}
    for subject, ranking in ranked:
        if ranking.matches and ranking.scope and subject.created_at is not None and subject.item_id:
            best = ranking.matches[0].best
            rows.setdefault(ranking.scope, []).append((subject.item_id, subject.created_at, best))
    if not rows:
        return 0
    with store.transaction():
        for scope, each in rows.items():
            save_strengths(store, scope, each, keep=STRENGTHS)
    return sum(map(len, rows.values()))


MIN_PAIRS = 30
MAX_PAIRS = 500  # the newest; more would take minutes and say the same
SAMPLE_SIZE = 500
THRESHOLDS = (0.75, 0.92, 0.99)
_FOLDS = 5


class AtThreshold(NamedTuple):
    """What a threshold on similarity would have done. Shares are of the project's own mix of items."""

    similarity: float
    precision: float | None  # of the items at or above it, how many had the right one first; None: there were none
    recall: float  # of the known duplicates, how many were at or above it with the right one first
    flagged: int  # of the ranked items

    @staticmethod
    def json_digits() -> int:
        return 4


class Calibrated(NamedTuple):
    """What a project's known duplicates say about one kind of item."""

    kind: str
    pairs: int  # known duplicates whose original is older and stored
    others: int  # items without a known duplicate
    items: int  # of the kind, in the project
    found_first: int
    thresholds: tuple[AtThreshold, ...]
    curve: Curve  # what is used from now on
    kept: str | None = None  # why the shipped curve stays; None: it does not

    @staticmethod
    def json_key(name: str) -> str:
        return "chance" if name == "curve" else name


def calibrate(
    retriever: Retriever, project_id: int, *, is_dry: bool = False, watcher: Watcher | None = None,
    should_stop: Callable[[], bool] = lambda: False, now_ms: Callable[[], int] = machine_ms,
) -> list[Calibrated]:  # fmt: skip
    """Return what was learned of each kind that has items, and store it. A dry run says the same and stores nothing.

    Raises Stopped when it is to stop: the sample is kept, and whatever was calibrated before stays.
    """
    rehearsal = retriever.store.rehearse(LEARNED) if is_dry else contextlib.nullcontext()
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
        build_sample(retriever, project_id, kind, size=SAMPLE_SIZE, watcher=watcher, should_stop=should_stop)
        if should_stop():
            raise Stopped
        scope = scope_of(retriever, project_id, kind)
        found.append((scope, _calibrate_kind(retriever, scope, watcher, should_stop)))
    with retriever.store.transaction():
        for scope, one in found:
            if not one.kept:
                report = {
                    "items": one.items, "found_first": one.found_first,
                    "calibration_error": one.curve.calibration_error,
                    "thresholds": [threshold._asdict() for threshold in one.thresholds],
                }  # fmt: skip
                curve = (one.curve.slope, one.curve.intercept, one.curve.most, one.pairs)
                save_calibration(retriever.store, scope, curve, one.others, report, now_ms())
        forget_outdated(retriever.store, project_id, VERSION)
    return [one for _, one in found]


def _calibrate_kind(
    retriever: Retriever, scope: CalibrationScope, watcher: Watcher, should_stop: Callable[[], bool]
) -> Calibrated:
    store, kind = retriever.store, scope.kind
    known = load_duplicates(store, scope.project_id, kind, limit=MAX_PAIRS)
    items = count_live(store, scope.project_id, kind)
    ranked = _rank_known(retriever, known, watcher, kind, should_stop)
    others = load_strengths_of(store, scope, without=set(known))
    table = _Table(retriever, scope, ranked, others, items)
    shipped = shipped_curve(scope)
    kept = _why_keep(ranked)
    curve: Curve = shipped
    if not kept:
        before, after = table.losses(shipped)
        if after < before:
            curve = table.fit(shipped)
        else:
            kept = "a chance fitted here was no better on items that were held out"
    found_first = sum(one.is_right for one in ranked)
    return Calibrated(kind, len(ranked), len(others), items, found_first, table.thresholds(), curve, kept)


def _why_keep(ranked: list[Case]) -> str | None:
    if len(ranked) < MIN_PAIRS:
        return f"only {len(ranked)} known duplicates; at least {MIN_PAIRS} are needed"
    if sum(one.is_right for one in ranked) < MIN_PAIRS // 3:
        return "too few of the known duplicates come first"
    return None


def _rank_known(
    retriever: Retriever, known: dict[int, set[int]], watcher: Watcher, kind: str, should_stop: Callable[[], bool]
) -> list[Case]:
    part = f"{kind} duplicates"
    watcher.begin(part, part, len(known))
    found = []
    for item_id, originals in known.items():
        if should_stop():
            raise Stopped
        first = next(iter(rank_earlier(retriever, load_subject(retriever.store, item_id)).matches), None)
        if first is not None:
            found.append(Case(first.strength, _is_one_of(first, originals), similarity=first.similarity))
        watcher.saved(part, 1)
    watcher.done(part)
    return found


def _is_one_of(match: Match, item_ids: set[int]) -> bool:
    return match.hit.row.item_id in item_ids


class _Table:
    """The ranked items of one kind, weighed so that they stand for all of it."""

    def __init__(
        self, retriever: Retriever, scope: CalibrationScope, ranked: list[Case], others: list[BestMatch], items: int
    ) -> None:
        distribution = load_distribution(retriever.store, scope)
        self._weight = max(items - len(ranked), len(others)) / max(len(others), 1)
        self._ranked = ranked
        self._others = [Case(best.strength, False, self._weight, distribution.position(best)) for best in others]
        self._cases = [*ranked, *self._others]

    def fit(self, shipped: Curve) -> Curve:
        """Return the curve of all cases, with how far curves were off on cases that they had not seen."""
        cases = [
            (curve.chance(case.strength).value, case.is_right, case.weight)
            for curve, unseen in self._folds(shipped)
            for case in unseen
        ]
        return fit_curve(self._cases, shipped)._replace(calibration_error=calibration_error(cases))

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


_ANNOUNCED = (
    "the ranking has changed since the {kinds} were calibrated, and are now recalibrated once; Ctrl-C postpones that"
)


def recalibrate(
    store: Store, project_ids: Iterable[int], make_retriever: Callable[[], Retriever], *,
    watcher: Watcher | None = None, should_stop: Callable[[], bool] = lambda: False,
    now_ms: Callable[[], int] = machine_ms,
) -> list[str]:  # fmt: skip
    """Calibrate again what an earlier version of the ranking calibrated; return messages about it.

    Strengths of two versions of the ranking are never compared, so without this an upgraded project would fall back to
    what comes with the program. It is announced before it begins. A run that is stopped keeps its sample and changes
    nothing else, and the next one goes on.
    """
    said: list[str] = []
    for project_id in project_ids:
        if should_stop() or not (learned := list_learned(store, project_id)):
            continue
        retriever, outdated = make_retriever(), list_outdated(store, project_id, VERSION)
        if not outdated and retriever.second is None:  # nothing has changed: no server is asked who it is
            continue
        kinds = {kind for kind, _ in learned if _is_to_learn(retriever, project_id, kind, learned, outdated)}
        if not kinds:
            continue
        if watcher:
            watcher.announce(_ANNOUNCED.format(kinds=" and ".join(f"{kind}s" for kind in sorted(kinds))))
        try:
            done = calibrate(retriever, project_id, watcher=watcher, should_stop=should_stop, now_ms=now_ms)
        except (KeyboardInterrupt, Stopped):  # what was asked for, the update of the index, is done
            return said
        said += [_tell(one) for one in done if one.kind in kinds]
    return said


def _is_to_learn(
    retriever: Retriever, project_id: int, kind: str, learned: set[tuple[str, str]], outdated: set[tuple[str, str]]
) -> bool:
    """Tell whether what would rank now has learned nothing of a kind, and what has was the same embedder: of an earlier
    version, or before it had a second one beside it. Without the embedder of then something else would be calibrated.
    """
    name = scope_of(retriever, project_id, kind).model.partition(" ")[0]
    first, is_second = name.partition("+")[::2]
    if is_second and (kind, name) not in learned - outdated:
        return (kind, first) in learned or (kind, name) in learned
    return (kind, name) in outdated


def _tell(one: Calibrated) -> str:
    changed = f"the ranking has changed since the {one.kind}s were calibrated; they were recalibrated"
    return f"{changed}: {f'the shipped chance is kept, {one.kept}' if one.kept else f'{one.pairs:,} known duplicates'}"
