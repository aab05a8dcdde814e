"""The bot's index: the same trackers without conversations, and three ways to live with that.

one model     the shipped trees, which were grown on trackers with and without conversations
its own       trees that never heard of conversations
counts        the index carries what the conversations amount to: comments, people, mentions, marks, as of then
"""

import typing

from forgelore.compare.scoring import compare_ranks
from lib.common import table
from lib.evidence_data import CONVERSATION, Tracker
from lib.evidence_fit import Fit, Held, columns, fit_without, gold_ranks, is_asked, recall_at
from lib.evidence_order import SHOWN, interval, scores, version_1

NOTE = (
    "Each tracker left out, as in evidence.md. *One model*: the trees of evidence.md, comments, who took part, mentions"
    " and marks unknown; they were grown on trackers with less known, too. *Its own*: trees grown without them."
    " *Counts*: the index carries them, so that nothing is unknown (evidence.md's own figures). Hadoop and seamonkey"
    " have no conversations: nothing differs there but the trees."
)


class Way(typing.NamedTuple):
    name: str
    tracker: Tracker
    fit: Fit


def bot_parts(held: list[Held], embedder: str) -> list[str]:
    return [NOTE, bot_table(held, embedder)]


def bot_table(held: list[Held], embedder: str) -> str:
    rows = []
    for one in held:
        asked = is_asked(one.tracker.queries)
        before = gold_ranks(one.tracker.queries, version_1(one.tracker.queries, embedder), asked)
        first = None
        for way in ways_of(one, held):
            queries = way.tracker.queries
            strengths = way.fit.strengths(queries)
            ranks = gold_ranks(queries, strengths, asked)
            first = first or ranks
            flagged = f"{recall_at(queries, strengths, 0.05):.3f}"
            rows.append(
                [one.tracker.name, way.name, *scores(ranks), flagged, *gains(before, ranks), *gains(first, ranks)]
            )
    head = [
        "",
        "",
        "R@1",
        "R@5",
        "R@10",
        "MRR",
        "recall at 5 % flagged",
        "R@10 over version 1",
        "MRR",
        "over one model",
        "",
    ]
    return table(head, rows)


def ways_of(one: Held, held: list[Held]) -> list[Way]:
    trackers = [other.tracker for other in held]
    bare = one.tracker.without(CONVERSATION)
    own = fit_without(one.tracker, trackers, columns("conversations"), one.recipe)
    return [Way("one model", bare, one.fit), Way("its own", bare, own), Way("counts", one.tracker, one.fit)]


def gains(before: list[int | None], after: list[int | None]) -> list[str]:
    found = compare_ranks(before, after)
    return [
        f"{found[each].value:+.3f} {interval(found[each].ci95, sign=True)}"
        for each in SHOWN
        if each in ("recall@10", "mrr")
    ]
