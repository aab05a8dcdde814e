"""What a lock says while work goes on: that its holder lives, also while a rate limit lets nothing be written, and how
far it is.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator

from forgelore.errors import LoreError
from forgelore.ports.progress import Progress, Watcher
from forgelore.store.sync import Lock

EVERY_S = 15.0


@contextlib.contextmanager
def beating(lock: Lock, now: Callable[[], int]) -> Iterator[None]:
    """Confirm the lock every few seconds, in a thread of its own, until the block ends."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(EVERY_S):
            try:
                lock.confirm(now())
            except LoreError:
                return  # the writer meets the same answer in its next transaction and says so

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def noting_progress(lock: Lock, watcher: Watcher | None) -> Watcher:
    """Return a watcher that also has the lock say how far the work is, from its next `confirm` on."""

    def note(event: Progress) -> None:
        if event.done and not event.is_finished:  # the stage that moved last; a list may end with nothing in it
            lock.progress = (event.title, event.done, event.expected)
        if watcher is not None:
            watcher.tell(event)

    return Watcher(note)
