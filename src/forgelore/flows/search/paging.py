"""Pages of a search: parts of one ranking, whatever part is asked for and however many hits.

A ranking grows in steps of fixed sizes. What one step has put in order stays; the next one looks deeper and only adds
behind it. So the second page neither repeats nor skips what the first one had.

A page begins at a number, `40`, or at the mark that the page before ended with, `40:9f2c01d3ab`: its hash is that of
everything before it, and tells when the ranking is another one: of another question, or of a database that changed.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from forgelore.core.search.fuse import Fused
from forgelore.core.values import check_whole
from forgelore.errors import InvalidValue

if TYPE_CHECKING:
    from forgelore.flows.search.ranked_lists import RankedLists

STEP = 20  # hits of the first step, most of the pages that anybody looks at; each further one has four times as many
MAX_LIMIT = 100
MAX_OFFSET = 10_000
_HINT = f"give a number up to {MAX_OFFSET:,}, or what the page before ended with"
_CHANGED = (
    "the page before was one of another question, or the database has changed since; hits may be missing, or come twice"
)


class PageStart(NamedTuple):
    """Where a page begins; `seal` is the hash of what comes before it, "" where nobody asks."""

    offset: int = 0
    seal: str = ""


FIRST_PAGE = PageStart()


class RankedItems(NamedTuple):
    """The best document of each item, best first, as many as were seen. `is_complete`: there are no others."""

    fused: list[Fused]
    lists: "RankedLists"
    is_complete: bool


def check_limit(limit: int) -> None:
    check_whole("limit", limit, MAX_LIMIT)


def parse_start(given: int | str) -> PageStart:
    """Return the start of a page as people and programs write it: 40, "40" or "40:9f2c01d3ab"."""
    match = re.fullmatch(r"(\d{1,9})(?::([0-9a-f]{10}))?", str(given).strip(), re.ASCII)
    if not match or int(match[1]) > MAX_OFFSET:
        raise InvalidValue(f"no page begins at {str(given)[:60]!r}", hint=_HINT)
    return PageStart(int(match[1]), match[2] or "")


def grow_ranking(
    rank: Callable[[int], RankedItems], once: Callable[[list[Fused]], list[Fused]], count: int, first: int = STEP
) -> RankedItems:
    """Return a ranking of `count` items or more, step by step. `once` leaves the first document of each item."""
    settled: list[Fused] = []
    size = first
    while True:
        step = rank(size)
        together = once([*settled, *step.fused]) if settled else step.fused
        if size >= count or step.is_complete:
            return step._replace(fused=together)
        settled, size = together[:size], size * 4


def find_next(start: PageStart, limit: int, ids: Sequence[int], *, is_end: bool) -> str:
    """Return where the page behind this one begins, with its seal; "" where there is none. `ids`: the ranking, at least
    to the end of this page. `is_end`: it is known to end there.
    """
    end = start.offset + limit
    return "" if is_end or len(ids) < end or end > MAX_OFFSET else f"{end}:{_seal(ids[:end])}"


def warn_of_change(start: PageStart, ids: Sequence[int]) -> list[str]:
    """Return a warning where a ranking is no longer the one that the page before was a part of."""
    return [_CHANGED] if start.seal and start.seal != _seal(ids[: start.offset]) else []


def _seal(ids: Sequence[int]) -> str:
    return hashlib.sha256(",".join(map(str, ids)).encode()).hexdigest()[:10]
