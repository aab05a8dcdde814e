"""The shortlist of items that an item could repeat: both lists, joined by scores and age, each item once; of a change
also those that touch the same rare files, which may share no word with it.

The item's distinctive terms are ORed in full text, and its vector is compared. This step is for recall: what is not
among its candidates is never compared. Intent cards, where asked for, only choose who is compared: what two items share
is then read in what people wrote, so that strength, similarity and thresholds mean the same.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from forgelore.compare.evidence import Stems
from forgelore.compare.sameness import distinctive_terms
from forgelore.search.fusion import DEPTH, Fused, fuse_scores
from forgelore.search.query import SearchMode
from forgelore.search.retriever import RankedLists, Retriever, SearchScope
from forgelore.search.run import first_of_items, vector_or_warning
from forgelore.store.candidates import load_card_document
from forgelore.store.database import Store
from forgelore.store.filters import Filters
from forgelore.store.hits import Subject, load_created, load_item_documents, load_items_of
from forgelore.store.paths import count_changes_by_path, list_touching_items, load_paths_of
from forgelore.store.sqlite.fulltext import Found, estimate_documents, load_document_counts, quote, search_words
from forgelore.words import Source

if TYPE_CHECKING:
    from forgelore.ports.embedder import Embedder
    from forgelore.text.values import Vector


_DAY_MS = 86_400_000
RARE = 12  # changes that touch a file: it is a rare one
SHARED = 2  # rare files that two changes both touch
_PATHS, _TOUCHING = 50, 100  # of them that are looked up, and changes that touch them

Terms = list[tuple[str, int]]


def search_terms(
    retriever: Retriever, terms: Terms, depth: int, scope: SearchScope, *, source: Source = "raw"
) -> list[Found]:
    """Return the documents that hold the most of these terms, or the cards that do."""
    if not terms:
        return []
    scores, allowed = retriever.word_scores, scope.allowed
    if scores and source == "raw" and allowed and allowed.marks and scope.within:
        return scores.search(retriever.store, terms, depth, marks=allowed.marks, within=scope.within)
    # A word that is repeated counts as often: FTS5 adds up the phrases of an OR.
    expression = " OR ".join(quote(term) for term, times in terms for _ in range(times))
    return search_words(retriever.store, expression, depth, allowed, source=source)


def fuse_by_age(store: Store, subject: Subject, lists: RankedLists) -> list[Fused]:
    """By standardised scores and age: the size of a lead tells a duplicate from a neighbour, and ranks forget it; and
    most repetitions follow soon.
    """
    ranked = lists.as_ranked()
    if subject.created_at is None:
        return fuse_scores(ranked)
    created = load_created(store, {document_id for each in ranked for document_id, _ in each})
    ages = {document_id: abs(subject.created_at - at) / _DAY_MS for document_id, at in created.items()}
    return fuse_scores(ranked, ages_days=ages)


def choose_by_cards(
    retriever: Retriever, request: "CompareRequest", known: list[Fused], *, counts: "Counts", wanted: int
) -> list[Fused] | None:
    """Return the items with the nearest cards, best first, as documents that people wrote; None without a card to ask
    with. `known`: documents whose ranks are known already.
    """
    store = retriever.store
    card = load_card_document(store, request.subject.item_id)
    if card is None:
        return None
    document_id, title, text = card
    subject, vector = request.subject._replace(document_id=document_id, title=title, body=text), None
    if request.mode != "lexical":
        said: list[str] = []  # the same as of the item's own vector
        _, vector = vector_or_warning("hybrid", lambda: _load_vector(retriever, subject), said, verb="compared")
    terms = distinctive_terms(title, text, document_count=counts.of_words, total=counts.total)
    # A filter of kinds means items and not their threads: of cards it means the kind of their item.
    filters = request.filters._replace(with_threads=True)
    cards, _ = _find_nearest(retriever, subject, filters, vector, terms, wanted, source="intent")
    items = load_items_of(store, [one.id for one in cards[:wanted]])
    documents = load_item_documents(store, items.values())
    as_known = {one.id: one for one in known}
    chosen = [documents[items[one.id]] for one in cards[:wanted] if items.get(one.id) in documents]
    return [as_known.get(each) or Fused(each, 0.0, 0.0, (None, None), (None, None)) for each in chosen]


def _find_nearest(
    retriever: Retriever, subject: Subject, filters: Filters, vector: "Vector | None", terms: Terms, wanted: int, *,
    source: Source = "raw",
) -> tuple[list[Fused], RankedLists]:  # fmt: skip
    """Return the best document, or card, of `wanted` items or more, where there are as many, and both lists."""
    needs_ids = vector is not None or retriever.word_scores is not None
    scope = retriever.scope(filters, with_vectors=needs_ids)
    depth = DEPTH
    while True:
        near = [] if vector is None else retriever.by_vector(vector, depth, scope, source=source)
        lists = RankedLists(search_terms(retriever, terms, depth, scope, source=source), near)
        fused = first_of_items(retriever.store, fuse_by_age(retriever.store, subject, lists))
        if len(fused) >= wanted or not lists.is_cut(depth):
            return fused, lists
        depth *= 4


CANDIDATES = 60  # whose evidence is compared


class CompareRequest(NamedTuple):
    """What to compare with what. `subject.document_id` None: the text is not in the store."""

    subject: Subject
    filters: Filters
    mode: SearchMode = "hybrid"
    limit: int = 10
    is_bare: bool = False  # numbers alone: no snippets, no quotes
    with_explanations: bool = True  # snippets, and the facts that moved each strength; stored lists have neither
    as_of: int | None = None  # candidates are judged by what was known before that time; None: by what is stored
    per_state: int | None = None  # of the limit, at most so many open ones and as many that are not; None: any
    min_similarity: float = 0.0  # matches behind the first that are less similar are left out
    source: Source = "raw"  # what chooses who is compared; without a card of the subject, its text does
    offset: int = 0  # how many of the best are left out
    seal: str = ""  # the hash of those; "": nobody asks
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
        terms = distinctive_terms(subject.title, body, document_count=counts.of_words, total=counts.total)
    fused, lists = _find_nearest(retriever, subject, request.filters, vector, terms, wanted)
    if request.source == "intent":
        chosen = choose_by_cards(retriever, request, fused, counts=counts, wanted=wanted)
        fused = fused if chosen is None else chosen
    kept = max(wanted, request.offset + request.limit)
    fused = _with_touching(retriever, request, fused, kept)
    return Shortlist(fused[:kept], lists, terms, vector, mode, warnings, len(fused))


def _with_touching(retriever: Retriever, request: CompareRequest, fused: list[Fused], kept: int) -> list[Fused]:
    """Return a change's candidates with those that touch the same rare files, in place of the last ones: two changes of
    the same four files may share no word.
    """
    store, subject = retriever.store, request.subject
    mine = load_paths_of(store, subject.project_id, [subject.item_id]).get(subject.item_id) if subject.item_id else None
    if not mine:
        return fused
    counts = count_changes_by_path(store, subject.project_id, mine)
    rare = tuple(sorted(path for path, count in counts.items() if count <= RARE))[:_PATHS]
    touching = list_touching_items(store, subject.project_id, rare, _TOUCHING) if len(rare) >= SHARED else ()
    theirs = load_paths_of(store, subject.project_id, touching) if touching else {}
    near = [item_id for item_id in touching if len(theirs[item_id].intersection(rare)) >= SHARED]
    known = {one.id for one in fused[:kept]}
    found = [one for one in load_item_documents(store, near).values() if one not in known] if near else []
    if not found:
        return fused
    scope = retriever.scope(request.filters, with_vectors=True)
    marks = scope.allowed.marks if scope.allowed else None
    more = [one for one in found if marks is None or (one < len(marks) and marks[one])][: kept // 4]
    return [*fused[: kept - len(more)], *(Fused(one, 0.0, 0.0, (None, None), (None, None)) for one in more)]


def rescore_shortlist(store: Store, rescorer: "Embedder", subject: Subject, found: Shortlist) -> Shortlist:
    """Return the same candidates as another embedder sees them: its cosines make the vector list."""
    from forgelore.search.run import measure_item

    ids = {one.id for one in found.fused}
    lists = found.lists.rescored(measure_item(store, rescorer, ids, subject=subject))
    fused = [one for one in fuse_by_age(store, subject, lists) if one.id in ids]
    mode: SearchMode = "hybrid" if found.mode == "lexical" else found.mode
    return found._replace(fused=fused, lists=lists, vector=None, mode=mode)


def _load_vector(retriever: Retriever, subject: Subject) -> "Vector":
    """Return the item's vector: the stored one where there is one."""
    stored = retriever.document_vector(subject.document_id) if subject.document_id else None
    return stored if stored is not None else retriever.text_vector(subject.title, subject.body)
