"""`search` over everything: items and threads, files of code, commits; by the types that are asked for.

Without a type, a search is that of items and threads, as if there were no code. `code` and `commit` are asked for by
name, `all` is everything. Of several sources the answer takes turns: the best of each, then the second best.

Lines of found items: where in an item's reading text the part stands that a search has found.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from forgelore.browse.reading_text import load_item_lines
from forgelore.search.paging import check_limit, find_next, warn_of_change
from forgelore.search.retriever import Retriever
from forgelore.search.run import SearchAnswer, SearchRequest, search
from forgelore.search.snippets import find_worded_line
from forgelore.store.database import Store
from forgelore.store.documents import load_document_places
from forgelore.store.filters import Filters

if TYPE_CHECKING:
    from forgelore.ports.embedder import Embedder


def find_item_lines(store: Store, found: Mapping[int, tuple[str, tuple[str, ...]]]) -> dict[int, int]:
    """Return document -> line, for documents of items and threads with their text and the words that matched. A hit
    whose title alone matched is told by the first line.
    """
    places = load_document_places(store, found)
    with_threads = {place.item_id for place in places.values() if place.thread_key}
    pages = load_item_lines(store, {place.item_id for place in places.values()}, with_threads=with_threads)
    lines = {}
    for document_id, place in places.items():
        text, words = found[document_id]
        page = pages.get(place.item_id)
        if page is not None:
            lines[document_id] = page.find(find_worded_line(text, words), place.thread_key) or 1
    return lines


OF_CODE = ("code", "commit")
EVERYTHING = "all"


def search_everything(
    retriever: Retriever, request: SearchRequest, *, rescorer: "Embedder | None" = None, with_lines: bool = True
) -> SearchAnswer:
    """Return the best hits of the types that are asked for, each with its line; those of items are left out without
    `with_lines`: each reads a whole conversation.
    """
    types = request.filters.types
    sources = [one for one in OF_CODE if one in types or EVERYTHING in types]
    items = tuple(one for one in types if one not in (*OF_CODE, EVERYTHING))
    named = _find_named(retriever, request)
    if not sources and named is None:
        answer = search(retriever, request, rescorer=rescorer)
        return _with_lines(retriever, answer) if with_lines and not request.is_bare else answer
    from forgelore.search.code import search_source  # most searches do without

    check_limit(request.limit)
    filters = request.filters._replace(types=items)
    answers = [] if named is None else [named]
    if items or EVERYTHING in types or not sources:
        deep = request._replace(filters=filters, limit=min(100, request.end), start=type(request.start)())
        answers.append(search(retriever, deep, rescorer=rescorer))
    answers += [search_source(retriever, request._replace(filters=filters), source) for source in sources]
    joined = _join(request, answers)
    return _with_lines(retriever, joined) if with_lines and not request.is_bare else joined


def _find_named(retriever: Retriever, request: SearchRequest) -> SearchAnswer | None:
    """Return the commits and files that the query names; None where it names none that is here."""
    if not request.code_keys or request.is_bare:
        return None
    from forgelore.search.code import build_named

    hits = build_named(retriever, request)
    if not hits:
        return None
    what = hits[0].kind if len(hits) == 1 else f"{len(hits)} commits"
    notes = (*request.notes, f"{request.text.strip()} names the {what} at the top")
    return SearchAnswer(hits, "lexical", [], notes=notes, total=len(hits))


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


def _with_lines(retriever: Retriever, answer: SearchAnswer) -> SearchAnswer:
    """Return the answer with the line of each item's reading text that was found."""
    wanted = {hit.row.document_id: (hit.row.text, hit.words) for hit in answer.hits if hit.row.item_id}
    lines = find_item_lines(retriever.store, wanted) if wanted else {}
    return answer._replace(
        hits=[hit._replace(line=lines.get(hit.row.document_id)) if hit.row.item_id else hit for hit in answer.hits]
    )
