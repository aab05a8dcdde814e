"""Plots of an audit as SVG: precision and recall over a bound, each with its 95 % interval. Made of numbers alone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from forgelore.surfaces.present.review_page.markup import Html, tag

if TYPE_CHECKING:
    from forgelore.api import MeasuredShare, SweptBound

NAMES = {
    "rank_max": "rank at most", "score_min": "similarity at least", "gap_min": "gap at least",
    "confidence_min": "confidence at least",
}  # fmt: skip
_WIDTH, _HEIGHT = 360, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 38, 18, 10, 34
_STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)


def plot_sweep(name: str, points: "Sequence[SweptBound]") -> Html:
    """Return one figure: a bound from left to right, shares from bottom to top."""
    places = [_LEFT + (_WIDTH - _LEFT - _RIGHT) * at / max(1, len(points) - 1) for at in range(len(points))]
    precision, recall = ([getattr(one.scores, share) for one in points] for share in ("precision", "recall"))
    drawing = tag(
        "svg", *_axes(places, [f"{one.value:g}" for one in points]), *_curve("recall", places, recall),
        *_curve("precision", places, precision), viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img",
        aria_label=f"precision and recall over {NAMES[name]}",
    )  # fmt: skip
    return tag("figure", drawing, tag("figcaption", NAMES[name]))


def legend() -> Html:
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
