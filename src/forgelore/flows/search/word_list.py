"""The list of a search by words: what holds an identifier as it was typed comes before what holds its parts.

Full text cuts `dead_code` into two words and finds prose about dead code as well. Who types an identifier wants those
that have it. A query in FTS5 syntax is asked as it stands.
"""

from typing import TYPE_CHECKING

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
    return literal_first(retriever.store, found, literal)[:depth]


def literal_first(store: Store, found: list[Found], text: str) -> list[Found]:
    """Return the documents with those first that hold the text, capitals aside; otherwise in their order."""
    holding = load_holding(store, [one.document_id for one in found], text)
    return sorted(found, key=lambda one: one.document_id not in holding)
