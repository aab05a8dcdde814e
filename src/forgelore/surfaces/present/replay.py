"""A replay of triage as data, in words, and as the HTML page that shows a maintainer whether to switch the bot on.

The page is read from the top: what would have been said, how much of it was right, then every single case, so that the
reader can judge those that nobody has decided. It loads nothing; texts of strangers are escaped (review_page).
"""

import datetime as dt
from typing import TYPE_CHECKING, NamedTuple

from forgelore.surfaces.present.review_page import Html, build_document, html_table, item_link, join, marked, tag, title
from forgelore.surfaces.present.text import counted_noun, day
from forgelore.text.dates import as_time
from forgelore.text.refs import shown_ref
from forgelore.words import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forgelore.api import (
        HealthLog,
        OutcomeTally,
        Replay,
        ReplayCounts,
        ReplayedItem,
        ReportOutcome,
        ReportRow,
        TriageOutcome,
    )

MAX_OPEN, MAX_SHOWN = 15, 300  # cases of a section: at first sight, and in all
TODAY: "dict[ReportOutcome, str]" = {
    "success": "right",
    "assist": "right",
    "missed": "missed",
    "noise": "closed otherwise",
    "open": "still open",
    "quiet": "",
}
_EXPLAINED = (
    ("right", "people marked it as a duplicate of something that the comment names"),
    ("missed", "people marked it as a duplicate of something else"),
    ("closed otherwise", "it was closed, and not as a duplicate: the comment helped nobody to close it"),
    ("still open", "nobody has decided; read it and judge for yourself"),
)
OUTCOMES_EXPLAINED = (
    ("success", "the author closed it as a duplicate of something that the comment names"),
    ("assist", "somebody else did"),
    ("noise", "the comment was deleted or got a thumb down, or the item was closed for another reason"),
    ("missed", "closed as a duplicate of an earlier item that was not named, with a comment or without"),
)
_STYLE = """
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: .75rem; margin: 1rem 0;
  padding: 0; list-style: none; }
.tiles li { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
.tiles b { display: block; font-size: 1.6rem; line-height: 1.2; }
.tiles span { color: var(--dim); font-size: .9rem; }
article { border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .9rem; margin: .6rem 0; }
article h3 { margin: 0; font-weight: 600; }
article ul { margin: .3rem 0 .3rem 1.1rem; padding: 0; }
article li { margin: .15rem 0; }
.badge { float: right; margin-left: .6rem; border: 1px solid var(--line); border-radius: 1rem; padding: 0 .6rem;
  font-size: .8rem; font-weight: 400; line-height: 1.5rem; white-space: nowrap; }
.badge.right { border-color: var(--good); color: var(--good); font-weight: 600; }
.badge.missed { border-color: var(--recall); color: var(--recall); }
details > .pair { margin-bottom: .25rem; }
article details { background: none; border: 0; padding: 0; font-size: .9rem; }
"""


class ReplayItemData(NamedTuple):
    """An item of the period. `outcome` is what the bot would have found, `today` what came of it; `right` the listed
    item that people say it repeats, `originals` everything that they do.
    """

    ref: str
    kind: Kind
    title: str
    url: str | None
    author: str | None
    created_at: dt.datetime | None
    outcome: "TriageOutcome"
    listed: list[str]
    today: "ReportOutcome"
    right: str | None
    originals: list[str]
    report: str


class ReplayData(NamedTuple):
    """What the bot would have said in a period. `items` are those with a comment, and the missed duplicates."""

    project: str
    since: dt.datetime | None
    until: dt.datetime | None
    counts: "ReplayCounts"
    programs: int
    maintainers: int
    is_cut: bool
    items: list[ReplayItemData]


class ReportData(NamedTuple):
    """What came of what the bot said, by version, and when it last ran without a problem."""

    last_success: dt.datetime | None
    outcomes: "list[OutcomeTally]"


def present_outcomes(log: "HealthLog") -> ReportData:
    return ReportData(as_time(log.last_success), list(log.outcomes))


def present_replay(found: "Replay") -> ReplayData:
    return ReplayData(
        str(found.project), as_time(found.since), as_time(found.until), found.tally(), found.programs,
        found.maintainers, found.is_cut,
        [_present_item(found, one) for one in found.items],
    )  # fmt: skip


