"""Recheck: may a planned closing still happen, now that the forge was asked again?

A plan is made from what was stored; between that and the write people edit, answer, reopen and assign. Whatever they
did counts more than any plan. The first rule that objects gives the reason.
"""

from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct

from forgelore.core.dedupe.reasons import ReasonCode


class SeenItem(Struct, frozen=True):
    """What an item looked like when the plan was made. Kept as JSON."""

    content_hash: str
    assignees: tuple[str, ...]
    comment_count: int | None
    review_comment_count: int | None
    updated_at: int | None
    newest_comment: int | None = None  # ids grow; None: no comment was stored
    head_sha: str | None = None  # of a change


class LiveItem(NamedTuple):
    """What an item looks like now. `own_comments`: those of ours that the count includes."""

    is_open: bool
    content_hash: str
    assignees: tuple[str, ...]
    comment_count: int | None
    review_comment_count: int | None
    reopened_at: int | None
    is_duplicate: bool
    own_comments: int = 0
    newest_comment: int | None = None  # that is not ours; None: nobody looked
    is_confidential: bool = False
    head_sha: str | None = None


class RecheckCase(NamedTuple):
    seen: SeenItem
    live: LiveItem | None  # None: it is gone
    seen_target: SeenItem
    target: LiveItem | None


def recheck(case: RecheckCase) -> ReasonCode | None:
    """Return what has happened since the plan that forbids the closing; None: nothing has."""
    return next((reason for rule, reason in _RULES if rule(case)), None)


def _is_closed(case: RecheckCase) -> bool:
    return case.live is None or not case.live.is_open


def _is_reopened(case: RecheckCase) -> bool:
    """Both times are the forge's: a reopening that the plan had seen lies before the item's last update."""
    reopened_at = case.live.reopened_at if case.live else None
    return reopened_at is not None and reopened_at > (case.seen.updated_at or 0)


def _is_confidential(case: RecheckCase) -> bool:
    """A public comment that names a confidential item tells of it; a confidential one is nobody's to judge."""
    return any(one is not None and one.is_confidential for one in (case.live, case.target))


def _is_edited(case: RecheckCase) -> bool:
    pairs = ((case.live, case.seen), (case.target, case.seen_target))
    return any(live is not None and _differs(live, seen) for live, seen in pairs)


def _differs(live: LiveItem, seen: SeenItem) -> bool:
    has_new_commits = None not in (live.head_sha, seen.head_sha) and live.head_sha != seen.head_sha
    return has_new_commits or live.content_hash != seen.content_hash


def _is_assigned(case: RecheckCase) -> bool:
    return case.live is not None and bool(set(case.live.assignees) - set(case.seen.assignees))


def _is_discussed(case: RecheckCase) -> bool:
    live, seen = case.live, case.seen
    if live is None:
        return False
    counts = (
        (live.comment_count, (seen.comment_count or 0) + live.own_comments),
        (live.review_comment_count, seen.review_comment_count),
    )
    if any(now is not None and before is not None and now != before for now, before in counts):
        return True
    # One that was deleted and one that was written leave the count as it was.
    newest = seen.newest_comment if seen.comment_count else 0
    return newest is not None and live.newest_comment is not None and live.newest_comment > newest


def _is_target_closed(case: RecheckCase) -> bool:
    return case.target is None or not case.target.is_open


def _is_target_duplicate(case: RecheckCase) -> bool:
    return case.target is not None and case.target.is_duplicate


_RULES: tuple[tuple[Callable[[RecheckCase], bool], ReasonCode], ...] = (
    (_is_closed, ReasonCode.NOT_OPEN),
    (_is_confidential, ReasonCode.CONFIDENTIAL),
    (_is_reopened, ReasonCode.REOPENED_SINCE_PLAN),
    (_is_edited, ReasonCode.EDITED_SINCE_PLAN),
    (_is_assigned, ReasonCode.ASSIGNED_SINCE_PLAN),
    (_is_discussed, ReasonCode.DISCUSSED_SINCE_PLAN),
    (_is_target_closed, ReasonCode.TARGET_NOT_OPEN),
    (_is_target_duplicate, ReasonCode.TARGET_IS_DUPLICATE),
)
