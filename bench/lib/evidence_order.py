"""Before and after, on the same candidates: the order, and what a bar on strength would find."""

import numpy as np

from forgelore.compare.scoring import compare_ranks, score_ranks, wilson
from lib.common import table
from lib.evidence_data import COLUMNS, Ranked
from lib.evidence_fit import Held, gold_ranks, is_asked, recall_at

# What was shipped before the trees, fitted on bitcoin, hadoop and seamonkey.
VERSION_1 = {
    "lore": {
        "cosine": 0.861, "cosine_z": 0.716, "words_z": 0.276, "known_title": 0.669, "info": 0.213, "error": 0.097,
        "frame": 0.467, "version": 1.985, "recency": 2.634, "length": 0.208,
    },
    "words": {
        "words_z": 0.656, "title_in": 0.411, "in_title": 0.4, "known_title": 1.975, "jaccard": 0.191, "info": 0.296,
        "error": 0.227, "frame": 0.217, "version": 2.393, "recency": 2.674, "length": 0.526,
    },
}  # fmt: skip
SHOWN = ("recall@1", "recall@5", "recall@10", "mrr")


def version_1(ranked: Ranked, embedder: str) -> np.ndarray:
    return sum(weight * ranked.features[:, COLUMNS.index(name)] for name, weight in VERSION_1[embedder].items())


def order_table(held: list[Held], embedder: str) -> str:
    rows = []
    for is_change, kind in ((False, "issues"), (True, "changes")):
        for one in held:
            queries, name = one.tracker.queries, f"{one.tracker.name} {kind}"
            chosen = is_asked(queries, is_change=is_change)
            if not chosen.any():
                continue
            before = gold_ranks(queries, version_1(queries, embedder), chosen)
            after = gold_ranks(queries, one.strengths(), chosen)
            rows.append([name, len(before), "version 1", *scores(before)])
            rows.append(["", "", "trees", *scores(after)])
            gains = compare_ranks(before, after)
            steps = [f"{gains[each].value:+.3f} {interval(gains[each].ci95, sign=True)}" for each in SHOWN]
            rows.append(["", "", "difference", *steps])
    return table(["", "n", "", "R@1", "R@5", "R@10", "MRR"], rows)


def scores(ranks: list[int | None]) -> list[str]:
    score = score_ranks(ranks)
    return [f"{score.values[each]:.3f} {interval(score.ci95[each])}" for each in SHOWN]


def interval(ends: tuple[float, float], *, sign: bool = False) -> str:
    return f"[{ends[0]:+.3f}, {ends[1]:+.3f}]" if sign else f"[{ends[0]:.2f}, {ends[1]:.2f}]"


def decision_table(held: list[Held], embedder: str) -> str:
    """Of known duplicates, how many have the right item first and above a bar that few ordinary issues reach."""
    rows = []
    for one in held:
        queries = one.tracker.queries
        known, others = (int(is_asked(queries, has_gold=has_gold).sum()) for has_gold in (True, False))
        for label, strengths in (("version 1", version_1(queries, embedder)), ("trees", one.strengths())):
            found = [recall_at(queries, strengths, share) for share in (0.01, 0.05)]
            cells = [f"{share:.3f} {interval(wilson(share, known))}" for share in found]
            rows.append([f"{one.tracker.name} issues", known, others, label, *cells])
    return table(["", "duplicates", "ordinary", "", "recall at 1 % flagged", "recall at 5 % flagged"], rows)
