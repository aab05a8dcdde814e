"""Deduplication in words: reason codes, the counters of an audit, and a plan of closings as a file to review.

The file is Markdown for people or JSON for programs. Titles are strangers' text.
"""

import json
from typing import TYPE_CHECKING

from forgelore.dedupe.reasons import MEANINGS, ReasonCode
from forgelore.surfaces.present.data import as_data
from forgelore.text.markdown import link, plain

if TYPE_CHECKING:
    from forgelore.api import ClosingPlan, PlanLine

_TITLE = 120  # characters
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
        f"{len(closing)} items would be closed, {len(kept)} stay open.", "",
        f"Policy: {plan.policy}, confidence from {plan.min_close:g}.", "",
        "## Closings", "", "| item | onto | confidence | title | its title |",
        "|---|---|---|---|---|", *map(_closing_row, closing), "", "## What stays open", "",
        "| item | because | title |", "|---|---|---|", *map(_kept_row, kept),
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def describe_reason(code: str) -> str:
    """Return what a reason code means."""
    return MEANINGS[ReasonCode(code)]


def _closing_row(line: "PlanLine") -> str:
    item, target = link(str(line.number), line.url), link(str(line.target), line.target_url)
    titles = f"{plain(line.title, limit=_TITLE)} | {plain(line.target_title, limit=_TITLE)}"
    return f"| {item} | {target} | {line.confidence or 0:.2f} | {titles} |"


def _kept_row(line: "PlanLine") -> str:
    because = f"{line.reason}: {describe_reason(line.reason)}"
    return f"| {link(str(line.number), line.url)} | {because} | {plain(line.title, limit=_TITLE)} |"


def describe_class(counter: str, against: str) -> str:
    """Return what a counter of an audit counts; its name for an unknown counter."""
    words = _LABELLED | _LANES if against == "strong" else _LABELLED
    return words.get(counter, counter.replace("_", " "))
