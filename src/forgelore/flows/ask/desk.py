"""The reading desk: carries out the tools of a model, one item open at a time.

A result has the text that the model gets, and its gist: the one line that stays when room is short.
"""

from typing import NamedTuple

from forgelore.core.ask.tool_calls import AskCall, MalformedCall
from forgelore.core.ask.windows import ReadingWindow, TextPlace, find_lines, open_window, scroll_window
from forgelore.errors import LoreError
from forgelore.flows.ask.library import Library, OpenedItem

_MAX_PLACES = 60  # lines that a search within an item lists; the number of all is told
_PLACE_CHARS = 120


class ToolResult(NamedTuple):
    """What a tool gave. `first` and `last`: the lines that were seen of `id`."""

    text: str
    gist: str
    id: str = ""
    first: int = 0
    last: int = 0


class ReadingDesk:
    """One run's desk. Raises MalformedCall, with what to do, for calls that make no sense now."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._item: OpenedItem | None = None
        self._window: ReadingWindow | None = None

    def carry_out(self, call: AskCall) -> ToolResult:
        """Return the result of a call; `answer` is none of the desk's."""
        try:
            if call.name == "search":
                return self._search(call)
            if call.name == "read":
                return self._read(call)
            if call.name == "get":
                return self._get(call)
        except LoreError as problem:
            raise MalformedCall(f"{problem.message} ({problem.hint})" if problem.hint else problem.message) from None
        item, window = self._need_open(call.name)
        if call.name == "scroll":
            return self._show(item, scroll_window(item.lines, window, call.direction))
        return self._search_within(item, call.text)

    def _search(self, call: AskCall) -> ToolResult:
        found = self._library.search(call)
        if not found:
            text = f"Nothing was found for {call.text!r}. Try other words, or fewer of them."
            return ToolResult(text, f"search {call.text!r}: nothing found")
        parts = [
            f"{at}. id: {one.id}\n   type: {one.type}\n   title: {one.title}\n   url: {one.url or '-'}\n"
            f"   line: {one.line}\n   snippet: {one.snippet}"
            for at, one in enumerate(found, 1)
        ]
        ids = ", ".join(f"{one.id} (line {one.line})" for one in found)
        return ToolResult("\n".join(parts), f"search {call.text!r}: found {ids}")

    def _read(self, call: AskCall) -> ToolResult:
        item = self._library.open(call.text)
        if call.line is not None and call.line > len(item.lines):
            raise MalformedCall(f"{item.id} has {len(item.lines)} lines; line {call.line} is not there")
        centre = TextPlace(call.line) if call.line is not None else None
        return self._show(item, open_window(item.lines, centre))

    def _show(self, item: OpenedItem, window: ReadingWindow) -> ToolResult:
        is_same = window == self._window and item == self._item
        self._item, self._window = item, window
        head = f"{item.id}: {item.title} (lines {window.first} to {window.last} of {window.total})"
        gist = f"read {item.id}, lines {window.first} to {window.last} of {window.total} (read it again to see them)"
        shown = "The window did not move: this is the end of the item." if is_same else str(window)
        return ToolResult(f"{head}\n{shown}", gist, item.id, window.first, window.last)

    def _search_within(self, item: OpenedItem, words: str) -> ToolResult:
        places = find_lines(item.lines, words)
        if not places:
            text = f"{words!r} stands nowhere in {item.id} ({len(item.lines)} lines)."
            return ToolResult(text, text)
        window = open_window(item.lines, places[0])
        self._window = window
        lines = [f"{place.line}: {item.lines[place.line - 1].strip()[:_PLACE_CHARS]}" for place in places[:_MAX_PLACES]]
        more = f"\n… and {len(places) - _MAX_PLACES} more lines" if len(places) > _MAX_PLACES else ""
        text = (
            f"{len(places)} lines of {item.id}:\n" + "\n".join(lines) + f"{more}\n\nThe window is now here:\n{window}"
        )
        numbers = ", ".join(str(place.line) for place in places[:20])
        return ToolResult(text, f"{words!r} in {item.id}: lines {numbers}", item.id, window.first, window.last)

    def _get(self, call: AskCall) -> ToolResult:
        opened = self._library.open(call.text)
        lines = len(opened.lines)
        if not opened.text.key.startswith("item:"):
            kind, url = opened.text.kind, opened.text.url or "-"
            text = f"id: {opened.id}\ntype: {kind}\ntitle: {opened.title}\nurl: {url}\nlines: {lines}"
            return ToolResult(text, f"get {opened.id}: {kind}, {lines} lines")
        item = self._library.load(call.text)
        facts = {
            "id": opened.id, "type": item.kind, "title": item.title, "url": item.url or "-", "state": item.state or "-",
            "reason": item.state_reason or "", "author": item.author or "-", "labels": ", ".join(item.labels),
            "created": str(item.created_at or ""), "closed": str(item.closed_at or item.merged_at or ""),
            "links": ", ".join(f"{link.relation} {link.ref}" for link in item.links[:20]),
            "linked from": ", ".join(f"{back.ref} ({back.relation})" for back in item.linked_from[:20]),
            "files": ", ".join(file.new_path for file in item.files[:20]), "lines": str(lines),
        }  # fmt: skip
        text = "\n".join(f"{name}: {value}" for name, value in facts.items() if value)
        return ToolResult(text, f"get {opened.id}: {item.kind}, {item.state or '-'}, {lines} lines")

    def _need_open(self, tool: str) -> tuple[OpenedItem, ReadingWindow]:
        if self._item is None or self._window is None:
            raise MalformedCall(f"{tool} needs an item that was read before: call read with an id of a search result")
        return self._item, self._window
