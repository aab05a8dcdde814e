"""Every labelled query of four trackers, ranked by the product: the evidence of each candidate pair.

Trackers are imported whole, with their comments and states: candidates are judged by what was known when the query was
filed. Kept as arrays in FORGELORE_BENCH_CACHE beside the databases, because ranking eight thousand items takes a
quarter of an hour. Delete the .npz files to measure new evidence.
"""

import json
import pathlib
import time
import typing

import numpy as np

from forgelore.api import open_history
from forgelore.compare.calibrate import learn_boilerplate
from forgelore.compare.evidence import FEATURES, HISTORY, SECOND
from forgelore.compare.rank import CANDIDATES, CompareRequest, rank_matches
from forgelore.store.filters import Filters
from forgelore.store.hits import load_subject
from forgelore.text.dates import parse_ms
from lib.common import clean_environ
from quality import CORPORA, cache_folder, query_lines, run

TRACKERS = ("bitcoin", "hadoop", "seamonkey", "rust")
COLUMNS = (*FEATURES, *HISTORY, *SECOND)
CONVERSATION = ("marked", "comments", "people", "quiet", "mentions", "duplicates", "took_part")  # not in a bot's index
DIGITS = 6  # of a number: its last bits depend on the order of a sum, and would grow other trees every time
STEPS = {("rust", "words"): 3}  # of ordinary issues, every n-th: three thousand take six minutes of CPU


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
    candidate: np.ndarray  # the number of each row's item

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
    """`queries` without gold are a sample of what is ordinary."""

    name: str
    queries: Ranked

    def without(self, names: tuple[str, ...]) -> "Tracker":
        """As a store knows the same items that has less to tell."""
        features = self.queries.features.copy()
        features[:, [COLUMNS.index(name) for name in names]] = np.nan
        return Tracker(self.name, self.queries._replace(features=features))


def load_trackers(embedder: str) -> list[Tracker]:
    return [load_tracker(name, embedder) for name in TRACKERS if (CORPORA / f"{name}.jsonl.gz").exists()]


def load_tracker(name: str, embedder: str) -> Tracker:
    kept = cache_folder() / f"{name}.whole.{embedder}.npz"
    if not kept.exists():
        db = prepare_whole(name, "lore" if embedder == "words" else embedder)
        environ = clean_environ(
            db.parent,
            FORGELORE_EMBEDDER="none" if embedder == "words" else embedder,
            FORGELORE_SECOND_EMBEDDER="none",
        )
        with open_history(db, environ=environ) as lore:
            learn_boilerplate(lore.app.store(), lore.app.find_project(name).id, is_forced=True)
            np.savez_compressed(kept, **rank_queries(lore, name, embedder)._asdict())
    return Tracker(name, Ranked(**np.load(kept)))


def prepare_whole(name: str, embedder: str) -> pathlib.Path:
    """Return the database of a tracker with everything that its file tells."""
    folder = cache_folder()
    db = folder / f"{name}.whole.{embedder}.db"
    # Whoever does not want second vectors drops them, and they took half an hour.
    second = "minilm" if seconds_of(name).exists() else "none"
    environ = clean_environ(folder, FORGELORE_DB=str(db), FORGELORE_EMBEDDER=embedder, FORGELORE_SECOND_EMBEDDER=second)
    run(environ, "import", str(CORPORA / f"{name}.jsonl.gz"), "--project", name, "--no-embed")
    run(environ, "generate-docs", "--full")
    run(environ, "embed")
    return db


def seconds_of(name: str) -> pathlib.Path:
    """The file that keeps what a second embedder says of a tracker's candidates."""
    return cache_folder() / f"{name}.whole.second.npy"


def rank_queries(lore, name: str, embedder: str) -> Ranked:
    """Every duplicate, and ordinary issues; nothing is fitted on ordinary changes."""
    lines = query_lines(name)
    ordinary = [row["query"] for row in lines if not row["gold"] and row["kind"] == "issue"]
    kept = set(ordinary[:: STEPS.get((name, embedder), 1)])
    asked = [
        (row["kind"], row["query"], parse_ms(row["created_at"]), row["gold"], row["cites_gold"])
        for row in lines
        if row["gold"] or (row["kind"] == "issue" and row["query"] in kept)
    ]
    return rank_all(lore, name, asked, is_lexical=embedder == "words")


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
        request = CompareRequest(subject, filters, mode, CANDIDATES, is_bare=True, as_of=created)
        # By number, not as they were ranked: what is fitted must not depend on what was shipped before.
        for match in sorted(rank_matches(retriever, request).matches, key=lambda match: match.hit.row.number):
            rows["features"].append([match.features.get(name, np.nan) for name in COLUMNS])
            rows["is_gold"].append(match.hit.row.number in gold)
            rows["candidate"].append(match.hit.row.number)
        rows["start"].append(len(rows["features"]))
        for field, value in zip(("number", "is_change", "created"), (number, kind == "change", created), strict=True):
            rows[field].append(value)
        rows["gold_count"].append(len(gold))
        rows["is_cited"].append(is_cited)
    ranked = Ranked(**{field: np.asarray(values) for field, values in rows.items()})
    return ranked._replace(features=np.round(ranked.features, DIGITS) + 0.0)  # and there is one zero


def rank_costs(embedder: str, *, count: int = 100, second: str = "none") -> list[float]:
    """Milliseconds of CPU that ranking an issue of the largest tracker takes, with snippets and quotes."""
    db = prepare_whole("bitcoin", "lore" if embedder == "words" else embedder)
    is_lexical = embedder == "words"
    environ = clean_environ(
        db.parent, FORGELORE_EMBEDDER="lore" if is_lexical else embedder, FORGELORE_SECOND_EMBEDDER=second
    )
    with open_history(db, environ=environ) as lore:
        store, retriever = lore.app.store(), lore.retriever(is_lexical=is_lexical)
        rows = store.rows("SELECT id FROM items WHERE kind = 'issue' ORDER BY id * 7919 % 10007, id LIMIT ?", count + 1)
        costs = []
        for (item_id,) in rows:
            subject = load_subject(store, item_id)
            filters = Filters(types=("issue",), not_items=(item_id,), before=subject.created_at)
            mode = "lexical" if is_lexical else "hybrid"
            start = time.process_time()
            rank_matches(retriever, CompareRequest(subject, filters, mode, as_of=subject.created_at))
            costs.append(1000 * (time.process_time() - start))
    return sorted(costs[1:])  # the first one read all vectors into memory
