"""Samples of a project's own items: which lines its templates have, how near items usually are to earlier ones.

Both are learned from the stored texts alone, no label is looked at. The sample is of the newest items, because the
nearest neighbour of a new item grows nearer as a tracker grows: what was usual five years ago is not usual now.
"""

from collections.abc import Callable, Iterable

from forgelore.clock import machine_ms
from forgelore.core.compare.boilerplate import READ, learn
from forgelore.core.compare.calibration import Best
from forgelore.flows.compare.rank import CompareRequest, Ranking, rank_matches
from forgelore.flows.compare.reference import SAMPLE, scope_of
from forgelore.flows.progress import Watcher
from forgelore.flows.search.retriever import Retriever
from forgelore.store.calibrations import (
    CalibrationScope,
    load_boilerplate_size,
    load_sampled,
    save_boilerplate,
    save_strengths,
)
from forgelore.store.db import Store
from forgelore.store.filters import Filters
from forgelore.store.hits import Subject, load_subject
from forgelore.store.item_lists import each_author_and_text, list_newest
from forgelore.store.live_items import count_live

KINDS = ("issue", "change")
_GROWTH = 0.2  # of a kind before its templates are learned again
_LEAST_ITEMS = 50
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
        if items < _LEAST_ITEMS:
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
    rows: dict[CalibrationScope, list[tuple[int, int, Best]]] = {}
    for subject, ranking in ranked:
        if ranking.matches and ranking.scope and subject.created_at is not None and subject.item_id:
            best = ranking.matches[0].best
            rows.setdefault(ranking.scope, []).append((subject.item_id, subject.created_at, best))
    if not rows:
        return 0
    with store.transaction():
        for scope, each in rows.items():
            save_strengths(store, scope, each, keep=SAMPLE)
    return sum(map(len, rows.values()))
