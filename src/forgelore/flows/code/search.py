"""`search` over everything: items and threads, files of code, commits; by the types that are asked for.

Without a type, a search is that of items and threads, as if there were no code. `code` and `commit` are asked for by
name, `all` is everything. Of several sources the answer takes turns: the best of each, then the second best.
"""

from typing import TYPE_CHECKING

from forgelore.core.search.ftsquery import parse_query
from forgelore.core.search.snippets import wanted_of
from forgelore.core.search.term_groups import join_groups
from forgelore.errors import InvalidValue
from forgelore.flows.browse.hit_lines import find_item_lines
from forgelore.flows.code.found_code import build_commit_hit, build_file_hit
from forgelore.flows.code.ranked_code import CodeQuery, rank_code, rank_commits
from forgelore.flows.search.hit import Hit
from forgelore.flows.search.paging import check_limit, find_next, warn_of_change
from forgelore.flows.search.retriever import Retriever
from forgelore.flows.search.run import SearchAnswer, SearchRequest, search
from forgelore.store.code_hits import list_first_chunks, list_newest_commits, load_code_hits, load_commit_hits
from forgelore.store.engine.code_words import count_code_words
from forgelore.store.filters import Filters

if TYPE_CHECKING:
    from forgelore.ports import Embedder

OF_CODE = ("code", "commit")
EVERYTHING = "all"
_LISTED = 1_000  # files or commits without words to rank them by


def search_everything(
    retriever: Retriever, request: SearchRequest, *, rescorer: "Embedder | None" = None
) -> SearchAnswer:
    """Return the best hits of the types that are asked for, each with its line."""
    types = request.filters.types
    sources = [one for one in OF_CODE if one in types or EVERYTHING in types]
    items = tuple(one for one in types if one not in (*OF_CODE, EVERYTHING))
    if not sources:
        return _with_lines(retriever, search(retriever, request, rescorer=rescorer), request)
    check_limit(request.limit)
    filters = request.filters._replace(types=items)
    answers = []
    if items or EVERYTHING in types:
        deep = request._replace(filters=filters, limit=min(100, request.end), start=type(request.start)())
        answers.append(search(retriever, deep, rescorer=rescorer))
    answers += [_search_source(retriever, request._replace(filters=filters), source) for source in sources]
    return _with_lines(retriever, _join(request, answers), request)


def _search_source(retriever: Retriever, request: SearchRequest, source: str) -> SearchAnswer:
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


def _join(request: SearchRequest, answers: list[SearchAnswer]) -> SearchAnswer:
    """Return one answer of several: the best hit of each, then the second best."""
    longest = max(len(answer.hits) for answer in answers)
    hits = [answer.hits[at] for at in range(longest) for answer in answers if at < len(answer.hits)]
    ids = [hit.row.document_id for hit in hits]
    total = sum(answer.total for answer in answers)
    is_exact = all(answer.is_total_exact for answer in answers)
    is_end = len(hits) <= request.end and is_exact
    said = [warning for answer in answers for warning in answer.warnings]
    return answers[0]._replace(
        hits=hits[request.start.offset : request.end],
        mode="hybrid" if any(answer.mode == "hybrid" for answer in answers) else answers[-1].mode,
        warnings=[*dict.fromkeys(said), *warn_of_change(request.start, ids)],
        is_nothing_indexed=not hits and any(answer.is_nothing_indexed for answer in answers),
        total=total, is_total_exact=is_exact, offset=request.start.offset,
        next_page=find_next(request.start, request.limit, ids, is_end=is_end),
        is_filtered=request.filters._replace(project_ids=(), types=()) != Filters(),
        is_nothing_fitting=all(answer.is_nothing_fitting for answer in answers),
    )  # fmt: skip


def _with_lines(retriever: Retriever, answer: SearchAnswer, request: SearchRequest) -> SearchAnswer:
    """Return the answer with the line of each item's reading text that was found."""
    if request.is_bare:
        return answer
    wanted = {hit.row.document_id: (hit.row.text, hit.words) for hit in answer.hits if hit.row.item_id}
    lines = find_item_lines(retriever.store, wanted) if wanted else {}
    return answer._replace(
        hits=[hit._replace(line=lines.get(hit.row.document_id)) if hit.row.item_id else hit for hit in answer.hits]
    )
