"""GitHub's REST API: its lists as pages, and what its refusals mean to a person.

Items, comments and review comments are read by update time; releases, labels and members in full. `X-GitHub-SSO` comes
with the refusal of an organisation that wants single sign-on:

    required; url=https://github.com/orgs/acme/sso?authorization_request=…      one click away
    partial-results; organizations=21955855,20582480                             these were left out of the answer

https://docs.github.com/rest/authentication/authenticating-to-the-rest-api#authenticating-with-saml-sso
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote, urlsplit

from forgelore.errors import AuthError, ForgeError, LoreError, NotFound
from forgelore.forges.github import wire
from forgelore.forges.rest import (
    AnswerChecker,
    advance,
    full_list_end,
    full_list_page,
    is_wide,
    looks_again,
    parse_label,
    since,
)
from forgelore.model import Cursor, Item, ItemKey, Kind, Member, Project, Thread
from forgelore.net.client import HttpAnswer
from forgelore.net.jsontext import ParsedRows, read_rows
from forgelore.net.walk import WalkedRow, walk, walk_links
from forgelore.ports.forge import Known, Page

MAX_CHARS = 1000
_IDS = re.compile(r"organizations=([\d, ]{1,200})")


def sso_hint(headers: Mapping[str, str], host: str) -> str:
    """Return what to do when single sign-on stands in the way, with the address to open; "" when it does not."""
    said = headers.get("x-github-sso", "")
    if not said:
        return ""
    if said.startswith("required"):
        url = said.partition("url=")[2].strip()
        if _is_of_github(url, host):
            return f"authorise the token for the organisation's single sign-on: {url}"
        return "authorise the token for the organisation's single sign-on, in the token's settings (Configure SSO)"
    found = _IDS.search(said)
    named = f" of the organisations {found[1].strip()}" if found else ""
    return f"authorise the token for the single sign-on{named}, in the token's settings (Configure SSO)"


def _is_of_github(url: str, host: str) -> bool:
    """A person will open it and sign in there: https, and GitHub's own host or the one that was asked."""
    if len(url) > MAX_CHARS or not url.isascii() or not url.isprintable() or " " in url:
        return False
    try:
        split = urlsplit(url)
    except ValueError:
        return False
    return split.scheme == "https" and split.netloc.lower() in ("github.com", host.lower().removeprefix("api."))


class GitHubRest(AnswerChecker):
    """GitHub's words for what went wrong."""

    def refusal(self, answer: HttpAnswer, what: str) -> LoreError:
        status, needs = answer.status, answer.headers.get("x-accepted-github-permissions")
        sign_on = sso_hint(answer.headers, self.host)
        if status == 401:
            return self.rejected()
        if status == 403 and sign_on:
            return AuthError(f"{self.host} shows {what} to authorised tokens only (HTTP 403)", hint=sign_on)
        if status == 403 and needs:
            return AuthError(f"the token may not read {what} on {self.host}", hint=f"give it the permission {needs}")
        if status == 403:
            return AuthError(
                f"{self.host} refuses to show {what} (HTTP 403: {message_of(answer)})", hint="check the token's access"
            )
        if status in (404, 410):
            access = f"the token's access (it needs the permission {needs})" if needs else "the token's access"
            hint = sign_on or f"check the spelling, or {access}"
            return NotFound(f"{what} not found on {self.host} (HTTP {status})", hint=hint)
        return ForgeError(
            f"{self.host} answered {status} to {what}: {message_of(answer)}", hint="run the same command again"
        )


def repo_path(project: Project) -> str:
    return f"/repos/{quoted(project.name.path)}"


def quoted(path: str) -> str:
    return quote(path, safe="/")


def object_in(answer: HttpAnswer) -> dict[str, Any]:
    return wire.loose(answer.body)


def message_of(answer: HttpAnswer) -> str:
    try:
        return str(object_in(answer).get("message", ""))[:200]
    except LoreError:
        return ""


_WHOLE = {"releases": "/releases", "labels": "/labels", "members": "/collaborators"}


