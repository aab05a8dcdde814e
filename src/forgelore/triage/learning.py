"""What the bot learns of a project: the scale of its comments, and the labels that it may suggest.

Labels that an item's neighbours have are suggested only where such suggestions were right on the project's own items.

votes      the ten nearest items, the n-th with 1/n; a label's share is its part of all votes
trust      for each label, the smallest share (a third at least) from which on suggestions were right 80 % of the
           time, of at least twenty; a label that never gets there is never suggested
sample     open items of which nothing changed but in their first week: the labels that robots put on old and closed
           items (stale, released, a lock) would be predicted best of all
"""

import bisect
import contextlib
from collections.abc import Callable, Iterable, Sequence

from forgelore.compare.calibrate import MAX_PAIRS, MIN_PAIRS, build_sample, calibrate, learn_boilerplate
from forgelore.compare.rank import CompareRequest, Match, rank_matches
from forgelore.compare.trees import VERSION
from forgelore.errors import Stopped
from forgelore.ports.progress import Watcher
from forgelore.search.retriever import Retriever
from forgelore.store.calibration import forget_outdated, load_duplicates
from forgelore.store.database import Store
from forgelore.store.filters import Filters
from forgelore.store.hits import load_subject
from forgelore.store.triage import (
    Trust,
    list_labelled,
    load_calibrated_pairs,
    load_label_trust,
    load_labels,
    load_labels_learned,
    save_calibrated_pairs,
    save_label_trust,
    save_labels_learned,
)
from forgelore.triage.intake import KINDS

FIRST = 120  # strengths of a kind that a position needs
SAMPLE = 500  # of the newest items of a kind; each run adds its own, and the oldest leave
_GROWTH = 1.1  # of the labelled items before their labels are learned again
_MORE_PAIRS = 1.2  # of the known duplicates before the bot calibrates itself again
NEIGHBOURS = 10
MIN_PRECISION = 0.8
MIN_SAMPLE = 20
MIN_SHARE = 1 / 3
MAX_SUGGESTIONS = 3
SOON_MS = 7 * 86_400_000  # after filing; a robot calls an item stale after a month at the earliest


def suggest_labels(
    store: Store, project_id: int, kind: str, item_id: int, matches: Sequence[Match]
) -> tuple[tuple[str, float], ...]:
    """Return labels that the item lacks and its neighbours have, each with the precision that was measured."""
    trusted = load_label_trust(store, project_id, kind)
    if not trusted:
        return ()
    has = load_labels(store, item_id)
    shares = count_votes(matches)
    found = [
        (name, trust.precision)
        for name, trust in trusted.items()
        if name not in has and shares.get(name, 0) >= trust.share
    ]
    return tuple(sorted(found, key=lambda one: (-one[1], one[0]))[:MAX_SUGGESTIONS])


def count_votes(matches: Sequence[Match]) -> dict[str, float]:
    """Return each label's part of the votes."""
    near = matches[:NEIGHBOURS]
    total = sum(1 / place for place in range(1, len(near) + 1))
    votes: dict[str, float] = {}
    for place, one in enumerate(near, 1):
        for name in one.hit.row.labels:
            votes[name] = votes.get(name, 0.0) + 1 / place
    return {name: weight / total for name, weight in votes.items()}


def learn_labels(
    retriever: Retriever, project_id: int, kind: str, *, size: int = 300, watcher: Watcher | None = None
) -> dict[str, Trust]:
    """Ask for the project's latest labelled items what would have been suggested, and keep what was right."""
    store, watcher = retriever.store, watcher or Watcher()
    ids = list_labelled(store, project_id, kind, soon_ms=SOON_MS, limit=size)
    part = f"labels of {kind}s"
    watcher.begin(part, f"{kind}s compared for their labels", len(ids))
    seen: dict[str, list[tuple[float, bool]]] = {}
    for item_id in ids:
        _observe(retriever, project_id, kind, item_id, seen)
        watcher.saved(part, 1)
    watcher.done(part)
    trusted = {name: trust for name, observed in seen.items() if (trust := find_trust(observed))}
    with store.transaction():
        save_label_trust(store, project_id, kind, trusted)
    return trusted


