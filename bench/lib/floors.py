"""Two plain rankings that anybody would write first, as floors for bench/quality.py. Nothing here is tuned.

Both see what the product sees: title and body of the query, items of its kind that were created earlier, minus the
excluded ones.
"""

import collections
import gzip
import json
import math
import pathlib
import re
import typing

import apsw

WORD = re.compile(r"[^\W_]+")
TERMS = 30
DEPTH = 100


class Item(typing.NamedTuple):
    kind: str
    number: int
    title: str
    body: str
    created_at: str  # all are written alike, so text compares as time does


class Tracker(typing.NamedTuple):
    items: list[Item]
    excluded: frozenset[int]


def load_tracker(folder: pathlib.Path, name: str) -> Tracker:
    excluded = json.loads((folder / f"{name}.exclude.json").read_text(encoding="utf-8"))
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    items = [
        Item(row["kind"], row["number"], row["title"] or "", row.get("body") or "", row["created_at"]) for row in rows
    ]
    return Tracker(items, frozenset(excluded))


def words(item: Item) -> list[str]:
    return [word.lower() for word in WORD.findall(f"{item.title} {item.body}")]


class Bm25:
    """FTS5 with its own bm25, title 10 : body 1. The query is an OR of the 30 words with the largest tf-idf."""

    def __init__(self, tracker: Tracker) -> None:
        self._items = tracker.items
        self._found_in = collections.Counter(word for item in tracker.items for word in set(words(item)))
        self._db = apsw.Connection(":memory:")
        self._db.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, kind, created_at)")
        self._db.execute("CREATE VIRTUAL TABLE texts USING fts5 (title, body, tokenize = 'porter unicode61')")
        with self._db:
            for at, item in enumerate(tracker.items):
                self._db.execute("INSERT INTO texts (rowid, title, body) VALUES (?, ?, ?)", (at, item.title, item.body))
                if item.number not in tracker.excluded:
                    self._db.execute("INSERT INTO items VALUES (?, ?, ?)", (at, item.kind, item.created_at))

    def rank(self, query: Item, created_at: str) -> list[int]:
        """Return the numbers of the best candidates, best first."""
        times = collections.Counter(words(query))
        weight = {word: math.log(1 + times[word]) * math.log(len(self._items) / self._found_in[word]) for word in times}
        best = sorted(weight, key=lambda word: (-weight[word], word))[:TERMS]
        if not best:
            return []
        rows = self._db.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? AND +rowid IN"
            " (SELECT id FROM items WHERE kind = ? AND created_at < ?)"
            " ORDER BY bm25(texts, 10, 1), rowid LIMIT ?",
            (" OR ".join(f'"{word}"' for word in best), query.kind, created_at, DEPTH + 1),
        )
        found = [self._items[at].number for (at,) in rows]
        return [number for number in found if number != query.number][:DEPTH]


class TfIdf:
    """Cosine of tf-idf vectors over all words of title and body: (1 + log tf) * log(N / df)."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker
        bags = [collections.Counter(words(item)) for item in tracker.items]
        found_in = collections.Counter(word for bag in bags for word in bag)
        self._idf = {word: math.log(len(bags) / count) for word, count in found_in.items()}
        self._postings: dict[tuple[str, str], list[tuple[int, float]]] = collections.defaultdict(list)
        for at, (item, bag) in enumerate(zip(tracker.items, bags, strict=True)):
            for word, weight in self._vector(bag).items():
                self._postings[item.kind, word].append((at, weight))

    def _vector(self, bag: collections.Counter) -> dict[str, float]:
        raw = {word: (1 + math.log(times)) * self._idf[word] for word, times in bag.items()}
        length = math.sqrt(sum(weight * weight for weight in raw.values())) or 1.0
        return {word: weight / length for word, weight in raw.items()}

    def rank(self, query: Item, created_at: str) -> list[int]:
        items, excluded = self._tracker
        scores: dict[int, float] = collections.defaultdict(float)
        for word, weight in self._vector(collections.Counter(words(query))).items():
            for at, other in self._postings[query.kind, word]:
                scores[at] += weight * other
        best = sorted(scores, key=lambda at: (-scores[at], at))
        allowed = (
            items[at].number
            for at in best
            if items[at].created_at < created_at and items[at].number not in excluded | {query.number}
        )
        return [number for number, _ in zip(allowed, range(DEPTH), strict=False)]


FLOORS = {"BM25, untuned": Bm25, "TF-IDF cosine, untuned": TfIdf}
