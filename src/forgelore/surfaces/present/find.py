"""`search` and `similar` as data, and the words that say why an item is like another."""

from typing import TYPE_CHECKING, NamedTuple

from forgelore.surfaces.present.data import MISSING, Absence
from forgelore.surfaces.present.text import clean, fit, format_ms
from forgelore.text.documents import ShownHeader, build_header

if TYPE_CHECKING:
    from forgelore.api import (  # fmt: skip
        Chance,
        Explanation,
        Hit,
        HitRow,
        Match,
        Quote,
        SearchAnswer,
        SimilarAnswer,
        SimilarHit,
        ThreadFacts,
    )

_SHOWN_QUOTES = 3
_QUOTE_COLUMNS = 33
_SAME = {"same_text": "the same text", "nearly_same_text": "nearly the same text"}


class ExplainData(NamedTuple):
    """Where each list had the hit (from 1; null: not in that list), and the words of the query that it has."""

    lexical_rank: int | None
    bm25: float | None
    vector_rank: int | None
    cosine: float | None
    rrf: float
    words: list[str]


class HitThreadData(NamedTuple):
    """Who began the thread that was found, and when its first and its last note were written."""

    author: str | None
    created_at: str | None
    updated_at: str | None


class HitData(NamedTuple):
    """A found item, one of its threads, or its card, which a program wrote (`representation`); a file of code, or a
    commit. `reading_id` is what its reading text is asked for by, and `line` the place in that text, or in the file.
    `marks` and `title_marks`: (start, end) of what matched, in the snippet and in the title. `relevance`, of `search`
    alone: how well it fits, 0 to 1, and `fit` the same in a word (strong, fair, weak), which never rises again further
    down; `score` orders the hits. `author` and times are the item's, and `thread` has those
    of the thread that was found; with the type thread, both are the thread's.

    The last ones are of `similar` alone: `why` in words, `similarity` as a position among the project's own items,
    what both quote. `explain`, `strength`, `evidence` and `facts` are there with --explain.
    """

    header: str
    ref: str
    project: str
    kind: str
    number: int
    representation: str
    title: str
    url: str | None
    state: str | None
    state_reason: str | None
    author: str | None
    labels: list[str]
    created_at: str | None
    updated_at: str | None
    is_confidential: bool
    score: float
    snippet: str
    marks: list[tuple[int, int]]
    title_marks: list[tuple[int, int]]
    document_id: int
    reading_id: str
    line: int | None
    symbol: str | Absence = MISSING
    thread: HitThreadData | Absence = MISSING
    relevance: float | Absence = MISSING
    fit: str | Absence = MISSING
    explain: ExplainData | Absence = MISSING
    why: str | Absence = MISSING
    similarity: float | Absence | None = MISSING
    sameness: str | Absence | None = MISSING
    quotes: "list[Quote] | Absence" = MISSING
    strength: float | Absence | None = MISSING
    evidence: dict[str, float] | Absence | None = MISSING
    facts: "Explanation | Absence | None" = MISSING


class SearchData(NamedTuple):
    """`mode` is what was really done: without vectors, hybrid is lexical. `notes` say how the query was understood, and
    which item it names. `total` is of all pages, and "at least" so many where it is not exact. `next`: what --offset
    takes for the next page; null at the end. `is_nothing_fitting`: the hits are the best of a
    bad lot.
    """

    query: str
    mode: str
    total: int
    hits: list[HitData]
    notes: list[str]
    is_total_exact: bool
    offset: int
    next: str | None
    is_nothing_fitting: bool


class SimilarData(NamedTuple):
    """What an item resembles; `ref` is "" for a draft. `total` is of all pages. `next`: what --offset takes for the
    next one; null: none.
    """

    ref: str
    title: str
    mode: str
    total: int
    chance: "Chance | None"
    hits: list[HitData]
    offset: int
    next: str | None


def present_search(answer: "SearchAnswer", text: str, *, is_explained: bool, is_full_ref: bool) -> SearchData:
    hits = [present_hit(hit, is_explained=is_explained, is_full_ref=is_full_ref) for hit in answer.hits]
    return SearchData(
        text, answer.mode, answer.total, hits, list(answer.notes), answer.is_total_exact, answer.offset,
        answer.next_page or None, answer.is_nothing_fitting,
    )  # fmt: skip


