"""`search`: words and meaning together, within what the filters allow.

    query + filters -> ids allowed -> full-text list, vector list -> fused -> one hit per item
    with a rescorer: the first hundred of these -> its cosines as the vector list -> fused again
    with types code, commit or all: those sources too, and the answer takes turns (search/code)

A query that names an item has it first. In another order than relevance, hits are the items that have every word:
meaning has no end. A missing or failing embedder leaves the words and a warning; only mode "semantic" insists on
vectors. An item and its threads are one hit, shown by the document that ranks best: people look for a page, and ten
threads of one page would hide nine others.

A ranking grows in steps of fixed sizes. What one step has put in order stays; the next looks deeper and only adds
behind it, so the second page neither repeats nor skips hits of the first. A page begins at a number, `40`, or at the
mark that ended the page before, `40:9f2c01d3ab`: the hash of everything before it tells whether the ranking changed.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from forgelore.errors import EmbeddingFailed, InvalidValue, LoreError, StoreError
from forgelore.index.cleaning import first_chunk
from forgelore.search.filters import SortOrder, warn_of_absent
from forgelore.search.ftsquery import Word, build_and, is_too_long, join_groups, parse_words
from forgelore.search.fusion import Fused, fuse
from forgelore.search.hits import (
    Hit,
    WeighedQuery,
    build_hits,
    find_item_lines,
    is_nothing_fitting,
    name_notes,
    rate_hits,
    weigh_query,
)
from forgelore.search.query import MAX_OFFSET, Query, SearchMode, build_text_conditions, permit_known
from forgelore.search.retriever import STEP, RankedLists, Retriever, describe_synonyms, join_acronyms, list_by_words
from forgelore.search.snippets import (
    build_highlight_query,
)
from forgelore.store.database import Store
from forgelore.store.documents import count_allowed, load_sorted
from forgelore.store.filters import Allowed, Filters, build_allowed
from forgelore.store.hits import Subject, load_items_of, load_texts
from forgelore.store.jobs import count_waiting, has_locks
from forgelore.store.sqlite.fulltext import Found, has_documents, has_words, raw_query_errors
from forgelore.text.dates import machine_ms
from forgelore.text.values import check_vector, check_whole
from forgelore.words import JobKind, Passage

if TYPE_CHECKING:
    from forgelore.ports.embedder import Embedder
    from forgelore.store.item_lists import Facets
    from forgelore.text.values import Vector
# Of each list before they are fused: what stands low in both may be the answer. With 100 the issue that a change closes
# is among ten hits for 57 % of the titles of rust's changes, with 250 for 59 %; 400 take a tenth longer.
MIN_DEPTH = 250
# Of reciprocal rank fusion. With the usual 60, the tenth of both lists stands before the first of one: a typed title
# finds 50.3 % of 400 known duplicates among ten hits, with 10 it finds 53.8 %.
FUSION_K = 10
RESCORED = 100  # candidates that a rescorer looks at: at least as many as can be asked for


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
    facets: "Facets | None" = None  # of the best hits, as many as were ranked; only where they were asked for


class RankedItems(NamedTuple):
    """The best document of each item, best first, as many as were seen. `is_complete`: there are no others."""

    fused: list[Fused]
    lists: "RankedLists"
    is_complete: bool


def search(retriever: Retriever, query: Query, *, rescorer: "Embedder | None" = None) -> SearchAnswer:
    """Return the best hits, one per item. Raises InvalidValue for a limit or a raw query that cannot be used.

    A `rescorer` looks again at the best of them; what it raises is raised.
    """
    check_limit(query.limit)
    warnings = warn_of_waiting(retriever.store, query.filters)
    if not has_documents(retriever.store):
        return SearchAnswer([], query.mode, warnings, is_nothing_indexed=True)
    typed = parse_words(query.text)
    words = join_groups(typed, query.required)
    if not query.is_raw and not query.required:
        words = join_acronyms(retriever, words)
    if not query.is_raw and is_too_long(query.text, typed):
        warnings.append("the query is very long; only its first 64 words are used")
    if query.sort.key != "relevance":
        return _search_sorted(retriever, query, words, warnings)
    weighed = weigh_query(retriever, () if query.is_raw else words)
    mode, ranked, allowed = _rank(retriever, query, words, weighed, warnings, rescorer)
    known = permit_known(retriever.store, query.known, allowed)
    fused = ranked.fused
    if known.document_ids:
        fused = first_of_items(retriever.store, [*map(_unranked, known.document_ids), *fused])
    warnings += warn_of_absent(retriever.store, query.filters, is_empty=not fused)
    total, is_exact = len(fused), ranked.is_complete
    if mode == "lexical" and not is_exact and not known.document_ids:
        total, is_exact = retriever.count_items(
            words, STEP, allowed, raw=query.text if query.is_raw else None, source=query.source
        )
    known_count = len(known.document_ids[query.offset : query.end])
    notes = (*query.notes, *known.notes)
    answer = SearchAnswer(
        [], mode, warnings, notes=notes, known_count=known_count, is_named=query.is_named, total=total,
        is_total_exact=is_exact,
    )  # fmt: skip
    page = _fill_page(retriever, query, words, answer, ranked._replace(fused=fused))
    if query.with_facets:
        page = page._replace(facets=_count_facets(retriever.store, [one.id for one in fused]))
    if query.is_bare:
        return page
    embedder = rescorer or retriever.embedder
    rate = partial(rate_hits, query=weighed, lists=ranked.lists, floor=embedder.floor if embedder else -1)
    hits = rate(page.hits, known_count=known_count)
    is_bad = not query.offset and is_nothing_fitting(hits)
    if is_bad and query.limit < STEP:  # a short page says as much as a usual one would
        wanted = build_highlight_query(words, retriever.stems)
        further = build_hits(retriever, fused[query.end : STEP], ranked.lists, wanted)
        is_bad = is_nothing_fitting([*hits, *rate(further)])
    return page._replace(hits=hits, is_nothing_fitting=is_bad)


def _fill_page(
    retriever: Retriever, query: Query, words: Sequence[Word], answer: SearchAnswer, ranked: RankedItems
) -> SearchAnswer:
    """Return the answer with the hits of the page that is asked for."""
    wanted = None if query.is_bare else build_highlight_query(words, retriever.stems)
    shown, of_threads = ranked.fused[query.offset : query.end], query.filters.names_threads
    hits = build_hits(retriever, shown, ranked.lists, wanted, of_threads=of_threads)
    ids = [one.id for one in ranked.fused]
    is_end = answer.is_total_exact and answer.total <= query.end
    return answer._replace(
        is_filtered=query.filters._replace(project_ids=()) != Filters(),
        synonyms=describe_synonyms(words),
        hits=hits if query.is_bare else name_notes(retriever.store, hits), offset=query.offset,
        next_page=find_next(query.end, ids, is_end=is_end),
        warnings=[*answer.warnings, *warn_of_change(query.offset, query.seal, ids)],
    )  # fmt: skip


def _rank(
    retriever: Retriever, query: Query, words: Sequence[Word], weighed: WeighedQuery, warnings: list[str],
    rescorer: "Embedder | None",
) -> tuple[SearchMode, RankedItems, Allowed | None]:  # fmt: skip
    """Return what was really done, the best document of each of the best items, and what filters allow."""
    mode, vector = query.mode, None
    if query.is_named:
        mode, rescorer = "lexical", None
    if mode != "lexical" and words:
        mode, vector = vector_or_warning(mode, lambda: retriever.query_vector(query.text), warnings, verb="searched")
        if vector is not None:
            warn_of_gaps(retriever.store, query.filters, warnings)
    further = build_text_conditions(query, words)
    # A filter of kinds means items and not their threads: of cards it means the kind of their item.
    filters = query.filters._replace(with_threads=True) if query.source == "intent" else query.filters
    scope = retriever.scope(filters, further, with_vectors=vector is not None)

    def gather(depth: int) -> RankedLists:
        wait = None if vector is None else retriever.begin_by_vector(vector, depth, scope, source=query.source)
        found: list[Found] = []
        if mode != "semantic":
            found = list_by_words(retriever, query, words, depth, scope.allowed, weighed.literal)
        vectors = wait() if wait else []
        if mode == "hybrid" and not found and retriever.embedder and not _has_known_word(retriever, words, query):
            # Every text has a nearest document. Where no word of a query is known, only real nearness is an answer.
            vectors = [one for one in vectors if one.cosine >= retriever.embedder.floor]
        return RankedLists(found, vectors)

    join = partial(fuse_lists, weights=weighed.lists)

    def rank(size: int) -> RankedItems:
        step = best_per_item(retriever, gather, join, size)
        return _rescore(retriever, rescorer, query, step, join) if rescorer and size == RESCORED else step

    ranked = grow_ranking(
        rank, lambda fused: first_of_items(retriever.store, fused), query.end, RESCORED if rescorer else STEP
    )
    if rescorer and ranked.fused and mode == "lexical":
        mode = "hybrid"
    return mode, ranked, scope.allowed


def _search_sorted(retriever: Retriever, query: Query, words: Sequence[Word], warnings: list[str]) -> SearchAnswer:
    """Return what has every word and meets every condition, in the order that was asked for."""
    if query.source == "intent":
        raise InvalidValue(
            "cards are sorted by relevance only", hint="drop the sort order, or search the items themselves"
        )
    if query.mode == "semantic" and words:
        raise InvalidValue("semantic search sorts by relevance only", hint="drop the sort order or the mode")
    expression = query.text if query.is_raw else build_and(words)
    further = build_text_conditions(query, words) + ([has_words(expression)] if expression else [])
    allowed = build_allowed(retriever.store, query.filters, further)
    key, is_ascending = query.sort
    with raw_query_errors(query.text):
        ids = load_sorted(retriever.store, allowed, key, is_ascending=is_ascending, limit=query.end)
        total = count_allowed(retriever.store, allowed) if len(ids) >= query.end else len(ids)
    warnings += warn_of_absent(retriever.store, query.filters, is_empty=not ids)
    if not ids and len(words) > 1:
        warnings.append("nothing has every word; drop the sort order to see the nearest results")
    notes = (*query.notes, *query.known.notes)
    answer = SearchAnswer([], "lexical", warnings, notes=notes, is_named=query.is_named, sort=query.sort, total=total)
    ranked = RankedItems([_unranked(one) for one in ids], RankedLists([], []), is_complete=True)
    page = _fill_page(retriever, query, words, answer, ranked)
    if query.with_facets:
        seen = ids if len(ids) == total else load_sorted(retriever.store, allowed, key, is_ascending=False, limit=STEP)
        page = page._replace(facets=_count_facets(retriever.store, seen))
    # Each of them meets all that was asked.
    return page if query.is_bare else page._replace(hits=[hit._replace(relevance=1.0) for hit in page.hits])


def _count_facets(store: Store, document_ids: Sequence[int]) -> "Facets":
    from forgelore.store.item_lists import count_found_facets  # most searches do without

    return count_found_facets(store, document_ids)


def _has_known_word(retriever: Retriever, words: Sequence[Word], query: Query) -> bool:
    """Whether any document holds a word of the query, within the filters or not; of those its reader may see."""
    readable = build_allowed(retriever.store, Filters())
    return retriever.count_items(words, 1, readable, source=query.source)[0] > 0


def _unranked(document_id: int) -> Fused:
    """A document that is in an answer for another reason than its rank: it is what was asked for."""
    return Fused(document_id, 0.0, 1.0, (None, None), (None, None))


def _rescore(
    retriever: Retriever, rescorer: "Embedder", query: Query, found: RankedItems,
    join: Callable[[RankedLists], list[Fused]],
) -> RankedItems:  # fmt: skip
    ids = {one.id for one in found.fused[:RESCORED]}
    lists = found.lists.rescored(measure_words(retriever.store, rescorer, ids, text=query.text))
    best = [one for one in join(lists) if one.id in ids]
    return found._replace(fused=[*best, *found.fused[RESCORED:]], lists=lists)


def fuse_lists(lists: RankedLists, weights: tuple[float, float]) -> list[Fused]:
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


OF_CODE = ("code", "commit")
EVERYTHING = "all"


def search_everything(
    retriever: Retriever, query: Query, *, rescorer: "Embedder | None" = None, with_lines: bool = True
) -> SearchAnswer:
    """Return the best hits of the types that are asked for, each with its line; those of items are left out without
    `with_lines`: each reads a whole conversation.
    """
    types = query.filters.types
    sources = [one for one in OF_CODE if one in types or EVERYTHING in types]
    items = tuple(one for one in types if one not in (*OF_CODE, EVERYTHING))
    named = _find_named(retriever, query)
    if not sources and named is None:
        answer = search(retriever, query, rescorer=rescorer)
        return _with_lines(retriever, answer) if with_lines and not query.is_bare else answer
    from forgelore.search.code import search_source  # most searches do without

    check_limit(query.limit)
    filters = query.filters._replace(types=items)
    answers = [] if named is None else [named]
    if items or EVERYTHING in types or not sources:
        deep = query._replace(filters=filters, limit=min(100, query.end), offset=0, seal="")
        answers.append(search(retriever, deep, rescorer=rescorer))
    answers += [search_source(retriever, query._replace(filters=filters), source) for source in sources]
    joined = _join(query, answers)
    return _with_lines(retriever, joined) if with_lines and not query.is_bare else joined


def _find_named(retriever: Retriever, query: Query) -> SearchAnswer | None:
    """Return the commits and files that the query names; None where it names none that is here."""
    if not query.code_keys or query.is_bare:
        return None
    from forgelore.search.code import build_named

    hits = build_named(retriever, query)
    if not hits:
        return None
    what = hits[0].kind if len(hits) == 1 else f"{len(hits)} commits"
    notes = (*query.notes, f"{query.text.strip()} names the {what} at the top")
    return SearchAnswer(hits, "lexical", [], notes=notes, total=len(hits))


def _join(query: Query, answers: list[SearchAnswer]) -> SearchAnswer:
    """Return one answer of several: the best hit of each, then the second best."""
    longest = max(len(answer.hits) for answer in answers)
    hits = [answer.hits[at] for at in range(longest) for answer in answers if at < len(answer.hits)]
    ids = [hit.row.document_id for hit in hits]
    total = sum(answer.total for answer in answers)
    is_exact = all(answer.is_total_exact for answer in answers)
    is_end = len(hits) <= query.end and is_exact
    said = [warning for answer in answers for warning in answer.warnings]
    return answers[0]._replace(
        hits=hits[query.offset : query.end],
        mode="hybrid" if any(answer.mode == "hybrid" for answer in answers) else answers[-1].mode,
        warnings=[*dict.fromkeys(said), *warn_of_change(query.offset, query.seal, ids)],
        is_nothing_indexed=not hits and any(answer.is_nothing_indexed for answer in answers),
        total=total, is_total_exact=is_exact, offset=query.offset,
        next_page=find_next(query.end, ids, is_end=is_end),
        is_filtered=query.filters._replace(project_ids=(), types=()) != Filters(),
        is_nothing_fitting=all(answer.is_nothing_fitting for answer in answers),
    )  # fmt: skip


def _with_lines(retriever: Retriever, answer: SearchAnswer) -> SearchAnswer:
    """Return the answer with the line of each item's reading text that was found."""
    wanted = {hit.row.document_id: (hit.row.text, hit.words) for hit in answer.hits if hit.row.item_id}
    lines = find_item_lines(retriever.store, wanted) if wanted else {}
    return answer._replace(
        hits=[hit._replace(line=lines.get(hit.row.document_id)) if hit.row.item_id else hit for hit in answer.hits]
    )


