"""GitHub's lists as pages, and what its refusals mean to a person.

Items, comments and review comments are read by update time; releases, labels and members in full.

Discussions exist in GraphQL alone. The first walk goes oldest update first and saves GitHub's own position with every
page. Later walks go newest first, down to the overlap below the watermark: GraphQL has no `since` here. Such a walk
moves the watermark only when it has arrived. The list shows the beginning of a conversation, the rest costs requests.
What is known as it is now (same date, same counts) is not read to its end: an edit far below that moved no date is
found by the wider net, once a day, which compares the times of all comments first.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

from forgelore.errors import AuthError, ForgeError, LoreError, LostPage, NotFound
from forgelore.forges.github import wire
from forgelore.forges.github.graph import (
    DISCUSSIONS,
    FEW,
    MORE_COMMENTS,
    MORE_REPLIES,
    NUMBERS,
    ONE_DISCUSSION,
    Graph,
    MissingNode,
    sso_hint,
)
from forgelore.forges.rest import (
    AnswerChecker,
    advance,
    distrusted_from,
    full_list_end,
    full_list_page,
    is_wide,
    looks_again,
    parse_label,
    since,
)
from forgelore.model import Cursor, Item, ItemKey, Kind, Member, Note, Project, Thread
from forgelore.net.client import HttpAnswer
from forgelore.net.pages import (
    PER_PAGE,
    OddValueError,
    ParsedRows,
    WalkedRow,
    read_ms,
    read_rows,
    split_rows,
    walk,
    walk_links,
)
from forgelore.ports.forge import Known, Page
from forgelore.words import NoteScope


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


_LAST = re.compile(r"[?&]page=(\d{1,9})\b[^>]*>[^,]*rel=\"last\"")


class CommentStream(NamedTuple):
    """How many comments a stream holds, of about how many items, and how long one is."""

    rows: int
    items: int
    mean_chars: float


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

    def oldest_and_newest(self, root: str) -> list[Item]:
        """Return the items of the first and the last page of the list, by creation."""
        found: dict[ItemKey, Item] = {}
        for direction in ("asc", "desc"):
            params = {"state": "all", "sort": "created", "direction": direction, "per_page": PER_PAGE}
            rows = self._item_rows(self._rest.client.get(f"{root}/issues", params)).values
            found |= {row.value.key: row.value for row in rows}
        return list(found.values())

    def measure_stream(self, path: str) -> CommentStream:
        """Return how much a stream of comments holds, by its newest page and the number of its last one."""
        answer = self._rest.client.get(path, {"sort": "created", "direction": "desc", "per_page": PER_PAGE})
        if answer.status != 200:
            return CommentStream(0, 0, 0.0)
        raws = split_rows(answer.body)
        parse = wire.parse_review_comment if "/pulls/" in path else wire.parse_comment
        found = [parse(raw) for raw in raws]
        last = _LAST.search(answer.headers.get("link", ""))
        rows = (int(last[1]) - 1) * PER_PAGE + PER_PAGE // 2 if last else len(raws)
        chars = sum(len(one.note.body or "") for one in found) / max(1, len(found))
        items = len({one.number for one in found}) * rows // max(1, len(found))
        return CommentStream(rows, items, chars)

    def items_between(self, root: str, start_ms: int, end_ms: int) -> list[Item]:
        """Return issues and changes that were last changed in this span, both ends included."""
        params, found = {"state": "all", "sort": "updated", "direction": "asc"}, dict[ItemKey, Item]()
        for part in walk(
            self._rest.client, f"{root}/issues", params, since_name="since", since_ms=start_ms, parse=self._item_rows
        ):
            found |= {item.key: item for item in part.values if (item.updated_at or 0) <= end_ms}
            if (part.updated_at or 0) > end_ms:
                break
        return list(found.values())

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


PAGE_SIZE = 25


def discussion_pages(
    graph: Graph, path: str, cursor: Cursor, known: Known, now_ms: int, *, window_days: int
) -> Iterator[Page]:
    """Yield pages of discussions with all their comments and replies."""
    start = since(cursor, now_ms, window_days) if cursor.is_complete else None
    read_from = distrusted_from(cursor, now_ms, window_days)
    direction = "DESC" if cursor.is_complete else "ASC"
    position = cursor.token
    newest: tuple[int | None, int | None] = (cursor.updated_at, cursor.tie_id)
    is_complete, in_a_row = True, 0
    while in_a_row < FEW:  # more than that are all of them, at five requests each
        found = _load_page(graph, path, position, direction)
        page = Page()
        in_a_row = in_a_row + 1 if _has_holes(found) else 0
        if in_a_row:
            found["nodes"], is_complete = [], False
            page.warnings.append("GitHub cannot show a discussion of this project; the next sync tries again")
        as_stored = _find_as_stored(graph, known, found["nodes"], read_from)
        for node in found["nodes"]:
            try:
                if node["number"] in as_stored:
                    _add_beginning(page, node)
                else:
                    _add(graph, page, node)
            except OddValueError as error:
                page.warnings.append(f"discussion {node['number']} could not be read: {error.message}")
        times = [(item.updated_at or 0, item.forge_id or 0) for item in page.items]
        newest = max([(newest[0] or 0, newest[1] or 0), *times]) if times else newest
        info = found["pageInfo"]
        is_last = not info["hasNextPage"] or (start is not None and bool(times) and times[-1][0] < start)
        position = info["endCursor"]
        if is_last and (is_complete or direction == "ASC"):
            page.cursor = advance(cursor, *newest, is_last=True, now_ms=now_ms)
        elif direction == "ASC":
            page.cursor = Cursor(newest[0], newest[1], token=position)
        yield page
        if is_last:
            return


def _load_page(graph: Graph, path: str, position: str | None, direction: str) -> dict[str, Any]:
    """Return a page without holes: one that GitHub could not finish is asked for again in smaller pieces.

    A single discussion that stays a hole is returned as it is: the others must not wait for it.
    """
    size = PAGE_SIZE
    while True:
        try:
            found = graph.part_of(path, "discussions", DISCUSSIONS, first=size, after=position, direction=direction)
            if found and (size == 1 or not _has_holes(found)):
                return found
        except ForgeError:
            if size == 1:
                raise
        if size == 1:
            raise ForgeError("GitHub shows no discussions of this project", hint="run the same command again later")
        size = max(1, size // 2)


def load_discussion(graph: Graph, path: str, number: int) -> Page:
    """Return one discussion by itself, in small pieces: the list could not show it, or did not."""
    node = graph.part_of(path, "discussion", ONE_DISCUSSION, number=number)
    if node is None:
        raise NotFound(f"discussion {number} not found", hint="it may have been deleted")
    if _has_holes({"nodes": [node]}):
        raise LostPage(f"GitHub left out parts of discussion {number}", hint="run the same command again later")
    page = Page()
    _add(graph, page, node)
    return page


def _has_holes(found: dict[str, Any] | None) -> bool:
    """True when GitHub left something out of what it was asked for: a null where a node or a connection should be."""
    if not found or found.get("nodes") is None:
        return True
    for node in found["nodes"]:
        if (
            node is None
            or ("comments" in node and _has_holes(node["comments"]))
            or ("replies" in node and _has_holes(node["replies"]))
        ):
            return True
    return False


def _is_known(known: Known, node: dict[str, Any]) -> bool:
    """True for a conversation that the list cuts off and that is stored as it is now, by its date and counts."""
    comments = node["comments"]
    replies = {_key(one): one["replies"] for one in comments["nodes"]}
    if not any(part["pageInfo"]["hasNextPage"] for part in (comments, *replies.values())):
        return False
    stored = known.conversation(ItemKey("discussion", node["number"]))
    if stored is None or stored.updated_at != read_ms(node["updatedAt"]):
        return False
    sizes = {root: 1 + part["totalCount"] for root, part in replies.items()}
    return stored.comment_count == comments["totalCount"] and sizes.items() <= stored.sizes.items()


TIMES_AT_ONCE = 5  # conversations: 100,000 nodes, of the 500,000 that GitHub allows, and 10 points


def _find_as_stored(graph: Graph, known: Known, nodes: list[dict[str, Any]], read_from: float) -> set[int]:
    """Return the numbers of the conversations that need not be read to their end. Where the date of one is not to be
    trusted, the times of all that was said in it are compared with ours.
    """
    found, distrusted = set(), []
    for node in nodes:
        try:
            is_known, updated_at = _is_known(known, node), read_ms(node["updatedAt"]) or 0
        except OddValueError:  # whoever reads it says so
            continue
        if is_known and updated_at < read_from:
            found.add(node["number"])
        elif is_known and read_from:  # 0: everything is to be read anew
            distrusted.append(node)
    for start in range(0, len(distrusted), TIMES_AT_ONCE):
        batch = distrusted[start : start + TIMES_AT_ONCE]
        for node, answer in zip(batch, graph.note_times([node["id"] for node in batch]), strict=True):
            if not isinstance(answer, MissingNode) and _has_stored_times(known, node["number"], answer):
                found.add(node["number"])
    return found


def _has_stored_times(known: Known, number: int, node: dict[str, Any]) -> bool:
    """True when each comment and reply of a discussion is stored, as of the same moment, and nothing else is."""
    times: dict[str, tuple[int | None, bool]] = {}
    totals: dict[str, int] = {}
    for part in (node["comments"], node["newest"]):
        if _has_holes(part):
            return False
        for comment in part["nodes"]:
            times[_key(comment)] = (read_ms(comment["updatedAt"]), bool(comment["isAnswer"]))
            totals[_key(comment)] = 1 + comment["replies"]["totalCount"]
            times |= {_key(reply): (read_ms(reply["updatedAt"]), False) for reply in comment["replies"]["nodes"]}
    is_complete = len(totals) == node["comments"]["totalCount"] and len(times) == sum(totals.values())
    return is_complete and times == known.note_times(ItemKey("discussion", number))


class _NoMore:
    """Stands in for Graph where the rest of a conversation is not asked for."""

    def rest_of(self, _query: str, _node_id: str, _connection: str, page: dict[str, Any]) -> list[dict[str, Any]]:
        return list(page["nodes"])


def _add_beginning(page: Page, node: dict[str, Any]) -> None:
    """Add what the list shows: an edit there is saved, and what lies below stays as it is."""
    _add(_NoMore(), page, node)
    del page.complete[ItemKey("discussion", node["number"])]


def _add(graph: Graph | _NoMore, page: Page, node: dict[str, Any]) -> None:
    key = ItemKey("discussion", node["number"])
    comments = graph.rest_of(MORE_COMMENTS, node["id"], "comments", node["comments"])
    item, threads = parse_discussion(key, node), []
    for comment in comments:
        replies = graph.rest_of(MORE_REPLIES, comment["id"], "replies", comment["replies"])
        root = _key(comment)
        notes = [parse_reply(comment, None), *(parse_reply(reply, root) for reply in replies)]
        threads.append(Thread(key, root, notes))
    page.items.append(item)  # all of it or nothing: half a conversation must not look whole
    page.threads += threads
    page.complete[key] = NoteScope.ALL


def parse_discussion(key: ItemKey, node: dict[str, Any]) -> Item:
    labels = (node.get("labels") or {}).get("nodes") or ()
    reason = node.get("stateReason")
    return Item(
        key, title=wire.text(node["title"]) or "", body=wire.text(node.get("body")),
        state="closed" if node.get("closed") else "open",
        state_reason=reason.lower() if reason else None, author=_login(node), author_role=node.get("authorAssociation"),
        labels=sorted(wire.text(label["name"]) or "" for label in labels if label),
        created_at=read_ms(node.get("createdAt")),
        updated_at=read_ms(node.get("updatedAt")), closed_at=read_ms(node.get("closedAt")), url=node.get("url"),
        forge_id=node.get("databaseId"), node_id=node.get("id"),
        category=wire.text((node.get("category") or {}).get("name")),
        is_locked=bool(node.get("locked")), comment_count=(node.get("comments") or {}).get("totalCount"),
        raw=wire.dump({**node, "comments": {"totalCount": (node.get("comments") or {}).get("totalCount")}}),
    )  # fmt: skip


def parse_reply(node: dict[str, Any], reply_to: str | None) -> Note:
    return Note(
        _key(node), _login(node), wire.text(node.get("body")), read_ms(node.get("createdAt")),
        read_ms(node.get("updatedAt")), author_role=node.get("authorAssociation"),
        is_answer=bool(node.get("isAnswer")),
        reply_to=reply_to, url=node.get("url"),
        raw=wire.dump({name: value for name, value in node.items() if name != "replies"}),
    )  # fmt: skip


def _key(node: dict[str, Any]) -> str:
    """`databaseId` has 32 bits and is null for what is younger than they last; the global id is always there."""
    number = node.get("databaseId")
    return f"d{number}" if number is not None else str(node["id"])


def _login(node: dict[str, Any]) -> str | None:
    return (node.get("author") or {}).get("login")


def load_numbers(graph: Graph, path: str) -> set[int]:
    numbers: set[int] = set()
    after = None
    while True:
        found = graph.part_of(path, "discussions", NUMBERS, after=after)
        if found is None or found.get("nodes") is None:
            raise ForgeError("GitHub shows no discussions of this project", hint="run the same command again later")
        if None in found["nodes"]:  # a null is no deletion
            raise LostPage("GitHub left out discussions of this project", hint="run the same command again later")
        numbers |= {node["number"] for node in found["nodes"]}
        if not found["pageInfo"]["hasNextPage"]:
            return numbers
        after = found["pageInfo"]["endCursor"]
