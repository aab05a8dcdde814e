"""Hours of grace: an item is labelled and people are told; it is closed later, unless somebody took part meanwhile.

The run that gave them closes it, or finds out why not. Every other plan waits for that, and keeps to it: what people
objected to in that time is planned again only after somebody has accepted the pair since.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from forgelore.core.dedupe.reasons import ReasonCode

_TOOK_PART = frozenset(
    (ReasonCode.DISCUSSED_SINCE_PLAN, ReasonCode.REOPENED_SINCE_PLAN, ReasonCode.ASSIGNED_SINCE_PLAN)
)


class Grace(NamedTuple):
    """Hours that a run gave an item and that did not end in its closing. `action` and `reason`: what that run says of
    it; wait while the hours run. `looked_at`: when it last said so, None while it works.
    """

    item_id: int
    run_id: int
    action: str
    reason: str
    looked_at: int | None


def find_graces(graces: Iterable[Grace], accepted_at: Mapping[int, int]) -> dict[int, ReasonCode]:
    """Return item -> why no other plan may close it. `graces` are oldest first; `accepted_at`: when a person accepted
    that an item is a duplicate.
    """
    found: dict[int, ReasonCode] = {}
    for grace in graces:
        is_overruled = grace.looked_at is not None and accepted_at.get(grace.item_id, -1) > grace.looked_at
        if grace.action == "wait":
            found[grace.item_id] = ReasonCode.IN_GRACE
        elif grace.reason in _TOOK_PART and not is_overruled:
            found.setdefault(grace.item_id, ReasonCode(grace.reason))
    return found
