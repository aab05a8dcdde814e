"""Searching in one process that stays: what each part takes, and whether filtered answers are what they must be.

All parts in turn for each question, so that a busy moment hits all alike. The floor is one pass over the very bytes
that the vector search multiplies: nothing that reads them can be faster.
"""

import concurrent.futures
import datetime as dt
import functools
import pathlib
import statistics
import time
import typing
from unittest import mock

import numpy as np

import forgelore
from forgelore.search import run as flow
from forgelore.search.ftsquery import build_and, build_or, loosen, parse_words
from forgelore.search.hits import weigh_query
from forgelore.search.retriever import LITERAL_DEPTH, RankedLists, Retriever, SearchScope, list_by_names, literal_first
from forgelore.search.run import best_per_item, fuse_lists
from forgelore.store.sqlite.fulltext import search_words
from forgelore.store.sqlite.vectors import Near
from forgelore.words import FilterWords
from lib.tracker import TENTH, THOUSANDTH, Dice, Question

DEPTH = flow.MIN_DEPTH  # of each list, as `search` takes for its 20 hits
LIMIT = 20
NO_FILTERS = FilterWords()
FILTERS = ("label, 10 %", "author, about 10 %", "created, about 10 %", "label, 0.1 %", "author, about 0.1 %")
TENTHS = FILTERS[:3]
READINGS: dict[str, typing.Callable] = {
    "view(int32).max()": lambda rows: rows.view(np.int32).max(),
    "view(int64).sum()": lambda rows: rows.view(np.int64).sum(),
    "view(uint8).max()": lambda rows: rows.view(np.uint8).max(),
}


class Timed(typing.NamedTuple):
    """Milliseconds on the clock, and the median of what all threads of the process worked meanwhile."""

    p50: float
    p95: float
    p99: float
    cpu: float


class Checked(typing.NamedTuple):
    """How filtered answers compare with an exhaustive search that filters at the end."""

    name: str
    documents: int  # that the filter allows
    answers: int
    equal: int
    short: int


class Desk:
    """A history as people open it, with what a search process keeps in memory."""

    def __init__(self, path: pathlib.Path) -> None:
        self.history = forgelore.open(path)
        self.store = self.history.app.store()
        self.dice = Dice()
        self.retriever = Retriever(self.store, self.dice)
        self.history._retrievers[self.history.app.config.embedder] = self.retriever  # noqa: SLF001 - given vectors
        self.retriever.by_vector(self.dice.embed_query(""), 1, SearchScope())
        self.vectors = self.retriever._vectors[False]  # noqa: SLF001 - the bench reads the very bytes that are searched
        self.blocks = self.vectors.rows.blocks
        self.filters = choose_filters(self.store)
        self.reading = min(READINGS, key=self._time_reading)

    def _time_reading(self, name: str) -> float:
        return statistics.median(timed(functools.partial(read_all, READINGS[name]), self.blocks) for _ in range(5))


