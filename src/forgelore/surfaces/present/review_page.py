"""The HTML page for reviewers of a deduplication: plan, audits with their curves, clusters with evidence side by side.

One file that loads nothing: no script, no font, no image. Its policy (CSP) allows this very style sheet and no more, so
that even markup that got past the escaping could do nothing. Whatever is not `Html` is escaped, so that no text of a
stranger can act. The plots are SVG made of numbers alone.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from forgelore.dedupe.reasons import MEANINGS, ReasonCode
from forgelore.surfaces.present.dedupe import (
    BOUNDS,
    BY_PERSON,
    describe_class,
    describe_distance,
    describe_ending,
    describe_filing,
    describe_share,
)
from forgelore.surfaces.present.text import clean, counted_noun, format_ms, printable
from forgelore.text.fence import folded
from forgelore.text.markdown import safe_url

if TYPE_CHECKING:
    from forgelore.api import (
        AuditAnalysis,
        AuditCase,
        ClosingPlan,
        DedupeOverview,
        LaneAnswer,
        MeasuredShare,
        OverviewEdge,
        PlanItem,
        PlanLine,
        ReviewItem,
        ReviewPair,
        ReviewQueue,
        ShownCluster,
        SweptBound,
    )

_CASES = 50
_BODY = 1_500  # characters of a text
_OPEN_CLUSTERS = 5
_WIDTH, _HEIGHT = 360, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 38, 18, 10, 34
_STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)
_VOID = ("meta", "link", "input", "br", "rect", "line", "circle")
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #59636e; --paper: #ffffff; --card: #f6f8fa;
  --line: #d1d9e0; --link: #0a58ca; --mark: #fff3b0; --good: #1a7f37; --precision: #1f5fd0; --recall: #b35900; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --dim: #9aa4af; --paper: #0d1117; --card: #161b22; --line: #30363d; --link: #79b8ff;
    --mark: #5c4a00; --good: #56d364; --precision: #7aa8ff; --recall: #f0a95b; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 80rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .25rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
p { margin: .5rem 0; max-width: 70ch; }
a { color: var(--link); }
nav a { margin-right: 1rem; }
.dim, small { color: var(--dim); }
.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--dim); font-weight: 600; white-space: nowrap; }
td { min-width: 4rem; }
td:last-child { min-width: 14rem; }
td bdi { display: inline-block; max-width: 36rem; }
.words { display: inline-block; min-width: 11rem; }
details { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .75rem;
  margin: .5rem 0; }
summary { cursor: pointer; }
.pair { display: grid; grid-template-columns: 1fr; gap: .75rem; margin: .5rem 0; }
.pair > section { background: var(--paper); border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .75rem;
  min-width: 0; }
.pair h4 { margin: 0; font-size: .95rem; }
.pair pre { margin: .5rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere;
  font: .85rem/1.45 ui-monospace, monospace; max-height: 20rem; overflow-y: auto; }
mark { background: var(--mark); color: inherit; border-radius: .15rem; }
.stays { color: var(--good); font-weight: 600; }
.plots { display: grid; grid-template-columns: 1fr; gap: 1rem; }
figure { margin: 0; }
figcaption { font-size: .85rem; color: var(--dim); text-align: center; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--dim); font: 13px system-ui, sans-serif; }
.grid { stroke: var(--line); stroke-width: 1; }
.curve { fill: none; stroke-width: 2; }
.curve.precision { stroke: var(--precision); }
.curve.recall { stroke: var(--recall); stroke-dasharray: 5 4; }
.band { stroke: none; opacity: .15; }
.band.precision, circle.precision { fill: var(--precision); }
.band.recall, circle.recall { fill: var(--recall); }
.key::before { content: ""; display: inline-block; width: 1.5em; margin-right: .3em; vertical-align: .25em;
  border-top: 3px solid; }
.key.precision::before { border-color: var(--precision); }
.key.recall::before { border-color: var(--recall); border-top-style: dashed; }
@media (min-width: 45rem) { .pair, .plots { grid-template-columns: 1fr 1fr; } body { padding: 1.5rem 2rem; } }
@media (min-width: 70rem) { .plots { grid-template-columns: repeat(4, 1fr); } }
@media print { details { break-inside: avoid; } }
"""


class Html(str):
    """Markup that we made. Every other string is text."""

    __slots__ = ()


class WrittenPage(NamedTuple):
    """A page that was written, and how much it shows."""

    path: str
    project: str
    clusters: int
    audits: int


