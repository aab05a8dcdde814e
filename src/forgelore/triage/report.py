"""The triage comment, as Markdown of its forge: what an item repeats, how that ended, and what its author can do.

Words follow what is known: "the same text" where it is the same, "possible duplicate" only where at least half of such
matches were duplicates, else "related or duplicate": of 50 such pairs that people read, 14 were duplicates that nobody
had marked, 23 were closely related, and 13 had nothing to do with each other. Percentages are rounded down, and a
chance below one in a hundred is left out. Closed is not fixed: GitHub's default reason is `completed`, whatever the
reason was, so only a merged change that closed an item says that it was fixed.

Nothing in it notifies a person, marks a duplicate or leaves a trace on the pages it links to
(docs/decisions/0008-comment.md). Equal reports give equal bytes.
"""

import math
import re
from typing import Literal, NamedTuple, Protocol

from forgelore.compare.calibration import Explanation
from forgelore.compare.sameness import Sameness
from forgelore.profiles import profile_of
from forgelore.text.markdown import MARKER, code, link, plain, quiet_url, safe_url, visible_line

Ending = Literal["open", "merged", "fixed", "duplicate", "declined", "moved", "unmerged", "closed"]

TITLE_CHARS = 120
NAME_CHARS = 60
_REASONS: dict[str, Ending] = {"duplicate": "duplicate", "not_planned": "declined", "moved": "moved"}
_STATUS: dict[Ending, str] = {
    "open": "🟢 open", "merged": "🟣 merged", "fixed": "✅ closed as fixed", "duplicate": "🔁 closed as duplicate",
    "declined": "⚪ closed as not planned", "moved": "⚫ moved", "unmerged": "⚫ closed, not merged",
    "closed": "⚫ closed",
}  # fmt: skip
_LIKENESS: dict[Sameness, str] = {"same_text": "same text", "nearly_same_text": "nearly the same text"}
_NUMBER = re.compile(r"[#!](\d+)\Z")


class ReportRow(NamedTuple):
    """One earlier item. `project` is empty for items of the same project; `is_regression`: fixed before this report;
    `fixed_by`: the merged change that closed it, `has_hidden_fix` where readers of the page may not see that change;
    `original`: what it was closed in favour of, at the end of the chain.
    """

    ref: str
    title: str
    url: str
    similarity: float
    state: str | None
    state_reason: str | None
    kind: str
    is_regression: bool = False
    project: str = ""
    sameness: Sameness = "similar"
    fixed_by: "ReportRow | None" = None
    has_hidden_fix: bool = False
    original: "ReportRow | None" = None


class RivalRow(NamedTuple):
    """An earlier change by somebody else. `lead`: what the new one does as it does ("changes the same 3 lines as");
    `facts`: what else both do ("closes issue 5"); `state`: "open", "merged 2026-03-01".
    """

    row: ReportRow
    lead: str
    facts: tuple[str, ...] = ()
    state: str = "open"


def percent(share: float) -> str:
    """0.9999 -> "99%": never more than was measured, and 100 only for what is the same."""
    share = 0.0 if math.isnan(share) else min(max(share, 0.0), 1.0)
    return f"{math.floor(share * 100 + 1e-9)}%"  # 0.29 * 100 is a hair below 29


def ending_of(row: ReportRow) -> Ending | None:
    """Return how an item ended, None where its state is unknown."""
    if row.state == "closed":
        if row.state_reason in _REASONS:
            return _REASONS[row.state_reason]
        return "fixed" if row.fixed_by or row.has_hidden_fix else "unmerged" if row.kind == "change" else "closed"
    return "open" if row.state == "open" else "merged" if row.state == "merged" else None


def status_of(row: ReportRow) -> str:
    """Return "🟢 open", "✅ closed as fixed" …; "" where nobody knows."""
    ending = ending_of(row)
    return _STATUS[ending] if ending else ""


def likeness_of(row: ReportRow) -> str:
    """Return how near a row is: in words where the text is the same, else its position."""
    return _LIKENESS.get(row.sameness) or percent(row.similarity)