def _observe(
    retriever: Retriever, project_id: int, kind: str, item_id: int, seen: dict[str, list[tuple[float, bool]]]
) -> None:
    subject = load_subject(retriever.store, item_id)
    filters = Filters(types=(kind,), project_ids=(project_id,), before=subject.created_at, not_items=(item_id,))
    request = CompareRequest(subject, filters, limit=NEIGHBOURS, is_bare=True, as_of=subject.created_at)
    matches = rank_matches(retriever.seen_by(retriever.store.viewer.without_internal()), request).matches
    has = load_labels(retriever.store, item_id)
    for name, share in count_votes(matches).items():
        seen.setdefault(name, []).append((share, name in has))


def find_trust(observed: Iterable[tuple[float, bool]]) -> Trust | None:
    """Return the smallest share from which on suggestions were right often enough; None when there is none.

    The estimate is lowered by two imagined mistakes, so that twenty lucky ones do not pass for certainty.
    """
    ordered = sorted(one for one in observed if one[0] >= MIN_SHARE)
    shares = [share for share, _ in ordered]
    for share in sorted(set(shares)):
        kept = ordered[bisect.bisect_left(shares, share) :]
        right = sum(is_right for _, is_right in kept)
        if len(kept) < MIN_SAMPLE:
            return None
        if right / (len(kept) + 2) >= MIN_PRECISION:
            return Trust(share, right / len(kept), len(kept))
    return None


def prepare(
    retriever: Retriever, project_id: int, *, now_ms: Callable[[], int], is_late: Callable[[], bool],
    watcher: Watcher | None = None,
) -> None:  # fmt: skip
    """Learn what a first comment needs: which lines are everybody's, and how near items of each kind are.

    On a first run the author waits for the first hundred only; the rest comes after the comment (`learn_more`), and
    what a run has no time for is left to the next.
    """
    learn_boilerplate(retriever.store, project_id, now_ms=now_ms)
    for kind in KINDS:
        build_sample(retriever, project_id, kind, size=FIRST, watcher=watcher, should_stop=is_late)


def learn_more(
    retriever: Retriever, project_id: int, *, now_ms: Callable[[], int], is_thorough: bool,
    is_late: Callable[[], bool], watcher: Watcher | None = None,
) -> list[str]:  # fmt: skip
    """Complete the sample and, now and then, learn which labels may be suggested; returns what should be noted."""
    notes, store = [], retriever.store
    with store.transaction():
        forget_outdated(store, project_id, VERSION)
    for kind in KINDS:
        build_sample(retriever, project_id, kind, size=SAMPLE, watcher=watcher, should_stop=is_late)
        if is_thorough and not is_late() and _has_grown(store, project_id, kind):
            trusted = learn_labels(retriever, project_id, kind, watcher=watcher)
            if trusted:
                notes.append(f"labels that may be suggested for a new {kind}: {', '.join(sorted(trusted))}")
    if is_thorough and not is_late() and _has_new_pairs(store, project_id):
        with contextlib.suppress(Stopped):  # what was calibrated before stays
            found = calibrate(retriever, project_id, watcher=watcher, should_stop=is_late, now_ms=now_ms)
            notes += [f"calibrated on {one.pairs} known duplicate {one.kind}s" for one in found if not one.kept]
    return notes


def _has_new_pairs(store: Store, project_id: int) -> bool:
    """Tell whether people have marked enough duplicates since the bot last calibrated itself, and note how many."""
    pairs = sum(len(load_duplicates(store, project_id, kind, limit=MAX_PAIRS)) for kind in KINDS)
    if pairs < max(MIN_PAIRS, _MORE_PAIRS * load_calibrated_pairs(store, project_id)):
        return False
    with store.transaction():
        save_calibrated_pairs(store, project_id, pairs)
    return True


def _has_grown(store: Store, project_id: int, kind: str) -> bool:
    before, now = load_labels_learned(store, project_id, kind)
    if now <= _GROWTH * before:
        return False
    save_labels_learned(store, project_id, kind, now)
    return True