MAX_LIMIT = 100
_CHANGED = (
    "the previous page was of another query, or the database has changed since; results may be missing or repeated"
)


def check_limit(limit: int) -> None:
    check_whole("limit", limit, MAX_LIMIT)


def grow_ranking(
    rank: Callable[[int], RankedItems], once: Callable[[list[Fused]], list[Fused]], count: int, first: int = STEP
) -> RankedItems:
    """Return a ranking of `count` items or more, step by step. `once` leaves the first document of each item."""
    settled: list[Fused] = []
    size = first
    while True:
        step = rank(size)
        together = once([*settled, *step.fused]) if settled else step.fused
        if size >= count or step.is_complete:
            return step._replace(fused=together)
        settled, size = together[:size], size * 4


def find_next(end: int, ids: Sequence[int], *, is_end: bool) -> str:
    """Return where the page behind one begins, with its seal; "" where there is none. `ids`: the ranking, at least to
    the `end` of that page. `is_end`: it is known to end there.
    """
    return "" if is_end or len(ids) < end or end > MAX_OFFSET else f"{end}:{_seal(ids[:end])}"


def warn_of_change(offset: int, seal: str, ids: Sequence[int]) -> list[str]:
    """Return a warning where a ranking is no longer the one that the page before was a part of."""
    return [_CHANGED] if seal and seal != _seal(ids[:offset]) else []


