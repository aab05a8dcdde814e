"""The triage comment, as Markdown of its forge.

Words follow what is known: "the same text" where it is the same, "possible duplicate" only where at least half of such
matches were duplicates, else "related or duplicate": of 50 such pairs that people read, 14 were duplicates that nobody
had marked, 23 were closely related, and 13 had nothing to do with each other. Percentages are rounded down, and a
chance below one in a hundred is not told. Nothing in it notifies a person, marks a duplicate or leaves a trace on the
pages it links to (docs/decisions/0008-comment.md). Equal reports give equal bytes.
"""

from typing import NamedTuple, Protocol

from forgelore.core.compare.facts import Explanation
from forgelore.core.marker import MARKER
from forgelore.core.triage.markdown import code, link, plain, visible_line
from forgelore.core.triage.report_rows import (
    NAME_CHARS,
    ReportRow,
    address_of,
    likeness_of,
    linked,
    name_of,
    noun_of,
    number_of,
    percent,
    status_of,
    title_of,
)  # fmt: skip
from forgelore.core.triage.report_warning import build_warning, is_regression

__all__ = ["LIKELY", "MARKER", "Report", "ReportRow", "build_report", "is_regression", "percent"]

LIKELY = 0.5  # from here on the word "duplicate" is backed by most of what was measured
_QUOTE_CHARS = 160
_COMPARED_CHARS = 1_000


