"""The two ranked lists of a search: documents by words and documents by meaning, each within what filters allow.

Words are ANDed first; when that gives too little, all but the commonest are ORed behind it. Vectors stay in memory
between queries, and only what changed is read again. While SQLite looks for words, another thread compares vectors if
the machine has a core to spare: both work outside of Python's lock, and the thread that finishes first helps the other.

Acronyms: `RBF` and "replace by fee" find each other. They are learned from the items' own texts when somebody asks:
"replace by fee (RBF)", "RBF (replace by fee)", or "replace-by-fee" beside RBF, where the words begin with its letters.
One person cannot teach a project an acronym: items of three authors must have both forms, and comments do not count.
"""

import _thread
import contextlib
import copy
import os
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

from forgelore.errors import EmbedderUnreachable, EmbeddingFailed, LoreError
from forgelore.index.cleaning import first_chunk
from forgelore.search.ftsquery import Phrase, Word, build_and, build_or, choose_rare, loosen, parse_words
from forgelore.search.fusion import split_names
from forgelore.store.database import QueryCache, Store
from forgelore.store.filters import Allowed, Condition, Filters, build_allowed, load_allowed
from forgelore.store.hits import list_documents_of, load_holding, load_own_texts
from forgelore.store.sqlite.fulltext import (
    Found,
    Stemmer,
    count_items,
    estimate_documents,
    list_with_words,
    load_document_counts,
    make_stemmer,
    make_stems,
    raw_query_errors,
    search_words,
)
from forgelore.text.values import check_vector
from forgelore.viewer import Viewer
from forgelore.words import Source

if TYPE_CHECKING:
    from forgelore.ports.embedder import Embedder
    from forgelore.records import StoredEmbedder
    from forgelore.search.query import Query
    from forgelore.store.filters import Allowed
    from forgelore.store.sqlite.vector_memory import Ids
    from forgelore.store.sqlite.vectors import Near, NearestSearch, VectorCache
    from forgelore.store.sqlite.word_scores import WordScores
    from forgelore.text.values import Vector


# How many documents the OR may touch: it bounds the cost, which grows with every match. With 5 % of all documents a
# typed title finds 52.0 % of 400 known duplicates among the first ten, with 15 % 52.8, with 25 % 53.8, with 40 % 53.5.
_OR_SHARE, _MIN_OR = 0.25, 5_000
_LARGE_OR, _LARGE_OR_SHARE = 20_000, 0.05  # of more than 100,000 documents: so many, and a share of all
_MAX_OR_WORDS = 32
_WORTH_A_THREAD = 20_000  # vectors, which take a millisecond to compare: ten times what a thread takes to begin
_MAX_SCOPES = 4  # filters whose ids are kept: at most 9 MB each of a million documents
_MAX_COUNTS = 10_000  # stems
STEP = 20  # hits of the first step, most of the pages that anybody looks at; each further one has four times as many


class SearchScope(NamedTuple):
    """What filters allow: as a condition for full text and, where vectors are compared, as ids. None: everything.
    `within`: the same with the items that one question leaves out, as marks.
    """

    allowed: Allowed | None = None
    ids: "Ids | None" = None
    within: bytes | None = None