def _present_item(found: "Replay", one: "ReplayedItem") -> ReplayItemData:
    item, triaged = one.item, one.triaged

    def ref(number: int) -> str:
        return shown_ref(found.project.forge, item.kind, number)

    return ReplayItemData(
        ref(item.number), item.kind, item.title, item.url, item.author, as_time(item.created_at), triaged.outcome,
        [row.ref for row in rows_of(one)], one.outcome, ref(one.right) if one.right else None,
        [ref(each.number) for each in one.originals], triaged.body,
    )  # fmt: skip


def rows_of(one: "ReplayedItem") -> "tuple[ReportRow, ...]":
    """Return what the comment names, in its order."""
    report = one.triaged.report
    return (*(rival.row for rival in report.rivals), *report.rows, *report.related) if report else ()


def describe_today(one: "ReplayedItem") -> str:
    """`right, first`, `missed: #12`, `closed otherwise`."""
    if one.outcome == "missed":
        return f"missed: {', '.join(f'#{each.number}' for each in one.originals[:2])}"
    if one.right is not None:
        return "right, named first" if one.is_right_first else "right, in the list"
    return TODAY[one.outcome]


def share(part: int, whole: int) -> str:
    """`8 of 31 (26 %)`."""
    return f"{part:,} of {whole:,}" + (f" ({100 * part / whole:.0f} %)" if whole else "")


def summarize(found: "Replay") -> list[tuple[str, str]]:
    """Return what matters as (what, how many), in the order in which one asks."""
    counts = found.tally()
    right = counts.right_first + counts.right_listed
    known = right + counts.missed
    rows = [
        ("would get a comment", share(counts.commented, counts.seen)),
        ("would get a warning", share(counts.warned, counts.seen)),
        ("comments that named what people call the original", share(right, counts.commented)),
        ("comments on items that were closed for another reason", share(counts.noise, counts.commented)),
        ("comments on items that are still open", share(counts.undecided, counts.commented)),
    ]
    if known:
        rows.append(("known duplicates whose original it would have named", share(right, known)))
    return rows


def describe_left_alone(found: "Replay") -> str:
    """`3 items by programs, 1 item by maintainers`."""
    counts = ((found.programs, "programs"), (found.maintainers, "people with write access"))
    return ", ".join(f"{counted_noun(count, 'item')} by {who}" for count, who in counts if count)


def build_replay_page(found: "Replay", *, made_at: int) -> str:
    """Return the whole page."""
    name = f"What triage would have said in {found.project}"
    period = f"issues and changes filed {day(found.since)} to {day(found.until)}"
    note = f"{period}, judged as of their filing; made {day(made_at)}. Nothing was posted, and this page loads nothing."
    warned = [one for one in found.items if one.is_warned]
    listed = [one for one in found.items if one.triaged.body and not one.is_warned]
    missed = [one for one in found.items if not one.triaged.body]
    body = tag(
        "body", tag("h1", name), tag("p", note, class_="dim"), _tiles(found), _verdict(found), _meanings(),
        _section("Warnings", "The first item below each would have been called perhaps the same.", warned),
        _section("Lists", "Similar items would have been listed, without a claim.", listed),
        _section("Duplicates it would have passed in silence", "People found them later.", missed),
        _next_steps(),
    )  # fmt: skip
    return build_document(name, body, style=_STYLE)


def _tiles(found: "Replay") -> Html:
    counts = found.tally()
    right = counts.right_first + counts.right_listed
    shown = (
        (counts.seen, "issues and changes filed by people"),
        (counts.commented, f"would get a comment{_percent(counts.commented, counts.seen)}"),
        (counts.warned, f"a warning among them{_percent(counts.warned, counts.seen)}"),
        (right, "comments named what people call the original"),
        (counts.noise, "comments on what was closed for another reason"),
        (counts.undecided, "comments on what is still open"),
        (counts.missed, "known duplicates it would have missed"),
    )
    return tag("ul", *(tag("li", tag("b", f"{value:,}"), tag("span", text)) for value, text in shown), class_="tiles")


def _percent(part: int, whole: int) -> str:
    return f" ({100 * part / whole:.0f} %)" if whole else ""


