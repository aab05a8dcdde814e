"""Weighing a query: how rare its words are in the store, what each list therefore counts, how well each hit fits."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from forgelore.core.compare.rarity import weight_of
from forgelore.core.search.ftsquery import Query, Word, without_stops
from forgelore.core.search.relevance import FLOOR, name_fits, nonsense_among, rate_hit
from forgelore.core.search.weights import ListWeights, WeighedWord, is_exact, weigh_lists, with_numbered_names
from forgelore.core.text import folded, folded_letters
from forgelore.store.engine.words import estimate_documents

if TYPE_CHECKING:
    from forgelore.flows.search.hit import Hit
    from forgelore.flows.search.ranked_lists import RankedLists
    from forgelore.flows.search.retriever import Retriever

_PREFIX_SHARE = 0.01  # of documents that hold a prefix, which has no count of its own


class WeighedQuery(NamedTuple):
    """The words of a query with what they tell, and what each list counts."""

    words: tuple[WeighedWord, ...]
    lists: ListWeights
    literal: str | None  # the one identifier that the query is
    documents: int  # among which it is asked, about


def weigh_query(retriever: "Retriever", query: Query) -> WeighedQuery:
    words = without_stops(query.words)
    total = estimate_documents(retriever.store)
    counts = retriever.count_documents([phrase.text for word in words for phrase in word.alternatives])
    weighed = []
    for word in words:
        found = [count for phrase in word.alternatives if (count := counts[phrase.text])]
        if word.alternatives[0].is_prefix:
            found = [max(1, int(total * _PREFIX_SHARE))]
        stems = retriever.stems(word.alternatives[0].text)
        weight = weight_of(stems[0] if len(stems) == 1 else "", min(found, default=0), total)
        weighed.append(WeighedWord(word.text, weight, is_exact(word), bool(found)))
    weighed = with_numbered_names(weighed)
    return WeighedQuery(tuple(weighed), weigh_lists(weighed), _literal(words), total)


def rate_hits(
    hits: "list[Hit]", query: WeighedQuery, lists: "RankedLists", *, floor: float, known_count: int = 0
) -> "list[Hit]":
    """Return the hits with how well each fits: the `known_count` first are what the query names. `floor`: the
    embedder's. A hit that the vectors' list lacks is no nearer than the last of it.
    """
    furthest = lists.vectors[-1].cosine if lists.vectors else None
    nonsense = nonsense_among(floor, query.documents)
    spelled = [(word.text, folded(word.text)) for word in query.words]
    fold = folded if any(" " in letters for _, letters in spelled) else folded_letters

    def rate(hit: "Hit") -> float:
        cosine = furthest if hit.vector_score is None else hit.vector_score
        found = set(hit.words)
        if missing := [each for each in spelled if each[0] not in found]:
            # Marks are looked for around the snippet alone; a long text holds words elsewhere too.
            text = fold(hit.row.text)
            found.update(word for word, letters in missing if letters in text)
        return rate_hit(query.words, found, cosine=cosine, nonsense=nonsense)

    return [hit._replace(relevance=1.0 if at < known_count else rate(hit)) for at, hit in enumerate(hits)]


def name_hit_fits(hits: "Sequence[Hit]") -> "list[Hit]":
    """Return the hits of a page with how well each fits, in a word."""
    fits = iter(name_fits([hit.relevance for hit in hits if hit.relevance is not None]))
    return [hit if hit.relevance is None else hit._replace(fit=next(fits)) for hit in hits]


def is_nothing_fitting(hits: "Sequence[Hit]") -> bool:
    """Whether the hits are the best of a bad lot."""
    return bool(hits) and all(hit.relevance is not None and hit.relevance < FLOOR for hit in hits)


def _literal(words: Sequence[Word]) -> str | None:
    if len(words) != 1 or not is_exact(words[0]) or " " in words[0].text:
        return None
    return words[0].text
