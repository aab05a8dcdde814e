"""Are the three numbers worth anything? The order, the noise, the use and the chance, on trackers not fitted on.

Whatever is fitted (trees, the shipped distribution, the curve of the chance) is fitted on three trackers and measured
on the fourth. Needs LightGBM (requirements/ranker.txt).

    python bench/run.py evidence                 the tables, with the built-in embedder
    python bench/run.py evidence words           ... without vectors

What is shipped is fitted on all four, by training/evidence_ship.py.
"""

import typing

import numpy as np

from forgelore.core.compare.calibration import LEAST, LEAST_OF_STATE, Best, Distribution, Distributions
from forgelore.core.compare.scoring import score_ranks
from forgelore.flows.compare.reference import SAMPLE, similarity_of
from lib.common import Skipped, report, table, verdict
from lib.evidence_chance import chance_table
from lib.evidence_data import COLUMNS, CONVERSATION, Ranked, Tracker, load_trackers, rank_costs
from lib.evidence_fit import GROUPS, Fit, Held, columns, fit_trackers, gold_ranks, is_asked, recall_at, with_less_known
from lib.evidence_order import decision_table, order_table
from quality import CORPORA

WARNED, SHOWN, ROWS = 0.92, 0.75, 5  # the thresholds of triage, and the rows of its table
WINDOW = SAMPLE  # ordinary items before a query that make its distribution


def main(arguments: list[str]) -> None:
    if not CORPORA.is_dir():
        raise Skipped(f"there are no trackers in {CORPORA.name}/")
    embedder = arguments[0] if arguments else "lore"
    trackers = load_trackers(embedder)
    held = hold_out(trackers, columns(with_vectors=embedder != "words"))
    bots = [one._replace(tracker=one.tracker.without(CONVERSATION)) for one in held]
    noise, noises = noise_table(held)
    useful = use_table(held)
    chance, error = chance_table(held, embedder)
    parts = [
        NOTE, "## Order", order_table(held, embedder), "## Decisions", decision_table(held, embedder),
        "## The bot's index", BOT_NOTE, order_table(bots, embedder), decision_table(bots, embedder),
        "## What each group of evidence adds", ablation_table(trackers, embedder), "## Noise", noise,
        "## Use at that noise", useful, "## Chance", chance, "## Cost", cost_text(rank_costs(embedder)),
        "## Targets", target_table(held, noises, error),
    ]  # fmt: skip
    name = "evidence" if embedder == "lore" else f"evidence-{embedder}"
    report(name, f"Evidence, similarity and chance ({embedder})", parts, " ".join(arguments), bench="evidence")


NOTE = (
    "Leave one tracker out: trees, distribution and curve come from the three others. The protocol of quality.md, with"
    " the trackers' comments and states: candidates are judged by what was known when the query was filed. Queries"
    " whose author names the original are not fitted on. Version 1 is what was shipped before: a logistic model fitted"
    " on bitcoin, hadoop and seamonkey, so that its figures there flatter it, and those on rust do not. Similarity is a"
    f" position among the best strengths of the last {WINDOW} ordinary queries before the query, and at least 0.99 for"
    " the same text. The embedder has read the text of the first three trackers, and nothing of rust. In brackets: 95 %"
    " intervals (Wilson for shares, bootstrap for MRR and for paired differences)."
)
BOT_NOTE = (
    "It has no conversations: comments, who took part, mentions and marks are unknown. The same trees, which have seen"
    " their trackers so, too."
)


def hold_out(trackers: list[Tracker], used: list[int]) -> list[Held]:
    found = [fit_without(tracker, trackers, used) for tracker in trackers]
    return [one._replace(shipped=shipped_to(one, found)) for one in found]


def fit_without(tracker: Tracker, trackers: list[Tracker], used: list[int]) -> Held:
    others = [other for other in trackers if other is not tracker]
    return Held(tracker, fit_trackers(with_less_known(others), used))


HARDEST = "rust"  # the embedder has not read it, and it has most queries


