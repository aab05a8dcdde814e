"""`search`: words and meaning together, within what the filters allow.

    query + filters -> ids allowed -> full-text list, vector list -> fused -> one hit per item
    with a rescorer: the first hundred of these -> its cosines as the vector list -> fused again

What must occur, what must not and where (text_conditions) is part of what is allowed. A query that names an item
(known_item) has it first. In another order than relevance, hits are the items that have every word: meaning has no end.

A missing or failing embedder leaves the words and a warning; only mode "semantic" insists on vectors. An item and its
threads are one hit, told by the document that ranks best: people look for a page, and ten threads of one page would
hide nine others.

URLs of notes: a hit in a thread has the address of the note that its snippet is from, not that of the first one.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from forgelore.errors import InvalidValue
from forgelore.search.acronyms import describe_synonyms, join_acronyms
from forgelore.search.filters import TextTerms, build_text_conditions, warn_of_absent
from forgelore.search.ftsquery import Query, build_and, join_groups, parse_query
from forgelore.search.fusion import Fused, ListWeights, fuse
from forgelore.search.hits import Hit, WeighedQuery, is_nothing_fitting, rate_hits, weigh_query
from forgelore.search.known_items import KnownItems, permit_known
from forgelore.search.paging import (
    STEP,
    PageStart,
    RankedItems,
    check_limit,
    find_next,
    grow_ranking,
    list_by_words,
    vector_or_warning,
    warn_of_change,
    warn_of_gaps,
    warn_of_waiting,
)
from forgelore.search.qualifiers import SortOrder
from forgelore.search.retriever import RankedLists, Retriever
from forgelore.search.snippets import (
    HighlightQuery,
    Snippet,
    build_highlight_query,
    build_snippet,
    find_marks,
    find_region,
    find_tokens,
    matched_words,
    merge_marks,
)
from forgelore.store.database import Store
from forgelore.store.documents import count_allowed, load_sorted
from forgelore.store.filters import Allowed, Filters, build_allowed
from forgelore.store.hits import HitRow, load_hits, load_items_of, load_notes_with
from forgelore.store.sqlite.fulltext import Found, has_documents, has_words, raw_query_errors

if TYPE_CHECKING:
    from forgelore.ports.embedder import Embedder


_AROUND = 30  # letters beside a marked word that tell its note from others with the same word


def name_notes(store: Store, hits: "list[Hit]") -> "list[Hit]":
    """Return the hits, those in threads with the URLs of their notes."""
    pieces = {
        hit.row.document_id: _piece(hit.snippet) for hit in hits if hit.row.representation == "thread"
    }  # fmt: skip
    notes = load_notes_with(store, {document_id: word for document_id, (word, _) in pieces.items() if word})
    return [
        hit._replace(row=hit.row._replace(url=_choose(found, pieces[hit.row.document_id][1])))
        if (found := notes.get(hit.row.document_id))
        else hit
        for hit in hits
    ]


def _piece(snippet: Snippet) -> tuple[str, str]:
    """Return the first word that is marked, or else that there is, and the same with what stands around it."""
    text = snippet.text
    start, end = snippet.marks[0] if snippet.marks else _first_word(text)
    left, right = max(0, start - _AROUND), end + _AROUND
    return text[start:end], text[left:right].strip("… ")


def _first_word(text: str) -> tuple[int, int]:
    start = len(text) - len(text.lstrip("… "))
    return start, start + len(text[start:].partition(" ")[0])


def _choose(notes: list[tuple[str, str]], piece: str) -> str:
    """Return the URL of the note with that piece; of the first where a piece has parts of two."""
    return next((url for url, body in notes if piece in " ".join(body.split())), notes[0][0])


SearchMode = Literal["hybrid", "lexical", "semantic"]
# Of each list before they are fused: what stands low in both may be the answer. With 100 the issue that a change closes
# is among ten hits for 57 % of the titles of rust's changes, with 250 for 59 %; 400 take a tenth longer.
MIN_DEPTH = 250
# Of reciprocal rank fusion. With the usual 60, the tenth of both lists stands before the first of one: a typed title
# finds 50.3 % of 400 known duplicates among ten hits, with 10 it finds 53.8 %.
FUSION_K = 10
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
    is_named: bool = False  # it is nothing but numbers and addresses of items, which have no meaning
    notes: tuple[str, ...] = ()  # how the query was understood
    start: PageStart = PageStart()  # of the ranking's parts, the one that is asked for
    of_cards: bool = False  # in intent cards, and in nothing that people wrote
    code_keys: tuple[str, ...] = ()  # of commits and files that the query names: commit:9

    @property
    def end(self) -> int:
        return self.start.offset + self.limit


class SearchAnswer(NamedTuple):
    """The hits of a search, best first. `total`: how many there are on all pages, or where that is not exact, how many
    at least: meaning has no end. `next_page`: the offset of the next one, "" at the end.
    """

    hits: list[Hit]
    mode: SearchMode  # what was really done
    warnings: list[str]
    is_nothing_indexed: bool = False
    notes: tuple[str, ...] = ()  # how the query was understood, and the item it names
    known_count: int = 0  # how many hits at the top are items that the query names
    is_named: bool = False  # the query is nothing but numbers and addresses of items
    sort: SortOrder = SortOrder()
    total: int = 0
    is_total_exact: bool = True
    offset: int = 0
    next_page: str = ""
    is_filtered: bool = False  # by flags or qualifiers, beside the project
    is_nothing_fitting: bool = False  # the hits are the best of a bad lot
    synonyms: tuple[str, ...] = ()  # what else was searched for: acronyms, written out


def search(retriever: Retriever, request: SearchRequest, *, rescorer: "Embedder | None" = None) -> SearchAnswer:
    """Return the best hits, one per item. Raises InvalidValue for a limit or a raw query that cannot be used.

    A `rescorer` looks again at the best of them (search/paging); what it raises is raised.
    """
    check_limit(request.limit)
    warnings = warn_of_waiting(retriever.store, request.filters)
    if not has_documents(retriever.store):
        return SearchAnswer([], request.mode, warnings, is_nothing_indexed=True)
    query = join_groups(parse_query(request.text), request.terms.required)
    if not request.is_raw and not request.terms.required:
        query = join_acronyms(retriever, query, is_public=request.filters.is_public)
    if query.is_cut and not request.is_raw:
        warnings.append("the query is very long; its first 64 words are used")
    if request.sort.key != "relevance":
        return _search_sorted(retriever, request, query, warnings)
    weighed = weigh_query(retriever, Query(()) if request.is_raw else query)
    mode, ranked, allowed = _rank(retriever, request, query, weighed, warnings, rescorer)
    known = permit_known(retriever.store, request.known, allowed)
    fused = ranked.fused
    if known.document_ids:
        fused = first_of_items(retriever.store, [*map(_unranked, known.document_ids), *fused])
    warnings += warn_of_absent(retriever.store, request.filters, is_empty=not fused)
    total, is_exact = len(fused), ranked.is_complete
    if mode == "lexical" and not is_exact and not known.document_ids:
        total, is_exact = retriever.count_items(
            query, STEP, allowed, raw=request.text if request.is_raw else None, of_cards=request.of_cards
        )
    known_count = len(known.document_ids[request.start.offset : request.end])
    notes = (*request.notes, *known.notes)
    answer = SearchAnswer(
        [], mode, warnings, notes=notes, known_count=known_count, is_named=request.is_named, total=total,
        is_total_exact=is_exact,
    )  # fmt: skip
    page = _fill_page(retriever, request, query, answer, ranked._replace(fused=fused))
    if request.is_bare:
        return page
    embedder = rescorer or retriever.embedder
    rate = partial(rate_hits, query=weighed, lists=ranked.lists, floor=embedder.floor if embedder else -1)
    hits = rate(page.hits, known_count=known_count)
    is_bad = not request.start.offset and is_nothing_fitting(hits)
    if is_bad and request.limit < STEP:  # a short page says as much as a usual one would
        wanted = build_highlight_query(query, retriever.stems)
        further = build_hits(retriever, fused[request.end : STEP], ranked.lists, wanted)
        is_bad = is_nothing_fitting([*hits, *rate(further)])
    return page._replace(hits=hits, is_nothing_fitting=is_bad)


class _Ranking(NamedTuple):
    mode: SearchMode
    ranked: RankedItems
    allowed: Allowed | None


def _fill_page(
    retriever: Retriever, request: SearchRequest, query: Query, answer: SearchAnswer, ranked: RankedItems
) -> SearchAnswer:
    """Return the answer with the hits of the page that is asked for."""
    wanted = None if request.is_bare else build_highlight_query(query, retriever.stems)
    shown, of_threads = ranked.fused[request.start.offset : request.end], request.filters.names_threads
    hits = build_hits(retriever, shown, ranked.lists, wanted, of_threads=of_threads)
    ids = [one.id for one in ranked.fused]
    is_end = answer.is_total_exact and answer.total <= request.end
    return answer._replace(
        is_filtered=request.filters._replace(project_ids=()) != Filters(),
        synonyms=describe_synonyms(query),
        hits=hits if request.is_bare else name_notes(retriever.store, hits), offset=request.start.offset,
        next_page=find_next(request.start, request.limit, ids, is_end=is_end),
        warnings=[*answer.warnings, *warn_of_change(request.start, ids)],
    )  # fmt: skip


def _rank(
    retriever: Retriever, request: SearchRequest, query: Query, weighed: WeighedQuery, warnings: list[str],
    rescorer: "Embedder | None",
) -> _Ranking:  # fmt: skip
    """Return the best document of each of the best items, by words and meaning."""
    mode, vector = request.mode, None
    if request.is_named:
        mode, rescorer = "lexical", None
    if mode != "lexical" and query.words:
        mode, vector = vector_or_warning(mode, lambda: retriever.query_vector(request.text), warnings, verb="searched")
        if vector is not None:
            warn_of_gaps(retriever.store, request.filters, warnings)
    further = build_text_conditions(request.terms, query, of_cards=request.of_cards)
    # A filter of kinds means items and not their threads: of cards it means the kind of their item.
    filters = request.filters._replace(with_threads=True) if request.of_cards else request.filters
    scope = retriever.scope(filters, further, with_vectors=vector is not None)

    def gather(depth: int) -> RankedLists:
        cards = request.of_cards
        wait = None if vector is None else retriever.begin_by_vector(vector, depth, scope, of_cards=cards)
        words: list[Found] = []
        if mode != "semantic":
            words = list_by_words(retriever, request, query, depth, scope.allowed, weighed.literal)
        vectors = wait() if wait else []
        if mode == "hybrid" and not words and retriever.embedder and not _has_known_word(retriever, query, request):
            # Every text has a nearest document. Where no word of a query is known, only real nearness is an answer.
            vectors = [one for one in vectors if one.cosine >= retriever.embedder.floor]
        return RankedLists(words, vectors)

    join = partial(fuse_lists, weights=weighed.lists)

    def rank(size: int) -> RankedItems:
        step = best_per_item(retriever, gather, join, size)
        return _rescore(retriever, rescorer, request, step, join) if rescorer and size == RESCORED else step

    ranked = grow_ranking(
        rank, lambda fused: first_of_items(retriever.store, fused), request.end, RESCORED if rescorer else STEP
    )
    if rescorer and ranked.fused and mode == "lexical":
        mode = "hybrid"
    return _Ranking(mode, ranked, scope.allowed)


def _search_sorted(retriever: Retriever, request: SearchRequest, query: Query, warnings: list[str]) -> SearchAnswer:
    """Return what has every word and meets every condition, in the order that was asked for."""
    if request.of_cards:
        raise InvalidValue(
            "cards come in the order of relevance", hint="leave the order out, or search in what people wrote"
        )
    if request.mode == "semantic" and query.words:
        raise InvalidValue("meaning knows no other order than relevance", hint="leave the order or the mode out")
    expression = request.text if request.is_raw else build_and(query.words)
    further = build_text_conditions(request.terms, query) + ([has_words(expression)] if expression else [])
    allowed = build_allowed(request.filters, further)
    key, is_ascending = request.sort
    with raw_query_errors(request.text):
        ids = load_sorted(retriever.store, allowed, key, is_ascending=is_ascending, limit=request.end)
        total = count_allowed(retriever.store, allowed) if len(ids) >= request.end else len(ids)
    warnings += warn_of_absent(retriever.store, request.filters, is_empty=not ids)
    if not ids and len(query.words) > 1:
        warnings.append("nothing has every word; without an order, what comes nearest is found")
    notes = (*request.notes, *request.known.notes)
    answer = SearchAnswer(
        [], "lexical", warnings, notes=notes, is_named=request.is_named, sort=request.sort, total=total
    )
    ranked = RankedItems([_unranked(one) for one in ids], RankedLists([], []), is_complete=True)
    page = _fill_page(retriever, request, query, answer, ranked)
    # Each of them meets all that was asked.
    return page if request.is_bare else page._replace(hits=[hit._replace(relevance=1.0) for hit in page.hits])


def _has_known_word(retriever: Retriever, query: Query, request: SearchRequest) -> bool:
    """Whether any document holds a word of the query, within the filters or not; of those its reader may see."""
    readable = build_allowed(Filters(is_public=request.filters.is_public))
    return retriever.count_items(query, 1, readable, of_cards=request.of_cards)[0] > 0


def _unranked(document_id: int) -> Fused:
    """A document that is in an answer for another reason than its rank: it is what was asked for."""
    return Fused(document_id, 0.0, 1.0, (None, None), (None, None))


def _rescore(
    retriever: Retriever, rescorer: "Embedder", request: SearchRequest, found: RankedItems,
    join: Callable[[RankedLists], list[Fused]],
) -> RankedItems:  # fmt: skip
    from forgelore.search.paging import measure_words

    ids = {one.id for one in found.fused[:RESCORED]}
    lists = found.lists.rescored(measure_words(retriever.store, rescorer, ids, text=request.text))
    best = [one for one in join(lists) if one.id in ids]
    return found._replace(fused=[*best, *found.fused[RESCORED:]], lists=lists)


def fuse_lists(lists: RankedLists, weights: ListWeights) -> list[Fused]:
    return fuse(lists.as_ranked(), weights=weights, k=FUSION_K)


def best_per_item(
    retriever: Retriever, gather: Callable[[int], RankedLists], join: Callable[[RankedLists], list[Fused]], limit: int
) -> RankedItems:
    """Return the best document of each of the best items, looking deeper while items are missing."""
    depth = max(MIN_DEPTH, 5 * limit)
    while True:
        lists = gather(depth)
        best = first_of_items(retriever.store, join(lists))
        if len(best) >= limit or not lists.is_cut(depth):
            return RankedItems(best, lists, is_complete=not lists.is_cut(depth))
        depth *= 4


def first_of_items(store: Store, fused: list[Fused]) -> list[Fused]:
    """Return the best document of each item; documents that are gone since are left out."""
    item_of = load_items_of(store, [one.id for one in fused])
    best: dict[int, Fused] = {}
    for one in fused:
        if one.id in item_of:
            best.setdefault(item_of[one.id], one)
    return list(best.values())


def build_hits(
    retriever: Retriever,
    fused: list[Fused],
    lists: RankedLists,
    wanted: HighlightQuery | None,
    *,
    of_threads: bool = False,
) -> list[Hit]:
    rows = load_hits(retriever.store, [one.id for one in fused], of_threads=of_threads)
    starts = _starts(retriever, rows, lists) if wanted else {}
    return [_hit(retriever, one, rows[one.id], wanted, starts.get(one.id, 0)) for one in fused if one.id in rows]


def _starts(retriever: Retriever, rows: dict[int, HitRow], lists: RankedLists) -> dict[int, int]:
    """Return where the chunk begins that made a document a hit by meaning."""
    chunks = {near.document_id: near.chunk_id for near in lists.vectors if near.document_id in rows}
    if not chunks:
        return {}
    from forgelore.store.sqlite.vectors import load_starts

    starts = load_starts(retriever.store, chunks.values())
    return {document_id: starts.get(chunk_id, 0) for document_id, chunk_id in chunks.items()}


def _hit(retriever: Retriever, fused: Fused, row: HitRow, wanted: HighlightQuery | None, start: int) -> Hit:
    ranks = (fused.score, fused.rrf, fused.ranks[0], fused.scores[0], fused.ranks[1], fused.scores[1])
    if not wanted:
        return Hit(row, *ranks, Snippet(""), ())
    return Hit(row, *ranks, *_mark(retriever, row, wanted, start))


def _mark(
    retriever: Retriever, row: HitRow, wanted: HighlightQuery, start: int
) -> tuple[Snippet, tuple[str, ...], tuple[tuple[int, int], ...]]:
    """Return the snippet, the words that the document has, and where they stand in its title."""
    low, high = find_region(row.text, wanted, around=start)
    text = row.text[low:high]
    marks = find_marks(text, find_tokens(text, retriever.stem, wanted), wanted)
    titled = find_marks(row.title, find_tokens(row.title, retriever.stem, wanted), wanted)
    words = tuple(matched_words([*titled, *marks], wanted))
    return build_snippet(text, marks, around=start - low), words, merge_marks(mark[:2] for mark in titled)
