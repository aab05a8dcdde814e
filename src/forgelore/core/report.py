"""What the triage comment says, as Markdown for GitHub and GitLab.

Words follow what was measured: "possible duplicate" only where at least half of such matches were duplicates, else
"looks very similar". Percentages are rounded down. Nothing in it notifies a person, marks a duplicate or leaves a trace
on the pages it links to (docs/decisions/0008-comment.md). Equal reports give equal bytes.
"""

import math
import re
from typing import Literal, NamedTuple, Protocol

from forgelore.core.markdown import code, link, plain, quiet_url, safe_url
from forgelore.core.marker import MARKER

LIKELY = 0.5  # from here on the word "duplicate" is backed by most of what was measured
_TITLE_CHARS = 120
_QUOTE_CHARS = 160
_NAME_CHARS = 60
_NOUNS = {
    "github": {"issue": "issue", "change": "pull request", "discussion": "discussion", "release": "release"},
    "gitlab": {"issue": "issue", "change": "merge request", "discussion": "discussion", "release": "release"},
}
_CLOSED = {
    "completed": "✅ closed as fixed", "not_planned": "⚪ closed as not planned", "duplicate": "🔁 closed as duplicate",
    "moved": "⚫ moved",
}  # fmt: skip
_STATES = {"open": "🟢 open", "merged": "🟣 merged"}
_NUMBER = re.compile(r"[#!](\d+)\Z")