def _verdict(found: "Replay") -> Html:
    counts = found.tally()
    days = max(1, round((found.until - found.since) / 86_400_000))
    weekly = counts.commented * 7 / days
    silent = counts.seen - counts.commented
    said = (
        f"Of {counted_noun(counts.seen, 'item')}, {silent:,} would have passed without a word. Expect about"
        f" {weekly:.1f} comments a week."
    )
    cut = " This replay was stopped before its end." if found.is_cut else ""
    return tag("p", said, cut, f" Left alone: {alone}." if (alone := describe_left_alone(found)) else "")


def _meanings() -> Html:
    rows = [[tag("b", word), text] for word, text in _EXPLAINED]
    limits = (
        "Texts are read as they are now, even if they were edited since. The scale of similarity comes from the newest"
        " items. People mark only some of the duplicates: the fewer they mark, the worse these figures look."
    )
    return tag("details", tag("summary", "What the words mean"), html_table(rows, ("today", "")), tag("p", limits))


def _section(name: str, about: str, items: "list[ReplayedItem]") -> Html:
    if not items:
        return tag("section", tag("h2", f"{name} (0)"), tag("p", "None.", class_="dim"))
    more = len(items) - MAX_SHOWN
    rest = [tag("p", f"{more:,} more are in the output of --json.", class_="dim")] if more > 0 else []
    articles = [_article(one) for one in items[:MAX_SHOWN]]
    folded = articles[MAX_OPEN:]
    if folded:
        rest = [tag("details", tag("summary", f"{len(folded):,} more"), *folded), *rest]
    heading = tag("h2", f"{name} ({len(items):,})")
    return tag("section", heading, tag("p", about, class_="dim"), *articles[:MAX_OPEN], *rest)


def _article(one: "ReplayedItem") -> Html:
    item, rows = one.item, rows_of(one)
    kind = {"success": "right", "assist": "right", "missed": "missed"}.get(one.outcome, "other")
    badge = tag("span", describe_today(one), class_=f"badge {kind}")
    head = tag("h3", badge, item_link(item.number, item.url), " ", title(item.title))
    by = join(
        ["filed ", day(item.created_at), *((" by ", tag("bdi", item.author)) if item.author else ()), _state(one)]
    )
    parts = [head, tag("p", tag("small", by))]
    if rows:
        parts.append(tag("ul", *(_row(row, one) for row in rows)))
    originals = [each for each in one.originals if all(int(row.ref.lstrip("#!")) != each.number for row in rows)]
    if originals:
        links = [part for each in originals for part in (" ", item_link(each.number, each.url), " ", title(each.title))]
        parts.append(tag("p", "People say it repeats:", *links))
    if one.first_text:
        quotes = one.triaged.report.quotes if one.triaged.report else ()
        both = (
            _text(f"#{item.number}", item.body, [quote.text for quote in quotes]),
            _text(f"#{one.triaged.first_number}", one.first_text, [quote.other for quote in quotes]),
        )
        parts.append(tag("details", tag("summary", "Both texts"), tag("div", *both, class_="pair")))
    return tag("article", *parts)


def _state(one: "ReplayedItem") -> str:
    item = one.item
    reason = f" as {item.state_reason.replace('_', ' ')}" if item.state_reason else ""
    return f"; {item.state}{reason} {day(item.closed_at)}" if item.closed_at else f"; {item.state or 'open'} today"


def _row(row: "ReportRow", one: "ReplayedItem") -> Html:
    number = int(row.ref.lstrip("#!"))
    is_right = one.right == number and not row.project
    state = f" ({row.state} then)" if row.state else ""
    mark = tag("span", " ✓ the original", class_="stays") if is_right else ""
    return tag("li", item_link(number, row.url or None), " ", title(row.title), tag("small", state), mark)


def _text(name: str, text: str, quotes: "Iterable[str]") -> Html:
    shown = marked(text.strip(), quotes) if text.strip() else "(no text)"
    return tag("section", tag("h4", name), tag("pre", tag("bdi", shown)))


def _next_steps() -> Html:
    steps = (
        "Too many comments: raise similarity-threshold (0.75), and make this page again with --similarity-threshold.",
        "Too bold: raise duplicate-threshold (0.92); at 1 it lists and never warns.",
        "To switch it on: copy docs/triage/triage.yml to .github/workflows. One file; removing it ends it.",
    )
    return tag("section", tag("h2", "If you want it otherwise"), tag("ul", *(tag("li", step) for step in steps)))
