"""Code and commits ranked for a query: full text finds them, `core/code/ranking` puts chunks in order."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from forgelore.core.code.ranking import FoundChunk, RankedChunk, rank_chunks
from forgelore.core.search.ftsquery import Query, Word, build_and, build_or, choose_rare, loosen, without_stops
from forgelore.core.search.term_groups import build_any_of
from forgelore.flows.search.retriever import Retriever
from forgelore.flows.search.text_conditions import TextTerms
from forgelore.store.code_hits import CodeHitRow, allow_commits, allow_files, load_code_hits
from forgelore.store.engine.code_words import (
    CodeWords,
    ColumnWeights,
    count_code_words,
    load_code_counts,
    search_code_words,
)
from forgelore.store.engine.fulltext import Found, raw_query_errors
from forgelore.store.filters import Filters

CODE_WEIGHTS = ColumnWeights(path=3.0, names=4.0, text=1.0, terms=0.5)
COMMIT_WEIGHTS = ColumnWeights(path=0.5, names=3.0, text=1.0, terms=0.5)
DEPTH = 200  # chunks that are looked at more closely
_OR_SHARE, _MIN_OR = 0.25, 20_000  # of rows that the OR of rare words may touch


class CodeQuery(NamedTuple):
    """What is looked for: the words, what must and must not occur, within which filters. `raw`: FTS5 syntax instead."""

    query: Query
    terms: TextTerms
    filters: Filters
    raw: str = ""


class RankedCode(NamedTuple):
    """The best chunk of each file, best first, with their rows. `is_complete`: there are no others."""

    chunks: list[RankedChunk]
    rows: dict[int, CodeHitRow]
    is_complete: bool


def rank_code(retriever: Retriever, asked: CodeQuery, depth: int = DEPTH) -> RankedCode:
    """Return the files that answer a query, best first."""
    found = _find(retriever, "code", asked, depth)
    rows = load_code_hits(retriever.store, [one.document_id for one in found])
    weights = _weigh(retriever, "code", asked.query)
    identifiers = {word.text.lower() for word in asked.query.words}
    chunks = [
        FoundChunk(
            one.document_id, row.file_id, one.score, row.path, row.names.split("\n"), _stems(retriever, row, weights)
        )
        for one in found
        if (row := rows.get(one.document_id))
    ]
    return RankedCode(rank_chunks(chunks, weights, identifiers), rows, len(found) < depth)


def rank_commits(retriever: Retriever, asked: CodeQuery, depth: int) -> list[Found]:
    return _find(retriever, "commits", asked, depth)


def _find(retriever: Retriever, index: CodeWords, asked: CodeQuery, depth: int) -> list[Found]:
    """Return what has the words, or the rarest of them, and meets what must occur and what must not."""
    weights = CODE_WEIGHTS if index == "code" else COMMIT_WEIGHTS
    allowed, bindings = (allow_files if index == "code" else allow_commits)(asked.filters)

    def search(expression: str | None) -> list[Found]:
        if expression is None:
            return []
        return search_code_words(
            retriever.store, index, expression, weights, limit=depth, allowed=allowed, bindings=bindings
        )

    if asked.raw:
        with raw_query_errors(asked.raw):
            return search(asked.raw)
    every, rare = build_and(asked.query.words), build_or(_rare(retriever, index, loosen(asked.query.words)))
    # One question, so that all scores are sums over the same words; what has all of them has the largest sums.
    either = " OR ".join(f"({one})" for one in dict.fromkeys((every, rare)) if one)
    return search(_require(either or None, asked.terms))


def _require(expression: str | None, terms: TextTerms) -> str | None:
    """Return an expression with the conditions that a query sets beside its words."""
    for group in terms.required:
        if needed := build_any_of(group):
            expression = f"({expression}) AND ({needed})" if expression else needed
    excluded = build_any_of(terms.excluded)
    return f"({expression}) NOT ({excluded})" if expression and excluded else expression


def _rare(retriever: Retriever, index: CodeWords, words: Sequence[Word]) -> list[Word]:
    total = count_code_words(retriever.store, index)
    stems = {word.text: retriever.stems(word.alternatives[0].text) for word in words}
    counts = load_code_counts(retriever.store, index, (stem for each in stems.values() for stem in each))
    by_word = {text: min((counts.get(stem, 0) for stem in each), default=0) for text, each in stems.items()}
    return choose_rare(words, by_word, total=total, budget=max(_MIN_OR, int(total * _OR_SHARE)))


def _weigh(retriever: Retriever, index: CodeWords, query: Query) -> dict[str, float]:
    """Return what each stem of a query tells: the rarer, the more."""
    words = loosen(without_stops(query.words))
    stems = {stem for word in without_stops(words) for stem in retriever.stems(word.alternatives[0].text)}
    counts = load_code_counts(retriever.store, index, stems)
    total = count_code_words(retriever.store, index)
    return {stem: math.log((total + 1) / (counts.get(stem, 0) + 0.5)) for stem in stems}


def _stems(retriever: Retriever, row: CodeHitRow, wanted: dict[str, float]) -> frozenset[str]:
    text = "\n".join([row.path, row.names, *row.lines])
    return frozenset(wanted.keys() & set(retriever.stems(text)))