class GitHubLists:
    """The lists of one server. `root` is `/repos/owner/name`."""

    def __init__(self, rest: GitHubRest, *, has_token: bool, window_days: int) -> None:
        self._rest, self._has_token, self._window_days = rest, has_token, window_days

    def items(self, root: str, cursor: Cursor, now_ms: int) -> Iterator[Page]:
        params = {"state": "all", "sort": "updated", "direction": "asc"}
        start, wide = since(cursor, now_ms, self._window_days), looks_again(cursor, now_ms)
        for part in walk(
            self._rest.client, f"{root}/issues", params, since_name="since", since_ms=start, parse=self._item_rows
        ):
            cursor = advance(cursor, part.updated_at, part.tie_id, is_last=part.is_last, now_ms=now_ms)
            yield Page(
                cursor=cursor, items=part.values, server_ms=part.answer.date_ms, is_wide=wide, warnings=part.warnings
            )

    def _item_rows(self, answer: HttpAnswer) -> ParsedRows[WalkedRow[Item]]:
        def parse(raw: bytes) -> WalkedRow[Item]:
            item = wire.parse_item(raw)
            return WalkedRow(item.updated_at or 0, item.forge_id or 0, item)

        return read_rows(self._rest.checked(answer, "issues").body, parse, "issues")

    def changes(self, root: str, cursor: Cursor, now_ms: int) -> Iterator[Page]:
        """Read changes, newest first, down to the cursor: this list has no `since`."""
        start, wide = since(cursor, now_ms, self._window_days), looks_again(cursor, now_ms)
        newest: tuple[int | None, int | None] = (None, None)
        params = {"state": "all", "sort": "updated", "direction": "desc"}
        for answer in walk_links(self._rest.client, f"{root}/pulls", params):
            body = self._rest.checked(answer, "changes").body
            items, _, warnings = read_rows(body, partial(wire.parse_item, is_change=True), "changes")
            if items and newest[0] is None:
                newest = (items[0].updated_at, items[0].forge_id)
            yield Page(items=items, server_ms=answer.date_ms, is_wide=wide, warnings=warnings)
            if items and start is not None and (items[-1].updated_at or 0) < start:
                break
        yield Page(cursor=advance(cursor, *newest, is_last=True, now_ms=now_ms))

    def comments(self, project: Project, resource: str, cursor: Cursor, known: Known, now_ms: int) -> Iterator[Page]:
        """Read plain or review comments. A plain one names the number of its item, and the store knows whose it is."""
        is_plain = resource == "comments"
        path = f"{repo_path(project)}/{'issues' if is_plain else 'pulls'}/comments"
        what = resource.replace("_", " ")
        stranger: Kind = "issue" if project.has_issues else "change"  # fetched by itself, it says what it is

        def parse(raw: bytes) -> WalkedRow[wire.FoundNote]:
            found = wire.parse_comment(raw) if is_plain else wire.parse_review_comment(raw)
            return WalkedRow(found.note.updated_at or 0, int(found.note.key[1:]), found)

        def rows(answer: HttpAnswer) -> ParsedRows[WalkedRow[wire.FoundNote]]:
            return read_rows(self._rest.checked(answer, "comments").body, parse, what)

        def thread(found: wire.FoundNote, kinds: dict[int, Kind]) -> Thread:
            key = ItemKey(kinds.get(found.number, stranger), found.number)
            return Thread(key, found.thread, [found.note]) if is_plain else review_thread(found)

        params = {"sort": "updated", "direction": "asc"}
        start = since(cursor, now_ms, self._window_days)
        for part in walk(self._rest.client, path, params, since_name="since", since_ms=start, parse=rows):
            cursor = advance(cursor, part.updated_at, part.tie_id, is_last=part.is_last, now_ms=now_ms)
            kinds = known.kinds([found.number for found in part.values]) if is_plain else {}
            threads = [thread(found, kinds) for found in part.values]
            yield Page(cursor=cursor, threads=threads, warnings=part.warnings)

    def full(self, root: str, resource: str, cursor: Cursor, now_ms: int) -> Iterator[Page]:
        """Releases, labels, members: read in full; an unchanged list of one page costs one 304."""
        path = _WHOLE[resource]
        if resource == "members" and not self._has_token:
            return
        etag = cursor.etag if not is_wide(cursor, now_ms) else None
        tags: list[str | None] = []
        parse = {"labels": parse_label, "members": _member, "releases": wire.parse_release}[resource]
        rows: list[Any] = []
        warnings: list[str] = []
        for answer in walk_links(self._rest.client, root + path, {}, etag=etag):
            if answer.status == 304:
                return
            if resource == "members" and answer.status in (403, 404):
                return  # only people with push access may ask; authors' roles in the items stand in
            if answer.status == 403:  # a narrow token may still read the rest
                yield Page(warnings=[f"{resource} are left out: {self._rest.refusal(answer, resource).hint}"])
                return
            found = read_rows(self._rest.checked(answer, resource).body, parse, resource)
            rows += found.values
            warnings += found.warnings
            tags.append(answer.headers.get("etag"))
        end = full_list_end(cursor, tags, now_ms)
        yield full_list_page(resource, rows, end, warnings)


def review_thread(found: wire.FoundNote) -> Thread:
    key, note = ItemKey("change", found.number), found.note
    return Thread(key, found.thread, [note], is_resolvable=True, path=note.path, line=note.line)


def _member(raw: bytes) -> Member:
    row = wire.loose(raw)
    return Member(str(row.get("login")), str(row.get("role_name") or "member"))
