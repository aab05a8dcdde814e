"""Search in code and commits: full text finds chunks, which are ranked again and shown with their best line.

Full text gives the candidates. A good one has much of the query (in its text, its names and its path together),
defines what the query names, and is not a test, which says the same words about something else.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from forgelore.errors import InvalidValue
from forgelore.search.ftsquery import (
    Word,
    build_and,
    build_any_of,
    build_or,
    choose_rare,
    join_groups,
    loosen,
    parse_words,
    without_stops,
)
from forgelore.search.hits import Hit
from forgelore.search.query import Query
from forgelore.search.retriever import Retriever
from forgelore.search.run import SearchAnswer
from forgelore.search.snippets import (
    HighlightQuery,
    Snippet,
    build_highlight_query,
    build_snippet,
    find_marked_line,
    find_marks,
    find_tokens,
    matched_words,
    merge_marks,
)
from forgelore.store.code import (
    CodeHitRow,
    allow_commits,
    allow_files,
    list_first_chunks,
    list_first_chunks_of,
    list_newest_commits,
    load_code_hits,
)
from forgelore.store.commits import load_commits
from forgelore.store.filters import Filters
from forgelore.store.hits import HitRow
from forgelore.store.sqlite.fulltext import (
    CodeWords,
    Found,
    count_code_words,
    load_code_counts,
    raw_query_errors,
    search_code_words,
)
from forgelore.text.items import StoredCommit
from forgelore.text.refs import file_page

_TESTS = re.compile(
    r"(?:\A|/)(?:tests?|testing|testdata|spec|specs|__tests__|idlelib/idle_test)(?:/|\Z)|(?:\A|/)test_|_test\.|\.test\."
)
DEFINED = 1.0  # what a definition of something that the query names adds, as a share of the words' score
COVERED = 1.5  # the same for having every word of it
TEST = 0.5  # what the score of a test is worth, where nobody asks for tests
SECOND = 0.15  # what the second best chunk of a file adds


class Chunk(NamedTuple):
    """A chunk that full text found: its score, its file, and what it defines."""

    id: int
    file_id: int
    score: float
    path: str
    names: Sequence[str]
    stems: Collection[str]  # of path, names and text, as far as the query asks for them
    coverage: float = 0.0  # how much of the query it has, 0 to 1, rare words counting more


def rank_chunks(found: Sequence[Chunk], weights: Mapping[str, float], identifiers: Collection[str]) -> list[Chunk]:
    """Return the best chunk of each file, best first. `weights`: what each stem of the query tells; `identifiers`: its
    words as typed, folded.
    """
    asks_for_tests = any(word.startswith("test") for word in identifiers)
    total = sum(weights.values())
    ranked = []
    for one in found:
        coverage = sum(weights[stem] for stem in one.stems if stem in weights) / total if total else 1.0
        score = one.score * (1 + COVERED * coverage + DEFINED * _defines(one.names, identifiers))
        if is_test(one.path) and not asks_for_tests:
            score *= TEST
        ranked.append(one._replace(score=score, coverage=coverage))
    return _best_of_files(sorted(ranked, key=lambda one: (-one.score, one.id)))


def is_test(path: str) -> bool:
    return _TESTS.search(path.lower()) is not None


def _defines(names: Sequence[str], identifiers: Collection[str]) -> bool:
    """Whether one of the names, or the last part of one, is a word of the query."""
    return any(name.lower() in identifiers or name.lower().rpartition(".")[2] in identifiers for name in names)


def _best_of_files(ranked: Sequence[Chunk]) -> list[Chunk]:
    best: dict[int, Chunk] = {}
    seconds: dict[int, float] = {}
    for one in ranked:
        if one.file_id in best:
            seconds.setdefault(one.file_id, one.score)
        else:
            best[one.file_id] = one
    both = [one._replace(score=one.score + SECOND * seconds.get(one.file_id, 0.0)) for one in best.values()]
    return sorted(both, key=lambda one: (-one.score, one.id))


CODE_WEIGHTS = (3.0, 4.0, 1.0, 0.5)  # of path, names, text and terms
COMMIT_WEIGHTS = (0.5, 3.0, 1.0, 0.5)
DEPTH = 200  # chunks that are looked at more closely
_OR_SHARE, _MIN_OR = 0.25, 20_000  # of rows that the OR of rare words may touch


def rank_code(
    retriever: Retriever, query: Query, words: Sequence[Word]
) -> tuple[list[Chunk], dict[int, CodeHitRow], bool]:
    """Return the best chunk of each file that answers a query, best first, their rows, and whether these are all."""
    found = _find(retriever, "code", query, words, DEPTH)
    rows = load_code_hits(retriever.store, [one.document_id for one in found])
    weights = _weigh(retriever, "code", words)
    identifiers = {word.text.lower() for word in words}
    chunks = [
        Chunk(one.document_id, row.file_id, one.score, row.path, row.names.split("\n"), _stems(retriever, row, weights))
        for one in found
        if (row := rows.get(one.document_id))
    ]
    return rank_chunks(chunks, weights, identifiers), rows, len(found) < DEPTH


def _find(retriever: Retriever, index: CodeWords, query: Query, words: Sequence[Word], depth: int) -> list[Found]:
    """Return what has the words, or the rarest of them, and meets what must occur and what must not."""
    weights = CODE_WEIGHTS if index == "code" else COMMIT_WEIGHTS
    allowed, bindings = (allow_files if index == "code" else allow_commits)(retriever.store, query.filters)

    def search(expression: str | None) -> list[Found]:
        if expression is None:
            return []
        return search_code_words(
            retriever.store, index, expression, weights, limit=depth, allowed=allowed, bindings=bindings
        )

    if query.is_raw:
        with raw_query_errors(query.text):
            return search(query.text)
    every, rare = build_and(words), build_or(_rare(retriever, index, loosen(words)))
    # One question, so that all scores are sums over the same words; what has all of them has the largest sums.
    either = " OR ".join(f"({one})" for one in dict.fromkeys((every, rare)) if one)
    return search(_require(either or None, query))


def _require(expression: str | None, query: Query) -> str | None:
    """Return an expression with the conditions that a query sets beside its words."""
    for group in query.required:
        if needed := build_any_of(group):
            expression = f"({expression}) AND ({needed})" if expression else needed
    excluded = build_any_of(query.excluded)
    return f"({expression}) NOT ({excluded})" if expression and excluded else expression


def _rare(retriever: Retriever, index: CodeWords, words: Sequence[Word]) -> list[Word]:
    total = count_code_words(retriever.store, index)
    stems = {word.text: retriever.stems(word.alternatives[0].text) for word in words}
    counts = load_code_counts(retriever.store, index, (stem for each in stems.values() for stem in each))
    by_word = {text: min((counts.get(stem, 0) for stem in each), default=0) for text, each in stems.items()}
    return choose_rare(words, by_word, total=total, budget=max(_MIN_OR, int(total * _OR_SHARE)))


def _weigh(retriever: Retriever, index: CodeWords, asked: Sequence[Word]) -> dict[str, float]:
    """Return what each stem of a query tells: the rarer, the more."""
    words = loosen(without_stops(asked))
    stems = {stem for word in without_stops(words) for stem in retriever.stems(word.alternatives[0].text)}
    counts = load_code_counts(retriever.store, index, stems)
    total = count_code_words(retriever.store, index)
    return {stem: math.log((total + 1) / (counts.get(stem, 0) + 0.5)) for stem in stems}


def _stems(retriever: Retriever, row: CodeHitRow, wanted: dict[str, float]) -> frozenset[str]:
    text = "\n".join([row.path, row.names, *row.lines])
    return frozenset(wanted.keys() & set(retriever.stems(text)))


_AROUND = 1  # lines of code that are shown before and behind the best one
_WIDEST = 160


def build_file_hit(
    retriever: Retriever, row: CodeHitRow, wanted: HighlightQuery, *, rank: int, score: float, relevance: float
) -> Hit:
    """Return a file, told by its best line: where what the query names is defined, else where most words stand."""
    lines = list(row.lines)
    text = "\n".join(lines)
    marks = find_marks(text, find_tokens(text, retriever.stem, wanted), wanted)
    words = tuple(matched_words(marks, wanted))
    best = _find_definition(lines, row, words)
    at = find_marked_line(text, marks) if best is None else best
    line = row.start_line + at
    url = file_page(row.forge, row.host, row.project_path, row.tree_commit, row.path, line)
    shown = HitRow(
        row.file_id, 0, "file", "file", 0, row.path, row.path, None, None, None, None, None, url, 0, row.forge,
        row.host, row.project_path, text, None,
    )  # fmt: skip
    snippet, first = _show_lines(lines, at)
    return Hit(
        shown, score, 0.0, rank, score, None, None, _mark_lines(retriever, snippet, wanted), words,
        relevance=relevance, line=line, symbol=row.symbol, first_line=row.start_line + first,
    )  # fmt: skip


def _find_definition(lines: list[str], row: CodeHitRow, words: tuple[str, ...]) -> int | None:
    """Return the line that defines something the query names; None where there is none."""
    asked = {word.lower() for word in words}
    for name in row.names.split("\n"):
        last = name.rpartition(".")[2]
        if last and (name.lower() in asked or last.lower() in asked):
            return next(
                (at for at, line in enumerate(lines) if last in line and not line.lstrip().startswith("#")), None
            )
    return None


def _show_lines(lines: list[str], at: int) -> tuple[str, int]:
    first = max(0, at - _AROUND)
    return "\n".join(line[:_WIDEST].expandtabs(4) for line in lines[first : at + _AROUND + 1]), first


def _mark_lines(retriever: Retriever, text: str, wanted: HighlightQuery) -> Snippet:
    marks = find_marks(text, find_tokens(text, retriever.stem, wanted), wanted)
    return Snippet(text, merge_marks(mark[:2] for mark in marks))


def build_commit_hit(
    retriever: Retriever, row: StoredCommit, wanted: HighlightQuery, *, rank: int, score: float, relevance: float
) -> Hit:
    """Return a commit; its line is that of its reading text."""
    subject, _, rest = row.message.partition("\n")
    text = rest.strip()
    marks = find_marks(text, find_tokens(text, retriever.stem, wanted), wanted)
    titled = find_marks(subject, find_tokens(subject, retriever.stem, wanted), wanted)
    shown = HitRow(
        row.id, 0, "commit", "commit", 0, row.ref, subject, None, None, row.author, row.authored_ms, row.committed_ms,
        row.url, 0, row.forge, row.host, row.path, text, None,
    )  # fmt: skip
    return Hit(
        shown, score, 0.0, rank, score, None, None, build_snippet(text, marks),
        tuple(matched_words([*titled, *marks], wanted)), merge_marks(mark[:2] for mark in titled), relevance,
    )  # fmt: skip


_KEYS = ("commit:", "file:")
_LISTED = 1_000  # files or commits without words to rank them by


def search_source(retriever: Retriever, query: Query, source: str) -> SearchAnswer:
    """Return the hits of one source, `code` or `commit`."""
    index = "code" if source == "code" else "commits"
    if not count_code_words(retriever.store, "code" if index == "code" else "commits"):
        hint = "run: forgelore index-code"
        return SearchAnswer([], "lexical", [f"no {source} is indexed yet; {hint}"])  # a sync would not help
    if query.fields:
        raise InvalidValue("in: applies to items and their comments", hint="drop it, or drop the types code and commit")
    words = join_groups(parse_words("" if query.is_raw else query.text), query.required)
    is_listed = not words and not (query.is_raw and query.text) and not query.required
    find = _find_files if source == "code" else _find_commits
    hits, is_exact = find(retriever, query, words, is_listed=is_listed)
    warnings = [] if hits else _explain_nothing(query.filters, source)
    return SearchAnswer(hits, "lexical", warnings, notes=query.notes, total=len(hits), is_total_exact=is_exact)


def build_named(retriever: Retriever, query: Query) -> list[Hit]:
    """Return the commits and files that a query names by their keys, as hits."""
    store, wanted = retriever.store, build_highlight_query((), retriever.stems)
    ids = {kind: [int(key[len(kind) :]) for key in query.code_keys if key.startswith(kind)] for kind in _KEYS}
    commits = load_commits(store, ids["commit:"])
    chunks = load_code_hits(store, list_first_chunks_of(store, ids["file:"]))
    hits = [build_commit_hit(retriever, row, wanted, rank=1, score=1, relevance=1) for row in commits.values()]
    return [
        *hits, *(build_file_hit(retriever, row, wanted, rank=1, score=1, relevance=1) for row in chunks.values()),
    ]  # fmt: skip


def _find_files(
    retriever: Retriever, query: Query, words: Sequence[Word], *, is_listed: bool
) -> tuple[list[Hit], bool]:
    wanted = build_highlight_query(words, retriever.stems)
    if is_listed:
        ids = list_first_chunks(retriever.store, query.filters, _LISTED)
        rows = load_code_hits(retriever.store, ids[: query.end])
        shown = [rows[one] for one in ids[: query.end]]
        hits = [
            build_file_hit(retriever, row, wanted, rank=at, score=0, relevance=1) for at, row in enumerate(shown, 1)
        ]
        return hits, len(ids) <= query.end
    chunks, rows, is_complete = rank_code(retriever, query, words)
    best = chunks[0].score if chunks else 1.0
    hits = [
        build_file_hit(
            retriever, rows[one.id], wanted, rank=at, score=one.score / best, relevance=one.coverage
        )
        for at, one in enumerate(chunks, 1)
    ]  # fmt: skip
    return hits, is_complete


def _find_commits(
    retriever: Retriever, query: Query, words: Sequence[Word], *, is_listed: bool
) -> tuple[list[Hit], bool]:
    wanted, store = build_highlight_query(words, retriever.stems), retriever.store
    depth = max(100, query.end)
    if is_listed:
        ids = list_newest_commits(store, query.filters, query.end + 1, is_ascending=query.sort.is_ascending)
        scores = dict.fromkeys(ids[: query.end], 0.0)
    else:
        found = _find(retriever, "commits", query, words, depth)
        ids, scores = [one.document_id for one in found], {one.document_id: one.score for one in found}
    rows = load_commits(store, scores)
    best = max(scores.values(), default=0) or 1.0
    hits = [
        build_commit_hit(retriever, rows[one], wanted, rank=at, score=score / best, relevance=1.0)
        for at, (one, score) in enumerate(scores.items(), 1)
        if one in rows
    ]
    asked = len(wanted.words)
    rated = [hit._replace(relevance=len(hit.words) / asked if asked else 1.0) for hit in hits]
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
