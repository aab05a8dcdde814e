"""Which page of a list was asked for, and which headers say where the rest is?

Offset paging: the totals and rel=last vanish above `total_cutoff`, deep offsets of keyset-capable lists are
refused. Keyset paging (project issues only): a Link with an opaque cursor, and no Link at the end.
"""

import base64
import json
import math
import urllib.parse

from .call import ApiError, Call

DEFAULT_PER_PAGE = 20
MAX_PER_PAGE = 100


def paginate(call: Call, rows: list, *, keyset_type: str | None = None) -> tuple[list, dict[str, str]]:
    page, per_page = max(1, call.integer("page", 1)), _per_page(call)
    cutoff = call.server.offset_cutoff
    if keyset_type and page * per_page > cutoff:
        raise ApiError(
            405,
            {
                "error": f"Offset pagination has a maximum allowed offset of {cutoff} for requests that "
                f"return objects of type {keyset_type}. "
                "Remaining records can be retrieved using keyset pagination."
            },
        )
    pages = max(1, math.ceil(len(rows) / per_page))
    wanted = rows[(page - 1) * per_page : page * per_page]
    previous = page - 1 if 1 < page <= pages else None
    following = page + 1 if page < pages else None
    headers = {
        "X-Per-Page": str(per_page),
        "X-Page": str(page),
        "X-Next-Page": str(following or ""),
        "X-Prev-Page": str(previous or ""),
    }
    targets = [("prev", previous), ("next", following), ("first", 1)]
    if len(rows) <= call.server.total_cutoff:
        headers |= {"X-Total": str(len(rows)), "X-Total-Pages": str(pages)}
        targets.append(("last", pages))
    links = [(rel, _address(call, page=n, per_page=per_page)) for rel, n in targets if n]
    headers["Link"] = ", ".join(f'<{url}>; rel="{rel}"' for rel, url in links)
    return wanted, headers


def paginate_keyset(call: Call, rows: list, field: str, *, descending: bool) -> tuple[list, dict[str, str]]:
    """`rows` are sorted by (field, id). A cursor names the last row seen, so rows that move shift nothing."""
    per_page = _per_page(call)
    cursor = call.arg("cursor")
    if cursor:
        seen = _read_cursor(cursor, field)
        rows = [
            r for r in rows if ((getattr(r, field), r.id) < seen if descending else (getattr(r, field), r.id) > seen)
        ]
    wanted = rows[:per_page]
    if len(rows) <= per_page:
        return wanted, {}
    text = json.dumps({field: getattr(wanted[-1], field), "id": str(wanted[-1].id), "_kd": "n"})
    cursor = base64.urlsafe_b64encode(text.encode()).decode()
    return wanted, {"Link": f'<{_address(call, cursor=cursor, per_page=per_page)}>; rel="next"'}


def _per_page(call: Call) -> int:
    return min(MAX_PER_PAGE, max(1, call.integer("per_page", DEFAULT_PER_PAGE)))


def _read_cursor(cursor: str, field: str) -> tuple[str, int]:
    try:
        seen = json.loads(base64.urlsafe_b64decode(cursor))
        return seen[field], int(seen["id"])
    except (ValueError, KeyError, TypeError):
        raise ApiError(400, {"error": "cursor is invalid"}) from None


def _address(call: Call, **changed) -> str:
    query = {name: values for name, values in call.request.query.items() if name not in changed}
    query |= {name: [str(value)] for name, value in changed.items()}
    pairs = [(name, value) for name in sorted(query) for value in query[name]]
    return f"{call.request.base}{call.request.path}?{urllib.parse.urlencode(pairs)}"