class Retriever:
    """Makes ranked lists from one store. One thread at a time. `problem`: why there is no embedder. `find_second` tells
    whose vectors are stored beside, when pairs are compared (compare/reference).
    """

    def __init__(
        self, store: Store, embedder: "Embedder | None" = None, *, problem: LoreError | None = None,
        find_second: "Callable[[], Embedder | None]" = lambda: None,
    ) -> None:  # fmt: skip
        self.store, self.embedder, self._problem, self._find_second = store, embedder, problem, find_second
        self.stem: Stemmer = make_stemmer(store)
        self.stems = make_stems(store)
        self._vectors: dict[Source, VectorCache] = {}
        self._scopes: QueryCache[object, SearchScope] = QueryCache(store, _MAX_SCOPES)
        self._counts: QueryCache[str, int] = QueryCache(store, _MAX_COUNTS)
        self.acronyms: QueryCache[str, str] = QueryCache(store, _MAX_COUNTS)
        self.word_scores: WordScores | None = None  # of those who compare item after item (`keep_word_scores`)

    def keep_word_scores(self) -> None:
        """Keep from now on what each word of a comparison scores, for the items that come next."""
        from forgelore.store.sqlite.word_scores import make_word_scores

        self.word_scores = self.word_scores or make_word_scores(self.store)

    def seen_by(self, viewer: Viewer) -> "Retriever":
        """Return one that finds what a viewer may see, and shares what is kept in memory."""
        if viewer == self.store.viewer:
            return self
        seen = copy.copy(self)
        seen.store = self.store.seen_by(viewer)
        seen.acronyms = QueryCache(seen.store, _MAX_COUNTS)
        return seen

    @cached_property
    def second(self) -> "Embedder | None":
        return self._find_second()

    def by_words(
        self, words: Sequence[Word], depth: int, enough: int, allowed: Allowed | None, *, source: Source = "raw"
    ) -> list[Found]:
        """Return documents with every word, then, when those are not `enough`, documents with any of them."""
        expression = build_and(words)
        if expression is None:
            return []
        found = search_words(self.store, expression, depth, allowed, source=source)
        if len(found) >= enough:
            return found
        seen = {one.document_id for one in found}
        rare = build_or(self._rare(loosen(words)))
        if not rare or rare == expression:
            return found
        more = search_words(self.store, rare, depth, allowed, source=source)
        return [*found, *(one for one in more if one.document_id not in seen)][:depth]

    def count_items(
        self,
        words: Sequence[Word],
        enough: int,
        allowed: Allowed | None,
        *,
        raw: str | None = None,
        source: Source = "raw",
    ) -> tuple[int, bool]:
        """Return how many items `by_words` lists, however deep it looks, and whether that is exact. `raw`: of FTS5
        syntax instead.
        """
        expression = raw or build_and(words)
        if expression is None:
            return 0, True
        _, is_too_little = count_items(self.store, expression, allowed, source=source, most=enough)
        if is_too_little and not raw:
            rare = build_or(self._rare(loosen(words)))
            expression = f"({expression}) OR ({rare})" if rare else expression
        return count_items(self.store, expression, allowed, source=source)

    def _rare(self, words: list[Word]) -> list[Word]:
        total = estimate_documents(self.store)
        counts = self.count_documents([word.alternatives[0].text for word in words])
        by_word = {
            word.text: total if first.is_prefix else counts[first.text]  # a prefix has no count of its own
            for word in words
            for first in word.alternatives[:1]
        }
        budget = max(_MIN_OR, int(min(total * _OR_SHARE, _LARGE_OR + total * _LARGE_OR_SHARE)))
        return choose_rare(words, by_word, total=total, budget=budget, most=_MAX_OR_WORDS)

    def count_documents(self, words: list[str]) -> dict[str, int]:
        """Return in about how many documents each word is: of several stems (`a.b`) the rarest decides. A query asks
        twice, about its words and about the pieces of them.
        """
        stems = {word: self.stems(word) for word in words}
        counts = self._count_stems({stem for each in stems.values() for stem in each})
        return {word: min((counts[stem] for stem in each), default=0) for word, each in stems.items()}

    def _count_stems(self, stems: set[str]) -> dict[str, int]:
        """Those that are kept are copied out first: what is new may push them out."""
        kept = self._counts.current()
        counts = {stem: kept[stem] for stem in stems if stem in kept}
        if unknown := stems - counts.keys():
            found = load_document_counts(self.store, unknown)
            for stem in unknown:
                counts[stem] = found.get(stem, 0)
                self._counts.keep(stem, counts[stem])
        return counts

    def scope(self, filters: Filters, further: Sequence[Condition] = (), *, with_vectors: bool) -> SearchScope:
        """Resolve filters and further conditions for both lists. The ids are kept: people ask again within the same
        project.
        """
        allowed = build_allowed(self.store, filters, further)
        if allowed is None or not with_vectors:
            return SearchScope(allowed)
        if filters.not_items:
            everything = self.scope(filters._replace(not_items=()), further, with_vectors=True)
            if everything.ids is not None:
                return self._without_items(everything, allowed, filters.not_items)
        key = (allowed.sql, allowed.bindings)
        scope = self._scopes.current().get(key)
        if scope is None:
            scope = self._resolve(allowed)
            self._scopes.keep(key, scope)
        return scope

    def _without_items(self, scope: SearchScope, allowed: Allowed, item_ids: Sequence[int]) -> SearchScope:
        """Return a scope without the documents of some items. Whoever compares each item of a project with the others
        leaves out itself: resolving the filters again took a tenth of its time.
        """
        import numpy as np

        assert scope.allowed is not None
        assert scope.allowed.marks is not None
        marks = np.frombuffer(scope.allowed.marks, np.bool_).copy()
        left_out = np.array(list_documents_of(self.store, item_ids), np.int64)
        marks[left_out[left_out < len(marks)]] = False
        return SearchScope(allowed._replace(marks=marks.tobytes()), np.flatnonzero(marks), scope.allowed.marks)

    def _resolve(self, allowed: Allowed) -> SearchScope:
        import numpy as np

        ids = np.fromstring(load_allowed(self.store, allowed), np.int64, sep=",")
        marks = np.zeros(int(ids.max(initial=0)) + 1, np.bool_)
        marks[ids] = True
        return SearchScope(allowed._replace(marks=marks.tobytes()), ids, marks.tobytes())

    def begin_by_vector(
        self, vector: "Vector", depth: int, scope: SearchScope, *, source: Source = "raw"
    ) -> "Callable[[], list[Near]]":
        """Begin to look for the nearest documents, or the nearest cards, and return what waits for them."""
        from forgelore.store.sqlite.vectors import make_vector_cache

        stored = self.stored_embedder()
        vectors = self._vectors.get(source)
        if vectors is None or vectors.embedder != stored:
            vectors = self._vectors[source] = make_vector_cache(self.store, stored, source=source)
        vectors.refresh()
        if vectors.rows.total >= _WORTH_A_THREAD and _has_core_to_spare():
            return _begin(vectors.prepare(vector, depth, scope.ids))
        return partial(vectors.nearest, vector, depth, scope.ids)

    def by_vector(self, vector: "Vector", depth: int, scope: SearchScope, *, source: Source = "raw") -> "list[Near]":
        """Return the nearest documents, or the nearest cards."""
        return self.begin_by_vector(vector, depth, scope, source=source)()

    def query_vector(self, text: str) -> "Vector":
        """Return the vector of what a person typed. Raises LoreError where none can be made."""
        stored = self.stored_embedder()
        assert self.embedder is not None
        return _fit(self.embedder.embed_query(text), stored)

    def text_vector(self, title: str, text: str) -> "Vector":
        """Return the vector of a text that is not in the store, as its document would get it."""
        stored = self.stored_embedder()
        assert self.embedder is not None
        first = first_chunk(title, text, max_chars=self.embedder.chunk_chars)
        return _fit(self.embedder.embed_passages([first.passage])[0], stored)

    def document_vector(self, document_id: int) -> "Vector | None":
        """Return the vector that stands for a stored document; None while it has none."""
        from forgelore.store.sqlite.vectors import load_vectors
        from forgelore.text.values import unpack_vector

        packed = load_vectors(self.store, self.stored_embedder().id, [document_id]).get(document_id)
        return unpack_vector(packed) if packed else None

    def stored_embedder(self) -> "StoredEmbedder":
        """Return the row of the configured embedder. Raises LoreError without one, or without its vectors."""
        from forgelore.store.documents import find_embedder

        if self._problem:
            raise self._problem
        if self.embedder is None:
            raise EmbedderUnreachable("no embedder is configured", hint="set `embedder`, or search in lexical mode")
        stored = find_embedder(self.store, self.embedder.fingerprint())
        if stored is None or not stored.dimension:
            hint = f"run: forgelore embed --embedder {self.embedder.name}"
            raise EmbedderUnreachable(f"the documents have no vectors of {self.embedder.name} yet", hint=hint)
        return stored