def noun_of(forge: str, kind: str) -> str:
    return profile_of(forge).nouns.get(kind, "item")


def name_of(forge: str, row: ReportRow) -> str:
    """`issue 12`: in words, because `#12` would be a reference."""
    place = f"{plain(row.project, limit=NAME_CHARS)} " if row.project else ""
    return f"{place}{noun_of(forge, row.kind)} {number_of(row)}"


def number_of(row: ReportRow) -> str:
    """`#12` -> `12`: a number alone refers to nothing."""
    found = _NUMBER.search(row.ref)
    return found[1] if found else plain(row.ref, limit=NAME_CHARS) or "?"


def title_of(row: ReportRow) -> str:
    return plain(row.title, limit=TITLE_CHARS) or "(no title)"


def linked(forge: str, row: ReportRow, *, is_first: bool, has_title: bool = True) -> str:
    """`[issue 12: Title](address)`."""
    name = name_of(forge, row)
    return link(f"{name}: {title_of(row)}" if has_title else name, address_of(forge, row, is_first=is_first))


def address_of(forge: str, row: ReportRow, *, is_first: bool) -> str | None:
    """Return where a row's link leads. Servers that offer no quiet way get one plain link, to the best match."""
    return quiet_url(row.url, forge) or (safe_url(row.url) if is_first else None)


_CLAIMS: dict[tuple[Sameness, bool], str] = {  # of an issue, and of a change, whose text is more than what it says
    ("same_text", False): "has the same text as",
    ("same_text", True): "has the same title and description as",
    ("nearly_same_text", False): "has nearly the same text as",
    ("nearly_same_text", True): "has nearly the same title and description as",
    ("similar", False): "looks very similar to",
    ("similar", True): "looks very similar to",
}
_SAME = "If it is the same, please add what is new there and close this {noun}; if not, ignore this note."
_TWICE = (
    "If it is about the same thing, please add what is new there and close this {noun}; if not, please say here what is"
    " different."
)
_ADVICE: dict[Ending | None, str] = {
    None: _SAME,
    "open": _SAME,
    "merged": "It is merged already. If this {noun} does the same, please close it; if not, please say what it adds.",
    "fixed": "It was fixed by {fix}. Please check whether that solves this {noun} too.",
    "duplicate": "It was closed as a duplicate. Please look there for the original before you go on here.",
    "declined": "It was declined (closed as not planned). Please read there why; if your case differs, please say here"
    " how.",
    "moved": "It was moved. Please follow it there before you go on here.",
    "unmerged": "It was closed without being merged. Please read there why; if this {noun} takes its place, please say"
    " so.",
    "closed": "It is closed. Please read there how it ended; if that does not help, please say so here.",
}
_BACK = "If the same problem is back, please say so there and leave this {noun} open."


def build_warning(first: ReportRow, *, forge: str, kind: str, is_likely: bool, chance: str) -> str:
    """Return the warning, the block that is seen first. The claim follows how alike the texts are, the advice how the
    other item ended; only where a discussion goes on is the author sent there.

        same text              This issue has the same text as issue 12 (open).
        nearly the same text   This issue has nearly the same text as issue 12: … (open).
        similar                Related or duplicate: issue 12: … (open, 95% similar).
        ... and likely         Possible duplicate: issue 12: … (open, 95% similar).
        fixed before           Possible regression: this issue looks very similar to issue 12: … (95% similar), which
                               was fixed by pull request 45 before this issue was filed.
    """
    opening = profile_of(forge).alert
    noun = noun_of(forge, kind)
    if is_regression(first):
        return f"{opening} {_regression(first, forge, noun)}\n> {_BACK.format(noun=noun)}"
    is_same = first.sameness != "similar"
    claim = _CLAIMS[first.sameness, kind == "change"]
    found = "Possible duplicate" if is_likely else "Related or duplicate"
    said = f"**This {noun} {claim}**" if is_same else f"**{found}:**"
    facts = _in_parentheses(_open(first), "" if is_same else f"{percent(first.similarity)} similar")
    measured = "" if is_same else chance
    return f"{opening} {said} {_link(first, forge)}{facts}.\n> {measured}{_advice(first, forge, noun)}"


