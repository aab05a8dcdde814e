"""Answers from code: the files or the commits that a search finds, each with its best line."""

from forgelore.core.search.ftsquery import parse_query
from forgelore.core.search.snippets import wanted_of
from forgelore.core.search.term_groups import join_groups
from forgelore.errors import InvalidValue
from forgelore.flows.code.found_code import build_commit_hit, build_file_hit
from forgelore.flows.code.ranked_code import CodeQuery, rank_code, rank_commits
from forgelore.flows.search.hit import Hit
from forgelore.flows.search.retriever import Retriever
from forgelore.flows.search.run import SearchAnswer, SearchRequest
from forgelore.store.code_hits import (
    list_first_chunks,
    list_first_chunks_of,
    list_newest_commits,
    load_code_hits,
    load_commit_hits,
)
from forgelore.store.engine.code_words import count_code_words
from forgelore.store.filters import Filters

_KEYS = ("commit:", "file:")
_LISTED = 1_000  # files or commits without words to rank them by


def search_source(retriever: Retriever, request: SearchRequest, source: str) -> SearchAnswer:
    """Return the hits of one source, `code` or `commit`."""
    index = "code" if source == "code" else "commits"
    if not count_code_words(retriever.store, "code" if index == "code" else "commits"):
        hint = "run: forgelore index-code"
        return SearchAnswer([], "lexical", [f"no {source} is indexed yet; {hint}"])  # a sync would not help
    if request.terms.fields:
        raise InvalidValue("in: is for items and their comments", hint="leave it out, or the types code and commit")
    query = join_groups(parse_query("" if request.is_raw else request.text), request.terms.required)
    asked = CodeQuery(query, request.terms, request.filters, request.text if request.is_raw else "")
    is_listed = not query.words and not asked.raw and not request.terms.required
    find = _find_files if source == "code" else _find_commits
    hits, is_exact = find(retriever, request, asked, is_listed=is_listed)
    warnings = [] if hits else _explain_nothing(request.filters, source)
    return SearchAnswer(hits, "lexical", warnings, notes=request.notes, total=len(hits), is_total_exact=is_exact)


def build_named(retriever: Retriever, request: SearchRequest) -> list[Hit]:
    """Return the commits and files that a query names by their keys, as hits."""
    store, wanted = retriever.store, wanted_of(parse_query(""), retriever.stems)
    ids = {kind: [int(key[len(kind) :]) for key in request.code_keys if key.startswith(kind)] for kind in _KEYS}
    commits = load_commit_hits(store, ids["commit:"])
    chunks = load_code_hits(store, list_first_chunks_of(store, ids["file:"]))
    hits = [build_commit_hit(retriever, row, wanted, rank=1, score=1, relevance=1) for row in commits.values()]
    return [
        *hits, *(build_file_hit(retriever, row, wanted, rank=1, score=1, relevance=1) for row in chunks.values()),
    ]  # fmt: skip


def _find_files(
    retriever: Retriever, request: SearchRequest, asked: CodeQuery, *, is_listed: bool
) -> tuple[list[Hit], bool]:
    wanted = wanted_of(asked.query, retriever.stems)
    if is_listed:
        ids = list_first_chunks(retriever.store, request.filters, _LISTED)
        rows = load_code_hits(retriever.store, ids[: request.end])
        shown = [rows[one] for one in ids[: request.end]]
        hits = [
            build_file_hit(retriever, row, wanted, rank=at, score=0, relevance=1) for at, row in enumerate(shown, 1)
        ]
        return hits, len(ids) <= request.end
    ranked = rank_code(retriever, asked)
    best = ranked.chunks[0].score if ranked.chunks else 1.0
    hits = [
        build_file_hit(
            retriever, ranked.rows[one.id], wanted, rank=at, score=one.score / best, relevance=one.coverage
        )
        for at, one in enumerate(ranked.chunks, 1)
    ]  # fmt: skip
    return hits, ranked.is_complete


def _find_commits(
    retriever: Retriever, request: SearchRequest, asked: CodeQuery, *, is_listed: bool
) -> tuple[list[Hit], bool]:
    wanted, store = wanted_of(asked.query, retriever.stems), retriever.store
    depth = max(100, request.end)
    if is_listed:
        ids = list_newest_commits(store, request.filters, request.end + 1, is_ascending=request.sort.is_ascending)
        scores = dict.fromkeys(ids[: request.end], 0.0)
    else:
        found = rank_commits(retriever, asked, depth)
        ids, scores = [one.document_id for one in found], {one.document_id: one.score for one in found}
    rows = load_commit_hits(store, scores)
    best = max(scores.values(), default=0) or 1.0
    hits = [
        build_commit_hit(retriever, rows[one], wanted, rank=at, score=score / best, relevance=1.0)
        for at, (one, score) in enumerate(scores.items(), 1)
        if one in rows
    ]
    words = [word.text for word in wanted.words]
    rated = [hit._replace(relevance=len(hit.words) / len(words) if words else 1.0) for hit in hits]
    return rated, len(ids) <= len(scores) and len(ids) < depth


def _explain_nothing(filters: Filters, source: str) -> list[str]:
    asked = [
        name
        for name, value in (
            ("labels", filters.labels or filters.any_labels), ("states", filters.states),
            ("milestones", filters.milestones), ("assignees", filters.assignees),
            ("authors", source == "code" and filters.authors),
        )
        if value
    ]  # fmt: skip
    return [f"{'files' if source == 'code' else 'commits'} have no {' or '.join(asked)}"] if asked else []
