"""Live state: an item and its target as the forge shows them now, before anything is written."""

from typing import NamedTuple

from forgelore.closing_port import ClosingFacts
from forgelore.core.content import content_hash
from forgelore.core.dedupe.messages import has_marker
from forgelore.core.dedupe.recheck import LiveItem
from forgelore.errors import NotFound
from forgelore.flows.closing.journal import JournalValues, WriteContext
from forgelore.model import Item, ItemKey


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
    return max((one.id for one in comments if not has_marker(one.body, marker)), default=0)


def as_live(state: LiveState | None, *, own_comments: int = 0, newest_comment: int | None = None) -> LiveItem | None:
    """Return what the recheck looks at."""
    if state is None:
        return None
    item, facts = state
    return LiveItem(
        state.is_open, content_hash(item.key.kind, item.title, item.body), tuple(item.assignees), item.comment_count,
        item.review_comment_count, facts.reopened_at, bool(facts.duplicate_of) or item.state_reason == "duplicate",
        own_comments, newest_comment,
    )  # fmt: skip


def before_closing(state: LiveState, target: Item) -> JournalValues:
    """Return what a rollback restores, and what tells later whether a closing was ours."""
    number = target.key.number
    return {
        "state_reason": state.item.state_reason, "updated_at": state.item.updated_at, "labels": list(state.item.labels),
        "is_marked": number in state.facts.duplicate_of, "is_linked": number in state.facts.linked_to,
    }  # fmt: skip


def is_closed_by(state: LiveState, own: str | None) -> bool:
    """Tell whether an item is closed, and not by somebody else."""
    return not state.is_open and (own is None or (state.facts.closed_by or "").lower() == own.lower())
