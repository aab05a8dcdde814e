"""Reading a list that grows and moves while it is being read.

Lists come oldest update first. Offset pages of such a list are treacherous: a row that is updated during the walk
moves to the end, everything behind it moves up, and the row at the seam is skipped for ever. So each page starts where
the last one ended *in time* (`since` = the newest update seen), repeating the rows of that instant; page numbers
hardly matter, and the deep pages that forges refuse (GitHub 422, GitLab 405) are never asked for. The forge's own
`Link` is followed only inside one instant that fills a page, or when a server ignores `since`; where there is no
`Link` either, pages are counted from the instant on.

The end is a page without a `Link` that is not full. A full page without one (a proxy ate it, or the list ends just
there) is looked behind once more.
"""

from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import parse_qs, urlsplit

from forgelore.net.client import Client, HttpAnswer
from forgelore.net.jsontext import ParsedRows, split_rows
from forgelore.text.dates import format_ms

T = TypeVar("T")
PER_PAGE = 100


class WalkedRow(NamedTuple, Generic[T]):
    updated_at: int
    id: int
    value: T


class Slice(NamedTuple, Generic[T]):
    """One page of a walk. `updated_at`/`tie_id` name its last row; both None when it is empty."""

    values: list[T]
    updated_at: int | None
    tie_id: int | None
    is_last: bool
    answer: HttpAnswer
    warnings: list[str]


def walk(
    client: Client, path: str, params: dict[str, Any], *, since_name: str, since_ms: int | None,
    parse: Callable[[HttpAnswer], ParsedRows[WalkedRow[T]]], per_page: int = PER_PAGE,
) -> Iterator[Slice[T]]:  # fmt: skip
    """Yield pages from `since_ms` on (inclusive), oldest update first."""
    anchor = since_ms
    page = 1  # of what follows the anchor, where no `Link` says how to go on
    follow: str | None = None
    can_anchor = True
    seen: set[int] = set()
    while True:
        if follow:
            answer = client.get(follow)
        else:
            since = {since_name: format_ms(anchor)} if anchor is not None else {}
            number = {"page": page} if page > 1 else {}
            answer = client.get(path, {**params, **since, **number, "per_page": per_page})
        rows, total, warnings = parse(answer)
        times = [row.updated_at for row in rows]
        # A server that ignores `since` or the order shows older rows than asked for: trust only its links from then on.
        if times != sorted(times) or (anchor is not None and times and times[0] < anchor):
            can_anchor = False
        before, seen = seen, {row.id for row in rows}
        # A server that ignores page numbers repeats itself, and one that gave links has said where they end.
        can_count = follow is None and not (page > 1 and seen == before)
        has_more = answer.next_url is not None or (total >= per_page and (can_anchor or can_count))
        last = max(rows, key=lambda row: (row.updated_at, row.id)) if rows else None
        values = [row.value for row in rows]
        yield Slice(values, last and last.updated_at, last and last.id, not has_more, answer, warnings)
        if not has_more:
            return
        if can_anchor and times and times[-1] > (anchor if anchor is not None else -1):
            anchor, follow, page = times[-1], None, 1
        elif answer.next_url:
            follow = answer.next_url
        elif can_count:  # one instant fills the page and nothing says where it goes on
            page += 1
        else:
            anchor, follow, page = (anchor or 0) + 1, None, 1


def walk_links(client: Client, path: str, params: dict[str, Any], *, etag: str | None = None) -> Iterator[HttpAnswer]:
    """Yield the answers of a list that has no times: first page (perhaps a 304), then each `Link` as given."""
    answer = client.get(path, {**params, "per_page": PER_PAGE}, etag=etag)
    yield answer
    page = 1
    while answer.status == 200:
        page += 1
        if answer.next_url:
            answer = client.get(answer.next_url)
        elif _may_hide_more(answer):
            before = answer
            answer = client.get(path, {**params, "per_page": PER_PAGE, "page": page})
            if answer.body == before.body:  # a server that ignores page numbers would say the same for ever
                return
        else:
            return
        yield answer


def _may_hide_more(answer: HttpAnswer) -> bool:
    """True for a full page without a `Link`, unless it was reached by the forge's own position: a number means nothing
    there.
    """
    asked = parse_qs(urlsplit(answer.url).query)
    if "link" in answer.headers or "after" in asked or "cursor" in asked:
        return False
    return len(answer.body) > 2 * PER_PAGE and len(split_rows(answer.body)) >= PER_PAGE
