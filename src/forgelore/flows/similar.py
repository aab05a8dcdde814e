"""`similar`: an item as the query.

Its most telling words are ORed and its vector is compared, against documents of items of the same kind. The query is
the title and the body alone, as if it had just been filed: what was said later is not known when it counts.
"""

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from forgelore.core.ftsquery import Phrase, Query, Word
from forgelore.core.fuse import Fused, fuse_scores
from forgelore.core.snippets import wanted_of
from forgelore.core.telling import telling_terms
from forgelore.flows.retrieve import Retriever
from forgelore.flows.search import Answer, Lists, Mode, best_per_item, build_hits, check_limit, vector_or_warning
from forgelore.store.filters import Allowed, Filters
from forgelore.store.fulltext import Found, search_words
from forgelore.store.hits import Subject, load_created
from forgelore.store.words import estimate_documents, has_documents

if TYPE_CHECKING:
    from forgelore.core.vectors import Vector

_DAY_MS = 86_400_000


class Likeness(NamedTuple):
    """What to compare with what. `subject.document_id` None: the text is not in the store."""

    subject: Subject
    filters: Filters
    mode: Mode = "hybrid"
    limit: int = 10
    is_bare: bool = False  # ranks alone, as in `Request`


def find_similar(retriever: Retriever, request: Likeness) -> Answer:
    """Return what an item resembles, best first; `Hit.words` are the telling words both have."""
    check_limit(request.limit)
    if not has_documents(retriever.store):
        return Answer([], request.mode, [], is_nothing_indexed=True)
    subject = request.subject
    terms = _terms(retriever, subject) if request.mode != "semantic" else []
    warnings: list[str] = []
    mode, vector = request.mode, None
    if mode != "lexical":
        mode, vector = vector_or_warning(mode, partial(_vector, retriever, subject), warnings, verb="compared")
    scope = retriever.scope(request.filters, with_vectors=vector is not None)

    def gather(depth: int) -> Lists:
        words = _by_terms(retriever, terms, depth, scope.allowed)
        return Lists(words, retriever.by_vector(vector, depth, scope) if vector is not None else [])

    fused, lists = best_per_item(retriever, gather, partial(_fuse, retriever, subject), request.limit)
    wanted = None if request.is_bare else wanted_of(_as_query(terms), retriever.stems)
    return Answer(build_hits(retriever, fused, lists, wanted), mode, warnings)


def _terms(retriever: Retriever, subject: Subject) -> list[tuple[str, int]]:
    """Return the words that tell this item from others, and how often each counts."""
    total = estimate_documents(retriever.store)
    return telling_terms(subject.title, subject.body, document_count=retriever.count_documents, total=total)


def _by_terms(retriever: Retriever, terms: list[tuple[str, int]], depth: int, allowed: Allowed | None) -> list[Found]:
    if not terms:
        return []
    # A word that is repeated counts as often: FTS5 adds up the phrases of an OR.
    expression = " OR ".join(f'"{term.replace(chr(34), chr(34) * 2)}"' for term, times in terms for _ in range(times))
    return search_words(retriever.store, expression, depth, allowed)


def _vector(retriever: Retriever, subject: Subject) -> "Vector":
    """Return the item's vector: the stored one where there is one."""
    stored = retriever.document_vector(subject.document_id) if subject.document_id else None
    return stored if stored is not None else retriever.text_vector(subject.title, subject.body)


def _as_query(terms: list[tuple[str, int]]) -> Query:
    """Return the telling words as a query, to be marked in snippets and named as the reason, best first."""
    return Query(tuple(Word(term, (Phrase(term),)) for term, _ in terms))


def _fuse(retriever: Retriever, subject: Subject, lists: Lists) -> list[Fused]:
    """By standardised scores and age: the size of a lead tells a duplicate from a neighbour, and ranks forget it; and
    most repetitions follow soon.
    """
    ranked = lists.as_ranked()
    if subject.created_at is None:
        return fuse_scores(ranked)
    created = load_created(retriever.store, {document_id for each in ranked for document_id, _ in each})
    ages = {document_id: abs(subject.created_at - at) / _DAY_MS for document_id, at in created.items()}
    return fuse_scores(ranked, ages_days=ages)
