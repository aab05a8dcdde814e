"""Forgejo's lists as pages: items and comments from a moment on; releases, labels and members whole."""

from collections.abc import Iterator
from typing import Any

from forgelore.forges.forgejo import wire
from forgelore.forges.forgejo.pages import Walk, walk_pages
from forgelore.forges.forgejo.rest import ForgejoRest, repo_path
from forgelore.forges.full_lists import full_list_end, full_list_page
from forgelore.forges.windows import looks_again, since
from forgelore.model import Cursor, Item, ItemKey, Kind, Project, Thread
from forgelore.net.client import HttpAnswer
from forgelore.net.rows import ParsedRows, read_rows
from forgelore.net.walk import WalkedRow
from forgelore.ports import Known, Page

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
        parse = {"labels": wire.parse_label, "members": wire.parse_member, "releases": wire.parse_release}[resource]
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
