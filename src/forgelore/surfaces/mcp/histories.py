"""Worker threads, each with a history of its own: a history is not shared between threads, and many agents ask at once.

A thread keeps its history, and with it the vectors in memory, as long as the server runs. The threads end with the
process: nobody waits for one that hangs in a slow answer of a forge or an embedder.
"""

import asyncio
import concurrent.futures
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from forgelore.errors import LoreError, Stopped

if TYPE_CHECKING:
    from forgelore.api import History

THREADS = 4
_PATIENCE_S = 5  # for what is running when the server ends: a transaction takes less
Reply = TypeVar("Reply")


class HistoryThreads:
    """Threads that answer questions; they begin when there are any."""

    def __init__(self, make: "Callable[[], History]") -> None:
        self._make = make
        self._waiting: queue.SimpleQueue[Callable[[Callable[[], History]], None]] = queue.SimpleQueue()
        self._guard = threading.Lock()
        self._idle = 0
        self._threads: list[threading.Thread] = []
        self._histories: list[History] = []
        self._running: set[concurrent.futures.Future[object]] = set()

    async def ask(self, question: "Callable[[History], Reply]") -> Reply:
        """Return the answer of a history, in a thread of its own."""
        future: concurrent.futures.Future[Reply] = concurrent.futures.Future()

        def answer(open_history: "Callable[[], History]") -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(question(open_history()))
            except Exception as error:  # noqa: BLE001 - whoever waits for it is told
                future.set_exception(error)
            except BaseException:  # noqa: BLE001 - how a history ends what it is doing
                future.set_exception(Stopped("the server ends", hint="ask again when it runs"))

        with self._guard:
            self._running.add(future)  # type: ignore[arg-type]  # of whatever type: only whether it is done matters
            if self._idle <= self._waiting.qsize() and len(self._threads) < THREADS:
                self._start()
        future.add_done_callback(self._running.discard)
        self._waiting.put(answer)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """End what is running, after its transaction, and close the files. Nothing is asked afterwards."""
        for history in self._histories:
            history.stop.set()
        concurrent.futures.wait(list(self._running), timeout=_PATIENCE_S)
        for history in self._histories:
            with contextlib.suppress(
                LoreError
            ):  # a file that was read without locks has changed: nobody is left to tell
                history.close()

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name=f"history {len(self._threads) + 1}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        opened: list[History] = []

        def open_history() -> "History":
            if not opened:
                opened.append(self._make())
                self._histories.append(opened[0])
            return opened[0]

        while True:
            with self._guard:
                self._idle += 1
            answer = self._waiting.get()
            with self._guard:
                self._idle -= 1
            answer(open_history)
