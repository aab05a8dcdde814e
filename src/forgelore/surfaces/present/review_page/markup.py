"""HTML of our own making: whatever is not marked as such is escaped, so that no text of a stranger can act."""

from collections.abc import Iterable
from html import escape

from forgelore.core.text import folded
from forgelore.core.triage.markdown import safe_url
from forgelore.surfaces.present.text import clean, printable

_VOID = ("meta", "br", "rect", "line", "circle")


class Html(str):
    """Markup that we made. Every other string is text."""

    __slots__ = ()


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


def rows_of(rows: Iterable[Iterable[str]], head: Iterable[str]) -> Html:
    """Return a table that scrolls by itself where the screen is narrow."""
    first = tag("tr", *(tag("th", cell, scope="col") for cell in head))
    body = [tag("tr", *(tag("td", cell) for cell in row)) for row in rows]
    return tag("div", tag("table", tag("thead", first), tag("tbody", *body)), class_="wide")
