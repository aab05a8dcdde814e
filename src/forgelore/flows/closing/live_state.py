"""Live state: an item and its target as the forge shows them now, before anything is written; and whose closing it is
that it shows.
"""

from collections.abc import Collection
from typing import NamedTuple

from forgelore.closing_port import ClosingFacts
from forgelore.core.closing.messages import has_marker
from forgelore.core.closing.recheck import LiveItem
from forgelore.core.content import content_hash
from forgelore.errors import NotFound
from forgelore.flows.closing.journal import JournalValues, WriteContext
from forgelore.model import Item, ItemKey
from forgelore.ports import Comment
from forgelore.store.write_journal import JournalEntry, list_writes


class LiveState(NamedTuple):
    item: Item
    facts: ClosingFacts

    @property
    def is_open(self) -> bool:
        return self.item.state == "open"


def fetch_live(context: WriteContext, key: ItemKey) -> LiveState | None:
    """Return an item as it is now; None when it is gone."""
    try:
        item = context.forge.fetch_item(context.project, key)
        return LiveState(item, context.forge.fetch_closing_facts(context.project, item))
    except NotFound:
        return None


def find_newest_comment(context: WriteContext, state: LiveState | None, marker: str) -> int | None:
    """Return the id of the newest comment that is not this run's; None when the item is gone, 0 for none."""
    if state is None:
        return None
    comments = context.forge.list_comments(context.project, state.item.key) if state.item.comment_count else ()
    accounts = {entry.account for entry in list_writes(context.store, context.run_id, state.item.key)} | {context.own}
    others = [one.id for one in comments if not is_own_comment(one, marker, accounts)]
    return max(others, default=0)


def is_own_comment(comment: Comment, marker: str, accounts: Collection[str | None]) -> bool:
    """Tell whether a comment has a marker and an author who may have set it: anybody can write a marker. None among the
    accounts: nobody knows who we are, and the marker has to do.
    """
    is_ours = None in accounts or any(account and _is_same(comment.author, account) for account in accounts)
    return is_ours and has_marker(comment.body, marker)


def as_live(state: LiveState | None, *, own_comments: int = 0, newest_comment: int | None = None) -> LiveItem | None:
    """Return what the recheck looks at."""
    if state is None:
        return None
    item, facts = state
    return LiveItem(
        state.is_open, content_hash(item.key.kind, item.title, item.body), tuple(item.assignees), item.comment_count,
        item.review_comment_count, facts.reopened_at, bool(facts.duplicate_of) or item.state_reason == "duplicate",
        own_comments, newest_comment, item.is_confidential, item.head_sha or facts.head_sha,
    )  # fmt: skip


def before_closing(state: LiveState, target: Item) -> JournalValues:
    """Return what a rollback restores, and what tells later whether a closing was ours."""
    number = target.key.number
    return {
        "state_reason": state.item.state_reason, "updated_at": state.item.updated_at, "labels": list(state.item.labels),
        "is_marked": number in state.facts.duplicate_of, "is_linked": number in state.facts.linked_to,
    }  # fmt: skip


def closing_answer(state: LiveState | None) -> JournalValues:
    """Return who closed an item and when, in the forge's own words: a rollback knows the closing by them."""
    if state is None or state.is_open:
        return {}
    return {"closed_by": state.facts.closed_by, "closed_at": state.facts.closed_at}


def was_closed_by(state: LiveState, entry: JournalEntry, own: str | None) -> bool:
    """Tell whether the account of an entry was the last to close an item since it was read for that entry. `own`: the
    login of today, for entries that name none.
    """
    account, facts, read_at = entry.account or own, state.facts, entry.before.get("updated_at")
    is_since = facts.closed_at is not None and (not isinstance(read_at, int) or facts.closed_at >= read_at)
    return is_since and (_is_same(facts.closed_by, account) if account else not state.is_open)


def is_still_closed_by(state: LiveState, entry: JournalEntry, own: str | None) -> bool:
    """Tell whether an item is closed by this very write: whoever reopened it and closed it again made it theirs."""
    if state.is_open:
        return False
    answer = entry.answer or {}
    if not isinstance(answer.get("closed_at"), int):
        return was_closed_by(state, entry, own)
    is_the_one = (answer["closed_at"], answer.get("closed_by")) == (state.facts.closed_at, state.facts.closed_by)
    return is_the_one and (entry.account is None or _is_same(state.facts.closed_by, entry.account))


def _is_same(login: str | None, other: str) -> bool:
    return (login or "").lower() == other.lower()