def build_page(overview: "DedupeOverview") -> str:
    """Return the whole page."""
    moment = (format_ms(overview.made_at) or "")[:16].replace("T", " ")
    made = f"made {moment} UTC; nothing on this page loads or sends anything"
    name = f"Duplicates in {overview.project}"
    links = [("plan", "Plan"), ("pairs", "Worth a look"), ("audits", "Audits"), ("clusters", "Clusters")]
    body = tag(
        "body", tag("h1", name), tag("p", made, class_="dim"),
        tag("nav", *(tag("a", text, href=f"#{place}") for place, text in links)),
        _plan_section(overview.plan), _pair_section(overview.queue), _audit_section(overview.audits),
        _cluster_section(overview),
    )  # fmt: skip
    return build_document(name, body)


def build_document(name: str, body: Html, *, style: str = "") -> str:
    """Return a page that loads nothing and runs nothing, in the style of all our pages and what is added to it."""
    style = STYLE + style
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = tag(
        "head", tag("meta", charset="utf-8"), tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"), tag("title", name),
        tag("style", Html(style)),
    )  # fmt: skip
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _plan_section(plan: "ClosingPlan | None") -> Html:
    if plan is None:
        return tag("section", tag("h2", "Plan"), tag("p", "No plan yet."), id="plan")
    closing = [line for line in plan.lines if not line.reason]
    kept = [line for line in plan.lines if line.reason]
    rule = f"{plan.policy}, confidence from {plan.min_close:g}"
    counted = f"{counted_noun(len(closing), 'item')} would be closed; to stay open: {len(kept)} ({rule})."
    parts: list[str] = [tag("h2", f"Plan {plan.run}"), tag("p", counted)]
    if closing:
        head = ("close", "filed", "onto", "filed", "confidence", "title", "title of the other")
        parts.append(html_table((_closing_row(line) for line in closing), head))
    if kept:
        table = html_table((_kept_row(line) for line in kept), ("item", "filed", "because", "title"))
        parts.append(tag("details", tag("summary", f"What stays open, and why ({len(kept)})"), table))
    return tag("section", *parts, id="plan")


def _closing_row(line: "PlanLine") -> list[Html]:
    sure = tag("span", f"{line.confidence or 0:.2f}", class_="number")
    return [
        item_link(line.number, line.url), title(describe_filing(line)), item_link(line.target, line.target_url),
        title(describe_filing(line, is_target=True)), join([sure, f" {BY_PERSON}" if line.by_person else ""]),
        title(line.title), title(line.target_title),
    ]  # fmt: skip


def _kept_row(line: "PlanLine") -> list[Html]:
    why = tag("span", MEANINGS[ReasonCode(line.reason)], class_="words")
    return [item_link(line.number, line.url), title(describe_filing(line)), why, title(line.title)]


def _pair_section(queue: "ReviewQueue") -> Html:
    """Return the pairs that nobody has decided; they are decided in a terminal, not here."""
    worth = queue.forecast.worth_a_look
    if not queue.pairs:
        return tag("section", tag("h2", "Worth a look"), tag("p", "No pairs are left to review."), id="pairs")
    said = f"{counted_noun(worth, 'pair')} worth a look, best first. Decide them with: forgelore dedupe review"
    shown = [_pair_details(one, is_open=at < _OPEN_CLUSTERS) for at, one in enumerate(queue.pairs)]
    return tag("section", tag("h2", f"Worth a look ({worth})"), tag("p", said), *shown, id="pairs")


def _pair_details(pair: "ReviewPair", *, is_open: bool) -> Html:
    newer, older = pair.newer, pair.older
    facts = describe_distance(pair)
    facts += [f"#{one.number} {describe_ending(one)}" for one in (newer, older) if one.ended]
    facts += [f"{pair.relation}s: filed as a series"] if pair.relation else []
    summary = tag(
        "summary", item_link(newer.number, newer.url), " ", title(newer.title), " · ",
        item_link(older.number, older.url), " ", title(older.title),
    )  # fmt: skip
    sides = ((newer, pair.differences.title_newer), (older, pair.differences.title_older))
    both = [_compared_item(item, words, pair.differences.shared_lines) for item, words in sides]
    return tag(
        "details", summary, tag("p", "; ".join(facts), class_="dim"), tag("div", *both, class_="pair"),
        open="open" if is_open else None,
    )  # fmt: skip


def _compared_item(item: "ReviewItem", words: Sequence[str], shared: Sequence[str]) -> Html:
    """Return an item with the words that only its title has, and the lines that both texts have, marked."""
    head = tag("h4", item_link(item.number, item.url), " ", tag("bdi", marked(item.title, words)))
    body = item.body[:_BODY]
    return tag("section", head, tag("pre", tag("bdi", marked(body, shared))) if body else "")


