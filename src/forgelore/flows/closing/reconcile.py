"""Reconciling: a write that was sent and of which nobody knows the answer. The forge is asked, and its state decides.

close      done if the account that sent it was the last to close it since it was last read, also where somebody has
           reopened it
comment    done if a comment of that account with the entry's marker is there
label      done if the labels are there
reopen, uncomment, unlabel, unmark, unlink    done if what they take away is away
"""

from collections.abc import Callable

from forgelore.flows.closing.journal import NOT_FOUND, JournalValues, WriteContext, complete
from forgelore.flows.closing.live_state import LiveState, closing_answer, fetch_live, is_own_comment, was_closed_by
from forgelore.model import ItemKey
from forgelore.store.write_journal import JournalEntry, list_writes


def settle_item(context: WriteContext, key: ItemKey, *, run_id: int | None = None) -> list[JournalEntry]:
    """Return an item's entries of a run, each with an answer: those without one are looked up on the forge."""
    run = run_id or context.run_id
    for entry in list_writes(context.store, run, key):
        if entry.status == "sent":
            found = look_up(context, entry)
            complete(context, entry.id, "failed" if found is None else "done", found or NOT_FOUND)
    return list_writes(context.store, run, key)


def look_up(context: WriteContext, entry: JournalEntry) -> JournalValues | None:
    """Return what the forge shows of a write; None when it shows nothing of it."""
    if entry.step in ("comment", "uncomment"):
        return _look_for_comment(context, entry)
    state = fetch_live(context, entry.key)
    if state is None or entry.step not in _SIGNS:
        return None
    return _SIGNS[entry.step](state, entry, context.own)


def _look_for_comment(context: WriteContext, entry: JournalEntry) -> JournalValues | None:
    if entry.step == "uncomment":
        number = entry.request.get("comment_id")
        is_there = any(one.id == number for one in context.forge.list_comments(context.project, entry.key))
        return None if is_there else {"found": "it is gone"}
    marker = str(entry.request.get("body")).partition("\n")[0]
    for comment in context.forge.list_comments(context.project, entry.key):
        if is_own_comment(comment, marker, [entry.account or context.own]):
            return {"comment_id": comment.id, "found": "its marker"}
    return None


def _is_closed(state: LiveState, entry: JournalEntry, own: str | None) -> JournalValues | None:
    is_done = was_closed_by(state, entry, own)
    return {"found": "closed by us", **closing_answer(state)} if is_done else None


def _is_labelled(state: LiveState, entry: JournalEntry, _: str | None) -> JournalValues | None:
    return {"found": "the labels"} if _labels(entry) <= set(state.item.labels) else None


def _is_unlabelled(state: LiveState, entry: JournalEntry, _: str | None) -> JournalValues | None:
    return {"found": "no such labels"} if not _labels(entry) & set(state.item.labels) else None


def _is_reopened(state: LiveState, _: JournalEntry, __: str | None) -> JournalValues | None:
    return {"found": "it is open"} if state.is_open else None


def _is_unmarked(state: LiveState, entry: JournalEntry, _: str | None) -> JournalValues | None:
    return {"found": "no mark"} if entry.request.get("target") not in state.facts.duplicate_of else None


def _is_unlinked(state: LiveState, entry: JournalEntry, _: str | None) -> JournalValues | None:
    return {"found": "no link"} if entry.request.get("target") not in state.facts.linked_to else None


def _labels(entry: JournalEntry) -> set[str]:
    wanted = entry.request.get("labels")
    return set(map(str, wanted)) if isinstance(wanted, list) else set()


_SIGNS: dict[str, Callable[[LiveState, JournalEntry, str | None], JournalValues | None]] = {
    "close": _is_closed,
    "label": _is_labelled,
    "unlabel": _is_unlabelled,
    "reopen": _is_reopened,
    "unmark": _is_unmarked,
    "unlink": _is_unlinked,
}
