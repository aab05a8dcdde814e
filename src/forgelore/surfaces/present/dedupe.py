"""Deduplication in words: reason codes, the counters of an audit, and a plan of closings as a file to review.

The file is Markdown for people or JSON for programs. Titles are strangers' text.
"""

import json
from typing import TYPE_CHECKING

from forgelore.dedupe.closing_rules import MIN_PROVEN
from forgelore.dedupe.reasons import MEANINGS, ReasonCode
from forgelore.surfaces.present.data import as_data
from forgelore.surfaces.present.text import clean, counted_noun, day, format_ms
from forgelore.text.markdown import link, plain

if TYPE_CHECKING:
    from forgelore.api import ClosingPlan, MeasuredShare, PlanLine, ReviewItem, ReviewPair, ReviewQueue

BY_PERSON = "a person accepted this pair"
_VIEW = (
    "This file is a view: editing it changes nothing. To change the plan, use `forgelore dedupe reject`, `accept`,"
    " `split` or `set-canonical`, then make it again."
)
_TITLE = 120  # characters
_BODY = 2_000
# The gates whose bounds an audit sweeps.
BOUNDS = {
    "rank_max": "rank at most", "score_min": "similarity at least", "gap_min": "gap at least",
    "confidence_min": "confidence at least",
}  # fmt: skip
# What each counter of an audit means beside labels, and beside another judge.
_LABELLED = {
    "tp": "accepted, and right",
    "fp": "accepted, and wrong",
    "conflict": "accepted, onto another item",
    "fn": "not accepted, and a duplicate",
    "tn": "not accepted, and not a duplicate",
    "incomplete": "without an answer",
    "unlabelled": "accepted, and not labelled yet",
    "known": "known duplicates asked about",
    "original_offered": "of them with an original that was open then, and among the candidates",
    "others": "other items asked about",
}
_LANES = {
    "tp": "accepted by both, onto the same item",
    "fp": "accepted by this judge alone",
    "conflict": "accepted by both, onto different items",
    "fn": "accepted by the other judge alone",
    "tn": "accepted by neither",
}


def plan_file(plan: "ClosingPlan", *, is_json: bool) -> str:
    """Return the text of the file."""
    if is_json:
        return json.dumps(as_data(plan), indent=1, ensure_ascii=False) + "\n"
    closing = [line for line in plan.lines if not line.reason]
    kept = [line for line in plan.lines if line.reason]
    name = f"Plan {plan.run}" if plan.run is not None else "Plan (a dry run)"
    parts = [
        f"# {name} for {plain(plan.project, limit=_TITLE)}", "",
        f"{len(closing)} items would be closed, {len(kept)} stay open.", "", _VIEW, "",
        f"Policy: {plan.policy}, confidence from {plan.min_close:g}.",
    ]  # fmt: skip
    if closing:
        parts += [
            "", "## Closings", "", "| item | filed | onto | filed | confidence | title | its title |",
            "|---|---|---|---|---|---|---|", *map(_closing_row, closing),
        ]  # fmt: skip
    if kept:
        parts += [
            "", "## What stays open", "", "| item | filed | because | title |", "|---|---|---|---|",
            *map(_kept_row, kept),
        ]  # fmt: skip
    return "\n".join(parts) + "\n"


def describe_clusters(edges: int, clusters: int) -> str:
    """Return what became of the accepted edges: "3 accepted edges make 2 clusters"."""
    makes = "makes" if edges == 1 else "make"
    return f"{counted_noun(edges, 'accepted edge')} {makes} {counted_noun(clusters, 'cluster')}"


def describe_reason(code: str) -> str:
    """Return what a reason code means."""
    return MEANINGS[ReasonCode(code)]


def describe_share(share: "MeasuredShare | None") -> str:
    """Return `0.95 [0.89, 0.98], 95 of 100`."""
    if share is None:
        return "not measured"
    return f"{share.value:.2f} [{share.low:.2f}, {share.high:.2f}], {share.right:,} of {share.of:,}"


def describe_proof(precision: "MeasuredShare | None") -> str:
    """Return whether an audit shows enough for closings."""
    if precision is None:
        return "no accepted edge has a label: this proves nothing for closings"
    shown = f"shows a precision of at least {precision.low:.2f} with 95 % confidence"
    if precision.low >= MIN_PROVEN:
        return f"{shown}: enough for closings"
    return f"{shown}; closings need {MIN_PROVEN:.2f} (or --unproven)"