def _seal(ids: Sequence[int]) -> str:
    return hashlib.sha256(",".join(map(str, ids)).encode()).hexdigest()[:10]


def measure_words(store: Store, embedder: "Embedder", ids: Iterable[int], *, text: str) -> dict[int, float]:
    """Return the cosine of each document to what a person typed; one that has nothing to embed is missing."""
    return _measure(store, embedder, ids, embedder.embed_query(text))


def measure_item(store: Store, embedder: "Embedder", ids: Iterable[int], *, subject: Subject) -> dict[int, float]:
    """Return the cosine of each document to an item."""
    (vector,) = embedder.embed_passages([_first_passage(embedder, subject.title, subject.body)])
    return _measure(store, embedder, ids, vector)


def _measure(
    store: Store, embedder: "Embedder", ids: Iterable[int], raw: Sequence[float] | EmbeddingFailed
) -> dict[int, float]:
    query = check_vector(raw, None)
    if isinstance(query, str):
        raise EmbeddingFailed(query, hint="search without rescoring")
    texts = load_texts(store, ids)
    passages = [_first_passage(embedder, title, text) for title, text in texts.values()]
    vectors = [check_vector(one, query.size) for one in _embed(embedder, passages)]
    return {
        document_id: float(vector @ query)
        for document_id, vector in zip(texts, vectors, strict=True)
        if not isinstance(vector, str)
    }


