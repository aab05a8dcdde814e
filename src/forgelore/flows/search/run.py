"""`search`: words and meaning together, within what the filters allow.

    query + filters -> ids allowed -> full-text list, vector list -> fused -> one hit per item
    with a rescorer: the first hundred of these -> its cosines as the vector list -> fused again

What must occur, what must not and where (text_conditions) is part of what is allowed. A query that names an item
(known_item) has it first. In another order than relevance, hits are the items that have every word: meaning has no end.

A missing or failing embedder leaves the words and a warning; only mode "semantic" insists on vectors. An item and its
threads are one hit, told by the document that ranks best: people look for a page, and ten threads of one page would
hide nine others.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from forgelore.core.search.ftsquery import Query, build_and, parse_query
from forgelore.core.search.fuse import Fused, fuse
from forgelore.core.search.qualifiers import SortOrder
from forgelore.core.search.snippets import (
    Snippet,
    Wanted,
    build_snippet,
    find_marks,
    find_region,
    matched_words,
    wanted_of,
)
from forgelore.core.search.term_groups import join_groups
from forgelore.errors import InvalidValue, LoreError, StoreError
from forgelore.flows.search.absent_values import warn_of_absent
from forgelore.flows.search.known_item import KnownItems, permit_known
from forgelore.flows.search.retriever import Retriever
from forgelore.flows.search.text_conditions import TextTerms, build_text_conditions
from forgelore.store.db import Store
from forgelore.store.engine.fulltext import Found, has_words, raw_query_errors, search_words
from forgelore.store.engine.words import has_documents
from forgelore.store.filters import Allowed, Filters, build_allowed
from forgelore.store.hits import HitRow, load_hits, load_items_of
from forgelore.store.sorted_documents import load_sorted
from forgelore.store.waiting import count_waiting
from forgelore.words import JobKind

if TYPE_CHECKING:
    from forgelore.core.search.vectors import Vector
    from forgelore.ports import Embedder
    from forgelore.store.engine.vectors import Near

SearchMode = Literal["hybrid", "lexical", "semantic"]
MAX_LIMIT = 100
MIN_DEPTH = 100  # of each list before they are fused
RESCORED = 100  # candidates that a rescorer looks at: at least as many as can be asked for


class SearchRequest(NamedTuple):
    text: str
    mode: SearchMode = "hybrid"
    filters: Filters = Filters()
    limit: int = 20
    is_raw: bool = False  # the text is FTS5 syntax
    is_bare: bool = False  # ranks alone: no snippets, no matched words
    terms: TextTerms = TextTerms()
    sort: SortOrder = SortOrder()
    known: KnownItems = KnownItems()  # what the query names
    notes: tuple[str, ...] = ()  # how the query was understood


class Hit(NamedTuple):
    """A document in an answer, with the rank each list gave it (from 1; None: not in that list)."""

    row: HitRow
    score: float  # fused, over the best possible: 1 would be the first of both lists
    rrf: float
    lexical_rank: int | None
    lexical_score: float | None  # BM25
    vector_rank: int | None
    vector_score: float | None  # cosine
    snippet: Snippet
    words: tuple[str, ...]  # of the query, as the document has them


class SearchAnswer(NamedTuple):
    """The hits of a search, best first."""

    hits: list[Hit]
    mode: SearchMode  # what was really done
    warnings: list[str]
    is_nothing_indexed: bool = False
    notes: tuple[str, ...] = ()  # how the query was understood, and the item it names
    known_count: int = 0  # how many hits at the top are items that the query names
    sort: SortOrder = SortOrder()


class RankedLists(NamedTuple):
    """Both lists at one depth, best first."""

    words: list[Found]
    vectors: "list[Near]"

    def as_ranked(self) -> list[list[tuple[int, float]]]:
        return [
            [(one.document_id, one.score) for one in self.words],
            [(one.document_id, one.cosine) for one in self.vectors],
        ]

    def is_cut(self, depth: int) -> bool:
        return len(self.words) >= depth or len(self.vectors) >= depth

    def rescored(self, cosines: Mapping[int, float]) -> "RankedLists":
        """Return them with other cosines as the vector list. Where a hit begins is still what the first one said."""
        from forgelore.store.engine.vectors import Near

        chunks = {near.document_id: near.chunk_id for near in self.vectors}
        near = [Near(document_id, cosine, chunks.get(document_id, 0)) for document_id, cosine in cosines.items()]
        return RankedLists(self.words, sorted(near, key=lambda one: (-one.cosine, one.document_id)))


def search(retriever: Retriever, request: SearchRequest, *, rescorer: "Embedder | None" = None) -> SearchAnswer:
    """Return the best hits, one per item. Raises InvalidValue for a limit or a raw query that cannot be used.

    A `rescorer` looks again at the best of them (flows/search/rescore); what it raises is raised.
    """
    check_limit(request.limit)
    warnings = warn_of_waiting(retriever.store, request.filters)
    if not has_documents(retriever.store):
        return SearchAnswer([], request.mode, warnings, is_nothing_indexed=True)
    query = join_groups(parse_query(request.text), request.terms.required)
    if query.is_cut and not request.is_raw:
        warnings.append("the query is very long; its first 64 words are used")
    if request.sort.key != "relevance":
        return _search_sorted(retriever, request, query, warnings)
    mode, fused, lists, allowed = _rank(retriever, request, query, warnings, rescorer)
    known = permit_known(retriever.store, request.known, allowed)
    if known.document_ids:
        fused = first_of_items(retriever.store, [*map(_unranked, known.document_ids), *fused])[: request.limit]
    warnings += warn_of_absent(retriever.store, request.filters, is_empty=not fused)
    wanted = None if request.is_bare else wanted_of(query, retriever.stems)
    hits = build_hits(retriever, fused, lists, wanted)
    known_count = min(len(known.document_ids), request.limit)
    return SearchAnswer(hits, mode, warnings, notes=(*request.notes, *known.notes), known_count=known_count)


class _Ranking(NamedTuple):
    mode: SearchMode
    fused: list[Fused]
    lists: RankedLists
    allowed: Allowed | None


def _rank(
    retriever: Retriever, request: SearchRequest, query: Query, warnings: list[str], rescorer: "Embedder | None"
) -> _Ranking:
    """Return the best document of each of the best items, by words and meaning."""
    mode, vector = request.mode, None
    if request.known.document_ids:
        mode, rescorer = "lexical", None  # a number has no meaning
    if mode != "lexical" and query.words:
        mode, vector = vector_or_warning(mode, lambda: retriever.query_vector(request.text), warnings, verb="searched")
        if vector is not None:
            _warn_of_gaps(retriever.store, request.filters, warnings)
    further = build_text_conditions(request.terms, query)
    scope = retriever.scope(request.filters, further, with_vectors=vector is not None)

    def gather(depth: int) -> RankedLists:
        words = [] if mode == "semantic" else _by_words(retriever, request, query, depth, scope.allowed)
        vectors = [] if vector is None else retriever.by_vector(vector, depth, scope)
        if mode == "hybrid" and not words and retriever.embedder:
            # Every text has a nearest document. Where no word of a query is known, only real nearness is an answer.
            vectors = [one for one in vectors if one.cosine >= retriever.embedder.floor]
        return RankedLists(words, vectors)

    fused, lists = best_per_item(retriever, gather, fuse_lists, RESCORED if rescorer else request.limit)
    if rescorer and fused:
        mode = "hybrid" if mode == "lexical" else mode
        fused, lists = _rescore(retriever, rescorer, request, (fused, lists))
    return _Ranking(mode, fused, lists, scope.allowed)


def _search_sorted(retriever: Retriever, request: SearchRequest, query: Query, warnings: list[str]) -> SearchAnswer:
    """Return what has every word and meets every condition, in the order that was asked for."""
    if request.mode == "semantic" and query.words:
        raise InvalidValue("meaning knows no other order than relevance", hint="leave the order or the mode out")
    expression = request.text if request.is_raw else build_and(query.words)
    further = build_text_conditions(request.terms, query) + ([has_words(expression)] if expression else [])
    allowed = build_allowed(request.filters, further)
    key, is_ascending = request.sort
    with raw_query_errors(request.text):
        ids = load_sorted(retriever.store, allowed, key, is_ascending=is_ascending, limit=request.limit)
    wanted = None if request.is_bare else wanted_of(query, retriever.stems)
    hits = build_hits(retriever, [_unranked(one) for one in ids], RankedLists([], []), wanted)
    warnings += warn_of_absent(retriever.store, request.filters, is_empty=not ids)
    if not ids and len(query.words) > 1:
        warnings.append("nothing has every word; without an order, what comes nearest is found")
    notes = (*request.notes, *request.known.notes)
    return SearchAnswer(hits, "lexical", warnings, notes=notes, sort=request.sort)


def _unranked(document_id: int) -> Fused:
    """A document that is in an answer for another reason than its rank: it is what was asked for."""
    return Fused(document_id, 0.0, 1.0, (None, None), (None, None))


def _rescore(
    retriever: Retriever, rescorer: "Embedder", request: SearchRequest, found: tuple[list[Fused], RankedLists]
) -> tuple[list[Fused], RankedLists]:
    from forgelore.flows.search.rescore import measure_words

    ids = {one.id for one in found[0]}
    lists = found[1].rescored(measure_words(retriever.store, rescorer, ids, text=request.text))
    return [one for one in fuse_lists(lists) if one.id in ids][: request.limit], lists


def check_limit(limit: int) -> None:
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidValue(f"--limit {limit} is out of range", hint=f"use 1 to {MAX_LIMIT}")


def _by_words(
    retriever: Retriever, request: SearchRequest, query: Query, depth: int, allowed: Allowed | None
) -> list[Found]:
    if not request.is_raw:
        return retriever.by_words(query, depth, request.limit, allowed)
    with raw_query_errors(request.text):
        return search_words(retriever.store, request.text, depth, allowed)


def vector_or_warning(
    mode: SearchMode, make: "Callable[[], Vector]", warnings: list[str], *, verb: str
) -> "tuple[SearchMode, Vector | None]":
    """Return the vector and the mode; where nobody makes one, words are left, and a warning."""
    try:
        return mode, make()
    except StoreError:
        raise  # that is the file: words would fare no better
    except LoreError as error:
        if mode == "semantic":
            raise
        warnings.append(f"{verb} by words alone: {error.message}" + (f" ({error.hint})" if error.hint else ""))
        return "lexical", None


def warn_of_waiting(store: Store, filters: Filters) -> list[str]:
    """Return a warning when items of the projects looked at are not indexed yet: after a killed import, a sync without
    documents. Whatever queues an item does so in the transaction that saves it, so that the queue knows them all.
    """
    waiting = count_waiting(store, JobKind.DOCUMENT, filters.project_ids)
    if not waiting:
        return []
    items = "1 item waits" if waiting == 1 else f"{waiting:,} items wait"
    return [f"{items} to be indexed, and what is new in them is not found yet; run: forgelore generate-docs"]


def _warn_of_gaps(store: Store, filters: Filters, warnings: list[str]) -> None:
    waiting = count_waiting(store, JobKind.EMBED, filters.project_ids)
    if waiting:
        warnings.append(f"{waiting:,} documents have no vectors yet and are found by words alone (forgelore embed)")


def fuse_lists(lists: RankedLists) -> list[Fused]:
    return fuse(lists.as_ranked())


def best_per_item(
    retriever: Retriever, gather: Callable[[int], RankedLists], join: Callable[[RankedLists], list[Fused]], limit: int
) -> tuple[list[Fused], RankedLists]:
    """Return the best document of each of the best items, looking deeper while items are missing."""
    depth = max(MIN_DEPTH, 5 * limit)
    while True:
        lists = gather(depth)
        best = first_of_items(retriever.store, join(lists))
        if len(best) >= limit or not lists.is_cut(depth):
            return best[:limit], lists
        depth *= 4


def first_of_items(store: Store, fused: list[Fused]) -> list[Fused]:
    """Return the best document of each item; documents that are gone since are left out."""
    item_of = load_items_of(store, [one.id for one in fused])
    best: dict[int, Fused] = {}
    for one in fused:
        if one.id in item_of:
            best.setdefault(item_of[one.id], one)
    return list(best.values())


def build_hits(retriever: Retriever, fused: list[Fused], lists: RankedLists, wanted: Wanted | None) -> list[Hit]:
    rows = load_hits(retriever.store, [one.id for one in fused])
    starts = _starts(retriever, rows, lists) if wanted else {}
    return [_hit(retriever, one, rows[one.id], wanted, starts.get(one.id, 0)) for one in fused if one.id in rows]


def _starts(retriever: Retriever, rows: dict[int, HitRow], lists: RankedLists) -> dict[int, int]:
    """Return where the chunk begins that made a document a hit by meaning."""
    chunks = {near.document_id: near.chunk_id for near in lists.vectors if near.document_id in rows}
    if not chunks:
        return {}
    from forgelore.store.engine.vectors import load_starts

    starts = load_starts(retriever.store, chunks.values())
    return {document_id: starts.get(chunk_id, 0) for document_id, chunk_id in chunks.items()}


def _hit(retriever: Retriever, fused: Fused, row: HitRow, wanted: Wanted | None, start: int) -> Hit:
    snippet, words = _cut_snippet(retriever, row, wanted, start) if wanted else (Snippet(""), [])
    return Hit(
        row, fused.score, fused.rrf, fused.ranks[0], fused.scores[0], fused.ranks[1], fused.scores[1], snippet,
        tuple(words),
    )  # fmt: skip


def _cut_snippet(retriever: Retriever, row: HitRow, wanted: Wanted, start: int) -> tuple[Snippet, list[str]]:
    low, high = find_region(row.text, wanted, around=start)
    text = row.text[low:high]
    marks = find_marks(text, retriever.stem(text), wanted)
    titled = find_marks(row.title, retriever.stem(row.title), wanted)
    return build_snippet(text, marks, around=start - low), matched_words([*titled, *marks], wanted)
