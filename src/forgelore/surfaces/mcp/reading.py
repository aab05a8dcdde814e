"""What `read` and `show` answer to an agent: a window of an item's text, and an outline of the item."""

from typing import TYPE_CHECKING, NamedTuple

from forgelore.surfaces.mcp.answers import ToolAnswer, fit_answer
from forgelore.surfaces.mcp.fence import fence, one_line, seen
from forgelore.surfaces.present.text import day

if TYPE_CHECKING:
    from forgelore.api import ReadingWindow, ReadItem, ScrollDirection, ShownItem, ShownNote, TextPlace

_MOST_PLACES = 40
_MOST_NOTES = 30
_MOST_NAMES = 20


class WindowPlace(NamedTuple):
    """A line, and a character of it, both counted from 1; what `read` takes as `line` and `column`."""

    line: int
    column: int


class ReadWindow(NamedTuple):
    """A part of an item's text with line numbers. `above` and `below`: where to read on, with direction up or down;
    null at the ends. `found`: where the words of `find` stand. `hash` names the version of the text.
    """

    ref: str
    project: str
    kind: str
    title: str
    url: str | None
    first_line: int
    last_line: int
    total_lines: int
    above: WindowPlace | None
    below: WindowPlace | None
    found: list[WindowPlace]
    hash: str
    text: str


class OutlinedNote(NamedTuple):
    """The beginning of a comment. `path`: the file it is about."""

    author: str | None
    day: str
    text: str
    path: str | None
    is_internal: bool


class ItemOutline(NamedTuple):
    """An item: its facts, the beginning of its text and of each comment. `read` gives all of the text."""

    ref: str
    project: str
    kind: str
    title: str
    state: str | None
    state_reason: str | None
    author: str | None
    created: str
    updated: str
    closed: str
    url: str | None
    labels: list[str]
    links: list[str]
    linked_from: list[str]
    files: list[str]
    file_count: int
    text: str
    notes: list[OutlinedNote]
    note_count: int
    is_confidential: bool


def answer_read(read: "ReadItem", find: str) -> ToolAnswer:
    window = read.window
    shown = seen(str(window))
    data = ReadWindow(
        ref=one_line(read.ref, 90), project=read.project, kind=read.kind, title=one_line(read.title, 200),
        url=one_line(read.url, 300) or None, first_line=window.first, last_line=window.last, total_lines=window.total,
        above=_place(window.above), below=_place(window.below),
        found=[WindowPlace(*place) for place in read.found[:_MOST_PLACES]], hash=read.hash, text=shown,
    )  # fmt: skip
    named = (
        f"{data.ref} in {data.project}" if data.project else data.ref
    )  # a path or a tag is a stranger's word as well
    lines = [
        f"{data.kind}, lines {data.first_line} to {data.last_line} of {data.total_lines}, version {data.hash}",
        *_tell_places(read.found, find), fence(f"{named}, {data.url or 'without a page'}\n{shown}"),
        *_tell_further(window),
    ]  # fmt: skip
    return ToolAnswer("\n".join(lines), data)


def answer_show(item: "ShownItem") -> ToolAnswer:
    def build(width: int) -> ToolAnswer:
        data = _outline(item, width)
        return ToolAnswer(_write(data), data)

    return fit_answer(build)


def _tell_places(found: "tuple[TextPlace, ...]", find: str) -> list[str]:
    if not find:
        return []
    lines = ", ".join(str(place.line) for place in found[:_MOST_PLACES])
    more = f" and {len(found) - _MOST_PLACES} more" if len(found) > _MOST_PLACES else ""
    return [f"the words of `find` stand in lines {lines}{more}" if found else "no line has the words of `find`"]


def _tell_further(window: "ReadingWindow") -> list[str]:
    return [*_tell_end("above", window.above, "up"), *_tell_end("below", window.below, "down")]


def _tell_end(side: str, place: "TextPlace | None", direction: "ScrollDirection") -> list[str]:
    if place is None:
        return []
    column = f", column={place.column}" if place.column > 1 else ""
    return [f'more {side}: line={place.line}{column}, direction="{direction}"']


def _place(place: "TextPlace | None") -> WindowPlace | None:
    return None if place is None else WindowPlace(*place)


def _outline(item: "ShownItem", width: int) -> ItemOutline:
    notes = [note for thread in item.threads for note in thread.notes if not note.is_system and note.body]
    return ItemOutline(
        ref=one_line(item.ref, 90), project=item.project, kind=item.kind, title=one_line(item.title, 200),
        state=item.state, state_reason=item.state_reason, author=one_line(item.author, 40) or None,
        created=day(item.created_at), updated=day(item.updated_at), closed=day(item.closed_at),
        url=one_line(item.url, 300) or None, labels=[one_line(label, 50) for label in item.labels[:_MOST_NAMES]],
        links=[one_line(f"{link.relation} {link.ref}", 90) for link in item.links[:_MOST_NAMES]],
        linked_from=[
            one_line(f"{link.relation} {link.ref}: {link.title}", max(width, 40))
            for link in item.linked_from[:_MOST_NAMES]
        ],
        files=[one_line(file.new_path, 120) for file in item.files[:_MOST_NAMES]], file_count=len(item.files),
        text=one_line(item.body, 5 * width), notes=[_note(note, width) for note in notes[:_MOST_NOTES]],
        note_count=len(notes), is_confidential=item.is_confidential,
    )  # fmt: skip


def _note(note: "ShownNote", width: int) -> OutlinedNote:
    return OutlinedNote(
        one_line(note.author, 40) or None, day(note.created_at), one_line(note.body, width),
        one_line(note.path, 120) or None, note.is_internal,
    )  # fmt: skip


def _write(item: ItemOutline) -> str:
    state = f"{item.state} ({item.state_reason})" if item.state_reason else item.state
    facts = [item.kind, state, f"by @{item.author}" if item.author else "", item.created and f"created {item.created}"]
    facts += ["confidential" if item.is_confidential else "", item.closed and f"closed {item.closed}"]
    lines = [f"{item.ref} in {item.project}: {item.title}", ", ".join(fact for fact in facts if fact)]
    lines += [item.url] if item.url else []
    for name, values in (
        ("labels", item.labels), ("links", item.links), ("linked from", item.linked_from), ("files", item.files),
    ):  # fmt: skip
        lines += [f"{name}: {', '.join(values)}"] if values else []
    lines += ["", item.text or "no description"]
    for note in item.notes:
        place = f" at {note.path}" if note.path else ""
        internal = " (internal)" if note.is_internal else ""
        lines += ["", f"@{note.author or 'ghost'} {note.day}{place}{internal}: {note.text}"]
    more = [f"{item.note_count - len(item.notes)} more comments"] if item.note_count > len(item.notes) else []
    return "\n".join(["an outline; `read` gives the whole text, with lines", fence("\n".join(lines)), *more])
