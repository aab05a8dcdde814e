"""The shortlist by cards: the items whose intent cards are nearest to an item's own.

Cards choose who is compared, and nothing else. What two items share is then read in what people wrote, as it is for
every other shortlist, so that strength, similarity and every threshold on them mean the same.
"""

from typing import TYPE_CHECKING

from forgelore.core.compare.query_terms import telling_terms
from forgelore.core.search.fuse import DEPTH, Fused
from forgelore.errors import LoreError, StoreError
from forgelore.flows.compare.item_lists import fuse_by_age, search_terms
from forgelore.flows.search.ranked_lists import RankedLists
from forgelore.flows.search.retriever import Retriever
from forgelore.flows.search.run import first_of_items
from forgelore.store.hits import load_item_documents, load_items_of
from forgelore.store.intent_cards import CardDocument, load_card_document

if TYPE_CHECKING:
    from forgelore.core.search.vectors import Vector
    from forgelore.flows.compare.shortlist import CompareRequest, Counts


def choose_by_cards(
    retriever: Retriever, request: "CompareRequest", known: list[Fused], *, counts: "Counts", wanted: int
) -> list[Fused] | None:
    """Return the items with the nearest cards, best first, as documents that people wrote; None without a card to ask
    with. `known`: what is known of some of those documents already.
    """
    card = load_card_document(retriever.store, request.subject.item_id)
    if card is None:
        return None
    store = retriever.store
    cards = _rank_cards(retriever, request, card, counts, wanted)
    items = load_items_of(store, [one.id for one in cards])
    documents = load_item_documents(store, items.values())
    as_known = {one.id: one for one in known}
    chosen = [documents[items[one.id]] for one in cards if items.get(one.id) in documents]
    return [as_known.get(each) or Fused(each, 0.0, 0.0, (None, None), (None, None)) for each in chosen]


def _rank_cards(
    retriever: Retriever, request: "CompareRequest", card: CardDocument, counts: "Counts", wanted: int
) -> list[Fused]:
    vector = None if request.mode == "lexical" else _load_vector(retriever, card)
    terms = telling_terms(card.title, card.text, document_count=counts.of_words, total=counts.total)
    # A filter of kinds means items and not their threads: of cards it means the kind of their item.
    filters = request.filters._replace(with_threads=True)
    scope = retriever.scope(filters, with_vectors=vector is not None)
    depth = DEPTH
    while True:
        near = [] if vector is None else retriever.by_vector(vector, depth, scope, of_cards=True)
        lists = RankedLists(search_terms(retriever.store, terms, depth, scope.allowed, of_cards=True), near)
        fused = first_of_items(retriever.store, fuse_by_age(retriever.store, request.subject, lists))
        if len(fused) >= wanted or not lists.is_cut(depth):
            return fused[:wanted]
        depth *= 4


def _load_vector(retriever: Retriever, card: CardDocument) -> "Vector | None":
    """Return the card's vector, the stored one where there is one; None where there is no embedder."""
    try:
        stored = retriever.document_vector(card.document_id)
        return stored if stored is not None else retriever.text_vector(card.title, card.text)
    except StoreError:
        raise
    except LoreError:
        return None  # said already, of the item's own vector
