"""Pages of Forgejo's lists: the ones that are read whole, and the ones that are read from a moment on while they move.

    order      by creation, always: no parameter of `/issues` or `/issues/comments` sorts by update on every version
    filter     `since` and `before` by update, both inclusive
    size       the server caps `limit` (50 by default) without a word: a short page says nothing, the total does

So pages cannot be anchored in time one by one. But a window of the past only ever loses rows: an update moves a row
behind the window, a deletion takes it away, and nothing comes in. What is left moves towards the first page, so pages
that are read *from the last to the first* skip none of it. The walk:

    1. ask for everything since the start. One page holds it all: done, one answer is one moment.
    2. else close a window one second before the server's clock, count its pages, and read them backwards
    3. go on from the window's end as in 1; what was updated meanwhile is there

A crowd in the present second cannot be closed off: it is read backwards as it is, and the overlap below the cursor has
the next run read that second again. The place in a window is kept in the cursor's token, and stays right however long
a run was interrupted.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from forgelore.core.times import format_ms
from forgelore.forges.windows import advance
from forgelore.model import Cursor
from forgelore.net.client import Client, HttpAnswer
from forgelore.net.jsontext import split_rows
from forgelore.net.rows import ParsedRows
from forgelore.net.walk import WalkedRow

T = TypeVar("T")
LIMIT = 50
SECOND_MS = 1000
_LAST = re.compile(r"[?&]page=(\d{1,9})\b[^>]*>[^,]*rel=\"last\"")


class Window(Struct, frozen=True, array_like=True):
    """A span of update times whose pages are read backwards. `page` is the next; `end` is None for an open one.

    `newest` and `newest_id` name the newest row that this walk has met so far.
    """

    start: int | None
    end: int | None
    page: int
    newest: int | None = None
    newest_id: int | None = None


class WalkedPage(NamedTuple, Generic[T]):
    """One page of a walk, and the cursor behind it."""

    values: list[T]
    cursor: Cursor
    answer: HttpAnswer
    warnings: list[str]


class Walk(Generic[T]):
    """One list, read from a moment on. `parse` turns an answer into rows with their update times."""

    def __init__(
        self, client: Client, path: str, params: dict[str, Any], parse: Callable[[HttpAnswer], ParsedRows[WalkedRow[T]]]
    ) -> None:
        self._client, self._path, self._params, self._parse = client, path, params, parse
        self._newest: tuple[int, int] | None = None

    def pages(self, cursor: Cursor, since_ms: int | None, now_ms: int) -> Iterator[WalkedPage[T]]:
        """Yield every row that was updated since then, and go on inside a window that an earlier run left."""
        window = _window_in(cursor.token)
        if window is not None and window.newest is not None:
            self._newest = window.newest, window.newest_id or 0
        start = since_ms
        while True:
            if window is None:
                answer = self._ask(start, None, 1)
                rows = self._parse(answer)
                last = self._last_page(answer, start, None)
                if last <= 1:
                    self._note(rows)
                    yield _page(rows, answer, self._moved(cursor, now_ms, is_last=True))
                    return
                end = (answer.date_ms or now_ms) // SECOND_MS * SECOND_MS - SECOND_MS
                window = self._close(start, end) if start is None or end > start else Window(start, None, last)
            for page in self._backwards(window, cursor, now_ms):
                cursor = page.cursor
                yield page
            if window.end is None:
                return
            start, window = window.end, None

    def _close(self, start: int | None, end: int) -> Window:
        """Return a window that begins at its last page, counted when nothing can come in any more: a slow answer is
        dated later than what it says.
        """
        return Window(start, end, self._last_page(self._ask(start, end, 1), start, end))

    def _backwards(self, window: Window, cursor: Cursor, now_ms: int) -> Iterator[WalkedPage[T]]:
        for number in range(window.page, 0, -1):
            answer = self._ask(window.start, window.end, number)
            rows = self._parse(answer)
            self._note(rows)
            if number > 1:
                newest, newest_id = self._newest or (None, None)
                place = Window(window.start, window.end, number - 1, newest, newest_id)
                behind = msgspec.structs.replace(cursor, token=msgspec.json.encode(place).decode())
            else:
                behind = self._moved(cursor, now_ms, is_last=window.end is None)
            yield _page(rows, answer, behind)

    def _moved(self, cursor: Cursor, now_ms: int, *, is_last: bool) -> Cursor:
        newest, newest_id = self._newest or (None, None)
        return advance(cursor, newest, newest_id, is_last=is_last, now_ms=now_ms)

    def _ask(self, start: int | None, end: int | None, page: int) -> HttpAnswer:
        since = {"since": format_ms(start)} if start is not None else {}
        before = {"before": format_ms(end)} if end is not None else {}
        return self._client.get(self._path, {**self._params, **since, **before, "page": page, "limit": LIMIT})

    def _note(self, rows: ParsedRows[WalkedRow[T]]) -> None:
        """Remember the newest row of those that are handed over."""
        places = [(row.updated_at, row.id) for row in rows.values]
        self._newest = max([*places, *([self._newest] if self._newest else [])], default=None)

    def _last_page(self, answer: HttpAnswer, start: int | None, end: int | None) -> int:
        """Return the number of the last page, given the first; they are counted one by one where no header tells."""
        last = last_page(answer, self._parse(answer).total)
        page = 1
        while last is None:
            page += 1
            further = self._ask(start, end, page)
            if further.body == answer.body or not split_rows(further.body):
                last = page - 1
        return last


def _page(rows: ParsedRows[WalkedRow[T]], answer: HttpAnswer, cursor: Cursor) -> WalkedPage[T]:
    return WalkedPage([row.value for row in rows.values], cursor, answer, rows.warnings)


def _window_in(token: str | None) -> Window | None:
    try:
        return msgspec.json.decode(token, type=Window) if token else None
    except msgspec.DecodeError:  # another version's: the walk begins anew
        return None


def last_page(answer: HttpAnswer, size: int) -> int | None:
    """Return how many pages there are, by the total or by `Link`; None when neither is told."""
    total = total_of(answer)
    if size == 0:
        return 1
    if total is not None:
        return -(-total // size)
    found = _LAST.search(answer.headers.get("link", ""))
    return int(found[1]) if found else None


def total_of(answer: HttpAnswer) -> int | None:
    text = answer.headers.get("x-total-count", "")
    return int(text) if text.isdecimal() and text.isascii() else None


def walk_pages(client: Client, path: str, params: dict[str, Any] | None = None) -> Iterator[HttpAnswer]:
    """Yield the answers of a list without times, up to its total or to an empty page."""
    page, seen, before = 1, 0, b""
    while True:
        answer = client.get(path, {**(params or {}), "page": page, "limit": LIMIT})
        if page > 1 and answer.body == before:  # a server that ignores page numbers would say the same for ever
            return
        yield answer
        rows = len(split_rows(answer.body)) if answer.status == 200 else 0
        seen, total, before = seen + rows, total_of(answer), answer.body
        if not rows or (total is not None and seen >= total):
            return
        page += 1
