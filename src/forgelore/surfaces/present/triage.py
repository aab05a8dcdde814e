"""Triage as data (one item that was compared, one run of the bot) and the page of a run in Markdown."""

from typing import TYPE_CHECKING, NamedTuple

from forgelore.api import CommentAction, TriageOutcome
from forgelore.compare.sameness import Sameness
from forgelore.surfaces.present.report import describe_triage
from forgelore.text.dates import ago
from forgelore.text.markdown import link, plain, safe_url
from forgelore.triage.report import likeness_of, number_of, percent
from forgelore.words import Kind

if TYPE_CHECKING:
    from forgelore.api import BotResult, Coverage, OutcomeTally, ReportRow, RivalRow, TriageAnswer, TriagedItem

_VERSIONS = 3  # of the program, in a run's summary
_OUTCOMES = {
    "duplicate": "very close to",
    "regression": "perhaps a regression of",
    "similar": "similar to",
    "silent": "nothing to say",
}


class ReportRowData(NamedTuple):
    """One earlier item, with the refs of what fixed it and of what it was closed in favour of, and how many more items
    have its very text.
    """

    ref: str
    title: str
    url: str
    similarity: float
    state: str | None
    state_reason: str | None
    kind: str
    is_regression: bool
    project: str
    sameness: Sameness
    fixed_by: str | None
    has_hidden_fix: bool
    original: str | None
    copies: int


class RivalRowData(NamedTuple):
    """An earlier change by somebody else that does the same, and the facts in words."""

    ref: str
    title: str
    url: str
    state: str
    facts: list[str]


class TriageData(NamedTuple):
    """What an item repeats. `reason` says why there is nothing to say, `report` is the comment, `comment` what became
    of it; null where nothing was to be posted.
    """

    ref: str
    title: str
    outcome: TriageOutcome
    reason: str
    matches: list[ReportRowData]
    related: list[ReportRowData]
    rivals: list[RivalRowData]
    chance: float | None
    labels: list[tuple[str, float]]
    report: str
    comment: CommentAction | None
    comment_url: str | None


class BotItemData(NamedTuple):
    """An item that the bot looked at."""

    kind: Kind
    number: int
    outcome: TriageOutcome
    reason: str
    first: int | None
    similarity: float | None
    comment: CommentAction | None
    comment_url: str | None
    report: str


class BotData(NamedTuple):
    """One run of the bot. `problems` made it fail in part, `notes` did not."""

    event: str
    items: list[BotItemData]
    covered: "Coverage | None"
    is_pushed: bool
    is_kept: bool
    removed: int
    withheld: int
    problems: list[str]
    notes: list[str]


def present_triage(ref: str, answer: "TriageAnswer") -> TriageData:
    found, posted = answer
    report = found.report
    return TriageData(
        ref, found.title, found.outcome, found.reason,
        [_present_row(row) for row in report.rows] if report else [],
        [_present_row(row) for row in report.related] if report else [],
        [_present_rival(one) for one in report.rivals] if report else [],
        report.chance if report else None, list(found.labels), found.body,
        posted.action if posted else None, posted.url if posted else None,
    )  # fmt: skip


def _present_row(row: "ReportRow") -> ReportRowData:
    return ReportRowData(
        row.ref, row.title, row.url, row.similarity, row.state, row.state_reason, row.kind, row.is_regression,
        row.project, row.sameness, row.fixed_by.ref if row.fixed_by else None, row.has_hidden_fix,
        row.original.ref if row.original else None, row.copies,
    )  # fmt: skip


def _present_rival(one: "RivalRow") -> RivalRowData:
    return RivalRowData(one.row.ref, one.row.title, one.row.url, one.state, [one.lead, *one.facts])


def present_bot(result: "BotResult") -> BotData:
    return BotData(
        result.event, [_present_item(one) for one in result.done], result.coverage, result.is_pushed, result.is_kept,
        result.removed, result.withheld, result.problems, result.warnings,
    )  # fmt: skip