_ENDINGS = {"not_planned": "closed as not planned", "duplicate": "closed as a duplicate", "fixed": "fixed"}


def describe_ending(item: "ReviewItem") -> str:
    """Return how an item ended: "fixed by #5 on 2026-03-01"."""
    words = _ENDINGS.get(item.ended, clean(item.ended.replace("_", " ")))
    by = f" {'of' if item.ended == 'duplicate' else 'by'} #{item.ended_by}" if item.ended_by else ""
    return f"{words}{by}{f' on {day(item.ended_at)}' if item.ended_at else ''}"


def describe_distance(pair: "ReviewPair") -> list[str]:
    """Return whether one person filed both, where that is known, and how far apart: "by different authors", "12 days
    apart".
    """
    facts = []
    if pair.newer.author and pair.older.author:
        facts.append("by the same author" if pair.same_author else "by different authors")
    if pair.days_apart is not None:
        facts.append(f"{counted_noun(pair.days_apart, 'day')} apart" if pair.days_apart else "less than a day apart")
    return facts


def describe_forecast(queue: "ReviewQueue") -> str:
    """Return what a reviewer may expect: "about 7 of these 50 are duplicates"."""
    said = queue.forecast
    if not said.pairs:
        return "only series are left" if queue.left else "nothing is left to review"
    count = round(said.duplicates)
    of = "of these" if said.pairs > 1 else "of"
    if count:
        return f"about {count} {of} {said.pairs} {'is a duplicate' if count == 1 else 'are duplicates'}"
    return f"{counted_noun(said.pairs, 'pair')}; perhaps 1 of them is a duplicate"


def describe_next(queue: "ReviewQueue") -> str:
    """Return what the next pairs promise, and whether to stop."""
    said = queue.forecast
    if not said.next:
        return describe_forecast(queue)
    count = round(said.next_duplicates)
    ahead = f"about {count} of the next {said.next} {'is a duplicate' if count == 1 else 'are duplicates'}"
    return f"{ahead}; stopping here is reasonable" if said.may_stop else ahead


def cut_queue(queue: "ReviewQueue") -> "ReviewQueue":
    """Return a queue for programs: of each text its beginning."""
    pairs = [
        one._replace(
            newer=one.newer._replace(body=one.newer.body[:_BODY]), older=one.older._replace(body=one.older.body[:_BODY])
        )
        for one in queue.pairs
    ]
    return queue._replace(pairs=pairs)


def _closing_row(line: "PlanLine") -> str:
    item, target = link(str(line.number), line.url), link(str(line.target), line.target_url)
    filed, target_filed = (
        plain(describe_filing(line), limit=_TITLE),
        plain(describe_filing(line, is_target=True), limit=_TITLE),
    )
    sure = f"{line.confidence or 0:.2f}" + (f", {BY_PERSON}" if line.by_person else "")
    titles = f"{plain(line.title, limit=_TITLE)} | {plain(line.target_title, limit=_TITLE)}"
    return f"| {item} | {filed} | {target} | {target_filed} | {sure} | {titles} |"


def _kept_row(line: "PlanLine") -> str:
    because = f"{line.reason}: {describe_reason(line.reason)}"
    filed, title = plain(describe_filing(line), limit=_TITLE), plain(line.title, limit=_TITLE)
    return f"| {link(str(line.number), line.url)} | {filed} | {because} | {title} |"


def describe_filing(line: "PlanLine", *, is_target: bool = False) -> str:
    """Return when an item of a plan, or its target, was filed and by whom: "2026-03-01 by kim"."""
    author, moment = (line.target_author, line.target_created_at) if is_target else (line.author, line.created_at)
    return f"{(format_ms(moment) or 'at an unknown time')[:18].partition('T')[0]} by {author or 'somebody unknown'}"


def describe_class(counter: str, against: str) -> str:
    """Return what a counter of an audit counts; its name for an unknown counter."""
    words = _LABELLED | _LANES if against == "strong" else _LABELLED
    return words.get(counter, counter.replace("_", " "))