def _fit(raw: "Sequence[float] | EmbeddingFailed", stored: "StoredEmbedder") -> "Vector":

    vector = check_vector(raw, stored.dimension)
    if isinstance(vector, str):
        raise EmbeddingFailed(vector, hint="search in mode lexical")
    return vector


def _has_core_to_spare() -> bool:
    """Whether fewer processes than there are cores wanted one in the last minute. Two threads take a tenth more of the
    processor than one, which is too much where others wait for it.
    """
    try:
        return os.getloadavg()[0] < (os.cpu_count() or 1)
    except (AttributeError, OSError):  # not available on every system
        return False


def _begin(search: "NearestSearch") -> "Callable[[], list[Near]]":
    """Look in another thread, and return what waits for the result, or for the error: it takes part in what is left,
    and is called once. (An executor would do the same, and importing one takes longer than a search. `threading` waits
    until the thread runs, a tenth of a search.)
    """
    found: list[list[Near] | None] = []
    errors: list[BaseException] = []
    done = _thread.allocate_lock()
    done.acquire()

    def work() -> None:
        try:
            found.append(search.work())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            errors.append(error)
        finally:
            done.release()

    with contextlib.suppress(RuntimeError):  # the system gives none: who waits does all of it
        _thread.start_new_thread(work, ())

    def wait() -> "list[Near]":
        if (mine := search.work()) is not None:
            return mine
        with done:
            pass
        for error in errors:
            raise error
        (theirs,) = found
        assert theirs is not None
        return theirs

    return wait


