"""The page for reviewers of a deduplication: plan, audits with their curves, clusters with evidence side by side.

One file that loads nothing: no script, no font, no image. Its policy (CSP) allows this very style sheet and no more, so
that even markup that got past the escaping could do nothing.
"""

import base64
import hashlib
from typing import TYPE_CHECKING, NamedTuple

from forgelore.core.dedupe.reasons import MEANINGS, ReasonCode
from forgelore.surfaces.present.audit_words import in_words
from forgelore.surfaces.present.review_page.markup import Html, item_link, marked, rows_of, tag, title
from forgelore.surfaces.present.review_page.plots import NAMES, legend, plot_sweep
from forgelore.surfaces.present.review_page.sheet import STYLE
from forgelore.surfaces.present.text import counted_noun, format_ms

if TYPE_CHECKING:
    from forgelore.api import (
        AuditAnalysis,
        AuditCase,
        ClosingPlan,
        DedupeOverview,
        LaneAnswer,
        MeasuredShare,
        OverviewCluster,
        OverviewEdge,
        OverviewItem,
        PlanLine,
    )

_CASES = 50
_OPEN_CLUSTERS = 5


class WrittenPage(NamedTuple):
    """A page that was written, and how much it shows."""

    path: str
    project: str
    clusters: int
    audits: int