def ablation_table(trackers: list[Tracker], embedder: str) -> str:
    rows = []
    hardest = next(tracker for tracker in trackers if tracker.name == HARDEST)
    for group in ["", *GROUPS]:
        if group == "vectors" and embedder == "words":
            continue
        one = fit_without(hardest, trackers, columns(group, with_vectors=embedder != "words"))
        score = score_ranks(all_ranks([one]))
        cells = [score.values["recall@1"], score.values["recall@10"], score.values["mrr"]]
        recalls = [recall_at(hardest.queries, one.strengths(), 0.05)]
        rows.append([f"without {group}" if group else "everything", *(f"{cell:.3f}" for cell in cells + recalls)])
    return table([f"{HARDEST} left out", "R@1", "R@10", "MRR", "recall at 5 % flagged"], rows)


def all_ranks(held: list[Held]) -> list[int | None]:
    """Of the issue queries of all trackers, each ranked by what was fitted without it."""
    found: list[int | None] = []
    for one in held:
        found += gold_ranks(one.tracker.queries, one.strengths(), is_asked(one.tracker.queries))
    return found


class Positions(typing.NamedTuple):
    """Similarities at the time of each query."""

    sample: list[tuple[int, Best]]
    shipped: Distributions

    def at(self, created: int) -> Distributions:
        past = [best for when, best in self.sample if when < created][-WINDOW:]
        return Distributions.of(past) if len(past) >= LEAST else self.shipped


def positions_of(one: Held, *, is_change: bool = False) -> Positions:
    queries = one.tracker.queries
    best = bests(queries, one.strengths())
    chosen = np.flatnonzero(is_asked(queries, is_change=is_change, has_gold=False))
    return Positions(sorted((int(queries.created[at]), best[at]) for at in chosen), one.shipped)


def bests(ranked: Ranked, strengths: np.ndarray) -> list[Best]:
    """The best match of each item, with its state."""
    is_open = ranked.features[ranked.first(strengths), COLUMNS.index("open")]
    return [
        Best(float(strength), None if np.isnan(state) else bool(state))
        for strength, state in zip(ranked.best(strengths), is_open, strict=True)
    ]


def shipped_distribution(pairs: list[tuple[Tracker, Fit]]) -> Distributions:
    """A hundred steps, each tracker counting the same, with its conversations; of each state, where it has enough."""
    parts: dict[bool | None, list[list[float]]] = {None: [], True: [], False: []}
    for tracker, fit in pairs:
        ordinary = np.flatnonzero(is_asked(tracker.queries, has_gold=False))
        best = bests(tracker.queries, fit.strengths(tracker.queries))
        for state, part in parts.items():
            part.append([best[at].strength for at in ordinary if state is None or best[at].is_open is state])
    return Distributions(*(joined([part for part in each if len(part) >= LEAST_OF_STATE]) for each in parts.values()))


def joined(samples: list[list[float]]) -> Distribution:
    steps = np.linspace(0.005, 0.995, 100)
    together = np.concatenate([np.quantile(sample, steps) for sample in samples])
    return Distribution(tuple(round(float(v), 3) for v in np.quantile(together, steps)))


def shipped_to(one: Held, held: list[Held]) -> Distributions:
    """What would be shipped without this tracker. No tracker may be measured by trees that were grown on it: those know
    their own trackers too well. The others' own were grown with this one, which is as near as can be had.
    """
    return shipped_distribution(
        [(other.tracker, other.fit) for other in held if other.tracker.name != one.tracker.name]
    )


def dated(one: Held, chosen: np.ndarray, *, is_change: bool = False) -> list[tuple[int, Distributions]]:
    positions = positions_of(one, is_change=is_change)
    cache: dict[int, Distributions] = {}
    found = []
    for at in np.flatnonzero(chosen):
        created = int(one.tracker.queries.created[at])
        found.append((int(at), cache.setdefault(created, positions.at(created))))
    return found


def noise_table(held: list[Held]) -> tuple[str, dict[str, tuple[float, float]]]:
    rows, found = [], {}
    for one in held:
        queries = one.tracker.queries
        strengths = one.strengths()
        first = queries.first(strengths)
        for is_change in (False, True):
            chosen = is_asked(queries, is_change=is_change, has_gold=False)
            if not chosen.any():
                continue
            name = f"{one.tracker.name} {'changes' if is_change else 'issues'}"
            own = [similarity(d, queries, first[at], strengths) for at, d in dated(one, chosen, is_change=is_change)]
            shipped = one.shipped
            theirs = [similarity(shipped, queries, first[at], strengths) for at in np.flatnonzero(chosen)]
            found[name] = share(own, WARNED), share(own, SHOWN)
            rows.append(
                [
                    name,
                    len(own),
                    *(f"{100 * share(values, bar):.1f} %" for values in (own, theirs) for bar in (WARNED, SHOWN)),
                ]
            )
    head = ["not duplicates", "n", f"own: >= {WARNED}", f">= {SHOWN}", f"shipped: >= {WARNED}", f">= {SHOWN}"]
    return table(head, rows), found


