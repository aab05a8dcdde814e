"""Full lists, read to their end each time because they have no times: labels, members, releases. Their last page."""

from typing import Any

from forgelore.forges.windows import is_wide
from forgelore.model import Cursor
from forgelore.ports import Page


def full_list_end(cursor: Cursor, etags: list[str | None], now_ms: int) -> Cursor:
    """Return the cursor after a list that is read in full, with the ETag of each of its pages.

    The first page's says nothing of the others: it is kept only where there are none.
    """
    looked = now_ms if is_wide(cursor, now_ms) or not cursor.is_complete else cursor.swept_at
    return Cursor(etag=etags[0] if len(etags) == 1 else None, swept_at=looked, is_complete=True)


def full_list_page(resource: str, rows: list[Any], end: Cursor, warnings: list[str]) -> Page:
    """Return labels, members or releases as the page that ends their list."""
    if resource == "labels":
        return Page(cursor=end, labels=rows, warnings=warnings)
    if resource == "members":
        return Page(cursor=end, members=rows, warnings=warnings)
    seen = {item.key for item in rows}
    return Page(cursor=end, items=rows, seen=seen, seen_kinds=("release",), warnings=warnings)