class RankedLists(NamedTuple):
    """Both lists at one depth, best first."""

    words: list[Found]
    vectors: "list[Near]"

    def as_ranked(self) -> list[list[tuple[int, float]]]:
        return [
            [(one.document_id, one.score) for one in self.words],
            [(one.document_id, one.cosine) for one in self.vectors],
        ]

    def is_cut(self, depth: int) -> bool:
        return len(self.words) >= depth or len(self.vectors) >= depth

    def rescored(self, cosines: Mapping[int, float]) -> "RankedLists":
        """Return them with other cosines as the vector list. Where a hit begins is still what the first one said."""
        from forgelore.store.sqlite.vectors import Near

        chunks = {near.document_id: near.chunk_id for near in self.vectors}
        near = [Near(document_id, cosine, chunks.get(document_id, 0)) for document_id, cosine in cosines.items()]
        return RankedLists(self.words, sorted(near, key=lambda one: (-one.cosine, one.document_id)))


LITERAL_DEPTH = 300  # documents that are looked at for an identifier


def list_by_words(
    retriever: Retriever, query: "Query", words: Sequence[Word], depth: int, allowed: "Allowed | None",
    literal: str | None,
) -> list[Found]:  # fmt: skip
    """Return the best documents by words. `literal`: the identifier that the query is.

    Full text cuts `dead_code` into two words and finds prose about dead code too. So documents that hold the identifier
    as typed come first, then those with its names: of CTxMemPool::removeRecursive the last one first.
    """
    if query.is_raw:
        with raw_query_errors(query.text):
            return search_words(retriever.store, query.text, depth, allowed, source=query.source)
    if literal is None:
        return retriever.by_words(words, depth, STEP, allowed, source=query.source)
    found = retriever.by_words(words, max(depth, LITERAL_DEPTH), STEP, allowed, source=query.source)
    named = list_by_names(retriever, query, literal, depth, allowed)
    known = {one.document_id for one in named}
    found = [*named, *(one for one in found if one.document_id not in known)]
    return literal_first(retriever.store, found, literal)[:depth]


def list_by_names(
    retriever: Retriever, query: "Query", literal: str, depth: int, allowed: "Allowed | None"
) -> list[Found]:
    """Return documents that hold names of an identifier, those with most of them as typed first; none where it is one
    name.
    """
    names = split_names(literal)
    if names == [literal]:
        return []
    held: dict[int, int] = {}
    best: dict[int, Found] = {}
    for name in reversed(names):
        expression = build_and(parse_words(name))
        found = search_words(retriever.store, expression or '""', depth, allowed, source=query.source)
        holding = load_holding(retriever.store, [one.document_id for one in found], name)
        for one in found:
            best.setdefault(one.document_id, one)
            held[one.document_id] = held.get(one.document_id, 0) + (one.document_id in holding)
    return sorted(best.values(), key=lambda one: -held[one.document_id])


def literal_first(store: Store, found: list[Found], text: str) -> list[Found]:
    """Return the documents with those first that hold the text, capitals aside; otherwise in their order."""
    holding = load_holding(store, [one.document_id for one in found], text)
    return sorted(found, key=lambda one: one.document_id not in holding)


