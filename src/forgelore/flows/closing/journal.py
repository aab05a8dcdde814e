"""Journalled writes: each is written down before it is sent, and completed by its answer.

    written down as sent → sent to the forge → written down as done

Killed before the second arrow is over, the entry says that a write may have happened; `reconcile` then asks the forge.
So it does when an answer is lost: it looks several times, with longer and longer pauses, because a forge may show a
write later than it took it. What is not there in the end is sent once more; lost again, the entry stays as sent, and
the next run asks. A refusal that surely left nothing behind ends as failed.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from forgelore.errors import AuthError, NotFound
from forgelore.model import ItemKey, Project
from forgelore.ports import ConversationLocked, Forge, LostWrite
from forgelore.store.db import Store
from forgelore.store.projects import StoredProject
from forgelore.store.sync_state import Lock
from forgelore.store.write_journal import JournalEntry, JournalValue, NewWrite, begin_write, end_write

_SURE = (AuthError, NotFound, ConversationLocked)
_TRIES = 2
_PAUSES_S = (0.0, 1.0, 2.0, 4.0, 8.0)  # before each look for a write whose answer was lost

JournalValues = Mapping[str, JournalValue]
NOT_FOUND: JournalValues = {"found": "not done"}


class RunClock(NamedTuple):
    """Time, as an app hands it in."""

    now_ms: Callable[[], int]
    sleep: Callable[[float], None]


class WriteContext(NamedTuple):
    """Everything that a run of writes needs. `own`: our login, None where the forge does not tell it."""

    store: Store
    forge: Forge
    project: Project
    stored: StoredProject
    run_id: int
    own: str | None
    lock: Lock
    clock: RunClock

    @property
    def project_id(self) -> int:
        return self.stored.id

    def now_ms(self) -> int:
        return self.clock.now_ms()


def _nothing() -> JournalValues:
    return {}


class Write(NamedTuple):
    """One write: its step, what is asked for, what a rollback restores, what sends it, and what is read of the forge
    once it has answered, before the entry counts as done.
    """

    key: ItemKey
    step: str
    request: JournalValues
    before: JournalValues
    send: Callable[[], JournalValues]
    read: Callable[[], JournalValues] = _nothing


def perform(context: WriteContext, write: Write, look_up: Callable[[JournalEntry], JournalValues | None]) -> None:
    """Write down, send, complete. When the answer is lost, `look_up` tells what the forge shows of the write, None:
    nothing. Raises LostWrite when nobody can know; the entry then stays as sent.
    """
    for attempt in range(_TRIES):
        entry = _begin(context, write)
        try:
            answer = write.send()
        except LostWrite:
            found = _look_again(context, entry, look_up)
            if found is None and attempt == _TRIES - 1:
                raise
            complete(context, entry.id, "failed" if found is None else "done", found or NOT_FOUND)
            if found is not None:
                return
        except _SURE as error:
            complete(context, entry.id, "failed", {"error": error.message})
            raise
        else:
            complete(context, entry.id, "done", {**answer, **write.read()})
            return


def _look_again(
    context: WriteContext, entry: JournalEntry, look_up: Callable[[JournalEntry], JournalValues | None]
) -> JournalValues | None:
    for pause in _PAUSES_S:
        context.clock.sleep(pause)
        if (found := look_up(entry)) is not None:
            return found
    return None


def complete(context: WriteContext, entry_id: int, status: str, answer: JournalValues) -> None:
    with context.store.transaction():
        context.lock.confirm(context.now_ms())
        end_write(context.store, entry_id, status, answer, context.now_ms())


def _begin(context: WriteContext, write: Write) -> JournalEntry:
    new = NewWrite(context.run_id, context.project_id, write.key, context.own, write.step, write.request, write.before)
    with context.store.transaction():
        context.lock.confirm(context.now_ms())
        return begin_write(context.store, new, context.now_ms())
