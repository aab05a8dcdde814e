"""Keeping a lock's heartbeat young while nothing is written: a rate limit can take minutes."""

import contextlib
import threading
from collections.abc import Callable, Iterator

from forgelore.errors import LoreError
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
