"""The score gap of strength that vetoes the same share of lists as 0.015 of cosine did in another model."""

import numpy as np

from forgelore.compare.calibration import load_shipped
from forgelore.compare.trees import load_trees
from forgelore.dedupe.gates import BATCH_K, MIN_GAP, MIN_SCORE
from forgelore.records import BestMatch
from lib.common import table
from lib.evidence_data import COLUMNS, Tracker

COSINE_GAP = 0.015
AT = {name: at for at, name in enumerate(COLUMNS)}


def gap_text(trackers: list[Tracker]) -> str:
    """The gap of strength that vetoes the same share of first candidates as 0.015 of cosine."""
    gaps = {tracker.name: find_gaps(tracker) for tracker in trackers}
    rows = []
    for name in (*gaps, "none"):
        fitted = np.concatenate([each for key, each in gaps.items() if key != name])
        share = float((fitted[:, 1] < COSINE_GAP).mean())
        gap = float(np.quantile(fitted[:, 0], share))
        held = f"{float((gaps[name][:, 0] < gap).mean()):.3f}" if name in gaps else ""
        rows.append([name, len(fitted), f"{share:.3f}", f"{gap:.3f}", held])
    head = ["left out", "lists", "share that 0.015 of cosine vetoes", "gap of strength", "share it vetoes there"]
    note = f"Lists of at least two open candidates of similarity {MIN_SCORE}; shipped: {MIN_GAP}."
    return f"{note}\n\n{table(head, rows)}"


def find_gaps(tracker: Tracker) -> np.ndarray:
    """Of each list: how far the first is ahead by strength, and the nearest by cosine."""
    queries, distribution, found = tracker.queries, load_shipped("lore")[0], []
    is_open = queries.features[:, AT["open"]] == 1
    strengths = np.full(len(is_open), -99.0)
    rows = [
        {name: float(value) for name, value in zip(COLUMNS, row, strict=True) if not np.isnan(value)}
        for row in queries.features[is_open]
    ]
    strengths[is_open] = load_trees("lore").strengths(rows)
    for at in range(len(queries.number)):
        here = np.arange(queries.start[at], queries.start[at + 1])
        order = here[np.argsort(-strengths[here], kind="stable")][:BATCH_K]
        near = [
            row for row in order if distribution.position(BestMatch(float(strengths[row]), is_open=True)) >= MIN_SCORE
        ]
        if len(near) > 1 and not queries.features[near[0], AT["same"]]:
            cosines = np.sort(queries.features[near, AT["cosine"]])
            found.append((strengths[near[0]] - strengths[near[1]], cosines[-1] - cosines[-2]))
    return np.array(found)