def choose_filters(store) -> dict[str, tuple[FilterWords, list[int]]]:
    """Return the filters and the documents they allow, found without the product's own code."""
    total = store.value("SELECT count(*) FROM documents")
    of_items = "FROM documents d JOIN items i ON i.id = d.item_id WHERE"
    authors = store.rows(f"SELECT i.author, count(*) {of_items} i.author IS NOT NULL GROUP BY i.author")

    def author_of(share: float) -> str:
        return min(authors, key=lambda row: (abs(row[1] - share * total), row[0]))[0]

    def ids(sql: str, value: object) -> list[int]:
        return [row[0] for row in store.each(sql, value)]

    def labelled(name: str) -> list[int]:
        return ids("SELECT document_id FROM document_labels WHERE name = ?", name)

    def written(name: str) -> list[int]:
        return ids(f"SELECT d.id {of_items} lower(i.author) = lower(?)", name)

    times = f"SELECT i.created_at {of_items} i.created_at > ? ORDER BY i.created_at DESC"
    since = dt.datetime.fromtimestamp(ids(times, 0)[total // 10] / 1000, dt.UTC).date()
    since_ms = dt.datetime.combine(since, dt.time(), dt.UTC).timestamp() * 1000
    some, few = author_of(0.1), author_of(0.001)
    found: list[tuple[FilterWords, list[int]]] = [
        (FilterWords(label=TENTH), labelled(TENTH)),
        (FilterWords(author=some), written(some)),
        (FilterWords(after=since), ids(f"SELECT d.id {of_items} i.created_at >= ?", since_ms)),
        (FilterWords(label=THOUSANDTH), labelled(THOUSANDTH)),
        (FilterWords(author=few), written(few)),
    ]
    return dict(zip(FILTERS, found, strict=True))


def build_parts(desk: Desk) -> dict[str, typing.Callable[[str], object]]:
    """Return what is timed: name -> a call for one question."""
    read = functools.partial(read_all, READINGS[desk.reading])
    retriever, store, blocks = desk.retriever, desk.store, desk.blocks
    pool = concurrent.futures.ThreadPoolExecutor(2)
    halves = [blocks[::2], blocks[1::2]]

    def rank_only(text: str) -> object:
        with mock.patch.object(flow, "build_hits", return_value=[]):
            return ask(desk, text)

    parts: dict[str, typing.Callable[[str], object]] = {
        "one pass over the bytes": lambda _: read(blocks),
        "one pass, two threads": lambda _: list(pool.map(read, halves)),
        "vectors alone": lambda text: desk.vectors.nearest(desk.dice.embed_query(text), DEPTH),
        "words, all of them (AND)": lambda text: all_words(store, text),
        "words, then the rarest (OR)": lambda text: retriever.by_words(parse_words(text), DEPTH, 1 << 40, None),
        "lexical search": lambda text: ask(desk, text, mode="lexical"),
        "hybrid, ranking only": rank_only,
        "hybrid": lambda text: ask(desk, text),
    }
    for name, (filters, _) in desk.filters.items():
        parts[f"hybrid, {name}"] = functools.partial(ask_anew, desk, filters=filters)
        parts[f"hybrid, {name}, again"] = functools.partial(ask, desk, filters=filters)
    return parts


def read_all(read: typing.Callable, blocks: typing.Sequence) -> None:
    for block in blocks:
        read(block)


def all_words(store, text: str) -> list:
    expression = build_and(parse_words(text))
    return search_words(store, expression, DEPTH) if expression else []


def ask(
    desk: Desk, text: str, *, mode: flow.SearchMode = "hybrid", filters: FilterWords = NO_FILTERS,
    is_literal: bool = False,
) -> flow.SearchAnswer:  # fmt: skip
    """Ask as Python does, and commands and agents through it: from the query as typed to hits with their lines."""
    desk.retriever._counts._answers.clear()  # noqa: SLF001 - nobody asked about these words before
    answer = desk.history.search(text, mode=mode, literal=is_literal, **filters)
    assert answer.mode == mode, answer.warnings  # falling back to words would look fast
    return answer


def ask_anew(desk: Desk, text: str, *, filters: FilterWords) -> flow.SearchAnswer:
    """Ask as who uses a filter for the first time: what it allows is not known yet."""
    desk.retriever._scopes._answers.clear()  # noqa: SLF001 - nothing was written that would make it forget them
    return ask(desk, text, filters=filters)


def take_times(
    desk: Desk, questions: list[Question], *, rounds: int, only: typing.Collection[str] = ()
) -> dict[str, Timed]:
    """Return milliseconds per part over all questions; of all parts, or of those that are named."""
    parts = {name: call for name, call in build_parts(desk).items() if not only or name in only}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in parts}
    for text, _ in questions[:30]:
        for call in parts.values():
            call(text)
    for _ in range(rounds):
        for text, _ in questions:
            for name, call in parts.items():
                worked = time.process_time()
                wall = timed(call, text)
                times[name].append((wall * 1000, (time.process_time() - worked) * 1000))
    return {name: distribution(values) for name, values in times.items()}


def timed(call: typing.Callable, argument: object) -> float:
    began = time.perf_counter()
    call(argument)
    return time.perf_counter() - began


def distribution(values: list[tuple[float, float]]) -> Timed:
    cuts = statistics.quantiles([wall for wall, _ in values], n=100, method="inclusive")
    return Timed(cuts[49], cuts[94], cuts[98], statistics.median(cpu for _, cpu in values))


def share_of_or(desk: Desk, questions: list[Question]) -> float:
    """Return for how many questions the AND gives fewer than a page, so that the OR is asked too."""
    return sum(len(all_words(desk.store, text)) < LIMIT for text, _ in questions) / len(questions)


def check_answers(desk: Desk, questions: list[Question]) -> list[Checked]:
    """Compare answers with an exhaustive search: every document scored, filtered at the end, then fused."""
    every = Exhaustive(desk)
    cases = {"none": (NO_FILTERS, None), **desk.filters}
    return [check_filter(desk, every, name, case, questions) for name, case in cases.items()]


def check_filter(desk: Desk, every: "Exhaustive", name: str, case: tuple, questions: list[Question]) -> Checked:
    filters, ids = case
    allowed = np.asarray(ids, np.int64) if ids is not None else np.unique(every.documents)
    items = len({desk.store.value("SELECT item_id FROM documents WHERE id = ?", int(one)) for one in allowed[:1000]})
    equal = short = 0
    for text, _ in questions:
        got = [hit.row.document_id for hit in ask(desk, text, filters=filters, is_literal=True).hits]
        weighed = weigh_query(desk.retriever, parse_words(text))
        gather = functools.partial(every.gather, text, weighed.literal, allowed)
        join = functools.partial(fuse_lists, weights=weighed.lists)
        wanted = best_per_item(desk.retriever, gather, join, LIMIT).fused[:LIMIT]
        equal += got == [one.id for one in wanted]
        short += len(got) < min(LIMIT, items)
    return Checked(name, len(allowed), len(questions), equal, short)


class Exhaustive:
    """Both lists the slow way: from the stored bytes, without the product's filters, cuts and matrix."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        rows = desk.store.rows("SELECT document_id, id, scale, vector FROM chunks ORDER BY id")
        self.documents = np.asarray([row[0] for row in rows], np.int64)
        self.chunks = [row[1] for row in rows]
        self.scales = np.asarray([row[2] for row in rows], np.float32)
        self.packed = np.frombuffer(b"".join(row[3] for row in rows), np.int8).reshape(len(rows), -1)
        self.cosines = functools.lru_cache(8)(self._cosines)

    def _cosines(self, text: str) -> np.ndarray:
        """Row by row in floats of 64 bits: equal vectors are equally near, wherever they stand."""
        query = np.asarray(self.desk.dice.embed_query(text), np.float64)
        step = 10_000
        parts = [(self.packed[at : at + step] * query).sum(axis=1) for at in range(0, len(self.packed), step)]
        return np.concatenate(parts) * self.scales

    def gather(self, text: str, literal: str | None, allowed: np.ndarray, depth: int) -> RankedLists:
        words = self.by_words(text, allowed, max(depth, LITERAL_DEPTH) if literal else depth)
        if literal:
            within = set(allowed.tolist())
            named = [
                one
                for one in list_by_names(self.desk.retriever, flow.Query(""), literal, -1, None)
                if one.document_id in within
            ]
            words = list({one.document_id: one for one in [*named, *words]}.values())
            words = literal_first(self.desk.store, words, literal)[:depth]
        return RankedLists(words, self.by_vector(text, allowed, depth))

    def by_vector(self, text: str, allowed: np.ndarray, depth: int) -> list[Near]:
        cosines = self.cosines(text)
        best: dict[int, Near] = {}
        within = np.isin(self.documents, allowed)
        for row in np.argsort(-cosines, kind="stable"):
            document = int(self.documents[row])
            if within[row] and document not in best:
                best[document] = Near(document, float(cosines[row]), self.chunks[row])
                if len(best) == depth:
                    break
        return list(best.values())

    def by_words(self, text: str, allowed: np.ndarray, depth: int) -> list:
        retriever, words = self.desk.retriever, parse_words(text)
        expressions = [build_and(words), build_or(retriever._rare(loosen(words)))] if words else []  # noqa: SLF001
        within, found = set(allowed.tolist()), {}
        for expression in dict.fromkeys(expressions):
            if expression and len(found) < LIMIT:
                for one in search_words(self.desk.store, expression, -1):
                    if one.document_id in within:
                        found.setdefault(one.document_id, one)
                found = dict(list(found.items())[:depth])
        return list(found.values())
