"""Triage, as data: one item that was compared, and one run of the bot."""

from typing import TYPE_CHECKING, NamedTuple

from forgelore.api import CommentAction, TriageOutcome
from forgelore.core.compare.sameness import Sameness
from forgelore.words import Kind

if TYPE_CHECKING:
    from forgelore.api import BotResult, ReportRow, TriageAnswer, TriagedItem


class ReportRowData(NamedTuple):
    """One earlier item, with the refs of what fixed it and of what it was closed in favour of."""

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


class CoverageData(NamedTuple):
    """How much of the project is in the bot's index."""

    known: int
    total: int | None
    is_complete: bool


class BotData(NamedTuple):
    """One run of the bot. `problems` made it fail in part, `notes` did not."""

    event: str
    items: list[BotItemData]
    covered: CoverageData | None
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
        report.chance if report else None, list(found.labels), found.body,
        posted.action if posted else None, posted.url if posted else None,
    )  # fmt: skip


def _present_row(row: "ReportRow") -> ReportRowData:
    return ReportRowData(
        row.ref, row.title, row.url, row.similarity, row.state, row.state_reason, row.kind, row.is_regression,
        row.project, row.sameness, row.fixed_by.ref if row.fixed_by else None, row.has_hidden_fix,
        row.original.ref if row.original else None,
    )  # fmt: skip


def present_bot(result: "BotResult") -> BotData:
    coverage = result.coverage
    covered = CoverageData(coverage.known, coverage.total, coverage.is_complete) if coverage else None
    return BotData(
        result.event, [_present_item(one) for one in result.done], covered, result.is_pushed, result.is_kept,
        result.removed, result.withheld, result.problems, result.warnings,
    )  # fmt: skip


def _present_item(item: "TriagedItem") -> BotItemData:
    found, posted = item
    return BotItemData(
        found.key.kind, found.key.number, found.outcome, found.reason, found.first_number, found.similarity,
        posted.action if posted else None, posted.url if posted else None, found.body,
    )  # fmt: skip
