"""The shortlist of items that an item could repeat: both lists, joined by scores and age, each item once.

This step is for recall: what is not among its candidates is never compared.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from forgelore.core.compare.evidence import Stems
from forgelore.core.compare.query_terms import telling_terms
from forgelore.core.search.fuse import DEPTH, Fused
from forgelore.flows.compare.card_shortlist import choose_by_cards
from forgelore.flows.compare.item_lists import Terms, fuse_by_age, search_terms
from forgelore.flows.search.ranked_lists import RankedLists
from forgelore.flows.search.retriever import Retriever
from forgelore.flows.search.run import SearchMode, first_of_items
from forgelore.flows.search.shortfalls import vector_or_warning
from forgelore.store.db import Store
from forgelore.store.engine.words import estimate_documents, load_document_counts
from forgelore.store.filters import Filters
from forgelore.store.hits import Subject

if TYPE_CHECKING:
    from forgelore.core.search.vectors import Vector
    from forgelore.ports import Embedder

CANDIDATES = 60  # whose evidence is compared


class CompareRequest(NamedTuple):
    """What to compare with what. `subject.document_id` None: the text is not in the store."""

    subject: Subject
    filters: Filters
    mode: SearchMode = "hybrid"
    limit: int = 10
    is_bare: bool = False  # numbers alone: no snippets, no quotes
    as_of: int | None = None  # candidates are judged by what was known before that time; None: by what is stored
    per_state: int | None = None  # of the limit, at most so many open ones and as many that are not; None: any
    by_cards: bool = False  # intent cards choose who is compared; without a card of the subject, its text does
    offset: int = 0  # how many of the best are left out
    least: int = CANDIDATES  # candidates that are looked for, whatever the limit: pages of one ranking ask for as many


class Shortlist(NamedTuple):
    """What retrieval found and said; `mode` is what was really done."""

    fused: list[Fused]
    lists: RankedLists
    terms: Terms
    vector: "Vector | None"  # None also where another embedder gave the cosines
    mode: SearchMode
    warnings: list[str]
    found: int = 0  # how many items the lists had

    def first(self, count: int) -> "Shortlist":
        return self._replace(fused=self.fused[:count], found=min(self.found, count))


class Counts:
    """How many documents hold a stem, each asked for once: a question takes a tenth of a millisecond."""

    def __init__(self, store: Store, stems: Stems) -> None:
        self._store, self._stems, self._known = store, stems, dict[str, int]()
        self.total = estimate_documents(store)

    def of_stems(self, stems: list[str]) -> Mapping[str, int]:
        new = [stem for stem in stems if stem not in self._known]
        if new:
            found = load_document_counts(self._store, new)
            self._known.update((stem, found.get(stem, 0)) for stem in new)
        return self._known

    def of_words(self, words: list[str]) -> dict[str, int]:
        """Of several stems (`a.b`) the rarest decides."""
        stems = {word: self._stems(word) for word in words}
        known = self.of_stems([stem for each in stems.values() for stem in each])
        return {word: min((known[stem] for stem in each), default=0) for word, each in stems.items()}


def find_shortlist(
    retriever: Retriever, request: CompareRequest, *, body: str, counts: Counts, wanted: int
) -> Shortlist:
    """Return `wanted` candidates, or the first `request.offset + request.limit` where these are more and as many were
    found on the way. `body` is the item's, without boilerplate.
    """
    subject, mode, vector = request.subject, request.mode, None
    warnings: list[str] = []
    if mode != "lexical":
        mode, vector = vector_or_warning(mode, lambda: _load_vector(retriever, subject), warnings, verb="compared")
    terms: Terms = []
    if mode != "semantic":
        terms = telling_terms(subject.title, body, document_count=counts.of_words, total=counts.total)
    scope = retriever.scope(request.filters, with_vectors=vector is not None)
    depth = DEPTH
    while True:
        near = [] if vector is None else retriever.by_vector(vector, depth, scope)
        lists = RankedLists(search_terms(retriever.store, terms, depth, scope.allowed), near)
        fused = first_of_items(retriever.store, fuse_by_age(retriever.store, subject, lists))
        if len(fused) >= wanted or not lists.is_cut(depth):
            break
        depth *= 4
    if request.by_cards:
        chosen = choose_by_cards(retriever, request, fused, counts=counts, wanted=wanted)
        fused = fused if chosen is None else chosen
    kept = max(wanted, request.offset + request.limit)
    return Shortlist(fused[:kept], lists, terms, vector, mode, warnings, len(fused))


def rescore_shortlist(store: Store, rescorer: "Embedder", subject: Subject, found: Shortlist) -> Shortlist:
    """Return the same candidates as another embedder sees them: its cosines make the vector list."""
    from forgelore.flows.search.rescore import measure_item

    ids = {one.id for one in found.fused}
    lists = found.lists.rescored(measure_item(store, rescorer, ids, subject=subject))
    fused = [one for one in fuse_by_age(store, subject, lists) if one.id in ids]
    mode: SearchMode = "hybrid" if found.mode == "lexical" else found.mode
    return found._replace(fused=fused, lists=lists, vector=None, mode=mode)


def _load_vector(retriever: Retriever, subject: Subject) -> "Vector":
    """Return the item's vector: the stored one where there is one."""
    stored = retriever.document_vector(subject.document_id) if subject.document_id else None
    return stored if stored is not None else retriever.text_vector(subject.title, subject.body)
