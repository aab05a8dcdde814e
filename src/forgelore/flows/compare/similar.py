"""`similar`: an item as the query, as hits.

Its most telling words are ORed and its vector is compared, against documents of items of the same kind; what was found
is put in order by the evidence of each pair (flows/compare/rank). The query is the title and the body alone, as if it
had just been filed: what was said later is not known when it counts.
"""

from forgelore.flows.compare.rank import CompareRequest, Ranking, rank_matches
from forgelore.flows.search.retriever import Retriever
from forgelore.flows.search.run import SearchAnswer
from forgelore.store.engine.words import has_documents
from forgelore.store.filters import Filters
from forgelore.store.hits import Subject

__all__ = ["CompareRequest", "as_answer", "find_similar", "narrow"]


def find_similar(retriever: Retriever, request: CompareRequest) -> SearchAnswer:
    """Return what an item resembles, best first; `Hit.words` are the telling words both have."""
    return as_answer(retriever, rank_matches(retriever, request))


def as_answer(retriever: Retriever, ranking: Ranking) -> SearchAnswer:
    hits = [*(match.hit for match in ranking.matches), *ranking.rest]
    return SearchAnswer(hits, ranking.mode, ranking.warnings, is_nothing_indexed=not has_documents(retriever.store))


def narrow(filters: Filters, subject: Subject, *, is_earlier: bool) -> Filters:
    """Return the filters for an item: of its own kind unless they name types, never itself."""
    ends = [filters.before, subject.created_at if is_earlier else None]
    return filters._replace(
        types=filters.types or (subject.kind,), not_items=(*filters.not_items, subject.item_id),
        before=min((end for end in ends if end is not None), default=None),
    )  # fmt: skip