def build_page(overview: "DedupeOverview") -> str:
    """Return the whole page."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    name = f"Duplicates in {overview.project}"
    head = tag(
        "head", tag("meta", charset="utf-8"), tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"), tag("title", name),
        tag("style", Html(STYLE)),
    )  # fmt: skip
    moment = (format_ms(overview.made_at) or "")[:16].replace("T", " ")
    made = f"made {moment} UTC; nothing on this page loads or sends anything"
    links = [("plan", "Plan"), ("audits", "Audits"), ("clusters", "Clusters")]
    body = tag(
        "body", tag("h1", name), tag("p", made, class_="dim"),
        tag("nav", *(tag("a", text, href=f"#{place}") for place, text in links)),
        _plan(overview.plan), _audits(overview.audits), _clusters(overview),
    )  # fmt: skip
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _plan(plan: "ClosingPlan | None") -> Html:
    if plan is None:
        return tag("section", tag("h2", "Plan"), tag("p", "There is no plan yet."), id="plan")
    closing = [line for line in plan.lines if not line.reason]
    kept = [line for line in plan.lines if line.reason]
    rule = f"{plan.policy}, confidence from {plan.min_close:g}"
    counted = f"{counted_noun(len(closing), 'item')} would be closed; to stay open: {len(kept)} ({rule})."
    parts: list[str] = [tag("h2", f"Plan {plan.run}"), tag("p", counted)]
    if closing:
        head = ("close", "onto", "confidence", "title", "title of the other")
        parts.append(rows_of((_closing_row(line) for line in closing), head))
    if kept:
        table = rows_of((_kept_row(line) for line in kept), ("item", "because", "title"))
        parts.append(tag("details", tag("summary", f"What stays open, and why ({len(kept)})"), table))
    return tag("section", *parts, id="plan")


def _closing_row(line: "PlanLine") -> list[Html]:
    return [
        item_link(line.number, line.url), item_link(line.target, line.target_url),
        tag("span", f"{line.confidence or 0:.2f}", class_="number"), title(line.title), title(line.target_title),
    ]  # fmt: skip


def _kept_row(line: "PlanLine") -> list[Html]:
    why = tag("span", MEANINGS[ReasonCode(line.reason)], class_="words")
    return [item_link(line.number, line.url), why, title(line.title)]


def _audits(audits: "list[AuditAnalysis]") -> Html:
    shown = [_audit(one) for one in audits] or [tag("p", "No audit yet: nobody knows how often the judge is right.")]
    return tag("section", tag("h2", "Audits"), *shown, id="audits")


def _audit(found: "AuditAnalysis") -> Html:
    report = found.report
    name = f"Run {report.run}: {report.judge} {report.model}, measured by {report.reference}"
    classes = ", ".join(f"{count} {in_words(key, report.against)}" for key, count in report.counters.items() if count)
    plots = [plot_sweep(bound, [one for one in found.sweeps if one.bound == bound]) for bound in NAMES]
    parts: list[str] = [
        tag("h3", name), tag("p", tag("b", "precision "), _share(report.precision), tag("b", "; recall "),
        _share(report.recall)), tag("p", classes, class_="dim"),
    ]  # fmt: skip
    if report.precision or report.recall:
        parts += [legend(), tag("div", *plots, class_="plots")]
    if report.disagreements:
        rows = [_case_row(one) for one in report.disagreements[:_CASES]]
        table = rows_of(rows, ("class", "item", "judge", "right", "title"))
        summary = f"Where it differs ({len(report.disagreements)})"
        parts.append(tag("details", tag("summary", summary), table))
    return tag("article", *parts)


def _share(share: "MeasuredShare | None") -> str:
    if share is None:
        return "not measured"
    return f"{share.value:.2f} [{share.low:.2f}, {share.high:.2f}], {share.right} of {share.of}"


def _case_row(one: "AuditCase") -> list[str]:
    return [one.audit_class, item_link(one.number, one.url), _says(one.judged), _says(one.right), title(one.title)]


def _says(answer: "LaneAnswer") -> str:
    if answer.outcome != "accepted":
        return answer.reason.replace("_", " ") or "-"
    return ", ".join(f"#{number}" for number in (answer.target, *answer.also)[:3])


def _clusters(overview: "DedupeOverview") -> Html:
    shown = [_cluster(one, is_open=at < _OPEN_CLUSTERS) for at, one in enumerate(overview.clusters)]
    more = [tag("p", f"{overview.more_clusters} smaller ones are left out.")] if overview.more_clusters else []
    count = len(overview.clusters) + overview.more_clusters
    return tag("section", tag("h2", f"Clusters ({count})"), *shown, *more, id="clusters")


def _cluster(cluster: "OverviewCluster", *, is_open: bool) -> Html:
    by_number = {one.number: one for one in cluster.items}
    first = by_number.get(cluster.canonical)
    link = item_link(cluster.canonical, first.url if first else None)
    size = f" · {len(cluster.items)} {cluster.kind}s, because of: {cluster.chosen_by}"
    stays = tag("span", "stays", class_="stays")
    summary = tag("summary", stays, " ", link, " ", title(first.title if first else ""), size)
    rows = [_member_row(one) for one in cluster.items]
    table = rows_of(rows, ("item", "state", "author", "filed", "title"))
    edges = [_edge(one, by_number) for one in cluster.edges]
    return tag("details", summary, table, *edges, open="open" if is_open else None)


def _member_row(one: "OverviewItem") -> list[str]:
    filed = tag("span", (format_ms(one.created_at) or "")[:10], class_="number")
    return [item_link(one.number, one.url), one.state, tag("bdi", one.author), filed, title(one.title)]


def _edge(edge: "OverviewEdge", items: "dict[int, OverviewItem]") -> Html:
    likeness = f", similarity {edge.similarity:.2f}" if edge.similarity is not None else ""
    said = f"#{edge.number} repeats #{edge.target}: {edge.judge}, confidence {edge.confidence:.2f}{likeness}"
    why = [tag("p", edge.reasoning, class_="dim")] if edge.reasoning else []
    both = [_text(items[number], edge.facts) for number in (edge.number, edge.target) if number in items]
    return tag("article", tag("h3", said), *why, tag("div", *both, class_="pair"))


def _text(item: "OverviewItem", facts: list[str]) -> Html:
    head = tag("h4", item_link(item.number, item.url), " ", tag("bdi", marked(item.title, facts)))
    return tag("section", head, tag("pre", tag("bdi", marked(item.body, facts))) if item.body else "")