class Quoted(Protocol):
    """A `core.evidence.Quote`: what kind of thing both texts say, as this item and as the other one wrote it."""

    @property
    def what(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def other(self) -> str: ...


class Row(NamedTuple):
    """One earlier item. `project` is empty for items of the same project; `is_regression`: fixed before this report."""

    ref: str
    title: str
    url: str
    similarity: float
    state: str | None
    state_reason: str | None
    kind: str
    is_regression: bool = False
    project: str = ""


class Report(NamedTuple):
    rows: tuple[Row, ...]  # of the same kind, best first
    is_duplicate: bool  # the first row is at or above the duplicate threshold
    chance: float | None
    chance_pairs: int
    quotes: tuple[Quoted, ...]  # of the first row
    labels: tuple[tuple[str, float], ...]
    related: tuple[Row, ...]  # of other kinds or other projects
    forge: Literal["github", "gitlab"]
    kind: str  # of the item that is triaged
    max_chars: int
    is_own: bool = True  # similarity is a position among this project's items; else among those of other projects


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


def percent(share: float) -> str:
    """0.9999 -> "99%": never more than was measured, and 100 only for what is the same."""
    share = 0.0 if math.isnan(share) else min(max(share, 0.0), 1.0)
    return f"{math.floor(share * 100 + 1e-9)}%"  # 0.29 * 100 is a hair below 29


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
            parts.append(_warning(report))
        parts.append(_table(report))
        if report.quotes:
            parts.append(_evidence(report))
    if report.related:
        parts.append(_related(report))
    if report.labels:
        named = ", ".join(f"{code(name, limit=_NAME_CHARS)} ({percent(share)})" for name, share in report.labels)
        parts.append(f"**Suggested labels:** {named}")
    parts.append(_footer(report))
    return "\n\n".join(parts) + "\n"


def _warning(report: Report) -> str:
    """The block that is seen first. GitLab before 17.10 knows no alerts: a plain quote looks right on all of them."""
    first, noun = report.rows[0], _NOUNS[report.forge].get(report.kind, "item")
    opening = "> [!WARNING]\n>" if report.forge == "github" else "> ⚠️"
    name = _linked(report, first, is_first=True)
    same = f"If it is the same, please add what is new there and close this {noun}; if not, ignore this note."
    if first.is_regression:
        said = f"**Possible regression:** {name} was closed as fixed before this report"
        return f"{opening} {said} ({percent(first.similarity)} similar).\n> If the same problem is back, say so there."
    is_likely = _is_likely(report)
    said = f"**Possible duplicate:** {name}" if is_likely else f"**Looks very similar to** {name}"
    status = _status(first).partition(" ")[2]
    facts = ", ".join(part for part in (status, f"{percent(first.similarity)} similar") if part)
    return f"{opening} {said} ({facts}).\n> {_chance(report) if is_likely else ''}{same}"


def _is_likely(report: Report) -> bool:
    return report.chance is not None and report.chance >= LIKELY


def _chance(report: Report) -> str:
    """Say how often such a match was right. Maintainers mark some of the duplicates there are: it was at least that."""
    if report.chance is None or report.chance_pairs <= 0:
        return ""
    pairs = f"{report.chance_pairs:,} pairs" if report.chance_pairs > 1 else "one pair"
    return f"At least {percent(report.chance)} of matches this close were marked as duplicates (measured on {pairs}). "


def _table(report: Report) -> str:
    nouns = _NOUNS[report.forge]
    noun = nouns.get(report.kind, "item")
    lines = [
        f"<details><summary>📋 Similar {noun if len(report.rows) == 1 else noun + 's'} ({len(report.rows)})</summary>",
        "",
        "| # | Title | Similarity | Status |",
        "|---|---|---|---|",
    ]
    for place, row in enumerate(report.rows):
        number = link(_number(row), _address(report, row, is_first=place == 0))
        lines.append(f"| {number} | {_title(row)} | {percent(row.similarity)} | {_status(row)} |")
    return "\n".join([*lines, "", "</details>"])


def _evidence(report: Report) -> str:
    """What both texts say, side by side. Open under a warning: people trust quotes, not percentages."""
    nouns, first = _NOUNS[report.forge], report.rows[0]
    opening = "<details open>" if report.is_duplicate else "<details>"
    lines = [
        f"{opening}<summary>🔍 What both say ({len(report.quotes)})</summary>",
        "",
        f"| | This {nouns.get(report.kind, 'item')} | {_name(report, first).capitalize()} |",
        "|---|---|---|",
    ]
    for quote in report.quotes:
        mine, theirs = _quoted(quote.text), _quoted(quote.other)
        lines.append(f"| {plain(quote.what, limit=20)} | {mine} | {theirs if theirs != mine else 'the same'} |")
    return "\n".join([*lines, "", "</details>"])


def _quoted(text: str) -> str:
    return code(text, limit=_QUOTE_CHARS) if plain(text, limit=_QUOTE_CHARS) else "…"


def _related(report: Report) -> str:
    lines = []
    for row in report.related:
        facts = ", ".join(part for part in (_status(row), f"{percent(row.similarity)} similar") if part)
        lines.append(f"- {_linked(report, row, is_first=False)} ({facts})")
    return "\n".join(["**Related** (another kind or project):", "", *lines])


def _footer(report: Report) -> str:
    meaning = ""
    if report.rows:
        share = percent(report.rows[0].similarity)
        whose = "this project's items" if report.is_own else "the items of other projects"
        meaning = f"{share} similar: closer than {share} of {whose} are to their nearest earlier neighbour. "
        meaning += _chance(report) if report.is_duplicate and not _is_likely(report) else ""
    return f"<sub>{meaning}A suggestion by forgelore; nothing was closed.</sub>"


def _linked(report: Report, row: Row, *, is_first: bool) -> str:
    """`[issue 12: Title](address)`: in words, because `#12` would be a reference."""
    return link(f"{_name(report, row)}: {_title(row)}", _address(report, row, is_first=is_first))


def _address(report: Report, row: Row, *, is_first: bool) -> str | None:
    """Return where a row's link leads. Servers that offer no quiet way get one plain link, to the best match."""
    return quiet_url(row.url, report.forge) or (safe_url(row.url) if is_first else None)


def _name(report: Report, row: Row) -> str:
    noun = _NOUNS[report.forge].get(row.kind, "item")
    place = f"{plain(row.project, limit=_NAME_CHARS)} " if row.project else ""
    return f"{place}{noun} {_number(row)}"


def _number(row: Row) -> str:
    """`#12` -> `12`: a number alone refers to nothing."""
    found = _NUMBER.search(row.ref)
    return found[1] if found else plain(row.ref, limit=_NAME_CHARS) or "?"


def _title(row: Row) -> str:
    return plain(row.title, limit=_TITLE_CHARS) or "(no title)"


def _status(row: Row) -> str:
    if row.state == "closed":
        return _CLOSED.get(row.state_reason or "", "⚫ closed")
    return _STATES.get(row.state or "", "")
