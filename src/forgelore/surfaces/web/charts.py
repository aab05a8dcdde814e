"""Pictures of a page as SVG, laid out here and drawn by templates: links and life of an item, clusters, bars.

A picture repeats what stands beside it as a list, so that nothing is lost to whoever does not see it. Coordinates are
numbers of ours; the words in a picture are escaped by the templates as all others.
"""

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from forgelore.surfaces.present.text import as_ms, counted_noun

if TYPE_CHECKING:
    from forgelore.api import ShownCluster, StoredItem

_ROW = 30  # from one node of a column to the next
_NODE_WIDTH = 84
_MOST = 9  # nodes of a column; the list has all
_RING = 14  # members around the one that stays, before there is a second ring
_EDGE = 28  # from the middle of the outermost node to the edge
_SURE = 0.9
_DAY_MS = 86_400_000


class Node(NamedTuple):
    """A box or a dot with its words. `kind`: what the style sheet colours it by; `hint`: what shows on top of it."""

    x: float
    y: float
    text: str
    ref: str
    kind: str
    hint: str = ""


class Line(NamedTuple):
    x1: float
    y1: float
    x2: float
    y2: float
    kind: str
    hint: str = ""


class Picture(NamedTuple):
    """`says`: the picture in a sentence, for whoever does not see it."""

    width: int
    height: int
    nodes: list[Node]
    lines: list[Line]
    says: str


def draw_links(item: "StoredItem") -> Picture | None:
    """Return the links of an item: on the left what points to it, on the right what it points to."""
    into = _unique((one.ref, one.relation, one.title, "") for one in item.linked_from)
    out = _unique((one.ref, one.relation, "", one.project) for one in item.links if not one.is_withdrawn)
    if not into and not out:
        return None
    rows = max(len(into[:_MOST]), len(out[:_MOST]))
    width, height = 300, rows * _ROW + 14
    middle = Node(width / 2, height / 2, item.ref, "", "self")
    nodes, lines = [middle], []
    for column, x, side in ((into, _NODE_WIDTH / 2, -1), (out, width - _NODE_WIDTH / 2, 1)):
        shown = column[:_MOST]
        top = (height - (len(shown) - 1) * _ROW) / 2
        for at, (ref, relation, title, _) in enumerate(shown):
            y = top + at * _ROW
            words = relation.replace("_", " ")
            hint = f"{ref} {words} {item.ref}" if side < 0 else f"{item.ref} {words} {ref}"
            nodes.append(Node(x, y, ref, ref, relation, f"{hint}{': ' + title if title else ''}"))
            edge = x - side * _NODE_WIDTH / 2
            lines.append(Line(edge, y, width / 2 + side * 30, height / 2, relation, hint))
    says = f"{counted_noun(len(into), 'item')} {'points' if len(into) == 1 else 'point'} to {item.ref}, "
    return Picture(width, height, nodes, lines, f"{says}which points to {len(out)}; the list below names them")


def _unique(links: Iterable[tuple[str, str, str, str]]) -> list[tuple[str, str, str, str]]:
    """Return each item once, by its strongest relation."""
    order = ("duplicate_of", "closes", "fixes")
    ranked = sorted(links, key=lambda one: order.index(one[1]) if one[1] in order else len(order))
    found: dict[str, tuple[str, str, str, str]] = {}
    for one in ranked:
        found.setdefault(one[0], one)
    return list(found.values())


