"""Ranked lists of an item as the query: its telling terms in full text, and how such lists are joined."""

from forgelore.core.search.fuse import Fused, fuse_scores
from forgelore.flows.search.ranked_lists import RankedLists
from forgelore.store.db import Store
from forgelore.store.engine.fulltext import Found, search_words
from forgelore.store.filters import Allowed
from forgelore.store.hits import Subject, load_created

_DAY_MS = 86_400_000

Terms = list[tuple[str, int]]


def search_terms(
    store: Store, terms: Terms, depth: int, allowed: Allowed | None, *, of_cards: bool = False
) -> list[Found]:
    """Return the documents that hold the most of these terms, or the cards that do."""
    if not terms:
        return []
    # A word that is repeated counts as often: FTS5 adds up the phrases of an OR.
    expression = " OR ".join(f'"{term.replace(chr(34), chr(34) * 2)}"' for term, times in terms for _ in range(times))
    return search_words(store, expression, depth, allowed, of_cards=of_cards)


def fuse_by_age(store: Store, subject: Subject, lists: RankedLists) -> list[Fused]:
    """By standardised scores and age: the size of a lead tells a duplicate from a neighbour, and ranks forget it; and
    most repetitions follow soon.
    """
    ranked = lists.as_ranked()
    if subject.created_at is None:
        return fuse_scores(ranked)
    created = load_created(store, {document_id for each in ranked for document_id, _ in each})
    ages = {document_id: abs(subject.created_at - at) / _DAY_MS for document_id, at in created.items()}
    return fuse_scores(ranked, ages_days=ages)