def similarity(
    distribution: Distributions, ranked: Ranked, row: int, strengths: np.ndarray, *, most: float = 1.0
) -> float:
    """As the product has it (flows/compare/rank); -1 stands for an item without any candidate."""
    if row < 0:
        return 0.0
    known = {name: float(ranked.features[row, COLUMNS.index(name)]) for name in ("same", "open")}
    features = {name: value for name, value in known.items() if not np.isnan(value)}
    return similarity_of(distribution, float(strengths[row]), features, most=most)


def share(values: list[float], bar: float) -> float:
    return float(np.mean(np.asarray(values) >= bar))


def use_table(held: list[Held]) -> str:
    rows, warned, shown = [], [], []
    for one in held:
        each = uses(one)
        warned += each[0]
        shown += each[1]
        rows.append([f"{one.tracker.name} issues", len(each[0]), f"{np.mean(each[0]):.3f}", f"{np.mean(each[1]):.3f}"])
    rows.append(["all issues", len(warned), f"{np.mean(warned):.3f}", f"{np.mean(shown):.3f}"])
    head = ["duplicates", "n", f"warned, the right one first (>= {WARNED})", f"in the first {ROWS} rows (>= {SHOWN})"]
    return table(head, rows)


def uses(one: Held) -> tuple[list[bool], list[bool]]:
    """Of each known duplicate: was it warned of with the right item first, and was that item in the table."""
    queries = one.tracker.queries
    strengths = one.strengths()
    warned, shown = [], []
    for at, distribution in dated(one, is_asked(queries)):
        start, end = queries.start[at], queries.start[at + 1]
        order = start + np.argsort(-strengths[start:end], kind="stable")[:ROWS]
        near, most = [], 1.0
        for row in order:
            most = similarity(distribution, queries, row, strengths, most=most)
            near.append((most, bool(queries.is_gold[row])))
        warned.append(bool(near) and near[0][1] and near[0][0] >= WARNED)
        shown.append(any(is_gold and position >= SHOWN for position, is_gold in near))
    return warned, shown


def target_table(held: list[Held], noises: dict[str, tuple[float, float]], error: float) -> str:
    hardest = next(one for one in held if one.tracker.name == HARDEST)
    score = score_ranks(all_ranks([hardest])).values
    targets = [
        (f"{HARDEST}: R@10", 0.76, score["recall@10"]),
        (f"{HARDEST}: MRR", 0.56, score["mrr"]),
        (f"{HARDEST}: recall at 5 % flagged", 0.15, recall_at(hardest.tracker.queries, hardest.strengths(), 0.05)),
    ]
    rows = [[name, f">= {bar}", f"{value:.3f}", verdict(value, bar, at_most=False)] for name, bar, value in targets]
    rows.append(["expected calibration error", "<= 0.05", f"{error:.4f}", verdict(error, 0.05, at_most=True)])
    for name, (warned, shown) in noises.items():
        rows.append([f"{name}: warned", "8 % +- 2", f"{100 * warned:.1f} %", within(warned, 0.08, 0.02)])
        rows.append([f"{name}: any comment", "25 % +- 3", f"{100 * shown:.1f} %", within(shown, 0.25, 0.03)])
    return table(["", "target", "measured", ""], rows)


def cost_text(costs: list[float]) -> str:
    middle, late = costs[len(costs) // 2], costs[int(0.95 * len(costs))]
    return (
        f"Ranking one of {len(costs)} issues of bitcoin among 29,134 items and the conversations of its issues, vectors"
        f" in memory, ten matches with snippets and quotes: {middle:.0f} ms of CPU in the middle, {late:.0f} ms at the"
        " 95th of 100."
    )


def within(value: float, target: float, room: float) -> str:
    return "met" if abs(value - target) <= room + 5e-4 else f"missed by {100 * (abs(value - target) - room):.1f} points"