def _first_passage(embedder: "Embedder", title: str, text: str) -> Passage:
    return first_chunk(title, text, max_chars=embedder.chunk_chars).passage


def _embed(embedder: "Embedder", passages: list[Passage]) -> "list[Sequence[float] | EmbeddingFailed]":
    size = embedder.batch_size
    return [
        vector for at in range(0, len(passages), size) for vector in embedder.embed_passages(passages[at : at + size])
    ]


def vector_or_warning(
    mode: "SearchMode", make: "Callable[[], Vector]", warnings: list[str], *, verb: str
) -> "tuple[SearchMode, Vector | None]":
    """Return the vector and the mode; where nobody makes one, words are left, and a warning."""
    try:
        return mode, make()
    except StoreError:
        raise  # that is the file: words would fare no better
    except LoreError as error:
        if mode == "semantic":
            raise
        warnings.append(f"{verb} by words only: {error.message}" + (f" ({error.hint})" if error.hint else ""))
        return "lexical", None


def warn_of_waiting(store: Store, filters: Filters) -> list[str]:
    """Return a warning when items of the projects looked at are not indexed yet: during a sync, after a killed import,
    a sync without documents. Whatever queues an item does so in the transaction that saves it, so that the queue knows
    them all.
    """
    if has_locks(store):
        from forgelore.store.sync import count_arriving  # hardly ever needed

        read, searchable = count_arriving(store, filters.project_ids, machine_ms())
        if read:
            return [f"a sync is running: {read:,} items read, {searchable:,} searchable"]
    waiting = count_waiting(store, JobKind.DOCUMENT, filters.project_ids)
    if not waiting:
        return []
    items = "1 item waits" if waiting == 1 else f"{waiting:,} items wait"
    return [f"{items} to be indexed and cannot be found yet; run: forgelore generate-docs"]


def warn_of_gaps(store: Store, filters: Filters, warnings: list[str]) -> None:
    waiting = count_waiting(store, JobKind.EMBED, filters.project_ids)
    if waiting:
        warnings.append(f"{waiting:,} documents have no vectors yet and are found by words only (run: forgelore embed)")
