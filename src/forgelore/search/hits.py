"""Hits of a search: the document, why it was found, what is shown of it, and how well it fits the query."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from forgelore.browse.reading_text import load_item_lines
from forgelore.search.ftsquery import Word, without_stops
from forgelore.search.fusion import (
    FLOOR,
    Fused,
    WeighedWord,
    is_exact,
    name_fits,
    nonsense_among,
    rate_hit,
    weigh_lists,
    with_numbered_names,
)
from forgelore.search.retriever import RankedLists, Retriever
from forgelore.search.snippets import (
    HighlightQuery,
    Snippet,
    build_snippet,
    find_marks,
    find_region,
    find_tokens,
    find_worded_line,
    matched_words,
    merge_marks,
)
from forgelore.store.database import Store
from forgelore.store.documents import load_document_places
from forgelore.store.hits import HitRow, load_hits, load_notes_with
from forgelore.store.sqlite.fulltext import estimate_documents
from forgelore.text.dates import as_time
from forgelore.text.fence import folded, folded_letters
from forgelore.text.terms import weight_of

if TYPE_CHECKING:
    from forgelore.search.retriever import RankedLists, Retriever


class Hit(NamedTuple):
    """A document in an answer, with the rank each list gave it (from 1; None: not in that list). What people ask of it
    first is at hand: `ref`, `title`, `url`, `project`, `kind`, `number`, `state`, `author`, `labels`, and `created_at`
    and `updated_at` as aware datetimes; `row` has everything that is stored.
    """

    row: HitRow
    score: float  # fused, over the best possible: 1 would be the first of both lists
    rrf: float
    lexical_rank: int | None
    lexical_score: float | None  # BM25
    vector_rank: int | None
    vector_score: float | None  # cosine
    snippet: Snippet
    words: tuple[str, ...]  # of the query, as the document has them
    title_marks: tuple[tuple[int, int], ...] = ()  # (start, end) of what matched in the title
    relevance: float | None = None  # how well it fits, 0 to 1 (search/fusion); None: not asked
    line: int | None = None  # of the file, or of the item's reading text; None: not asked
    symbol: str = ""  # of a file: what the found part is of
    first_line: int = 0  # of a file: where its snippet begins
    fit: str = ""  # strong, fair or weak; never rises again further down; "": not asked
    names_project: bool = False  # in its ref: the store has several

    @property
    def key(self) -> str:
        """What its reading text is asked for by."""
        if self.row.kind in ("file", "commit"):
            return f"{self.row.kind}:{self.row.document_id}"
        return f"item:{self.row.item_id}"

    @property
    def ref(self) -> str:
        """#12, !34, or a release's tag; acme/web#12 where the store has several projects: a number alone would name
        several items.
        """
        is_item = self.row.kind not in ("file", "commit")
        return self.row.full_ref if self.names_project and is_item else self.row.ref

    @property
    def project(self) -> str:
        return self.row.project

    @property
    def kind(self) -> str:
        return self.row.kind

    @property
    def number(self) -> int:
        return self.row.number

    @property
    def title(self) -> str:
        return self.row.title

    @property
    def state(self) -> str | None:
        return self.row.state

    @property
    def author(self) -> str | None:
        """Who wrote the item; who began the thread, where threads were asked for by their type."""
        return self.row.author

    @property
    def labels(self) -> tuple[str, ...]:
        return self.row.labels

    @property
    def url(self) -> str | None:
        """The page of the item, or of the note that was found."""
        return self.row.url

    @property
    def created_at(self) -> dt.datetime | None:
        return as_time(self.row.created_at)

    @property
    def updated_at(self) -> dt.datetime | None:
        return as_time(self.row.updated_at)


_PREFIX_SHARE = 0.01  # of documents that hold a prefix, which has no count of its own


class WeighedQuery(NamedTuple):
    """The words of a query with their weights, and the weight of each list."""

    words: tuple[WeighedWord, ...]
    lists: tuple[float, float]
    literal: str | None  # the one identifier that the query is
    documents: int  # among which it is asked, about


def weigh_query(retriever: "Retriever", asked: Sequence[Word]) -> WeighedQuery:
    words = without_stops(asked)
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
    embedder's. A hit missing from the vectors' list counts as near as the last one in it.
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


_AROUND = 30  # letters beside a marked word that distinguish its note from others with the same word


def name_notes(store: Store, hits: "list[Hit]") -> "list[Hit]":
    """Return the hits, those in threads with the URLs of their notes."""
    pieces = {
        hit.row.document_id: _piece(hit.snippet) for hit in hits if hit.row.representation == "thread"
    }  # fmt: skip
    notes = load_notes_with(store, {document_id: word for document_id, (word, _) in pieces.items() if word})
    return [
        hit._replace(row=hit.row._replace(url=_choose(found, pieces[hit.row.document_id][1])))
        if (found := notes.get(hit.row.document_id))
        else hit
        for hit in hits
    ]


def _piece(snippet: Snippet) -> tuple[str, str]:
    """Return the first word that is marked, or else that there is, and the same with what stands around it."""
    text = snippet.text
    start, end = snippet.marks[0] if snippet.marks else _first_word(text)
    left, right = max(0, start - _AROUND), end + _AROUND
    return text[start:end], text[left:right].strip("… ")


def _first_word(text: str) -> tuple[int, int]:
    start = len(text) - len(text.lstrip("… "))
    return start, start + len(text[start:].partition(" ")[0])


def _choose(notes: list[tuple[str, str]], piece: str) -> str:
    """Return the URL of the note with that piece; of the first where a piece has parts of two."""
    return next((url for url, body in notes if piece in " ".join(body.split())), notes[0][0])


def build_hits(
    retriever: Retriever,
    fused: list[Fused],
    lists: RankedLists,
    wanted: HighlightQuery | None,
    *,
    of_threads: bool = False,
) -> list[Hit]:
    rows = load_hits(retriever.store, [one.id for one in fused], of_threads=of_threads)
    starts = _starts(retriever, rows, lists) if wanted else {}
    return [_hit(retriever, one, rows[one.id], wanted, starts.get(one.id, 0)) for one in fused if one.id in rows]


def _starts(retriever: Retriever, rows: dict[int, HitRow], lists: RankedLists) -> dict[int, int]:
    """Return where the chunk begins that made a document a hit by meaning."""
    chunks = {near.document_id: near.chunk_id for near in lists.vectors if near.document_id in rows}
    if not chunks:
        return {}
    from forgelore.store.sqlite.vectors import load_starts

    starts = load_starts(retriever.store, chunks.values())
    return {document_id: starts.get(chunk_id, 0) for document_id, chunk_id in chunks.items()}


def _hit(retriever: Retriever, fused: Fused, row: HitRow, wanted: HighlightQuery | None, start: int) -> Hit:
    ranks = (fused.score, fused.rrf, fused.ranks[0], fused.scores[0], fused.ranks[1], fused.scores[1])
    if not wanted:
        return Hit(row, *ranks, Snippet(""), ())
    return Hit(row, *ranks, *_mark(retriever, row, wanted, start))


def _mark(
    retriever: Retriever, row: HitRow, wanted: HighlightQuery, start: int
) -> tuple[Snippet, tuple[str, ...], tuple[tuple[int, int], ...]]:
    """Return the snippet, the words that the document has, and where they stand in its title."""
    low, high = find_region(row.text, wanted, around=start)
    text = row.text[low:high]
    marks = find_marks(text, find_tokens(text, retriever.stem, wanted), wanted)
    titled = find_marks(row.title, find_tokens(row.title, retriever.stem, wanted), wanted)
    words = tuple(matched_words([*titled, *marks], wanted))
    return build_snippet(text, marks, around=start - low), words, merge_marks(mark[:2] for mark in titled)


def find_item_lines(store: Store, found: Mapping[int, tuple[str, tuple[str, ...]]]) -> dict[int, int]:
    """Return document -> line, for documents of items and threads with their text and the words that matched. A hit
    whose title alone matched gets the first line.
    """
    places = load_document_places(store, found)
    with_threads = {item_id for item_id, thread in places.values() if thread}
    pages = load_item_lines(store, {item_id for item_id, _ in places.values()}, with_threads=with_threads)
    lines = {}
    for document_id, (item_id, thread) in places.items():
        text, words = found[document_id]
        page = pages.get(item_id)
        if page is not None:
            lines[document_id] = page.find(find_worded_line(text, words), thread) or 1
    return lines
