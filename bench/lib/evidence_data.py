"""Every labelled query, and a sample of ordinary items, ranked by the product: the evidence of each candidate pair.

Kept as arrays in FORGELORE_BENCH_CACHE beside the databases of bench/quality.py, because ranking ten thousand items
takes a quarter of an hour. Delete the .npz files to measure new evidence.
"""

import json
import time
import typing

import numpy as np

from forgelore.api import open_history
from forgelore.core.compare.evidence import FEATURES
from forgelore.core.times import parse_ms
from forgelore.flows.compare.rank import CANDIDATES, CompareRequest, rank_matches
from forgelore.flows.compare.sample import learn_boilerplate
from forgelore.store.filters import Filters
from forgelore.store.hits import load_subject
from lib.common import clean_environ
from quality import CORPORA, TRACKERS, prepare, query_lines

# Every n-th item of (issues, changes) is a sample of what is usual: some of the large tracker, all of the others.
STEPS = {"bitcoin": (6, 17), "hadoop": (1, 1), "seamonkey": (1, 1), "rust": (6, 17)}


class Ranked(typing.NamedTuple):
    """Items that were ranked among earlier ones. Candidates of item k are rows[start[k]:start[k + 1]]."""

    number: np.ndarray
    is_change: np.ndarray
    created: np.ndarray
    gold_count: np.ndarray
    start: np.ndarray
    features: np.ndarray
    is_gold: np.ndarray
    is_cited: np.ndarray  # the author names an item of the group

    def first(self, strengths: np.ndarray) -> np.ndarray:
        """The row of each item's strongest candidate; -1 where it had none."""
        found = np.full(len(self.number), -1)
        for at in range(len(found)):
            start, end = self.start[at], self.start[at + 1]
            if end > start:
                found[at] = start + np.argmax(strengths[start:end])
        return found

    def best(self, strengths: np.ndarray) -> np.ndarray:
        """The largest strength of each item that had a candidate; a very small one for the others."""
        first = self.first(strengths)
        return np.where(first < 0, -20.0, strengths[np.maximum(first, 0)])


class Tracker(typing.NamedTuple):
    name: str
    queries: Ranked
    sample: Ranked


def load_trackers(embedder: str) -> list[Tracker]:
    return [load_tracker(name, embedder) for name in TRACKERS]


def load_tracker(name: str, embedder: str) -> Tracker:
    db = prepare(name, "lore" if embedder == "words" else embedder)
    parts = {part: db.with_suffix(f".{embedder}.{part}.npz") for part in ("queries", "sample")}
    if not all(path.exists() for path in parts.values()):
        environ = clean_environ(db.parent, FORGELORE_EMBEDDER="none" if embedder == "words" else embedder)
        with open_history(db, environ=environ) as lore:
            learn_boilerplate(lore.app.store(), lore.app.find_project(name).id, is_forced=True)
            for part, path in parts.items():
                if not path.exists():
                    collect = rank_queries if part == "queries" else rank_sample
                    np.savez_compressed(path, **collect(lore, name, is_lexical=embedder == "words")._asdict())
    return Tracker(name, *(Ranked(**np.load(path)) for path in parts.values()))


def rank_queries(lore, name: str, *, is_lexical: bool) -> Ranked:
    lines = query_lines(name)
    asked = [(row["kind"], row["query"], parse_ms(row["created_at"]), row["gold"], row["cites_gold"]) for row in lines]
    return rank_all(lore, name, asked, is_lexical=is_lexical)


def rank_sample(lore, name: str, *, is_lexical: bool) -> Ranked:
    asked = []
    for kind, step in zip(("issue", "change"), STEPS[name], strict=True):
        sql = "SELECT kind, number, created_at FROM items WHERE kind = ? ORDER BY created_at, id"
        asked += [(*row, [], False) for row in lore.app.store().rows(sql, kind)[step - 1 :: step]]
    return rank_all(lore, name, asked, is_lexical=is_lexical)


def rank_all(lore, name: str, asked: list[tuple], *, is_lexical: bool) -> Ranked:
    store = lore.app.store()
    ids = {(kind, number): item_id for item_id, kind, number in store.rows("SELECT id, kind, number FROM items")}
    hidden = set(json.loads((CORPORA / f"{name}.exclude.json").read_text(encoding="utf-8")))
    excluded = tuple(item_id for (_, number), item_id in ids.items() if number in hidden)
    retriever = lore.retriever(is_lexical=is_lexical)
    rows: dict[str, list] = {field: [] for field in Ranked._fields}
    rows["start"].append(0)
    for kind, number, created, gold, is_cited in asked:
        subject = load_subject(store, ids[kind, number])._replace(created_at=created)
        filters = Filters(types=(kind,), not_items=(*excluded, subject.item_id), before=created)
        mode = "lexical" if is_lexical else "hybrid"
        ranking = rank_matches(retriever, CompareRequest(subject, filters, mode, CANDIDATES, is_bare=True))
        for match in ranking.matches:
            rows["features"].append([match.evidence.features[feature] for feature in FEATURES])
            rows["is_gold"].append(match.hit.row.number in gold)
        rows["start"].append(len(rows["features"]))
        for field, value in zip(("number", "is_change", "created"), (number, kind == "change", created), strict=True):
            rows[field].append(value)
        rows["gold_count"].append(len(gold))
        rows["is_cited"].append(is_cited)
    rows["features"] = np.asarray(rows["features"], np.float32)
    return Ranked(**{field: np.asarray(values) for field, values in rows.items()})


def rank_costs(embedder: str, *, count: int = 100) -> list[float]:
    """Milliseconds of CPU that ranking an issue of the largest tracker takes, with snippets and quotes."""
    db = prepare("bitcoin", "lore" if embedder == "words" else embedder)
    is_lexical = embedder == "words"
    with open_history(
        db, environ=clean_environ(db.parent, FORGELORE_EMBEDDER="lore" if is_lexical else embedder)
    ) as lore:
        store, retriever = lore.app.store(), lore.retriever(is_lexical=is_lexical)
        rows = store.rows("SELECT id FROM items WHERE kind = 'issue' ORDER BY id * 7919 % 10007, id LIMIT ?", count + 1)
        costs = []
        for (item_id,) in rows:
            subject = load_subject(store, item_id)
            filters = Filters(types=("issue",), not_items=(item_id,), before=subject.created_at)
            start = time.process_time()
            rank_matches(retriever, CompareRequest(subject, filters, "lexical" if is_lexical else "hybrid"))
            costs.append(1000 * (time.process_time() - start))
    return sorted(costs[1:])  # the first one read all vectors into memory
