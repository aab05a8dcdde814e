"""Labels that an item's neighbours have, suggested only where such suggestions were right on the project's own items.

votes      the ten nearest items, the n-th with 1/n; a label's share is its part of all votes
trust      for each label, the smallest share (a third at least) from which on suggestions were right 80 % of the
           time, of at least twenty; a label that never gets there is never suggested
sample     open items of which nothing changed but in their first week: the labels that robots put on old and closed
           items (stale, released, a lock) would be predicted best of all
"""

import bisect
from collections.abc import Iterable, Sequence

from forgelore.compare.rank import CompareRequest, Match, rank_matches
from forgelore.ports.progress import Watcher
from forgelore.search.retriever import Retriever
from forgelore.store.database import Store
from forgelore.store.filters import Filters
from forgelore.store.hits import load_subject
from forgelore.store.triage import Trust, list_labelled, load_label_trust, load_labels, save_label_trust

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
