"""The triage comment, as Markdown of its forge: a list of what an item resembles, and never a verdict.

    the opening    one paragraph: which earlier item, how that ended, and what its author can do
    Why            folded: what both say, what put it first, what else is near, figures
    the last line  what this is, and how to say that it doesn't help

Before a click there are at most `WORDS` words on three lines: titles are cut, and quotes and rows go into the fold,
until it fits. Words follow what is known. "The same text" is said where it is the same, "may be the same as" where a
match is close; what is merely similar is listed. Closed is not fixed: GitHub's default reason is `completed`, whatever
the reason was, so only a merged change that closed an item says that it was fixed.

Nothing in it notifies a person, marks a duplicate or leaves a trace on the pages it links to
(docs/decisions/0008-comment.md). Equal reports give equal bytes.
"""

import math
import re
from typing import Literal, NamedTuple, Protocol

from forgelore.compare.calibration import Explanation
from forgelore.compare.sameness import Sameness
from forgelore.profiles import profile_of
from forgelore.text.items import MARKER
from forgelore.text.markdown import (
    code,
    is_quotable,
    link,
    plain,
    quiet_url,
    safe_url,
    titled,
    visible_line,
)

__all__ = ["MARKER", "Report", "ReportRow", "build_report", "is_regression", "percent"]

Ending = Literal["open", "merged", "fixed", "duplicate", "declined", "moved", "unmerged", "closed"]

WORDS = 45  # that are seen without a click
NAME_CHARS = 60
_TITLE_CHARS = 120
_QUOTE_CHARS = 160
_MAX_QUOTES = 6  # in the fold
_COMPARED_CHARS = 1_000
_REASONS: dict[str, Ending] = {"duplicate": "duplicate", "not_planned": "declined", "moved": "moved"}
_ENDINGS: dict[Ending | None, str] = {
    None: "", "open": "open", "merged": "merged", "fixed": "fixed", "duplicate": "closed as a duplicate",
    "declined": "closed as not planned", "moved": "moved", "unmerged": "closed without merging", "closed": "closed",
}  # fmt: skip
_LIKENESS: dict[Sameness, str] = {"same_text": "same text", "nearly_same_text": "nearly the same text"}
_NUMBER = re.compile(r"[#!](\d+)\Z")


