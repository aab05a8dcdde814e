"""A pool of histories, for programs that answer many at once: an MCP server, a web server.

A history is not shared between threads. So the pool has a few threads, each with a history of its own, which it keeps
with what that has read as long as the program runs; the vectors of a large database are one file that all of them map.
The threads end with the process: nobody waits for one that hangs in a slow answer of a forge or an embedder. Work that
is cancelled ends at its next step, and its thread answers the next question.
"""

import asyncio
import concurrent.futures
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from forgelore.errors import LoreError, Stopped
from forgelore.ports.progress import Task

if TYPE_CHECKING:
    from forgelore.api.history import History

MAX_THREADS = 4
_CLOSE_TIMEOUT_S = 5  # for what is running when the server ends: a transaction takes less
Reply = TypeVar("Reply")


class HistoryPool:
    """Threads that answer questions, each question a task; they begin when there are any.

    pool = forgelore.api.HistoryPool(lambda: forgelore.open("history.db"))
    pool.submit(lambda history: history.count("issues").total).result()
    """

    def __init__(self, make: "Callable[[], History]", *, threads: int = MAX_THREADS) -> None:
        self._make, self._max_threads = make, threads
        self._waiting: queue.SimpleQueue[Callable[[Callable[[], History]], None]] = queue.SimpleQueue()
        self._guard = threading.Lock()
        self._idle = 0
        self._threads: list[threading.Thread] = []
        self._histories: list[History] = []
        self._running: dict[str, Callable[[], None]] = {}  # how to cancel each task

    async def ask(self, question: "Callable[[History], Reply]") -> Reply:
        """Return the answer, in a program of coroutines. Cancelling it ends the work at its next step."""
        task: Task[Reply] = Task()
        try:
            return await asyncio.wrap_future(self.submit(question, task))
        except asyncio.CancelledError:
            task.cancel()
            raise

    def submit(
        self, question: "Callable[[History], Reply]", task: Task[Reply] | None = None
    ) -> "concurrent.futures.Future[Reply]":
        """Have a question answered with a history, in a thread of its own. The task, where one is given, shows progress
        and cancels the work at its next step.
        """
        future: concurrent.futures.Future[Reply] = concurrent.futures.Future()
        task = task or Task()

        def answer(open_history: "Callable[[], History]") -> None:
            try:
                if not future.set_running_or_notify_cancel():
                    return
                task.check()
                future.set_result(open_history().run(task, question))
            except Stopped:
                future.set_exception(Stopped("this was cancelled, or the server ends", hint="ask again"))
            except BaseException as error:  # noqa: BLE001 - passed on to whoever waits for it
                future.set_exception(error)
            finally:
                self._running.pop(task.id, None)

        with self._guard:
            self._running[task.id] = task.cancel
            if self._idle <= self._waiting.qsize() and len(self._threads) < self._max_threads:
                self._start()
        self._waiting.put(answer)
        return future

    def close(self) -> None:
        """End what is running, after its transaction, and close the files. Nothing is asked afterwards."""
        for cancel in list(self._running.values()):
            cancel()
        ends = time.monotonic() + _CLOSE_TIMEOUT_S
        while self._running and time.monotonic() < ends:
            time.sleep(0.01)
        for history in self._histories:
            with contextlib.suppress(LoreError):  # a file read without locks has changed: nobody is left to tell
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