def _audit_section(audits: "list[AuditAnalysis]") -> Html:
    shown = [_audit_article(one) for one in audits] or [
        tag("p", "No audit yet: nobody knows how often the judge is right.")
    ]
    return tag("section", tag("h2", "Audits"), *shown, id="audits")


def _audit_article(found: "AuditAnalysis") -> Html:
    report = found.report
    name = f"Run {report.run}: {report.judge} {report.model}, measured by {report.reference}"
    classes = ", ".join(
        f"{count} {describe_class(key, report.against)}" for key, count in report.counters.items() if count
    )
    plots = [_plot_sweep(bound, [one for one in found.sweeps if one.bound == bound]) for bound in BOUNDS]
    parts: list[str] = [
        tag("h3", name), tag("p", tag("b", "precision "), describe_share(report.precision), tag("b", "; recall "),
        describe_share(report.recall)), tag("p", classes, class_="dim"),
    ]  # fmt: skip
    if report.precision or report.recall:
        parts += [_legend(), tag("div", *plots, class_="plots")]
    if report.disagreements:
        rows = [_case_row(one) for one in report.disagreements[:_CASES]]
        table = html_table(rows, ("class", "item", "judge", "right", "title"))
        summary = f"Where it differs ({len(report.disagreements)})"
        parts.append(tag("details", tag("summary", summary), table))
    return tag("article", *parts)


def _case_row(one: "AuditCase") -> list[str]:
    return [one.audit_class, item_link(one.number, one.url), _says(one.judged), _says(one.right), title(one.title)]


def _says(answer: "LaneAnswer") -> str:
    if answer.outcome != "accepted":
        return answer.reason.replace("_", " ") or "-"
    return ", ".join(f"#{number}" for number in (answer.target, *answer.also)[:3])


def _cluster_section(overview: "DedupeOverview") -> Html:
    shown = [_cluster_details(one, is_open=at < _OPEN_CLUSTERS) for at, one in enumerate(overview.clusters)]
    more = [tag("p", f"{overview.more_clusters} smaller ones are left out.")] if overview.more_clusters else []
    count = len(overview.clusters) + overview.more_clusters
    return tag("section", tag("h2", f"Clusters ({count})"), *shown, *more, id="clusters")


def _cluster_details(cluster: "ShownCluster", *, is_open: bool) -> Html:
    by_number = {one.number: one for one in cluster.items}
    first = by_number.get(cluster.canonical)
    link = item_link(cluster.canonical, first.url if first else None)
    size = f" · {len(cluster.items)} {cluster.kind}s, because of: {cluster.chosen_by}"
    stays = tag("span", "stays", class_="stays")
    summary = tag("summary", stays, " ", link, " ", title(first.title if first else ""), size)
    rows = [_member_row(one) for one in cluster.items]
    table = html_table(rows, ("item", "state", "author", "filed", "title"))
    edges = [_edge_article(one, by_number) for one in cluster.edges]
    return tag("details", summary, table, *edges, open="open" if is_open else None)


def _member_row(one: "PlanItem") -> list[str]:
    filed = tag("span", (format_ms(one.created_at) or "")[:10], class_="number")
    return [item_link(one.number, one.url), one.state or "", tag("bdi", one.author or ""), filed, title(one.title)]


def _edge_article(edge: "OverviewEdge", items: "dict[int, PlanItem]") -> Html:
    likeness = f", similarity {edge.similarity:.2f}" if edge.similarity is not None else ""
    said = f"#{edge.number} repeats #{edge.target}: {edge.judge}, confidence {edge.confidence:.2f}{likeness}"
    why = [tag("p", edge.reasoning, class_="dim")] if edge.reasoning else []
    both = [_marked_item(items[number], edge.facts) for number in (edge.number, edge.target) if number in items]
    return tag("article", tag("h3", said), *why, tag("div", *both, class_="pair"))


def _marked_item(item: "PlanItem", facts: list[str]) -> Html:
    body = (item.body or "")[:_BODY]
    head = tag("h4", item_link(item.number, item.url), " ", tag("bdi", marked(item.title, facts)))
    return tag("section", head, tag("pre", tag("bdi", marked(body, facts))) if body else "")


