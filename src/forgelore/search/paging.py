"""Pages of a search: parts of one ranking, whatever part is asked for and however many hits.

A ranking grows in steps of fixed sizes. What one step has put in order stays; the next one looks deeper and only adds
behind it. So the second page neither repeats nor skips what the first one had.

A page begins at a number, `40`, or at the mark that the page before ended with, `40:9f2c01d3ab`: its hash is that of
everything before it, and tells when the ranking is another one: of another question, or of a database that changed.

The list of a search by words: what holds an identifier as it was typed comes before what holds its parts.

Full text cuts `dead_code` into two words and finds prose about dead code as well. Who types an identifier wants those
that have it, then those that have the names it is made of: of CTxMemPool::removeRecursive the last one first. A query
in FTS5 syntax is asked as it stands.

`--rescore`: cosines of the best candidates by a heavier embedder.

    candidates -> the chunk that stands for each -> vectors, on the fly -> cosines in place of the stored vectors' ones

Nothing is stored. A whole project takes such an embedder minutes; a hundred texts take it a few seconds of CPU.

Shortfalls of an index: what a search cannot find yet, as warnings.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from forgelore.errors import EmbeddingFailed, InvalidValue, LoreError, StoreError
from forgelore.index.cleaning import build_chunks
from forgelore.search.ftsquery import build_and, parse_query
from forgelore.search.fusion import Fused, split_names
from forgelore.search.retriever import Retriever
from forgelore.store.database import Store
from forgelore.store.filters import Filters
from forgelore.store.hits import Subject, load_holding, load_texts
from forgelore.store.jobs import count_waiting
from forgelore.store.sqlite.fulltext import Found, raw_query_errors, search_words
from forgelore.text.values import check_whole
from forgelore.text.vectors import check_vector
from forgelore.words import JobKind, Passage

if TYPE_CHECKING:
    from forgelore.ports.embedder import Embedder
    from forgelore.search.ftsquery import Query
    from forgelore.search.retriever import RankedLists
    from forgelore.search.run import SearchMode, SearchRequest
    from forgelore.store.filters import Allowed
    from forgelore.text.vectors import Vector


STEP = 20  # hits of the first step, most of the pages that anybody looks at; each further one has four times as many
MAX_LIMIT = 100
MAX_OFFSET = 10_000
_HINT = f"give a number up to {MAX_OFFSET:,}, or what the page before ended with"
_CHANGED = (
    "the page before was one of another question, or the database has changed since; hits may be missing, or come twice"
)


class PageStart(NamedTuple):
    """Where a page begins; `seal` is the hash of what comes before it, "" where nobody asks."""

    offset: int = 0
    seal: str = ""


FIRST_PAGE = PageStart()


class RankedItems(NamedTuple):
    """The best document of each item, best first, as many as were seen. `is_complete`: there are no others."""

    fused: list[Fused]
    lists: "RankedLists"
    is_complete: bool


def check_limit(limit: int) -> None:
    check_whole("limit", limit, MAX_LIMIT)


def parse_start(given: int | str) -> PageStart:
    """Return the start of a page as people and programs write it: 40, "40" or "40:9f2c01d3ab"."""
    match = re.fullmatch(r"(\d{1,9})(?::([0-9a-f]{10}))?", str(given).strip(), re.ASCII)
    if not match or int(match[1]) > MAX_OFFSET:
        raise InvalidValue(f"no page begins at {str(given)[:60]!r}", hint=_HINT)
    return PageStart(int(match[1]), match[2] or "")


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


def find_next(start: PageStart, limit: int, ids: Sequence[int], *, is_end: bool) -> str:
    """Return where the page behind this one begins, with its seal; "" where there is none. `ids`: the ranking, at least
    to the end of this page. `is_end`: it is known to end there.
    """
    end = start.offset + limit
    return "" if is_end or len(ids) < end or end > MAX_OFFSET else f"{end}:{_seal(ids[:end])}"


def warn_of_change(start: PageStart, ids: Sequence[int]) -> list[str]:
    """Return a warning where a ranking is no longer the one that the page before was a part of."""
    return [_CHANGED] if start.seal and start.seal != _seal(ids[: start.offset]) else []


def _seal(ids: Sequence[int]) -> str:
    return hashlib.sha256(",".join(map(str, ids)).encode()).hexdigest()[:10]


LITERAL_DEPTH = 300  # documents that are looked at for an identifier


def list_by_words(
    retriever: Retriever, request: "SearchRequest", query: "Query", depth: int, allowed: "Allowed | None",
    literal: str | None,
) -> list[Found]:  # fmt: skip
    """Return the best documents by words. `literal`: the identifier that the query is."""
    if request.is_raw:
        with raw_query_errors(request.text):
            return search_words(retriever.store, request.text, depth, allowed, of_cards=request.of_cards)
    if literal is None:
        return retriever.by_words(query, depth, STEP, allowed, of_cards=request.of_cards)
    found = retriever.by_words(query, max(depth, LITERAL_DEPTH), STEP, allowed, of_cards=request.of_cards)
    named = list_by_names(retriever, request, literal, depth, allowed)
    known = {one.document_id for one in named}
    found = [*named, *(one for one in found if one.document_id not in known)]
    return literal_first(retriever.store, found, literal)[:depth]


def list_by_names(
    retriever: Retriever, request: "SearchRequest", literal: str, depth: int, allowed: "Allowed | None"
) -> list[Found]:
    """Return documents that hold names of an identifier, those with most of them as typed first; none where it is one
    name.
    """
    names = split_names(literal)
    if names == [literal]:
        return []
    held: dict[int, int] = {}
    best: dict[int, Found] = {}
    for name in reversed(names):
        expression = build_and(parse_query(name).words)
        found = search_words(retriever.store, expression or '""', depth, allowed, of_cards=request.of_cards)
        holding = load_holding(retriever.store, [one.document_id for one in found], name)
        for one in found:
            best.setdefault(one.document_id, one)
            held[one.document_id] = held.get(one.document_id, 0) + (one.document_id in holding)
    return sorted(best.values(), key=lambda one: -held[one.document_id])


def literal_first(store: Store, found: list[Found], text: str) -> list[Found]:
    """Return the documents with those first that hold the text, capitals aside; otherwise in their order."""
    holding = load_holding(store, [one.document_id for one in found], text)
    return sorted(found, key=lambda one: one.document_id not in holding)


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
    return build_chunks(title, text, max_chars=embedder.chunk_chars)[0].passage


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
        warnings.append(f"{verb} by words alone: {error.message}" + (f" ({error.hint})" if error.hint else ""))
        return "lexical", None


def warn_of_waiting(store: Store, filters: Filters) -> list[str]:
    """Return a warning when items of the projects looked at are not indexed yet: after a killed import, a sync without
    documents. Whatever queues an item does so in the transaction that saves it, so that the queue knows them all.
    """
    waiting = count_waiting(store, JobKind.DOCUMENT, filters.project_ids, is_public=filters.is_public)
    if not waiting:
        return []
    items = "1 item waits" if waiting == 1 else f"{waiting:,} items wait"
    return [f"{items} to be indexed, and what is new in them is not found yet; run: forgelore generate-docs"]


def warn_of_gaps(store: Store, filters: Filters, warnings: list[str]) -> None:
    waiting = count_waiting(store, JobKind.EMBED, filters.project_ids, is_public=filters.is_public)
    if waiting:
        warnings.append(f"{waiting:,} documents have no vectors yet and are found by words alone (forgelore embed)")