def draw_cluster(cluster: "ShownCluster") -> Picture:
    """Return a cluster: what stays in the middle, the others around it, a line for each accepted pair. Without edges,
    each of them was confirmed as a duplicate of the one that stays.
    """
    others = cluster.items[1:]
    rings = [others[at : at + _RING] for at in range(0, len(others), _RING)][:3]
    radius = [76.0 + 48 * at + (18 if len(ring) > 8 else 0) for at, ring in enumerate(rings)]
    places = {cluster.canonical: (0.0, 0.0)}
    nodes = []
    for ring, around in zip(rings, radius, strict=True):
        for at, one in enumerate(ring):
            angle = 2 * math.pi * at / len(ring)
            places[one.number] = (around * math.cos(angle), around * math.sin(angle))
            x, y = places[one.number]
            nodes.append(Node(round(x, 1), round(y, 1), f"#{one.number}", f"#{one.number}", one.state or "", one.title))
    stays = cluster.items[0]
    nodes.append(Node(0.0, 0.0, f"#{cluster.canonical}", f"#{cluster.canonical}", "self", stays.title))
    edges = [(one.number, one.target, one.confidence) for one in cluster.edges]
    edges = edges or [(one.number, cluster.canonical, 1.0) for one in others]
    lines = []
    for number, target, sure in edges:
        if number in places and target in places:
            (x1, y1), (x2, y2) = places[number], places[target]
            kind, hint = "strong" if sure >= _SURE else "weak", f"#{number} repeats #{target}"
            lines.append(Line(round(x1, 1), round(y1, 1), round(x2, 1), round(y2, 1), kind, hint))
    left, top = min(one.x for one in nodes) - _EDGE, min(one.y for one in nodes) - _EDGE
    nodes = [one._replace(x=round(one.x - left, 1), y=round(one.y - top, 1)) for one in nodes]
    lines = [
        one._replace(
            x1=round(one.x1 - left, 1), y1=round(one.y1 - top, 1), x2=round(one.x2 - left, 1), y2=round(one.y2 - top, 1)
        )
        for one in lines
    ]
    width, height = round(max(one.x for one in nodes) + _EDGE), round(max(one.y for one in nodes) + _EDGE)
    says = f"#{cluster.canonical} stays, with {counted_noun(len(others), 'duplicate')}; the list beside it names them"
    return Picture(width, height, nodes, lines, says)


def draw_time(item: "StoredItem", now_ms: int) -> Picture | None:
    """Return an item's life on a line: when it was filed, what people said, when it ended."""
    if item.created_ms is None:
        return None
    said = [note for thread in item.threads for note in thread.notes if note.created_ms and not note.is_system]
    events = [(item.created_ms, "filed", f"filed by @{item.author or 'somebody'}")]
    events += [(note.created_ms or 0, "said", f"@{note.author or 'somebody'}") for note in said]
    events += [(as_ms(one.reviewed_at), "reviewed", f"@{one.login}: {(one.verdict or '').replace('_', ' ')}")
               for one in item.reviewers if one.reviewed_at]  # fmt: skip
    if item.ended_ms:
        events.append((item.ended_ms, "merged" if item.merged_ms else "closed", item.state or "closed"))
    end = max(at for at, *_ in events)
    end = max(end, now_ms) if item.state == "open" else end
    span = max(end - item.created_ms, 1)
    if len(events) < 3 or span < _DAY_MS:
        return None
    width, left, right = 480, 8, 472
    nodes = [
        Node(round(left + (right - left) * (at - item.created_ms) / span, 1), 12, "", "", kind,
             f"{_day(at)}: {hint}")
        for at, kind, hint in sorted(events, key=lambda one: (one[1] != "said", one))
    ]  # fmt: skip
    line = Line(left, 12, right, 12, "open" if item.state == "open" else "ended")
    took = counted_noun(round(span / _DAY_MS), "day")
    people = len({note.author for note in said})
    who = "1 person" if people == 1 else f"{people} people"
    ended = f"{item.state} after {took}" if item.ended_ms else f"open for {took}"
    who = "1 person" if people == 1 else f"{people} people"
    says = f"{counted_noun(len(said), 'comment')} by {who}, {ended}"
    return Picture(width, 24, nodes, [line], says)


def _day(at_ms: int) -> str:
    return f"{dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC):%Y-%m-%d}"


class Share(NamedTuple):
    """A part of a bar: where it begins and how wide it is, of 100."""

    x: float
    width: float
    name: str
    items: int


def draw_bar(counts: Sequence[tuple[str, int]]) -> list[Share]:
    """Return a bar of parts that together are whole."""
    total = sum(count for _, count in counts)
    shares, x = [], 0.0
    for name, count in counts:
        width = 100 * count / total if total else 0.0
        shares.append(Share(round(x, 2), round(width, 2), name, count))
        x += width
    return shares
