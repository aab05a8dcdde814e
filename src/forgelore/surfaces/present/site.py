"""A project as static pages: search, search before you file, clusters, one month. Files that any web server can show.

The pages load nothing from anywhere else: a policy (CSP, as a meta element) allows the scripts, the style and the data
that lie beside them. Text of strangers is escaped here, and enters the page as text in `search.js`. Search is
MiniSearch (MIT, vendored), which indexes `items.json` in the browser.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from forgelore.surfaces.present.report import describe_waits
from forgelore.surfaces.present.review_page import STYLE, Html, html_table, join, tag, title
from forgelore.surfaces.present.text import clean, counted_noun, day, printable, safe_url
from forgelore.version import __version__

if TYPE_CHECKING:
    from forgelore.api import KindMonth, MonthReport, PublicCluster, PublicCopy, StoredItem

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "data", "site")
MINISEARCH, LICENSE = "minisearch-7.2.0.js", "minisearch-LICENSE.txt"
BEFORE = "before-you-file.html"
_PAGES = (("index.html", "Search"), (BEFORE, "Before you file"), ("clusters.html", "Duplicates"),
          ("report.html", "Report"))  # fmt: skip
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
    " base-uri 'none'; form-action 'none'"
)
_MOST_CLUSTERS, _MOST_NAMES = 500, 60
_BAR, _HEIGHT = 26, 90


def build_site(copy: "PublicCopy") -> Iterator[tuple[str, str]]:
    """Yield each file: its name, and its text. The data come last, so that a half-written site lacks them."""
    for name in (MINISEARCH, LICENSE, "search.js"):
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            yield name, file.read()
    with open(os.path.join(FOLDER, "site.css"), encoding="utf-8") as file:
        yield "style.css", STYLE + file.read()
    yield "index.html", _page(copy, "index.html", _search_page(copy), scripts=True)
    yield BEFORE, _page(copy, BEFORE, _before_page(copy), scripts=True)
    yield "clusters.html", _page(copy, "clusters.html", _cluster_page(copy.clusters))
    yield "report.html", _page(copy, "report.html", _report_page(copy.report))
    yield "items.json", build_items(copy)


def build_items(copy: "PublicCopy") -> str:
    """Return what is searched: number, kind, state, title, labels, day, text, address and ref of each item."""
    rows = [
        [
            one.number, one.kind, one.state or "", clean(one.title), ", ".join(map(clean, one.labels)),
            (day(one.updated_at or one.created_at)), clean(one.body or ""),
            (safe_url(one.url) or "") if one.url else "", clean(one.ref),
        ]
        for one in copy.items
    ]  # fmt: skip
    return json.dumps({"project": copy.project, "items": rows}, ensure_ascii=False, separators=(",", ":"))


def _page(copy: "PublicCopy", name: str, parts: Sequence[str], *, scripts: bool = False) -> str:
    links = [tag("a", words, href=page, aria_current="page" if page == name else None) for page, words in _PAGES]
    heading = next(words for page, words in _PAGES if page == name)
    head = tag(
        "head", tag("meta", charset="utf-8"), tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{heading} · {copy.project}"), tag("link", rel="stylesheet", href="style.css"),
        tag("link", rel="icon", href="data:,"),
        *(tag("script", src=file, defer="defer") for file in (MINISEARCH, "search.js") if scripts),
    )  # fmt: skip
    made = (copy.made_ms and day(copy.made_ms)) or ""
    body = tag(
        "body", tag("header", tag("strong", copy.project), *links, class_="top"),
        tag("main", *parts, data_page="before" if name == BEFORE else name.removesuffix(".html")),
        tag("footer", f"As of {made}. Made by forgelore {__version__}; nothing here is loaded from anywhere else."),
    )  # fmt: skip
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _search_page(copy: "PublicCopy") -> list[Html]:
    kinds = sorted({one.kind for one in copy.items})
    choices = [
        _choice("state", "State", [("", "open and closed"), ("open", "open"), ("closed", "closed")]),
        _choice("kind", "Kind", [("", "everything"), *((kind, f"{kind}s") for kind in kinds)]),
    ]
    return [
        tag("h1", f"Search {copy.project}"),
        tag("label", f"Words or a number, in {_say_count(copy)}", for_="query"),
        tag("input", id="query", type="search", autocomplete="off"),
        tag("div", *choices, class_="filters"), *_results(),
    ]  # fmt: skip


def _before_page(copy: "PublicCopy") -> list[Html]:
    link = tag("a", "None of these: file a new issue", id="file", class_="button", href=copy.new_item,
               data_new=copy.new_item, rel="noreferrer noopener")  # fmt: skip
    return [
        tag("h1", "Search before you file"),
        tag("p", "Somebody may have met it before. Write a title, or paste the error message: what is alike appears"
            " below, closed items included."),
        tag("label", "What goes wrong?", for_="query"), tag("textarea", id="query", autocomplete="off"), *_results(),
        tag("p", link if copy.new_item else "None of these? Then file it in the project's tracker."),
    ]  # fmt: skip


def _results() -> list[Html]:
    without = "This page searches in your browser, which takes JavaScript."
    return [
        tag("p", "Reading the items …", id="status", role="status", class_="dim"), tag("noscript", tag("p", without)),
        tag("ol", id="hits", aria_label="Results"), tag("button", "Show more", id="more", type="button", hidden=""),
    ]  # fmt: skip


def _choice(name: str, words: str, values: Iterable[tuple[str, str]]) -> Html:
    options = [tag("option", shown, value=value) for value, shown in values]
    return tag("label", f"{words} ", tag("select", *options, id=name))


def _say_count(copy: "PublicCopy") -> str:
    count = counted_noun(len(copy.items), "item")
    return count if copy.total <= len(copy.items) else f"the {count} of {copy.total:,} that changed last"


def _cluster_page(clusters: "Sequence[PublicCluster]") -> list[Html]:
    parts = [tag("h1", f"Duplicates: {counted_noun(len(clusters), 'cluster')}")]
    if not clusters:
        return [*parts, tag("p", "No clusters yet. They are made by: forgelore dedupe run")]
    shown = [_cluster(one, is_open=at < 10) for at, one in enumerate(clusters[:_MOST_CLUSTERS])]
    if len(clusters) > _MOST_CLUSTERS:
        shown.append(tag("p", f"{len(clusters) - _MOST_CLUSTERS} more are left out."))
    said = "Items that are taken for the same, by rules, models or people; the one that stays is first."
    return [*parts, tag("p", said, class_="dim"), *shown]


def _cluster(cluster: "PublicCluster", *, is_open: bool) -> Html:
    first, *others = cluster.members
    rows = [
        [_link(one), one.state or "", tag("span", day(one.created_at), class_="number"), title(one.title)]
        for one in others
    ]
    summary = tag("summary", _link(first), " ", title(first.title), f" · {len(cluster.members)} {cluster.kind}s")
    return tag("details", summary, html_table(rows, ("item", "state", "filed", "title")), open="" if is_open else None)


def _link(item: "StoredItem") -> Html:
    address = safe_url(item.url) if item.url else None
    return tag("a" if address else "span", clean(item.ref), class_="number", href=address,
               rel="noreferrer noopener nofollow" if address else None)  # fmt: skip


def _report_page(report: "MonthReport | None") -> list[Html]:
    if report is None:
        return [
            tag("h1", "Report"),
            tag("p", "No month to report: nothing was filed yet, or not everybody may read what it counts."),
        ]
    weeks = html_table(([one.start, str(one.opened), str(one.closed)] for one in report.weeks),
                       ("from", "filed", "closed"))  # fmt: skip
    kinds: dict[str, Sequence[str]] = {
        "filed": [str(one.opened) for one in report.kinds],
        "closed": [str(one.closed) for one in report.kinds],
        "closed as duplicates": [str(one.duplicates) for one in report.kinds],
        "open at the end": [str(one.open_at_end) for one in report.kinds],
        "time to the first answer (median)": [describe_waits(one.first_answer) for one in report.kinds],
        "time to the closing (median)": [describe_waits(one.to_close) for one in report.kinds],
    }
    names = ", ".join(printable(clean(name)) for name in report.newcomers[:_MOST_NAMES])
    head = ("", *(f"{one.kind}s" for one in report.kinds))
    return [
        tag("h1", report.month), html_table(([name, *values] for name, values in kinds.items()), head),
        tag("h2", "Filed and closed, by week"), _weeks_chart(report), weeks,
        tag("h2", "What was open at the end, by age"), _ages_table(report.kinds),
        tag("h2", f"New people ({len(report.newcomers)})"), tag("p", names or "Nobody filed their first item."),
        tag("p", "What robots filed or said is not counted.", class_="dim"),
    ]  # fmt: skip


def _ages_table(kinds: "Sequence[KindMonth]") -> Html:
    rows = ([words, *(str(one.ages[words]) for one in kinds)] for words in kinds[0].ages)
    return html_table(rows, ("age", *(f"{one.kind}s" for one in kinds)))


def _weeks_chart(report: "MonthReport") -> Html:
    """Return two bars a week; the table beside it has the numbers."""
    most = max([1, *(max(one.opened, one.closed) for one in report.weeks)])
    drawn: list[Html] = []
    for at, one in enumerate(report.weeks):
        x = at * 90 + 15
        for shift, count, kind in ((0, one.opened, "filed"), (_BAR + 4, one.closed, "ended")):
            height = _HEIGHT * count / most
            drawn.append(
                tag("rect", class_=kind, x=x + shift, y=f"{100 - height:.1f}", width=_BAR, height=f"{height:.1f}")
            )
        drawn.append(tag("text", one.start[5:], x=x + _BAR + 2, y=120, text_anchor="middle"))
    legend = tag(
        "p", tag("span", "filed", class_="key filed"), " ", tag("span", "closed", class_="key ended"), class_="dim"
    )
    label = "Items filed and closed in each week; the table below has the numbers"
    return join(
        [legend, tag("svg", *drawn, viewBox=f"0 0 {max(1, len(report.weeks)) * 90} 130", role="img", aria_label=label)]
    )
