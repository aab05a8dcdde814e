"""Reconciling: a write that was sent and of which nobody knows the answer. The forge is asked, and its state decides.

close     done if we were the last to close it since it was last read, also where somebody has reopened it
comment   done if a comment of ours with this run's marker is there
label     done if the labels are there
others    of a rollback: they are decided by the item's state, and are asked for again where that needs it
"""

from forgelore.core.dedupe.messages import closing_marker, has_marker
from forgelore.flows.closing.journal import JournalValues, WriteContext, complete
from forgelore.flows.closing.live_state import LiveState, fetch_live
from forgelore.model import ItemKey
from forgelore.store.write_journal import JournalEntry, list_writes


def settle_item(context: WriteContext, item_id: int, key: ItemKey, *, run_id: int | None = None) -> list[JournalEntry]:
    """Return an item's entries of a run, each with an answer: those without one are looked up on the forge."""
    run = run_id or context.run_id
    for entry in list_writes(context.store, run, item_id):
        if entry.status == "sent":
            settle(context, key, entry)
    return list_writes(context.store, run, item_id)


def settle(context: WriteContext, key: ItemKey, entry: JournalEntry) -> str:
    """Find out what became of one write, write it down, and return done or failed."""
    found = _look_up(context, entry, key)
    complete(context, entry.id, "done" if found is not None else "failed", found or {"found": "not done"})
    return "done" if found is not None else "failed"


def _look_up(context: WriteContext, entry: JournalEntry, key: ItemKey) -> JournalValues | None:
    if entry.step == "comment":
        number = find_comment(context, entry.run_id, entry.item_id, key)
        return {"comment_id": number, "found": "its marker"} if number is not None else None
    if entry.step not in ("close", "label"):
        return None
    state = fetch_live(context, key)
    if state is None:
        return None
    if entry.step == "label":
        wanted = entry.request.get("labels")
        is_there = isinstance(wanted, list) and set(map(str, wanted)) <= set(state.item.labels)
        return {"found": "the labels"} if is_there else None
    return {"found": "closed by us"} if _has_closed(context, entry, state) else None


def _has_closed(context: WriteContext, entry: JournalEntry, state: LiveState) -> bool:
    read_at = entry.before.get("updated_at")
    closed_at, closed_by = state.facts.closed_at, (state.facts.closed_by or "").lower()
    is_since = closed_at is not None and (not isinstance(read_at, int) or closed_at >= read_at)
    return is_since and (closed_by == context.own.lower() if context.own else not state.is_open)


def find_comment(context: WriteContext, run_id: int, item_id: int, key: ItemKey) -> int | None:
    """Return the comment that a run left on an item: ours, with its marker."""
    marker = closing_marker(run_id, item_id)
    for comment in context.forge.list_comments(context.project, key):
        is_ours = context.own is None or (comment.author or "").lower() == context.own.lower()
        if is_ours and has_marker(comment.body, marker):
            return comment.id
    return None