def _plot_sweep(name: str, points: "Sequence[SweptBound]") -> Html:
    """Return one figure: a bound from left to right, shares from bottom to top."""
    places = [_LEFT + (_WIDTH - _LEFT - _RIGHT) * at / max(1, len(points) - 1) for at in range(len(points))]
    precision, recall = ([getattr(one.scores, share) for one in points] for share in ("precision", "recall"))
    drawing = tag(
        "svg", *_axes(places, [f"{one.value:g}" for one in points]), *_curve("recall", places, recall),
        *_curve("precision", places, precision), viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img",
        aria_label=f"precision and recall over {BOUNDS[name]}",
    )  # fmt: skip
    return tag("figure", drawing, tag("figcaption", BOUNDS[name]))


def _legend() -> Html:
    return tag(
        "p", tag("span", "precision", class_="key precision"), " of what is accepted, ",
        tag("span", "recall", class_="key recall"), " of what should be; shaded: the 95 % interval.",
    )  # fmt: skip


def _axes(places: Sequence[float], values: Sequence[str]) -> list[Html]:
    drawn = []
    for share in _STEPS:
        y = _y(share)
        drawn.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid"))
        drawn.append(tag("text", f"{share:g}", x=_LEFT - 5, y=f"{y + 4:.1f}", text_anchor="end"))
    for x, value in zip(places, values, strict=True):
        drawn.append(tag("text", value, x=f"{x:.1f}", y=_HEIGHT - _BOTTOM + 18, text_anchor="middle"))
    return drawn


def _curve(name: str, places: Sequence[float], shares: "Sequence[MeasuredShare | None]") -> list[Html]:
    """Return the band, the line and the points. Where nothing is accepted there is nothing to draw."""
    known = [(x, share) for x, share in zip(places, shares, strict=True) if share is not None]
    if not known:
        return []
    upper = [f"{x:.1f},{_y(share.high):.1f}" for x, share in known]
    lower = [f"{x:.1f},{_y(share.low):.1f}" for x, share in reversed(known)]
    line = " ".join(f"{x:.1f},{_y(share.value):.1f}" for x, share in known)
    points = [
        tag(
            "g",
            tag("title", f"{share.value:.2f}, {share.right} of {share.of}"),
            tag("circle", cx=f"{x:.1f}", cy=f"{_y(share.value):.1f}", r=3, class_=name),
        )
        for x, share in known
    ]
    band = tag("polygon", points=" ".join([*upper, *lower]), class_=f"band {name}")
    return [band, tag("polyline", points=line, class_=f"curve {name}"), *points]


def _y(share: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - share)


def tag(name: str, /, *parts: str, **attributes: object) -> Html:
    """Return an element. `class_` and the like lose their line, `stroke_width` gets a dash; None leaves one out.

    tag("b", "<x>", title="a") -> <b title="a">&lt;x&gt;</b>
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(clean(str(value)), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{given}>" if name in ("meta", "br") else f"<{name}{given}/>")
    return Html(f"<{name}{given}>{join(parts)}</{name}>")


def join(parts: Iterable[str]) -> Html:
    """Return parts one after another, text escaped."""
    return Html("".join(part if isinstance(part, Html) else escape(printable(part), quote=True) for part in parts))


def title(text: str) -> Html:
    """Return one line of somebody's text, which may not turn the direction of ours."""
    return tag("bdi", clean(text))


def item_link(number: int | None, url: str | None) -> Html:
    """Return the number of an item as a link to its page, where it has one on the web."""
    address = safe_url(url) if url else None
    name = f"#{number}" if number is not None else "?"
    if address is None:
        return tag("span", name, class_="number")
    return tag("a", name, class_="number", href=address, rel="noreferrer noopener")


def marked(text: str, facts: Iterable[str]) -> Html:
    """Return a text in which the first place of each fact is marked, case aside."""
    spans = sorted(_find_spans(text, facts))
    parts: list[str] = []
    at = 0
    for start, end in spans:
        if start >= at:
            parts += [text[at:start], tag("mark", text[start:end])]
            at = end
    return join([*parts, text[at:]])


def _find_spans(text: str, facts: Iterable[str]) -> list[tuple[int, int]]:
    flat = folded(text)
    if len(flat) != len(text):  # a letter that folds to two: places would be off
        flat = text
    found = []
    for fact in facts:
        start = flat.find(folded(fact))
        if fact.strip() and start >= 0:
            found.append((start, start + len(folded(fact))))
    return found


def html_table(rows: Iterable[Iterable[str]], head: Iterable[str]) -> Html:
    """Return a table that scrolls by itself where the screen is narrow."""
    first = tag("tr", *(tag("th", cell, scope="col") for cell in head))
    body = [tag("tr", *(tag("td", cell) for cell in row)) for row in rows]
    return tag("div", tag("table", tag("thead", first), tag("tbody", *body)), class_="wide")
