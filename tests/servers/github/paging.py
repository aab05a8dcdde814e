"""Which part of a list does a request get, and how does it find the next part?

Two ways, as on GitHub. Keyset: an opaque cursor names the last row's sort key, so rows that move while a
client pages are met again at the end and none is skipped. Numbered: page=N counts from the start, so rows
that move shift the pages. `Link` URLs name the repository by number.
"""

import base64
import bisect
import json
import urllib.parse

from .access import invalid, problem

DEEPEST_PAGE = 50


class CursorError(ValueError):
    pass


def encode_cursor(key: tuple) -> str:
    return base64.urlsafe_b64encode(b"cursor:v2:" + json.dumps(key).encode()).decode().rstrip("=")


def decode_cursor(text: str) -> tuple:
    try:
        head, body = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).split(b"v2:", 1)
        if head != b"cursor:":
            raise CursorError(text)
        return tuple(json.loads(body))
    except (ValueError, TypeError) as bad:
        raise CursorError(text) from bad


def window(rows: list, key, *, size: int, after=None, before=None, descending=False, from_end=False):
    """(page, has_previous, has_next) of ascending `rows`, read forwards or, with `descending`, backwards."""
    low, high = 0, len(rows)
    if descending:
        after, before = before, after
    if after is not None:
        low = bisect.bisect_right(rows, after, key=key)
    if before is not None:
        high = bisect.bisect_left(rows, before, key=key)
    if descending != from_end:
        low = max(low, high - size)
    else:
        high = min(high, low + size)
    page = rows[low:high]
    ends = (low > 0, high < len(rows))
    return (page[::-1], ends[1], ends[0]) if descending else (page, *ends)


def per_page(request) -> int:
    text = request.arg("per_page") or ""
    return min(int(text), 100) if text.isdigit() and int(text) > 0 else 30  # above 100: capped, silently


def page_number(request) -> int:
    text = request.arg("page") or ""
    return max(1, int(text)) if text.isdigit() else 1


def numbered(call, rows: list, shape) -> list:
    """Page N of `rows`; Link has prev, next, last and first where they exist."""
    size, page = per_page(call.request), page_number(call.request)
    last = max(1, -(-len(rows) // size))
    links = []
    if page > 1:
        links += [("prev", page - 1)]
    if page < last:
        links += [("next", page + 1), ("last", last)]
    if page > 1:
        links += [("first", 1)]
    set_link(call, [(rel, {"page": str(number)}) for rel, number in links])
    return [shape(row) for row in rows[(page - 1) * size : page * size]]


def keyset(call, rows: list, key, shape, *, descending: bool) -> list:
    """The issue list: `after` cursors in Link, no rel=last, and deep page numbers refused."""
    request = call.request
    size, page = per_page(request), page_number(request)
    after, before = (cursor_argument(request, name) for name in ("after", "before"))
    if after is None and before is None and page > 1:
        if page > DEEPEST_PAGE:
            raise problem(
                422,
                "Pagination with the page parameter is not supported for large datasets, please use cursor based pagination (after/before)",
            )
        view = rows[::-1] if descending else rows
        found, has_previous, has_next = view[(page - 1) * size : page * size], True, page * size < len(rows)
    else:
        found, has_previous, has_next = window(rows, key, size=size, after=after, before=before, descending=descending)
    links = []
    if found and has_previous and page > 1:
        links.append(("prev", {"before": encode_cursor(key(found[0])), "page": str(page - 1)}))
    if found and has_next:
        links.append(("next", {"after": encode_cursor(key(found[-1])), "page": str(page + 1)}))
    set_link(call, links)
    return [shape(row) for row in found]


def cursor_argument(request, name: str) -> tuple | None:
    text = request.arg(name)
    try:
        return decode_cursor(text) if text else None
    except CursorError:
        raise invalid("Issue", name) from None


def set_link(call, links: list[tuple[str, dict[str, str]]]) -> None:
    kept = [(k, v) for k, vs in call.request.query.items() for v in vs if k not in ("page", "after", "before")]
    made = []
    for rel, more in links:
        query = urllib.parse.urlencode(kept + list(more.items()))
        made.append(f'<{call.numbered_url}?{query}>; rel="{rel}"')
    if made:
        call.headers["Link"] = ", ".join(made)
