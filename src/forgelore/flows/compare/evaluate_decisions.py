"""Evaluation of what triage would have said: queries whose answer is known, as if each had just been filed.

Similarity is a position among what was usual when the item was filed, so a sample of the project's items is ranked
first, without looking at any label, and each query is compared with those that are older than it.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

from forgelore.core.compare.calibration import LEAST, Best, Distributions
from forgelore.core.compare.scoring import Decided, DecisionScores, score_decisions
from forgelore.flows.compare.rank import Match
from forgelore.flows.compare.reference import shipped_distribution, similarity_of
from forgelore.flows.compare.sample import rank_earlier
from forgelore.flows.progress import Watcher
from forgelore.flows.search.retriever import Retriever
from forgelore.store.calibrations import CalibrationScope
from forgelore.store.hits import load_subject
from forgelore.store.item_lists import list_oldest
from forgelore.store.live_items import count_live

SIZE = 800  # items that are ranked to know what is usual, spread over the project's history
WINDOW = 250  # of them that make a query's distribution: the newest that are older than it


class DecidedCase(NamedTuple):
    """A query that was ranked among earlier items. `first` None: nothing was found."""

    created_at: int
    first: Match | None
    is_right: bool
    has_gold: bool


def decide_queries(
    retriever: Retriever, scope: CalibrationScope, asked: Iterable[DecidedCase], *, threshold: float, watcher: Watcher
) -> DecisionScores:
    """Return what a threshold on similarity would have done with the queries of one kind."""
    queries = list(asked)
    past = _rank_past(retriever, scope, watcher)
    decided = []
    for query in queries:
        similarity = _similarity(past, scope, query)
        decided.append(Decided(similarity, similarity >= threshold, query.has_gold, query.is_right))
    duplicates = sum(query.has_gold for query in queries)
    items = count_live(retriever.store, scope.project_id, scope.kind)
    return score_decisions(decided, threshold=threshold, prevalence=duplicates / items if items else None)


def _rank_past(retriever: Retriever, scope: CalibrationScope, watcher: Watcher) -> list[tuple[int, Best]]:
    """Return (creation, best match) of items spread evenly over the project's history, oldest first."""
    store = retriever.store
    everything = list_oldest(store, scope.project_id, scope.kind)
    step = max(1, len(everything) // SIZE)
    chosen = everything[step - 1 :: step]
    part = f"sample of {scope.kind}s"
    watcher.begin(part, part, len(chosen))
    found = []
    for item_id in chosen:
        subject = load_subject(store, item_id)
        matches = rank_earlier(retriever, subject).matches
        if matches and subject.created_at is not None:
            found.append((subject.created_at, matches[0].best))
        watcher.saved(part, 1)
    watcher.done(part)
    return found


def _similarity(past: list[tuple[int, Best]], scope: CalibrationScope, query: DecidedCase) -> float:
    if query.first is None:
        return 0.0
    end = bisect_left(past, (query.created_at,))
    window = past[max(0, end - WINDOW) : end]
    distribution = (
        Distributions.of([best for _, best in window]) if len(window) >= LEAST else shipped_distribution(scope)
    )
    return similarity_of(distribution, query.first.strength, query.first.evidence.features)
