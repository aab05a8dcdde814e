"""A plan of closings as a file to be reviewed: Markdown for people, JSON for programs. Titles are strangers' text."""

import json
from typing import TYPE_CHECKING

from forgelore.core.dedupe.reasons import MEANINGS, ReasonCode
from forgelore.core.triage.markdown import link, plain
from forgelore.surfaces.present.data import as_data

if TYPE_CHECKING:
    from forgelore.api import ClosingPlan, PlanLine

_TITLE = 120


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


def reason_in_words(code: str) -> str:
    """Return what a reason code means."""
    return MEANINGS[ReasonCode(code)]


def _closing_row(line: "PlanLine") -> str:
    item, target = link(str(line.number), line.url), link(str(line.target), line.target_url)
    titles = f"{plain(line.title, limit=_TITLE)} | {plain(line.target_title, limit=_TITLE)}"
    return f"| {item} | {target} | {line.confidence or 0:.2f} | {titles} |"


def _kept_row(line: "PlanLine") -> str:
    because = f"{line.reason}: {reason_in_words(line.reason)}"
    return f"| {link(str(line.number), line.url)} | {because} | {plain(line.title, limit=_TITLE)} |"
