"""Noise and use: what similarity, a position among a project's own items, tells of ordinary items and duplicates."""

import typing

import numpy as np

from forgelore.compare.calibration import MIN, Distributions
from forgelore.compare.reference import STRENGTHS, similarity_of
from forgelore.records import BestMatch
from lib.common import table
from lib.evidence_chance import ISSUES
from lib.evidence_data import COLUMNS, Ranked
from lib.evidence_fit import Held, is_asked

WARNED, SHOWN, ROWS = 0.92, 0.75, 3  # the thresholds of triage, and the rows of its table


class Positions(typing.NamedTuple):
    """Similarities at the time of each query."""

    sample: list[tuple[int, BestMatch]]
    shipped: Distributions
    window: int  # ordinary queries before a query that make its distribution

    def at(self, created: int) -> Distributions:
        past = [best for when, best in self.sample if when < created][-self.window :]
        return Distributions.of(past) if len(past) >= MIN else self.shipped


def positions_of(one: Held, *, is_change: bool = False) -> Positions:
    queries = one.tracker.queries
    best = bests(queries, one.strengths())
    chosen = np.flatnonzero(is_asked(queries, is_change=is_change, has_gold=False))
    pairs = sorted((int(queries.created[at]), best[at]) for at in chosen)
    return Positions(pairs, one.shipped, window_of(one, len(pairs)))


def window_of(one: Held, ordinary: int) -> int:
    """The product takes the newest items. Of these, as many were asked here as of all issues; a hundred at least."""
    return max(MIN, round(STRENGTHS * ordinary / ISSUES[one.tracker.name]))


def bests(ranked: Ranked, strengths: np.ndarray) -> list[BestMatch]:
    """The best match of each item, with its state."""
    is_open = ranked.features[ranked.first(strengths), COLUMNS.index("open")]
    return [
        BestMatch(float(strength), None if np.isnan(state) else bool(state))
        for strength, state in zip(ranked.best(strengths), is_open, strict=True)
    ]


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
    """As the product has it (compare/rank); -1 stands for an item without any candidate."""
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
