"""Waiting: the comment and the label of an item whose hours of grace begin, and whether they are over."""

from collections.abc import Mapping

from forgelore.core.closing.messages import GRACE, GRACE_LABEL
from forgelore.core.dedupe.reasons import ReasonCode
from forgelore.flows.closing.journal import WriteContext
from forgelore.flows.closing.live_state import LiveState
from forgelore.flows.closing.writes import comment_on, label_item
from forgelore.model import ItemKey
from forgelore.store.write_journal import JournalEntry

HOUR_MS = 3_600_000


def wait(
    context: WriteContext, done: Mapping[str, JournalEntry], item_id: int, state: LiveState, target: ItemKey, hours: int
) -> ReasonCode | None:
    """Comment and label first, then wait. None: the hours are over, and nobody reacted. Raises ConversationLocked where
    nobody can be told; nothing is labelled there, because the comment comes first.
    """
    said = done.get("comment")
    if said is None:
        comment_on(context, item_id, state.item.key, GRACE, target, hours=hours)
    if "label" not in done:
        label_item(context, state, GRACE_LABEL)
    if said is None or context.now_ms() < (said.answered_at or said.sent_at) + hours * HOUR_MS:
        return ReasonCode.IN_GRACE
    return ReasonCode.DISCUSSED_SINCE_PLAN if _is_liked(context, state.item.key, said) else None


def _is_liked(context: WriteContext, key: ItemKey, said: JournalEntry) -> bool:
    comment_id = (said.answer or {}).get("comment_id")
    return isinstance(comment_id, int) and context.forge.count_reactions(context.project, key, comment_id) > 0