_MAX_WORDS, _MAX_WRITTEN_OUT = 12, 6  # of a query: with an acronym in it, or with the words of one; more are pasted
_SIZES = range(3, 6)  # letters
_SAMPLE = 200  # documents with the acronym that are looked at, the newest ones
_MIN_AUTHORS = 3  # of items that have both


def join_acronyms(retriever: "Retriever", asked: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the words of a query with the words of each acronym in it, and with the acronym of such words."""
    if len(asked) > _MAX_WORDS:
        return asked
    words = list(asked)
    for at, word in enumerate(words):
        if word.text.isascii() and word.text.isupper() and word.text.isalpha() and len(word.text) in _SIZES:
            meaning = find_meaning(retriever, word.text)
            words[at] = _with_synonym(word, meaning) if meaning else word
    if len(words) > _MAX_WRITTEN_OUT:
        return tuple(words)
    runs = [(at, size) for size in _SIZES for at in range(len(words) - size + 1)]
    initials = ["".join(word.text[0] for word in words[at : at + size]).upper() for at, size in runs]
    counts = retriever.count_documents(initials) if initials else {}
    for (at, size), acronym in zip(runs, initials, strict=True):
        if counts[acronym] < _MIN_AUTHORS:
            continue
        run = words[at : at + size]
        text = " ".join(word.text.lower() for word in run)
        is_written = _is_written_out(retriever, text, acronym)
        if is_written and find_meaning(retriever, acronym) == text:
            words[at : at + size] = [_with_synonym(word, acronym) for word in run]
    return tuple(words)


def find_meaning(retriever: "Retriever", acronym: str) -> str:
    """Return the words that an acronym stands for in the items' own texts; "" where too few say so."""
    kept = retriever.acronyms.current().get(acronym)
    if kept is None:
        kept = _learn(retriever, acronym)
        retriever.acronyms.keep(acronym, kept)  # where somebody writes meanwhile, for a moment only
    return kept


def _learn(retriever: "Retriever", acronym: str) -> str:
    allowed = build_allowed(retriever.store, Filters())
    ids = list_with_words(retriever.store, f'"{acronym}"', _SAMPLE, allowed)
    spelled = [rf"{letter}[A-Za-z]+" for letter in acronym]
    blanks, dashes = r"[\s-]+".join(spelled), "-".join(spelled)
    defined = re.compile(
        rf"\b({blanks})[\"'*_`]*\s*\({acronym}s?\)|\b{acronym}\s*\(({blanks})\)|\b({dashes})\b", re.IGNORECASE
    )
    own_texts = load_own_texts(retriever.store, ids)
    authors_of: dict[str, set[str]] = defaultdict(set)
    for _, author, text in own_texts:
        for match in defined.finditer(text):
            authors_of[" ".join(re.split(r"[\s-]+", match[match.lastindex or 0].lower()))].add(author or "")
    for meaning, authors in authors_of.items():
        phrase = re.compile(rf"\b{meaning.replace(' ', '[ -]')}", re.IGNORECASE)
        authors.update(author or "" for _, author, text in own_texts if phrase.search(text))
    best = max(authors_of, key=lambda one: (len(authors_of[one]), one), default="")
    return best if best and len(authors_of[best]) >= _MIN_AUTHORS else ""


def _is_written_out(retriever: "Retriever", text: str, acronym: str) -> bool:
    """Whether enough items have both: that is asked of full text first, and takes little time."""
    if not text.replace(" ", "").isalpha() or not text.isascii():
        return False
    return count_items(retriever.store, f'"{text}" AND "{acronym}"', most=_MIN_AUTHORS)[0] >= _MIN_AUTHORS


def describe_synonyms(words: Sequence[Word]) -> tuple[str, ...]:
    """Return a sentence for each acronym, whichever form was typed."""
    typed: dict[str, list[str]] = defaultdict(list)
    for word in words:
        if word.synonym:
            typed[word.synonym].append(word.text)
    return tuple(f"{' '.join(words)} is also searched for as {synonym}" for synonym, words in typed.items())


def _with_synonym(word: Word, synonym: str) -> Word:
    return word._replace(alternatives=(*word.alternatives, Phrase(synonym)), synonym=synonym)