def _present_item(item: "TriagedItem") -> BotItemData:
    found, posted = item
    return BotItemData(
        found.key.kind, found.key.number, found.outcome, found.reason, found.first_number, found.similarity,
        posted.action if posted else None, posted.url if posted else None, found.body,
    )  # fmt: skip


def build_summary(outcome: "BotResult", now_ms: int, *, is_dry: bool = False) -> str:
    """Return Markdown. Titles are strangers' text and are written so that nothing in them acts."""
    lines = ["### forgelore triage", ""]
    if outcome.complaint:
        lines += ["> [!CAUTION]", f"> {_inline(outcome.complaint)}", ""]
    for problem in dict.fromkeys(outcome.problems):
        lines += ["> [!WARNING]", f"> {_inline(problem)}", ""]
    lines += [_item_line(done, is_dry=is_dry) for done in outcome.done] or [
        f"- {_inline(outcome.event)}: no item to look at"
    ]
    lines += [f"- {outcome.removed} items left the index" if outcome.removed else ""]
    lines += [_withheld_line(outcome)]
    lines += ["", _coverage_line(outcome), _push_line(outcome), _problem_line(outcome, now_ms)]
    if outcome.key is None:
        lines += [f"- {_inline(describe_tally(one))}" for one in outcome.log.outcomes[:_VERSIONS]]
    lines += [f"- {_inline(warning)}" for warning in dict.fromkeys(outcome.warnings)]
    return "\n".join(line for line, before in zip(lines, ["", *lines], strict=False) if line or before) + "\n"


def describe_tally(one: "OutcomeTally") -> str:
    """Return one line on what came of the comments of a version."""
    return f"version {one.version}: {describe_triage(one)}"


def _item_line(done: "TriagedItem", *, is_dry: bool) -> str:
    triaged = done.triaged
    name = f"{triaged.key.kind} {triaged.key.number}"
    shown = link(name, safe_url(triaged.url) if triaged.url else None)
    finding = _OUTCOMES[triaged.outcome]
    rows = triaged.report.rows if triaged.report else ()
    if rows and rows[0].sameness != "similar":
        finding += f" {triaged.first_number} ({likeness_of(rows[0])})"
    elif triaged.first_number is not None and triaged.similarity is not None:
        finding += f" {triaged.first_number} ({percent(triaged.similarity)})"
    elif triaged.report and triaged.report.rivals:
        finding = f"{triaged.report.rivals[0].lead} {number_of(triaged.report.rivals[0].row)}"
    elif triaged.outcome != "silent":
        finding = "related to items of another kind or project"
    elif triaged.reason:
        finding += f" ({triaged.reason})"
    posted = "dry run" if is_dry else done.posted.action if done.posted else "not posted"
    reason = f", {_inline(done.posted.reason)}" if done.posted and done.posted.reason else ""
    return f"- {shown} ({_inline(triaged.title)}): {finding}; comment: {posted}{reason}"


def _inline(text: str) -> str:
    return plain(text, limit=300)


def _coverage_line(outcome: "BotResult") -> str:
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


def _withheld_line(outcome: "BotResult") -> str:
    if not outcome.withheld:
        return ""
    return (
        f"- {outcome.withheld} of them because not every reader of the branch may read them. The forge may keep the"
        " replaced commit for a while: see What the branch shows in docs/triage/README.md"
    )


def _push_line(outcome: "BotResult") -> str:
    if outcome.is_kept:
        return "The index could not be pushed. It is kept in the runner's cache, and the next run goes on from there."
    if outcome.refusal is not None:
        return "The index could not be pushed, and the next run reads the whole history again."
    return ""


def _problem_line(outcome: "BotResult", now_ms: int) -> str:
    runs = outcome.log.runs
    failed = sum(bool(run.problem) for run in runs)
    if not runs or not failed:
        return ""
    return f"{failed} of the last {len(runs)} runs had a problem; the first of those {ago(runs[0].at, now_ms)}."