class ReportRow(NamedTuple):
    """One earlier item. `project` is empty for items of the same project; `is_regression`: fixed before this report;
    `fixed_by`: the merged change that closed it, `has_hidden_fix` where readers of the page may not see that change;
    `original`: what it was closed in favour of, at the end of the chain; `milestone`: of a change; `copies`: how many
    later items have its very text.
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
    milestone: str = ""
    copies: int = 0


class RivalRow(NamedTuple):
    """An earlier change by somebody else. `lead`: what the new one does as it does ("changes the same 3 lines as");
    `facts`: what else both do ("closes issue 5"); `state`: "open", "merged 2026-03-01".
    """

    row: ReportRow
    lead: str
    facts: tuple[str, ...] = ()
    state: str = "open"


class Quoted(Protocol):
    """A `compare.evidence.Quote`: what kind of thing both texts say, as this item and as the other one wrote it."""

    @property
    def what(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def other(self) -> str: ...
    @property
    def rarity(self) -> float: ...


class Report(NamedTuple):
    rows: tuple[ReportRow, ...]  # of the same kind, best first
    is_duplicate: bool  # the first row is at or above the duplicate threshold, and by somebody else
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
    about: str = ""  # the address of a page that says what this is
    people: tuple[str, ...] = ()  # account names in lower case, which are no quotes
    closes_in: int = 0  # hours until the item is closed in favour of the first row; 0: never


def percent(share: float) -> str:
    """0.9999 -> "99%": never more than was measured, and 100 only for what is the same."""
    return f"{_hundredths(share)}%"


def _hundredths(share: float) -> int:
    share = 0.0 if math.isnan(share) else min(max(share, 0.0), 1.0)
    return math.floor(share * 100 + 1e-9)  # 0.29 * 100 is a hair below 29


def ending_of(row: ReportRow) -> Ending | None:
    """Return how an item ended, None where its state is unknown."""
    if row.state == "closed":
        if row.state_reason in _REASONS:
            return _REASONS[row.state_reason]
        return "fixed" if row.fixed_by or row.has_hidden_fix else "unmerged" if row.kind == "change" else "closed"
    return "open" if row.state == "open" else "merged" if row.state == "merged" else None


def likeness_of(row: ReportRow) -> str:
    """Return how near a row is: in words where the text is the same, else its position."""
    return _LIKENESS.get(row.sameness) or percent(row.similarity)


def is_regression(row: ReportRow) -> bool:
    """Tell whether the item, or what it was closed in favour of, was fixed before this report."""
    return row.is_regression or bool(row.original and row.original.is_regression)


def number_of(row: ReportRow) -> str:
    """`#12` -> `12`: a number alone refers to nothing."""
    found = _NUMBER.search(row.ref)
    return found[1] if found else plain(row.ref, limit=NAME_CHARS) or "?"


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


_CLOSING = re.compile(r"It will be closed in \d+ hours, unless somebody [^.]*\.")


def stay_open(comment: str) -> str:
    """Return a comment that told of a closing, with what became of that."""
    return _CLOSING.sub("It stays open: somebody took part.", comment, count=1)


class _Shape(NamedTuple):
    """How much of a report is seen before a click."""

    words: int  # of a title
    rows: int
    quoted: int = 0  # words of the quote


# Tried in this order until it fits: first titles and the quote shrink, then the quote goes, then rows, and titles more.
_SHAPES = (
    *(_Shape(words, 3, quoted) for words, quoted in ((14, 9), (11, 8), (9, 7), (8, 6), (7, 5), (6, 5))),
    *(_Shape(words, 3) for words in (11, 9, 7)),
    *(_Shape(words, 2) for words in (9, 7, 5)),
    *(_Shape(words, 1) for words in (9, 7, 5, 3, 1)),
)


def _text(report: Report) -> str:
    last = _last_line(report)
    for shape in _SHAPES:
        opening, shown = _opening(report, shape)
        if _count_words(f"{opening} Why {last}") <= WORDS:
            break
    why = _why(report, shown)
    folded = ["<details><summary>Why</summary>", *why, "</details>"] if why else []
    return f"{MARKER}\n" + "\n\n".join([opening, *folded, last]) + "\n"


def _count_words(markdown: str) -> int:
    return len(re.sub(r"\]\([^()\s]*\)", "]", markdown).split())


def _last_line(report: Report) -> str:
    about = safe_url(report.about) if report.about else None
    what = link("What is this?", about) if about else "A suggestion by forgelore"
    return f"<sub>{what} · 👎 if it doesn't help</sub>"


def _opening(report: Report, shape: _Shape) -> tuple[str, list[ReportRow]]:
    """Return the paragraph that is seen, and the rows that it names."""
    said: list[str] = []
    shown: list[ReportRow] = []
    for one in report.rivals[: max(1, shape.rows - 1)]:
        said.append(_rival(report, one, shape, is_first=not shown))
        shown.append(one.row)
    rest = [row for row in report.rows if not _is_among(row, shown)]
    if not said and rest and report.is_duplicate:
        said.append(_close_match(report, rest[0], shape))
        shown.append(rest[0])
    elif rest and shape.rows > len(shown):
        listed = rest[: shape.rows - len(shown)]
        nouns = _noun(report, report.kind, many=len(listed))
        said.append(f"**Similar {nouns}:** {_listed(report, listed, shape, has_first=not shown)}")
        shown += listed
    if report.closes_in:
        said.append(f"It will be closed in {report.closes_in} hours, unless somebody comments, reacts or takes part.")
    if not said:
        shown += report.related[: shape.rows]
        said.append(f"**Related:** {_listed(report, shown, shape, has_first=True)}")
    return " ".join(said), shown


def _is_among(row: ReportRow, rows: list[ReportRow]) -> bool:
    return any((row.project, row.kind, row.ref) == (one.project, one.kind, one.ref) for one in rows)


def _noun(report: Report, kind: str, *, many: int = 1) -> str:
    return profile_of(report.forge).nouns.get(kind, "item") + ("s" if many != 1 else "")


def _name(report: Report, row: ReportRow) -> str:
    """`issue 12`: in words, because `#12` would be a reference."""
    place = f"{plain(row.project, limit=NAME_CHARS)} " if row.project else ""
    return f"{place}{_noun(report, row.kind)} {number_of(row)}"


def _linked(report: Report, row: ReportRow, *, words: int = 0, is_first: bool = False) -> str:
    """`[issue 12: Title](address)`; with `words` 0 by its number alone. Servers that offer no quiet way get one plain
    link, to the first.
    """
    title = titled(row.title, limit=min(_TITLE_CHARS, 8 * words), words=words) if words else ""
    name = _name(report, row) + (f": {title or '(no title)'}" if words else "")
    return link(name, quiet_url(row.url, report.forge) or (safe_url(row.url) if is_first else None))


def _listed(report: Report, rows: list[ReportRow] | tuple[ReportRow, ...], shape: _Shape, *, has_first: bool) -> str:
    return " · ".join(
        _linked(report, row, words=shape.words, is_first=has_first and at == 0) + _in_parentheses(_state(report, row))
        for at, row in enumerate(rows)
    )


def _state(report: Report, row: ReportRow) -> str:
    """Say in one clause how an item ended: "open", "fixed by pull request 12, in v0.9"."""
    like = _LIKENESS.get(row.sameness, "")
    copies = f"with {row.copies} cop{'ies' if row.copies > 1 else 'y'}" if row.copies else ""
    return ", ".join(part for part in (like, _ending(report, row), copies) if part)


def _ending(report: Report, row: ReportRow) -> str:
    ending = ending_of(row)
    if ending == "fixed" and row.fixed_by:
        # Its title may be for fewer eyes than this comment.
        return f"fixed by {_linked(report, row.fixed_by)}{_release(row.fixed_by)}"
    if ending == "duplicate" and row.original:
        rest = _ending(report, row.original)
        which = f", which {'is' if rest == 'open' else 'was'} {rest}" if rest else ""
        return f"closed in favour of {_linked(report, row.original)}{which}"
    return _ENDINGS[ending]


def _release(fix: ReportRow) -> str:
    """Name the release of a change, where its milestone does."""
    name = visible_line(fix.milestone, limit=20)
    return (
        f", in {plain(name, limit=20)}" if re.fullmatch(r"(?:[A-Za-z]{1,10}[ -]?)?v?\d+(?:\.\d+)+\S{0,8}", name) else ""
    )


def _in_parentheses(clause: str) -> str:
    return f" ({clause})" if clause else ""


def _rival(report: Report, one: RivalRow, shape: _Shape, *, is_first: bool) -> str:
    """Say which change does the same: facts that anybody can check come before what is weighed.

    This changes the same 3 lines as [pull request 12: Fix the parser](…) (open), which also closes issue 5.
    """
    named = _linked(report, one.row, words=shape.words, is_first=is_first)
    also = f", which also {' and '.join(one.facts)}" if one.facts and shape.words > _SHAPES[-4].words else ""
    return f"This {one.lead} {named}{_in_parentheses(one.state)}{also}."


_CLAIMS: dict[tuple[Sameness, bool], str] = {  # of an issue, and of a change, whose text is more than what it says
    ("same_text", False): "has the same text as",
    ("same_text", True): "has the same title and description as",
    ("nearly_same_text", False): "has nearly the same text as",
    ("nearly_same_text", True): "has nearly the same title and description as",
    ("similar", False): "may be the same as",
    ("similar", True): "may be the same as",
}
_SAME = " If it is, please add anything new there. If not, ignore this."
_COPY = " Please add anything new there, or say here what differs."
_ADDS = " Please say what this one adds."  # nobody carries a change over to another
_ADVICE: dict[Ending | None, str] = {
    None: "", "open": _SAME, "merged": _ADDS, "duplicate": "", "moved": "", "closed": "",
    "fixed": " Please check whether that helps.", "declined": " If your case differs, please say how.",
    "unmerged": " If this one takes its place, please say so.",
}  # fmt: skip


def _close_match(report: Report, row: ReportRow, shape: _Shape) -> str:
    """Return the sentences on one close match. Only where a discussion goes on is the author sent there.

    same text       This has the same text as issue 12 (open). If it is about the same thing, …
    similar         This may be the same as issue 12: … (open). Both show `…`. If it is, …
    fixed before    This may be issue 12: … again, which pull request 45 fixed earlier. If so, …
    """
    # Of an item with the same text the title is known already.
    words = 0 if row.sameness == "same_text" else shape.words
    named = _linked(report, row, words=words, is_first=True)
    if is_regression(row):
        return f"This may be {_regression(report, row, named)} If so, please say which version shows it."
    claim = _CLAIMS[row.sameness, row.kind == "change"]
    # What is about to be closed has an open one to follow: no chain to tell.
    clause = _ENDINGS[ending_of(row)] if report.closes_in else _state(report, row._replace(sameness="similar"))
    quote = _telling_quote(report, shape.quoted) if shape.quoted and row.sameness == "similar" else ""
    shown = f" Both show {quote}." if quote else ""
    return f"This {claim} {named}{_in_parentheses(clause)}.{shown}{'' if report.closes_in else _advice(row)}"


def _advice(row: ReportRow) -> str:
    at = row
    while ending_of(at) == "duplicate" and at.original is not None:
        at = at.original
    ending = ending_of(at)
    if ending == "open" and row.kind == "change":
        return _ADDS
    return _COPY if ending == "open" and row.sameness != "similar" else _ADVICE[ending]


def _regression(report: Report, row: ReportRow, named: str) -> str:
    of = row if row.is_regression else row.original or row
    repeated = "" if of is row else f" (closed in favour of {_linked(report, of)})"
    fix = _linked(report, of.fixed_by) if of.fixed_by else "a merged change"
    release = _release(of.fixed_by) if of.fixed_by else ""
    return f"{named} again{repeated}, which {fix} fixed earlier{release}."


_SHORT_QUOTE = 72
_RARE = 0.7  # of a name by itself: below that half the project uses it
# What a program prints of itself or of a day: no two people look for that.
_NOISE = re.compile(
    r"0x[0-9a-f]{3,}|[0-9a-f]{8,}|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}:\d\d|://|[\w.+-]+@[\w-]|\d{1,3}(?:\.\d{1,3}){3}"
    r"|[/\\](?:home|users)[/\\]",
    re.IGNORECASE,
)
_LEVEL = re.compile(
    r"\A(?:error|fatal(?: error)?|panic|exception|caused by|failure)\b[\]:| ]+(?=\S+ \S)", re.IGNORECASE
)
_FRAME = re.compile(r"\s*(?:at\s.+[(:]|File \"|#\d+\s|\d+:\s+\S+::)|\bline \d+\b|:\d+\)?\Z")


def _telling_quote(report: Report, most: int) -> str:
    """Return the rarest line that both have, as code: an error's own words before a name, and never what is of one run,
    one machine or one person. "" where nothing is telling.
    """
    best = ((False, False, 0.0), "")
    for quote in report.quotes:
        text, other = (_LEVEL.sub("", visible_line(one, limit=_COMPARED_CHARS)) for one in (quote.text, quote.other))
        is_telling = quote.what in ("error", "identifier") and len(text) >= 8 and is_quotable(text)
        if not is_telling or _NOISE.search(text) or _FRAME.search(text):
            continue
        is_seen = any(text.lower() in row.title.lower() for row in report.rows[:1])  # the title shows it already
        if text == other and text.lower() not in report.people and not is_seen:
            is_message = quote.what == "error" and text.count(" ") >= 2
            if is_message or quote.rarity >= _RARE:
                best = max(best, ((is_message, quote.what == "error", quote.rarity), text), key=lambda one: one[0])
    words = best[1].split(" ")
    return code(" ".join(words[:most]) + ("…" if len(words) > most else ""), limit=_SHORT_QUOTE)


def build_rationale(report: Report) -> str:
    """Return why the first row is suggested, as a maintainer reads it beside the suggestion: plain text on one line."""
    first = report.rows[0]
    if first.sameness != "similar":
        return f"It has {'the' if first.sameness == 'same_text' else 'nearly the'} same text."
    quote = _telling_quote(report, 20).strip("` ")
    reasons = "; ".join(report.explanation.speaking_for) if report.explanation else ""
    return f"Both show: {quote}" if quote else f"Close by {reasons}." if reasons else "The texts are close."


def _why(report: Report, shown: list[ReportRow]) -> list[str]:
    """Return what is folded away, as paragraphs."""
    first = report.rows[0] if report.rows else None
    parts = []
    if first and first.sameness != "same_text":  # every line of it would be the same
        parts += _evidence(report, first)
    if first and first.sameness == "similar":
        parts += _facts(report, first)
    shape = _Shape(14, 20)
    also = [row for row in report.rows if not _is_among(row, shown)]
    others = [("Also similar", also), ("Related", [row for row in report.related if not _is_among(row, shown)])]
    parts += [f"{what}: {_listed(report, rows, shape, has_first=False)}" for what, rows in others if rows]
    rivals = [one for one in report.rivals if not _is_among(one.row, shown)]
    parts += [_rival(report, one, shape, is_first=False) for one in rivals]
    if report.labels:
        named = ", ".join(f"{_label(name)} ({_hundredths(share)} in 100)" for name, share in report.labels)
        parts.append(f"Labels that items like this one have, and how often they were right: {named}")
    return [*parts, *_figures(report)]


def _label(name: str) -> str:
    return code(name, limit=NAME_CHARS) if is_quotable(name) else plain(name, limit=NAME_CHARS)


def _evidence(report: Report, first: ReportRow) -> list[str]:
    """Say what stands in both texts: people trust quotes, not figures."""
    lines: list[str] = []
    for quote in _without_parts(report.quotes)[:_MAX_QUOTES]:
        # Compared before they are cut: of two lines that differ behind the cut, neither is the same.
        mine, theirs = (visible_line(text, limit=_COMPARED_CHARS) for text in (quote.text, quote.other))
        if not (mine and theirs and is_quotable(mine) and is_quotable(theirs)):
            continue
        what = plain(quote.what, limit=20)
        shown, there = code(mine, limit=_QUOTE_CHARS), code(theirs, limit=_QUOTE_CHARS)
        lines.append(f"- {what}: {shown}" if mine == theirs else f"- {what}: {shown} here, {there} there")
    return [f"In both, this one and {_name(report, first)}:", "\n".join(lines)] if lines else []


def _without_parts(quotes: tuple[Quoted, ...]) -> list[Quoted]:
    """Return the quotes but for those that are a part of another one: "panic" where "compiler panic" is quoted."""
    cores = [re.sub(r"\A\W+|\W+\Z", "", visible_line(one.text, limit=_COMPARED_CHARS)).lower() for one in quotes]
    return [
        one
        for at, one in enumerate(quotes)
        if one.text != one.other
        or not any(
            cores[at] in core and (len(cores[at]), -at) < (len(core), -other)
            for other, core in enumerate(cores)
            if quotes[other].what == one.what and quotes[other].text == quotes[other].other
        )
    ]


def _facts(report: Report, first: ReportRow) -> list[str]:
    """Say which facts moved the first row to its place."""
    reasons = "; ".join(report.explanation.speaking_for) if report.explanation else ""
    doubts = "; ".join(report.explanation.speaking_against) if report.explanation else ""
    against = f" Against it: {doubts}." if doubts else ""
    return [f"What speaks for {_name(report, first)}: {reasons}.{against}"] if reasons else []


def _figures(report: Report) -> list[str]:
    """Say how near the first match is. Maintainers mark some of the duplicates there are: it was at least that."""
    first = next((row for row in report.rows if row.sameness == "similar"), None)
    if first is None:
        return []
    near = max(1, 100 - _hundredths(first.similarity))
    whose = "of this project" if report.is_own else "of other projects"
    said = f"At most {near} in 100 {_noun(report, report.kind, many=2)} {whose} have an earlier one this close."
    chance = _hundredths(min(report.chance or 0.0, 0.99))
    if report.is_duplicate and first is report.rows[0] and chance and report.chance_pairs > 0:
        pairs = f"{report.chance_pairs:,} pairs" if report.chance_pairs > 1 else "one pair"
        said += f" Of matches this close, at least {chance} in 100 were marked as duplicates (measured on {pairs})."
    return [said]
