"""Worker threads, each with a history of its own: a history is not shared between threads, and many agents ask at once.

A thread keeps its history, and with it the vectors in memory, as long as the server runs. The threads end with the
process: nobody waits for one that hangs in a slow answer of a forge or an embedder. Work that is cancelled ends at its
next step, and its thread answers the next question.
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
_CLOSE_TIMEOUT_S = 5  # for what is running when the server ends: a transaction takes less
Reply = TypeVar("Reply")


class _Question:
    """A question that waits or runs. `history`: the one that answers it, while it does."""

    def __init__(self, future: "concurrent.futures.Future[object]") -> None:
        self.future = future
        self.history: History | None = None
        self.is_cancelled = False


class HistoryThreads:
    """Threads that answer questions; they begin when there are any."""

    def __init__(self, make: "Callable[[], History]") -> None:
        self._make = make
        self._waiting: queue.SimpleQueue[Callable[[Callable[[], History]], None]] = queue.SimpleQueue()
        self._guard = threading.Lock()
        self._idle = 0
        self._threads: list[threading.Thread] = []
        self._histories: list[History] = []
        self._running: set[_Question] = set()
        self._is_closing = False

    async def ask(self, question: "Callable[[History], Reply]") -> Reply:
        """Return the answer of a history, in a thread of its own. Cancelling it ends the work at its next step."""
        future: concurrent.futures.Future[Reply] = concurrent.futures.Future()
        asked = _Question(future)  # type: ignore[arg-type]  # of whatever type: only whether it is done matters

        def answer(open_history: "Callable[[], History]") -> None:
            if not future.set_running_or_notify_cancel():
                self._end(asked)
                return
            try:
                history = open_history()
                self._begin(asked, history)
                found = question(history)
                self._end(asked)
                future.set_result(found)
            except Exception as error:  # noqa: BLE001 - passed on to whoever waits for it
                self._end(asked)
                future.set_exception(error)
            except BaseException:  # noqa: BLE001 - how a history ends what it is doing
                self._end(asked)
                future.set_exception(Stopped("this was cancelled, or the server ends", hint="ask again"))

        with self._guard:
            self._running.add(asked)
            if self._idle <= self._waiting.qsize() and len(self._threads) < THREADS:
                self._start()
        self._waiting.put(answer)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            self._cancel(asked)
            raise

    def _begin(self, asked: "_Question", history: "History") -> None:
        with self._guard:
            asked.history = history
            if asked.is_cancelled:  # while the file was opened
                history.stop.set()

    def _end(self, asked: "_Question") -> None:
        """What was cancelled has ended: the next question begins with a history that may go on."""
        with self._guard:
            self._running.discard(asked)
            history, asked.history = asked.history, None
            if history and not self._is_closing:
                history.stop.clear()

    def _cancel(self, asked: "_Question") -> None:
        with self._guard:
            asked.is_cancelled = True
            if asked.history:
                asked.history.interrupt()

    def close(self) -> None:
        """End what is running, after its transaction, and close the files. Nothing is asked afterwards."""
        self._is_closing = True
        for history in self._histories:
            history.interrupt()
        concurrent.futures.wait([one.future for one in list(self._running)], timeout=_CLOSE_TIMEOUT_S)
        for history in self._histories:
            with contextlib.suppress(
                LoreError
            ):  # a file that was read without locks has changed, and nobody is left to report that to
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
            opened[0].reopen_replaced()
            return opened[0]

        while True:
            with self._guard:
                self._idle += 1
            answer = self._waiting.get()
            with self._guard:
                self._idle -= 1
            answer(open_history)
