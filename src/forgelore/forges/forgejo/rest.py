"""Forgejo's REST API: its lists as pages, and what its refusals mean to a person.

    order      by creation, always: no parameter of `/issues` or `/issues/comments` sorts by update on every version
    filter     `since` and `before` by update, both inclusive
    size       the server caps `limit` (50 by default) without a word: a short page says nothing, the total does

So pages cannot be anchored in time one by one. But a window of the past only ever loses rows: an update moves a row
behind the window, a deletion takes it away, and nothing comes in. Pages that are read *from the last to the first*
skip none of it. The walk:

    1. ask for everything since the start. One page holds it all: done, one answer is one moment.
    2. else close a window one second before the server's clock, count its pages, and read them backwards
    3. go on from the window's end as in 1; what was updated meanwhile is there

A crowd in the present second cannot be closed off: it is read backwards as it is, and the overlap below the cursor has
the next run read that second again. The cursor's token keeps the place in a window, right however long a run was
interrupted. Releases, labels and members are read whole.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from forgelore.errors import AuthError, ForgeError, LoreError, NotFound
from forgelore.forges.forgejo import wire
from forgelore.forges.rest import AnswerChecker, advance, full_list_end, full_list_page, looks_again, parse_label, since
from forgelore.model import Cursor, Item, ItemKey, Kind, Project, Thread
from forgelore.net.client import Client, HttpAnswer
from forgelore.net.pages import ParsedRows, WalkedRow, read_rows, split_rows
from forgelore.ports.forge import Known, Page
from forgelore.text.dates import format_ms


class ForgejoRest(AnswerChecker):
    """Forgejo's words for what went wrong."""

    def refusal(self, answer: HttpAnswer, what: str) -> LoreError:
        said = message_of(answer)
        if answer.status == 401:
            return self.rejected(f": {said}" if said else "")
        if answer.status == 403:
            return AuthError(
                f"{self.host} refuses to show {what} (HTTP 403: {said})",
                hint="the token needs the scopes read:repository and read:issue, and access to the project",
            )
        if answer.status in (404, 410):
            return NotFound(
                f"{what} not found on {self.host} (HTTP {answer.status})",
                hint="check the spelling, or the token's access",
            )
        return ForgeError(f"{self.host} answered {answer.status} to {what}: {said}", hint="run the same command again")


def repo_path(project: Project) -> str:
    return f"/repos/{quote(project.name.path, safe='/')}"


def item_path(project: Project, key: ItemKey) -> str:
    """Return where an issue or a change is shown as the lists show it: changes are issues too."""
    return f"{repo_path(project)}/issues/{key.number}"


def message_of(answer: HttpAnswer) -> str:
    try:
        return str(wire.loose(answer.body).get("message", ""))[:200]
    except LoreError:
        return answer.body[:100].decode("utf-8", "replace")


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


TYPE_OF: dict[Kind, str] = {"issue": "issues", "change": "pulls"}
_WHOLE = {"releases": "/releases", "labels": "/labels", "members": "/collaborators"}


class ForgejoLists:
    """The lists of one server."""

    def __init__(self, rest: ForgejoRest, *, has_token: bool, window_days: int) -> None:
        self._rest, self._has_token, self._window_days = rest, has_token, window_days

    def items(self, project: Project, kind: Kind | None, cursor: Cursor, now_ms: int) -> Iterator[Page]:
        """Read issues and changes, or one kind of them where the other is switched off."""
        wide = looks_again(cursor, now_ms)
        for page in self._items(project, kind).pages(cursor, since(cursor, now_ms, self._window_days), now_ms):
            yield Page(
                cursor=page.cursor, items=page.values, server_ms=page.answer.date_ms, is_wide=wide,
                warnings=page.warnings,
            )  # fmt: skip

    def numbers(self, project: Project, kind: Kind, now_ms: int) -> set[int]:
        """Return the numbers of every item of a kind."""
        pages = self._items(project, kind).pages(Cursor(), None, now_ms)
        return {item.key.number for page in pages for item in page.values if item.key.kind == kind}

    def _items(self, project: Project, kind: Kind | None) -> Walk[Item]:
        def parse(raw: bytes) -> WalkedRow[Item]:
            item = wire.parse_item(raw)
            return WalkedRow(item.updated_at or 0, item.forge_id or 0, item)

        def rows(answer: HttpAnswer) -> ParsedRows[WalkedRow[Item]]:
            return read_rows(self._rest.checked(answer, "issues").body, parse, "issues")

        of_kind = {"type": TYPE_OF[kind]} if kind else {}
        return Walk(self._rest.client, f"{repo_path(project)}/issues", {"state": "all", **of_kind}, rows)

    def comments(self, project: Project, cursor: Cursor, known: Known, now_ms: int) -> Iterator[Page]:
        """Read plain comments of issues and changes. Whose number it is the store knows, else the comment says."""

        def parse(raw: bytes) -> WalkedRow[wire.StreamedComment]:
            found = wire.parse_comment(raw)
            return WalkedRow(found.note.updated_at or 0, int(found.note.key[1:]), found)

        def rows(answer: HttpAnswer) -> ParsedRows[WalkedRow[wire.StreamedComment]]:
            return read_rows(self._rest.checked(answer, "comments").body, parse, "comments")

        walk = Walk(self._rest.client, f"{repo_path(project)}/issues/comments", {}, rows)
        for page in walk.pages(cursor, since(cursor, now_ms, self._window_days), now_ms):
            kinds = known.kinds([found.number for found in page.values])
            threads = [_thread(found, kinds) for found in page.values]
            yield Page(cursor=page.cursor, threads=threads, warnings=page.warnings)

    def full(self, project: Project, resource: str, cursor: Cursor, now_ms: int) -> Iterator[Page]:
        """Releases, labels, members: read whole. There are no ETags here."""
        if resource == "members" and not self._has_token:
            return
        parse = {"labels": parse_label, "members": wire.parse_member, "releases": wire.parse_release}[resource]
        rows: list[Any] = []
        warnings: list[str] = []
        for answer in walk_pages(self._rest.client, repo_path(project) + _WHOLE[resource]):
            if answer.status in (403, 404):
                return  # switched off, or not for this reader
            found = read_rows(self._rest.checked(answer, resource).body, parse, resource)
            rows += found.values
            warnings += found.warnings
        yield full_list_page(resource, rows, full_list_end(cursor, [], now_ms), warnings)


def _thread(found: wire.StreamedComment, kinds: dict[int, Kind]) -> Thread:
    said: Kind = "change" if found.is_change else "issue"
    return Thread(ItemKey(kinds.get(found.number, said), found.number), "comments", [found.note])