class Quoted(Protocol):
    """A `core.evidence.Quote`: what kind of thing both texts say, as this item and as the other one wrote it."""

    @property
    def what(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def other(self) -> str: ...


class Report(NamedTuple):
    rows: tuple[ReportRow, ...]  # of the same kind, best first
    is_duplicate: bool  # the first row is at or above the duplicate threshold
    chance: float | None
    chance_pairs: int
    quotes: tuple[Quoted, ...]  # of the first row
    labels: tuple[tuple[str, float], ...]
    related: tuple[ReportRow, ...]  # of other kinds or other projects
    forge: str
    kind: str  # of the item that is triaged
    max_chars: int
    is_own: bool = True  # similarity is a position among this project's items; else among those of other projects
    explanation: Explanation | None = None  # what moved the first row to its place


def build_report(report: Report) -> str:
    """Return the comment, with the marker as its first line; "" when there is nothing worth saying.

    Too long for the forge: quotes go first, from the last on, then related items and labels, then rows.
    """
    while report.rows or report.related:
        text = _text(report)
        if len(text.encode("utf-8", "replace")) <= report.max_chars:  # bytes: no forge counts stricter
            return text
        report = _smaller(report)
    return ""


def _smaller(report: Report) -> Report:
    if report.quotes:
        return report._replace(quotes=report.quotes[:-1])
    if report.labels:
        return report._replace(labels=())
    if report.related and report.rows:
        return report._replace(related=report.related[:-1])
    return report._replace(rows=report.rows[:-1], related=report.related[:-1])


def _text(report: Report) -> str:
    parts = [f"{MARKER}\n### 🔎 Triage report"]
    if report.rows:
        if report.is_duplicate:
            is_likely = _is_likely(report)
            chance = _chance(report) if is_likely else ""
            parts.append(
                build_warning(report.rows[0], forge=report.forge, kind=report.kind, is_likely=is_likely, chance=chance)
            )
        parts.append(_table(report))
        if report.quotes and report.rows[0].sameness != "same_text":  # every line of it would be the same
            parts.append(_evidence(report))
    if report.related:
        parts.append(_related(report))
    if report.labels:
        named = ", ".join(f"{code(name, limit=NAME_CHARS)} ({percent(share)})" for name, share in report.labels)
        parts.append(f"**Suggested labels:** {named}")
    parts.append(_footer(report))
    return "\n\n".join(parts) + "\n"


def _is_likely(report: Report) -> bool:
    """True where most such matches were duplicates; of the same text nothing was measured."""
    return report.rows[0].sameness == "similar" and report.chance is not None and report.chance >= LIKELY


def _chance(report: Report) -> str:
    """Say how often such a match was right. Maintainers mark some of the duplicates there are: it was at least that."""
    share = percent(min(report.chance or 0.0, 0.99))
    if report.chance_pairs <= 0 or share == "0%":
        return ""
    pairs = f"{report.chance_pairs:,} pairs" if report.chance_pairs > 1 else "one pair"
    return f"At least {share} of matches this close were marked as duplicates (measured on {pairs}). "


def _table(report: Report) -> str:
    noun, count = noun_of(report.forge, report.kind), len(report.rows)
    lines = [
        f"<details><summary>📋 {_found(report)} {noun if count == 1 else noun + 's'} ({count})</summary>",
        "",
        "| # | Title | Similarity | Status |",
        "|---|---|---|---|",
    ]
    for place, row in enumerate(report.rows):
        number = link(number_of(row), address_of(report.forge, row, is_first=place == 0))
        lines.append(f"| {number} | {title_of(row)} | {likeness_of(row)} | {status_of(row)} |")
    return "\n".join([*lines, "", *_facts(report), "</details>"])


def _found(report: Report) -> str:
    """Name what was found. What a report brings back after its fix repeats nothing."""
    is_back = report.is_duplicate and is_regression(report.rows[0])
    return "Similar" if is_back or any(row.sameness != "similar" for row in report.rows) else "Related or duplicate"


def _facts(report: Report) -> list[str]:
    """Say which facts moved the first row to its place; of the same text there is nothing to weigh."""
    explained = report.explanation
    if explained is None or report.rows[0].sameness != "similar":
        return []
    reasons, doubts = ", ".join(explained.speaking_for), ", ".join(explained.speaking_against)
    if not reasons:
        return []
    against = f" Against it: {doubts}." if doubts else ""
    return [f"What put {name_of(report.forge, report.rows[0])} first: {reasons}.{against}", ""]


def _evidence(report: Report) -> str:
    """What both texts say, side by side. Open under a warning: people trust quotes, not percentages."""
    opening = "<details open>" if report.is_duplicate else "<details>"
    other = name_of(report.forge, report.rows[0])
    lines = [
        f"{opening}<summary>🔍 What both say ({len(report.quotes)})</summary>",
        "",
        f"| | This {noun_of(report.forge, report.kind)} | {other.capitalize()} |",
        "|---|---|---|",
    ]
    for quote in report.quotes:
        # Compared before they are cut: of two lines that differ behind the cut, neither is "the same".
        mine, theirs = (visible_line(text, limit=_COMPARED_CHARS) for text in (quote.text, quote.other))
        shown = "the same" if mine == theirs else _quoted(theirs)
        lines.append(f"| {plain(quote.what, limit=20)} | {_quoted(mine)} | {shown} |")
    return "\n".join([*lines, "", "</details>"])


def _quoted(text: str) -> str:
    return code(text, limit=_QUOTE_CHARS) if plain(text, limit=_QUOTE_CHARS) else "…"


def _related(report: Report) -> str:
    lines = []
    for row in report.related:
        near = likeness_of(row) if row.sameness != "similar" else f"{percent(row.similarity)} similar"
        facts = ", ".join(part for part in (status_of(row), near) if part)
        lines.append(f"- {linked(report.forge, row, is_first=False)} ({facts})")
    return "\n".join(["**Related** (another kind or project):", "", *lines])


def _footer(report: Report) -> str:
    meaning = ""
    measured = next((row for row in report.rows if row.sameness == "similar"), None)
    if measured is not None:
        share = percent(measured.similarity)
        whose = "this project's items" if report.is_own else "the items of other projects"
        meaning = f"{share} similar: closer than {share} of {whose} are to their nearest earlier neighbour. "
    if measured is not None and measured is report.rows[0] and report.is_duplicate and not _is_likely(report):
        meaning += _chance(report)
    return f"<sub>{meaning}A suggestion by forgelore; nothing was closed.</sub>"