def is_regression(row: ReportRow) -> bool:
    """Tell whether the item, or what it was closed in favour of, was fixed before this report."""
    return row.is_regression or bool(row.original and row.original.is_regression)


def _regression(first: ReportRow, forge: str, noun: str) -> str:
    claim = _CLAIMS[first.sameness, first.kind == "change"]
    near = "" if first.sameness != "similar" else f" ({percent(first.similarity)} similar)"
    said = f"**Possible regression:** this {noun} {claim} {_link(first, forge)}{near}"
    if first.is_regression:
        return f"{said}, which was fixed by {_fix(first, forge)} before this {noun} was filed."
    assert first.original is not None
    original = linked(forge, first.original, is_first=False)
    return (
        f"{said}, which was closed as a duplicate; the original, {original}, was fixed by"
        f" {_fix(first.original, forge)} before this {noun} was filed."
    )


def _advice(row: ReportRow, forge: str, noun: str) -> str:
    ending = ending_of(row)
    if ending == "duplicate" and row.original is not None:
        named = f"{linked(forge, row.original, is_first=False)}{_in_parentheses(_open(row.original))}"
        rest = _advice(row.original._replace(original=None), forge, noun)
        return f"It was closed as a duplicate; the original is {named}. {rest}"
    advice = _TWICE if ending == "open" and row.sameness != "similar" else _ADVICE[ending]
    return advice.format(noun=noun, fix=_fix(row, forge))


def _fix(row: ReportRow, forge: str) -> str:
    """Name the change that fixed a row; its title may be for fewer eyes than this comment."""
    return linked(forge, row.fixed_by, is_first=False, has_title=False) if row.fixed_by else "a merged change"


def _link(row: ReportRow, forge: str) -> str:
    """Of an item with the same text the title is known already."""
    return linked(forge, row, is_first=True, has_title=row.sameness != "same_text")


def _open(row: ReportRow) -> str:
    """How else it ended is told by the advice."""
    return "open" if ending_of(row) == "open" else ""


def _in_parentheses(*parts: str) -> str:
    described = ", ".join(part for part in parts if part)
    return f" ({described})" if described else ""


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
    rivals: tuple[RivalRow, ...] = ()  # of a change: earlier ones by others that do the same
    explanation: Explanation | None = None  # what moved the first row to its place


def build_report(report: Report) -> str:
    """Return the comment, with the marker as its first line; "" when there is nothing worth saying.

    Too long for the forge: quotes go first, from the last on, then related items and labels, then rows.
    """
    while report.rows or report.related or report.rivals:
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
    if len(report.rivals) > 1:
        return report._replace(rivals=report.rivals[:-1])
    return report._replace(rows=report.rows[:-1], related=report.related[:-1], rivals=())


def _text(report: Report) -> str:
    parts = [f"{MARKER}\n### 🔎 Triage report"]
    if report.rivals:
        parts.append(_rivals(report))
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
    return "\n".join([*lines, "", *_fact_lines(report), "</details>"])


def _found(report: Report) -> str:
    """Name what was found. What a report brings back after its fix repeats nothing."""
    is_back = report.is_duplicate and is_regression(report.rows[0])
    return "Similar" if is_back or any(row.sameness != "similar" for row in report.rows) else "Related or duplicate"


def _fact_lines(report: Report) -> list[str]:
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


def _rivals(report: Report) -> str:
    """Say which changes do the same: facts that anybody can check stand above what is weighed.

    **Changes the same 3 lines as** [pull request 12: Fix the parser](…) (open), which also closes issue 5.
    """
    lines = []
    for place, one in enumerate(report.rivals):
        named = linked(report.forge, one.row, is_first=place == 0 and not report.rows)
        also = f", which also {' and '.join(one.facts)}" if one.facts else ""
        lines.append(f"**{one.lead[:1].upper()}{one.lead[1:]}** {named}{_in_parentheses(one.state)}{also}.")
    return lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)


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
