"""A second embedder beside the first: the same candidates with one more cosine, and what the trees make of it.

Second vectors are made by the product (`embed`, where the extra minilm is installed); of 63,000 items that takes half
an hour of CPU, and they stay in the databases of FORGELORE_BENCH_CACHE. What they say of each pair is asked of the
product's own function.
"""

import numpy as np

from forgelore.api import open_history
from forgelore.compare.evidence import SECOND
from forgelore.compare.reference import compare_by_second
from forgelore.compare.scoring import compare_ranks
from forgelore.store.hits import load_subject
from lib.common import clean_environ, table
from lib.evidence_data import COLUMNS, DIGITS, Tracker, load_trackers, prepare_whole, seconds_of
from lib.evidence_fit import Held, gold_ranks, is_asked, recall_at
from lib.evidence_order import SHOWN, interval, scores
from quality import run

NOTE = (
    "The trees of evidence.md beside trees that were grown on the same trackers with two numbers more: how near MiniLM"
    " puts a candidate, and its position among the candidates by that. Candidates are the same: MiniLM is not searched"
    " by. Each tracker left out; differences are paired, with 95 % intervals (bootstrap). Both embedders have read the"
    " text of the first three trackers, and nothing of rust."
)


def load_seconds() -> list[Tracker]:
    return [with_second(tracker) for tracker in load_trackers("lore")]


def with_second(tracker: Tracker) -> Tracker:
    """The same candidates with what the second embedder says of them."""
    kept = seconds_of(tracker.name)
    if not kept.exists():
        np.save(kept, measure(tracker))
    features = tracker.queries.features.copy()
    features[:, [COLUMNS.index(name) for name in SECOND]] = np.load(kept)
    return Tracker(tracker.name, tracker.queries._replace(features=features))


def measure(tracker: Tracker) -> np.ndarray:
    db = prepare_whole(tracker.name, "lore")
    environ = clean_environ(db.parent, FORGELORE_EMBEDDER="lore", FORGELORE_SECOND_EMBEDDER="minilm")
    run(environ | {"FORGELORE_DB": str(db)}, "embed")
    queries = tracker.queries
    found = np.full((len(queries.features), len(SECOND)), np.nan)
    with open_history(db, environ=environ) as lore:
        store, retriever = lore.app.store(), lore.retriever()
        ids = {(kind, number): item_id for item_id, kind, number in store.rows("SELECT id, kind, number FROM items")}
        for at, number in enumerate(queries.number):
            kind, start, end = "change" if queries.is_change[at] else "issue", queries.start[at], queries.start[at + 1]
            subject = load_subject(store, ids[kind, int(number)])
            candidates = [ids[kind, int(other)] for other in queries.candidate[start:end]]
            for row, numbers in enumerate(compare_by_second(retriever, subject, candidates) or [], start):
                found[row] = [numbers[name] for name in SECOND]
    return np.round(found, DIGITS) + 0.0


def second_table(alone: list[Held], both: list[Held]) -> str:
    rows = []
    for is_change, kind in ((False, "issues"), (True, "changes")):
        for one, other in zip(alone, both, strict=True):
            chosen = is_asked(one.tracker.queries, is_change=is_change)
            if chosen.any():
                rows += compare_rows(f"{one.tracker.name} {kind}", one, other, chosen)
    return table(["", "n", "", "R@1", "R@5", "R@10", "MRR", "recall at 5 % flagged"], rows)


def compare_rows(name: str, one: Held, other: Held, chosen: np.ndarray) -> list[list[object]]:
    before, after = (gold_ranks(each.tracker.queries, each.strengths(), chosen) for each in (one, other))
    is_issues = name.endswith("issues")
    flags = [
        f"{recall_at(each.tracker.queries, each.strengths(), 0.05):.3f}" if is_issues else "" for each in (one, other)
    ]
    gains = compare_ranks(before, after)
    steps = [f"{gains[each].value:+.3f} {interval(gains[each].ci95, sign=True)}" for each in SHOWN]
    return [
        [name, len(before), "lore", *scores(before), flags[0]],
        ["", "", "lore and MiniLM", *scores(after), flags[1]],
        ["", "", "difference", *steps, ""],
    ]
