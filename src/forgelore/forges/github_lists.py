"""GitHub's lists as pages: items, comments and review comments by update time; releases, labels and members whole."""

from collections.abc import Iterator

from forgelore.forges import github_wire as wire
from forgelore.forges.github_rest import Rest
from forgelore.forges.windows import advance, is_wide, looks_again, since
from forgelore.model import Cursor, Item, ItemKey, Kind, Member, Thread
from forgelore.net.client import Answer
from forgelore.net.jsontext import split_rows
from forgelore.net.walk import Row, walk, walk_links
from forgelore.ports import Page

_WHOLE = {"releases": "/releases", "labels": "/labels", "members": "/collaborators"}


class Lists:
    """The lists of one server. `root` is `/repos/owner/name`."""

    def __init__(self, rest: Rest, *, has_token: bool) -> None:
        self._rest, self._has_token = rest, has_token

    def items(self, root: str, cursor: Cursor, now_ms: int) -> Iterator[Page]:
        params = {"state": "all", "sort": "updated", "direction": "asc"}
        start, wide = since(cursor, now_ms), looks_again(cursor, now_ms)
        for part in walk(
            self._rest.client, f"{root}/issues", params, since_name="since", since_ms=start, parse=self._item_rows
        ):
            cursor = advance(cursor, part.updated_at, part.tie_id, is_last=part.is_last, now_ms=now_ms)
            yield Page(cursor=cursor, items=part.values, server_ms=part.answer.date_ms, is_wide=wide)

    def _item_rows(self, answer: Answer) -> list[Row[Item]]:
        items = [wire.parse_item(raw) for raw in split_rows(self._rest.checked(answer, "issues").body)]
        return [Row(item.updated_at or 0, item.forge_id or 0, item) for item in items]

    def changes(self, root: str, cursor: Cursor, now_ms: int) -> Iterator[Page]:
        """Read changes, newest first, down to the cursor: this list has no `since`."""
        start, wide = since(cursor, now_ms), looks_again(cursor, now_ms)
        newest: tuple[int | None, int | None] = (None, None)
        params = {"state": "all", "sort": "updated", "direction": "desc"}
        for answer in walk_links(self._rest.client, f"{root}/pulls", params):
            rows = split_rows(self._rest.checked(answer, "changes").body)
            items = [wire.parse_item(raw, is_change=True) for raw in rows]
            if items and newest[0] is None:
                newest = (items[0].updated_at, items[0].forge_id)
            is_done = bool(items) and start is not None and (items[-1].updated_at or 0) < start
            is_last = is_done or answer.next_url is None
            end = advance(cursor, *newest, is_last=True, now_ms=now_ms) if is_last else None
            yield Page(cursor=end, items=items, server_ms=answer.date_ms, is_wide=wide)
            if is_last:
                return

    def comments(self, root: str, resource: str, cursor: Cursor, now_ms: int) -> Iterator[Page]:
        path = f"{root}/issues/comments" if resource == "comments" else f"{root}/pulls/comments"
        parse = wire.parse_comment if resource == "comments" else wire.parse_review_comment

        def rows(answer: Answer) -> list[Row[wire.FoundNote]]:
            found = [parse(raw) for raw in split_rows(self._rest.checked(answer, "comments").body)]
            return [Row(one.note.updated_at or 0, int(one.note.key[1:]), one) for one in found]

        params = {"sort": "updated", "direction": "asc"}
        start = since(cursor, now_ms)
        for part in walk(self._rest.client, path, params, since_name="since", since_ms=start, parse=rows):
            cursor = advance(cursor, part.updated_at, part.tie_id, is_last=part.is_last, now_ms=now_ms)
            as_thread = review_thread if resource == "review_comments" else _plain_thread
            yield Page(cursor=cursor, threads=[as_thread(one) for one in part.values])

    def whole(self, root: str, resource: str, cursor: Cursor, now_ms: int) -> Iterator[Page]:
        """Releases, labels, members: read whole; an unchanged first page costs one 304."""
        path = _WHOLE[resource]
        if resource == "members" and not self._has_token:
            return
        etag = cursor.etag if not is_wide(cursor, now_ms) else None
        rows: list[bytes] = []
        for answer in walk_links(self._rest.client, root + path, {}, etag=etag):
            if answer.status == 304:
                return
            if resource == "members" and answer.status in (403, 404):
                return  # only people with push access may ask; authors' roles in the items stand in
            if answer.status == 403:  # a narrow token may still read the rest
                yield Page(warnings=[f"{resource} are left out: {self._rest.refusal(answer, resource).hint}"])
                return
            rows += split_rows(self._rest.checked(answer, resource).body)
            etag = answer.headers.get("etag") if answer.url.endswith(path) or not rows else etag
        end = Cursor(
            etag=etag,
            swept_at=now_ms if is_wide(cursor, now_ms) or not cursor.is_complete else cursor.swept_at,
            is_complete=True,
        )
        if resource == "labels":
            yield Page(cursor=end, labels=[wire.parse_label(raw) for raw in rows])
        elif resource == "members":
            yield Page(cursor=end, members=[_member(raw) for raw in rows])
        else:
            items = [wire.parse_release(raw) for raw in rows]
            yield Page(cursor=end, items=items, seen={item.key for item in items}, seen_kinds=("release",))


def review_thread(found: wire.FoundNote) -> Thread:
    key, note = ItemKey("change", found.number), found.note
    return Thread(key, found.thread, [note], is_resolvable=True, path=note.path, line=note.line)


def _plain_thread(found: wire.FoundNote) -> Thread:
    kind: Kind = "change" if wire.comment_is_on_change(found) else "issue"
    return Thread(ItemKey(kind, found.number), found.thread, [found.note])


def _member(raw: bytes) -> Member:
    row = wire.loose(raw)
    return Member(str(row.get("login")), str(row.get("role_name") or "member"))
