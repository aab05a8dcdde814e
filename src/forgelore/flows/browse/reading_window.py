"""Reading windows on items: one item's reading text, and the part of it that is asked for."""

from typing import NamedTuple

from forgelore.core.ask.windows import (
    MAX_WINDOW_CHARS,
    ReadingWindow,
    ScrollDirection,
    TextPlace,
    find_lines,
    open_window,
    scroll_to,
)
from forgelore.core.reading import ReadingText


class ReadItem(NamedTuple):
    """A window on the reading text of an item. `hash` is that of all its lines, so that a citation can say which
    version was read; `found`: every place of the words that were looked for.
    """

    ref: str
    project: str
    kind: str
    title: str
    url: str | None
    hash: str
    window: ReadingWindow
    found: tuple[TextPlace, ...] = ()


def read_item(
    text: ReadingText, project: str, place: TextPlace | None = None, *, direction: ScrollDirection | None = None,
    find: str = "", chars: int = MAX_WINDOW_CHARS,
) -> ReadItem:  # fmt: skip
    """Return the window around a place, from it on (down) or up to it (up); without a place, the first one. Words that
    are to be found give the place where they stand first.
    """
    found = tuple(find_lines(text.lines, find)) if find else ()
    if found and place is None:
        place = found[0]
    window = (
        scroll_to(text.lines, place, direction, chars=chars)
        if direction
        else open_window(text.lines, place, chars=chars)
    )
    return ReadItem(text.ref, project, text.kind, text.title, text.url, text.hash, window, found)
