"""The list of a search by words: what holds an identifier as it was typed comes before what holds its parts.

Full text cuts `dead_code` into two words and finds prose about dead code as well. Who types an identifier wants those
that have it, then those that have the names it is made of: of CTxMemPool::removeRecursive the last one first. A query
in FTS5 syntax is asked as it stands.
"""

from typing import TYPE_CHECKING

from forgelore.core.search.ftsquery import build_and, parse_query
from forgelore.core.search.weights import split_names
from forgelore.flows.search.paging import STEP
from forgelore.flows.search.retriever import Retriever
from forgelore.store.db import Store
from forgelore.store.engine.fulltext import Found, raw_query_errors, search_words
from forgelore.store.hits import load_holding

if TYPE_CHECKING:
    from forgelore.core.search.ftsquery import Query
    from forgelore.flows.search.run import SearchRequest
    from forgelore.store.filters import Allowed

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
