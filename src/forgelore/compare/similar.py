"""`similar`: an item, or a draft of one, as the query, as hits.

Its most telling words are ORed and its vector is compared, against documents of items of the same kind; what was found
is put in order by the evidence of each pair (compare/rank). The query is the title and the body alone, as if it
had just been filed: what was said later is not known when it counts.
"""

from typing import TYPE_CHECKING, NamedTuple

from forgelore.compare.calibration import Chance
from forgelore.compare.rank import CompareRequest, Match, Ranking, rank_matches
from forgelore.search.hits import Hit
from forgelore.search.query import SearchMode
from forgelore.search.retriever import Retriever
from forgelore.search.run import MAX_LIMIT, SearchAnswer, find_next, warn_of_change
from forgelore.store.filters import Filters
from forgelore.store.hits import Subject
from forgelore.store.sqlite.fulltext import has_documents

if TYPE_CHECKING:
    from forgelore.ports.embedder import Embedder


class SimilarHit(NamedTuple):
    """An item that resembles another. `match` is what both have; None behind the candidates that were looked at."""

    hit: Hit
    match: Match | None

    @property
    def ref(self) -> str:
        return self.hit.ref

    @property
    def title(self) -> str:
        return self.hit.title

    @property
    def url(self) -> str | None:
        return self.hit.url


class SimilarAnswer(NamedTuple):
    """What an item resembles, best first; `Hit.words` are the telling words both have. `chance`: that the first is a
    duplicate, where that is known. `total`: how many are on all pages; everything is more or less like an item, and
    what is further away is on none. `next_page`: the offset of the next one, "" at the end.
    """

    title: str  # of the item that was asked about
    hits: list[SimilarHit]
    mode: SearchMode  # what was really done
    warnings: list[str]
    chance: Chance | None
    is_nothing_indexed: bool = False
    total: int = 0
    offset: int = 0
    next_page: str = ""
    is_draft: bool = False  # it was a text that nobody has filed


def find_similar(retriever: Retriever, request: CompareRequest, *, rescorer: "Embedder | None" = None) -> SimilarAnswer:
    """Return what an item resembles, from a place in the ranking on."""
    request = request._replace(least=MAX_LIMIT)
    ranking = rank_matches(retriever, request, rescorer=rescorer)
    found = [SimilarHit(match.hit, match) for match in ranking.matches]
    found += [SimilarHit(hit, None) for hit in ranking.rest]
    is_empty = not has_documents(retriever.store)
    end = request.offset + request.limit
    following = find_next(end, ranking.order, is_end=end >= ranking.total)
    warnings = [*ranking.warnings, *warn_of_change(request.offset, request.seal, ranking.order)]
    return SimilarAnswer(
        request.subject.title, found, ranking.mode, warnings, ranking.chance, is_empty, ranking.total, request.offset,
        following,
    )  # fmt: skip


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