def present_similar(answer: "SimilarAnswer", ref: str, *, is_explained: bool, is_full_ref: bool) -> SimilarData:
    hits = [_present_like(found, is_explained=is_explained, is_full_ref=is_full_ref) for found in answer.hits]
    return SimilarData(
        ref, answer.title, answer.mode, answer.total, answer.chance, hits, answer.offset,
        answer.next_page or None,
    )  # fmt: skip


def present_hit(hit: "Hit", *, is_explained: bool, is_full_ref: bool) -> HitData:
    """Return a hit as data; its ref with the project where the store has several."""
    row = hit.row
    data = HitData(
        header=_header(row), ref=row.full_ref if is_full_ref else row.ref, project=row.project, kind=row.kind,
        number=row.number, representation=row.representation, title=row.title, url=row.url, state=row.state,
        state_reason=row.state_reason, author=row.author, labels=list(row.labels),
        created_at=format_ms(row.created_at), updated_at=format_ms(row.updated_at),
        is_confidential=bool(row.is_confidential), score=round(hit.score, 4), snippet=hit.snippet.text,
        marks=list(hit.snippet.marks), title_marks=list(hit.title_marks), document_id=row.document_id,
        reading_id=hit.key, line=hit.line, symbol=hit.symbol if row.kind == "file" else MISSING,
        thread=_present_thread(row.thread) if row.thread else MISSING,
        relevance=MISSING if hit.relevance is None else round(hit.relevance, 4),
        fit=hit.fit or MISSING,
    )  # fmt: skip
    if not is_explained:
        return data
    ranks = (hit.lexical_rank, hit.lexical_score, hit.vector_rank, hit.vector_score)
    return data._replace(explain=ExplainData(*ranks, hit.rrf, list(hit.words)))


def _present_thread(thread: "ThreadFacts") -> HitThreadData:
    return HitThreadData(thread.author, format_ms(thread.created_at), format_ms(thread.updated_at))


def _header(row: "HitRow") -> str:
    shown = ShownHeader(
        row.representation, row.kind, row.ref, row.title, row.project, row.url, row.labels, row.state, row.author,
        files=row.thread.paths if row.thread else (),
    )  # fmt: skip
    return build_header(shown)


def _present_like(found: "SimilarHit", *, is_explained: bool, is_full_ref: bool) -> HitData:
    match = found.match
    data = present_hit(found.hit, is_explained=is_explained, is_full_ref=is_full_ref)._replace(
        why=why(found),
        similarity=round(match.similarity, 4) if match else None,
        sameness=match.sameness if match else None,
        quotes=list(match.quotes) if match else [],
    )
    if not is_explained:
        return data
    features = match.features if match else None
    return data._replace(
        strength=round(match.strength, 4) if match else None,
        evidence=None if features is None else {name: round(value, 4) for name, value in features.items()},
        facts=match.explanation if match else None,
    )


def describe_facts(match: "Match | None") -> str:
    """Return "for it: what the texts mean, it was open · against it: the same author"."""
    if match is None or match.explanation is None:
        return ""
    explained = match.explanation
    parts = (("for it", explained.speaking_for), ("against it", explained.speaking_against))
    return " · ".join(f"{side}: {', '.join(said)}" for side, said in parts if said)


def why(found: "SimilarHit", *, columns: int = _QUOTE_COLUMNS) -> str:
    """Return "both say: tombstone, offline · meaning 0.71 · both quote: ChunkCache::insert · similarity 0.94"."""
    hit, match = found
    words = f"both say: {', '.join(clean(word) for word in hit.words[:6])}" if hit.words else ""
    meaning = f"meaning {hit.vector_score:.2f}" if hit.vector_score is not None else ""
    quotes = _quoted(match.quotes, columns) if match else ""
    return " · ".join(part for part in (words, meaning, quotes, _likeness(match)) if part)


def _likeness(match: "Match | None") -> str:
    if match is None:
        return ""
    return _SAME.get(match.sameness) or f"similarity {_rounded_down(match.similarity)}"


def _rounded_down(similarity: float) -> str:
    """Return it with two digits: 0.996 must not read as certainty."""
    return f"{int(similarity * 100) / 100:.2f}"


def _quoted(quotes: "tuple[Quote, ...]", columns: int) -> str:
    said = [fit(clean(quote.text), columns) for quote in quotes if quote.what not in ("title", "file")][:_SHOWN_QUOTES]
    files = [fit(clean(quote.text), columns) for quote in quotes if quote.what == "file"][:_SHOWN_QUOTES]
    parts = ((f"both quote: {', '.join(said)}", said), (f"both change: {', '.join(files)}", files))
    return " · ".join(text for text, found in parts if found)
