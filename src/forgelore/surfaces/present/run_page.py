"""The page of a run: what was looked at, what was said, how much of the project is known, and what is wrong."""

from typing import TYPE_CHECKING

from forgelore.core.times import ago
from forgelore.core.triage.markdown import link, plain, safe_url
from forgelore.core.triage.report_rows import likeness_of, percent

if TYPE_CHECKING:
    from forgelore.api import BotResult, TriagedItem

_OUTCOMES = {
    "duplicate": "very close to",
    "regression": "perhaps a regression of",
    "similar": "similar to",
    "silent": "nothing to say",
}


def build_summary(outcome: "BotResult", now_ms: int, *, is_dry: bool = False) -> str:
    """Return Markdown. Titles are strangers' text and are written so that nothing in them acts."""
    lines = ["### forgelore triage", ""]
    if outcome.complaint:
        lines += ["> [!CAUTION]", f"> {_inline(outcome.complaint)}", ""]
    for problem in dict.fromkeys(outcome.problems):
        lines += ["> [!WARNING]", f"> {_inline(problem)}", ""]
    lines += [_line(done, is_dry=is_dry) for done in outcome.done] or [
        f"- {_inline(outcome.event)}: no item to look at"
    ]
    lines += [f"- {outcome.removed} items left the index" if outcome.removed else ""]
    lines += [_withheld(outcome)]
    lines += ["", _covered(outcome), _kept(outcome), _since(outcome, now_ms)]
    lines += [f"- {_inline(warning)}" for warning in dict.fromkeys(outcome.warnings)]
    return "\n".join(line for line, before in zip(lines, ["", *lines], strict=False) if line or before) + "\n"


def _line(done: "TriagedItem", *, is_dry: bool) -> str:
    triaged = done.triaged
    name = f"{triaged.key.kind} {triaged.key.number}"
    shown = link(name, safe_url(triaged.url) if triaged.url else None)
    finding = _OUTCOMES[triaged.outcome]
    rows = triaged.report.rows if triaged.report else ()
    if rows and rows[0].sameness != "similar":
        finding += f" {triaged.first_number} ({likeness_of(rows[0])})"
    elif triaged.first_number is not None and triaged.similarity is not None:
        finding += f" {triaged.first_number} ({percent(triaged.similarity)})"
    elif triaged.outcome != "silent":
        finding = "related to items of another kind or project"
    elif triaged.reason:
        finding += f" ({triaged.reason})"
    posted = "dry run" if is_dry else done.posted.action if done.posted else "not posted"
    reason = f", {_inline(done.posted.reason)}" if done.posted and done.posted.reason else ""
    return f"- {shown} ({_inline(triaged.title)}): {finding}; comment: {posted}{reason}"


def _inline(text: str) -> str:
    return plain(text, limit=300)


def _covered(outcome: "BotResult") -> str:
    coverage = outcome.coverage
    if coverage is None:
        return "The project was not read in this run."
    if coverage.is_complete:
        return f"All {coverage.known} issues and changes of the project are in the index."
    total = ""
    if coverage.total and coverage.known <= coverage.total:  # the forge may count fewer than it lists
        total = f" of {coverage.total} ({coverage.known * 100 // coverage.total} %)"
    return (
        f"{coverage.known}{total} issues and changes are in the index so far; reading stopped because"
        f" {_inline(coverage.stopped or 'the forge did not answer')}. The next event goes on."
    )


def _withheld(outcome: "BotResult") -> str:
    if not outcome.withheld:
        return ""
    return (
        f"- {outcome.withheld} of them because not every reader of the branch may read them. The forge may keep the"
        " replaced commit for a while: see What the branch shows in docs/triage/README.md"
    )


def _kept(outcome: "BotResult") -> str:
    if outcome.is_kept:
        return "The index could not be pushed. It is kept in the runner's cache, and the next run goes on from there."
    if outcome.refusal is not None:
        return "The index could not be pushed, and the next run reads the whole history again."
    return ""


def _since(outcome: "BotResult", now_ms: int) -> str:
    runs = outcome.log.runs
    failed = sum(bool(run.problem) for run in runs)
    if not runs or not failed:
        return ""
    return f"{failed} of the last {len(runs)} runs had a problem; the first of those {ago(runs[0].at, now_ms)}."
