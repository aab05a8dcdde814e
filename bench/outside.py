"""What the bot does on a tracker that took no part in anything: not in the embedder's text, not in the weights.

Everything is used as it is shipped (`core/compare/shipped.py`). The figures of an independent trial, taken by others,
stand before ours. Ranking 10,000 items takes twenty minutes of CPU; they are kept as those of evidence are.

    python bench/run.py outside
"""

import numpy as np

from evidence import SHOWN, WARNED, dated, similarity, uses
from forgelore.core.compare.evidence import FEATURES
from forgelore.core.compare.scoring import METRICS, score_ranks, wilson
from forgelore.core.compare.shipped import DISTRIBUTIONS, MODELS
from lib.common import Skipped, report, table
from lib.evidence_data import load_tracker
from lib.evidence_fit import Fit, Held, gold_ranks, is_asked
from quality import CORPORA

TRACKER = "rust"
NOTE = (
    "evidence.md leaves one tracker of three out, but the text of all three was read by the built-in embedder. Here is"
    " what a project may expect that nobody looked at before."
)
# Taken by others, not by this bench; [low, high] is the 95 % interval.
TRIAL = [
    ["ordinary issues: warned", "8 %", "4.7 % [2, 9]", "holds"],
    ["ordinary issues: any comment", "25 %", "21 % [16, 29]", "holds"],
    ["duplicates: warned, the right one first", "31 %", "13 % [9, 20]", "does not hold"],
    ["duplicates: in the table", "55 %", "27 % [20, 34]", "does not hold"],
]
TRIAL_NOTE = (
    "The bot of this repository, on a tracker that took no part in fitting, measured from outside. The noise is bounded"
    " as told. The use is half of what our three trackers had promised: expect the lower figures."
)


def main(_arguments: list[str]) -> None:
    if not (CORPORA / f"{TRACKER}.jsonl.gz").exists():
        raise Skipped(f"there is no {TRACKER} in {CORPORA.name}/")
    one = Held(load_tracker(TRACKER, "lore"), shipped_fit(), [], DISTRIBUTIONS["lore"])
    parts = [
        NOTE,
        "## An independent trial",
        table(["", "told before", "measured", ""], TRIAL),
        TRIAL_NOTE,
        f"## The same measured here, on {TRACKER}",
        share_table(one),
        OURS_NOTE,
        "## Order",
        order_table(one),
    ]
    report("outside", "On trackers that took no part", parts)


OURS_NOTE = (
    f"{TRACKER}: 15,800 issues and 14,850 changes, 2010 to 2016; its labels come from maintainers' remarks. Thresholds"
    f" {WARNED} and {SHOWN}, as shipped; similarity as in evidence.md. Wilson's 95 % intervals."
)


def shipped_fit() -> Fit:
    model = MODELS["lore"]
    return Fit(model.bias, np.asarray([model.weights.get(name, 0.0) for name in FEATURES]))


def share_table(one: Held) -> str:
    rows = []
    for is_change, kind in ((False, "issues"), (True, "changes")):
        values = best_similarities(one, is_change=is_change)
        rows.append(share_row(f"ordinary {kind}: warned", [value >= WARNED for value in values]))
        rows.append(share_row(f"ordinary {kind}: any comment", [value >= SHOWN for value in values]))
    warned, shown = uses(one)
    rows.append(share_row("duplicates: warned, the right one first", warned))
    rows.append(share_row("duplicates: in the table", shown))
    return table(["", "n", "measured"], rows)


def best_similarities(one: Held, *, is_change: bool) -> list[float]:
    queries = one.tracker.queries
    strengths = one.fit.strengths(queries)
    first = queries.first(strengths)
    chosen = is_asked(queries, is_change=is_change, has_gold=False)
    return [similarity(each, queries, first[at], strengths) for at, each in dated(one, chosen, is_change=is_change)]


def share_row(name: str, is_so: list[bool]) -> list[object]:
    share = float(np.mean(is_so))
    low, high = wilson(share, len(is_so))
    return [name, len(is_so), f"{100 * share:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"]


def order_table(one: Held) -> str:
    queries = one.tracker.queries
    score = score_ranks(gold_ranks(queries, one.fit.strengths(queries), is_asked(queries)))
    cells = [
        f"{score.values[metric]:.3f} [{score.ci95[metric].low:.2f}, {score.ci95[metric].high:.2f}]"
        for metric in METRICS
    ]
    return table(["", "n", "R@1", "R@5", "R@10", "R@20", "MRR"], [[f"{TRACKER} issues", score.n, *cells]])
