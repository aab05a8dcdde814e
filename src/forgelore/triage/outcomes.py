"""Outcomes: what came of what the bot said of an item, by what people did afterwards.

    success    its author closed it as a duplicate of something that was listed
    assist     somebody else did
    missed     it was closed as a duplicate of an earlier item that was not listed
    noise      people said no (dismissed, 👎, the comment deleted, "not a duplicate"), or closed it for another reason
    open       nobody has decided yet
    quiet      nothing was said, and nobody found a duplicate

"A duplicate of what was listed" includes two items that were closed in favour of the same third one.
"""

from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple

from forgelore.store.calibration import load_duplicates
from forgelore.store.database import Store

ReportOutcome = Literal["success", "assist", "missed", "noise", "open", "quiet"]
RIGHT: tuple[ReportOutcome, ...] = ("success", "assist")
_EVERY_DUPLICATE = 1_000_000


class Aftermath(NamedTuple):
    """What is known of an item some time after the bot looked at it. Numbers are those of items of its kind."""

    is_open: bool
    originals: frozenset[int] = frozenset()  # earlier items that it was marked as a duplicate of, with theirs
    matching: frozenset[int] = frozenset()  # of those that were listed, which the mark says are the same
    is_closed_by_author: bool = False
    is_rejected: bool = False


def judge_outcome(listed: Collection[int], after: Aftermath) -> ReportOutcome:
    """Return what came of a report that named these items; without any, of silence."""
    if after.originals:
        if not after.matching:
            return "missed"
        return "success" if after.is_closed_by_author else "assist"
    if listed and after.is_rejected:
        return "noise"
    if after.is_open:
        return "open" if listed else "quiet"
    return "noise" if listed else "quiet"


class KnownDuplicates:
    """The duplicates of one kind that people have marked in a project, by ids of items."""

    def __init__(self, store: Store, project_id: int, kind: str) -> None:
        self._targets = load_duplicates(store, project_id, kind, limit=_EVERY_DUPLICATE)

    def originals(self, item_id: int) -> set[int]:
        """Return the earlier items that it was marked as a duplicate of, and what those were marked as."""
        found: set[int] = set()
        waiting = [item_id]
        while waiting:
            new = self._targets.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return found - {item_id}

    def matching(self, item_id: int, listed: Iterable[int]) -> set[int]:
        """Return those of the listed items that the marks say are the same as an item."""
        originals = self.originals(item_id)
        return {one for one in listed if one in originals or originals & self.originals(one)}
