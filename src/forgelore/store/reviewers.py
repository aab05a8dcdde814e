"""Reviewers of changes: who is asked, what they said in the end, and whether a review is still awaited.

One rule for all that ask: `item_people` holds requests and reviews, one row each, as they were told.
"""

from typing import NamedTuple

from forgelore.store.db import Store

_BY = "FROM item_people g WHERE g.role = 'reviewed' AND"
# Reviews by weight, then by time: whoever only remarks something decides nothing.
RANK = "(({0}.verdict <> 'commented') * 1000000000000000 + coalesce({0}.created_at, 0))"
# What is asked for now, and not what a note says was asked for once.
CURRENT_REQUEST = "role = 'requested' AND source IN ('forge', 'detail')"


class ReviewerRow(NamedTuple):
    """Somebody who is asked for a review of a change, or gave one: their last verdict, and whether one is awaited."""

    login: str
    verdict: str | None
    reviewed_at: int | None
    is_awaited: int


def is_awaited(item: str, login: str) -> str:
    """Return the SQL condition that a review, which is asked for, was not given since.

    A forge that takes a request away with the review (GitHub, Forgejo) tells no time of it: what is there is open.
    GitLab keeps reviewers; there the last request is compared with the last review.
    """
    asked = f"a.item_id = {item} AND a.role = 'requested' AND a.login = {login} COLLATE NOCASE"
    asked_at = f"(SELECT max(a.created_at) FROM item_people a WHERE {asked})"
    given = f"{_BY} g.item_id = {item} AND g.login = {login} COLLATE NOCASE"
    gave_at = f"(SELECT max(g.created_at) {given})"
    return f"coalesce({_verdict(given)} = 'dismissed' OR {gave_at} < {asked_at}, 1)"


def _verdict(given: str) -> str:
    """Return the SQL of what somebody's reviews say in the end: a later remark takes back no approval."""
    return f"(SELECT g.verdict {given} ORDER BY {RANK.format('g')} DESC LIMIT 1)"


def load_reviewers(store: Store, item_id: int, *, is_public: bool = False) -> list[ReviewerRow]:
    """Return who is to review a change and who did, its author left out. `is_public`: not what internal notes tell."""
    given = f"{_BY} g.item_id = p.item_id AND g.login = p.login COLLATE NOCASE"
    sql = f"""
        SELECT p.login, {_verdict(given)}, (SELECT max(g.created_at) {given}),
          max({CURRENT_REQUEST}) AND {is_awaited("p.item_id", "p.login")}
        FROM item_people p
        JOIN items i ON i.id = p.item_id
        LEFT JOIN notes n ON n.id = p.note_id
        WHERE p.item_id = ? AND (p.role = 'reviewed' OR {CURRENT_REQUEST})
          AND p.login <> coalesce(i.author, '') COLLATE NOCASE AND NOT (? AND coalesce(n.is_internal, 0))
        GROUP BY p.login COLLATE NOCASE
        ORDER BY p.login COLLATE NOCASE
    """
    return [ReviewerRow._make(row) for row in store.rows(sql, item_id, int(is_public))]
