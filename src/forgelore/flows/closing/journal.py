"""Journalled writes: each is written down before it is sent, and completed by its answer.

    written down as sent → sent to the forge → written down as done

Killed before the second arrow is sent, the entry says that a write may have happened; `reconcile` then asks the forge.
A refusal that surely left nothing behind ends as failed.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from forgelore.errors import AuthError, NotFound
from forgelore.model import Project
from forgelore.ports import ConversationLocked, Forge, LostWrite
from forgelore.store.db import Store
from forgelore.store.sync_state import Lock
from forgelore.store.write_journal import JournalEntry, JournalValue, begin_write, end_write, list_writes

_SURE = (AuthError, NotFound, ConversationLocked)
_TRIES = 2

JournalValues = Mapping[str, JournalValue]


class WriteContext(NamedTuple):
    """Everything that a run of writes needs. `own`: our login, None where the forge does not tell it."""

    store: Store
    forge: Forge
    project: Project
    project_id: int
    run_id: int
    own: str | None
    lock: Lock
    now_ms: Callable[[], int]


class Write(NamedTuple):
    """One write: its step, what is asked for, what a rollback restores, and what sends it."""

    item_id: int
    step: str
    request: JournalValues
    before: JournalValues
    send: Callable[[], JournalValues]


def perform(context: WriteContext, write: Write, settle: Callable[[JournalEntry], str]) -> None:
    """Write down, send, complete. When the answer is lost, `settle` tells by the forge whether it is `done`; if not, it
    is sent once more.
    """
    for attempt in range(_TRIES):
        entry_id = _begin(context, write)
        try:
            answer = write.send()
        except LostWrite:
            entry = next(one for one in list_writes(context.store, context.run_id, write.item_id) if one.id == entry_id)
            if settle(entry) == "done":
                return
            if attempt == _TRIES - 1:
                raise
        except _SURE as error:
            complete(context, entry_id, "failed", {"error": error.message})
            raise
        else:
            complete(context, entry_id, "done", answer)
            return


def complete(context: WriteContext, entry_id: int, status: str, answer: JournalValues) -> None:
    with context.store.transaction():
        context.lock.confirm(context.now_ms())
        end_write(context.store, entry_id, status, answer, context.now_ms())


def _begin(context: WriteContext, write: Write) -> int:
    with context.store.transaction():
        context.lock.confirm(context.now_ms())
        return begin_write(
            context.store, context.run_id, write.item_id, write.step, write.request, write.before, context.now_ms()
        )
