"""Progress of long work: the one event that jobs emit, the reporter that jobs call, and the task that can be cancelled.

A surface passes a callback that takes a `Progress`. A job calls `begin`, `saved` and `done` for each of its stages. A
task asks `check()` between two steps, or hands `is_cancelled` on, and ends with `Stopped` after its transaction.
"""

import os
import threading
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from forgelore.errors import Stopped

Result = TypeVar("Result")


class Progress(NamedTuple):
    """How far a stage is: `done` of `expected` rows (None: nobody knows). `note` alone is a message for people, and
    with `wait_s` the reason why the work waits so many seconds.
    """

    stage: str = ""  # items, comments, documents …
    title: str = ""  # the same, as people read it
    done: int = 0
    expected: int | None = None
    is_finished: bool = False
    note: str = ""
    wait_s: float = 0.0


ProgressCallback = Callable[[Progress], None]


class Watcher:
    """Counts the rows of each stage and hands every change to one callback; without a callback nothing happens."""

    def __init__(self, on_progress: ProgressCallback | None = None) -> None:
        self._on_progress = on_progress
        self._stages: dict[str, Progress] = {}

    def begin(self, resource: str, title: str, total: int | None) -> None:
        """A stage that is begun again goes on counting."""
        self._set(Progress(resource, title, self._stage(resource).done, total))

    def saved(self, resource: str, rows: int) -> None:
        stage = self._stage(resource)
        self._set(stage._replace(done=stage.done + rows, is_finished=False))

    def done(self, resource: str) -> None:
        self._set(self._stage(resource)._replace(is_finished=True))

    def waiting(self, seconds: float, reason: str) -> None:
        self.tell(Progress(note=reason, wait_s=seconds))

    def announce(self, text: str) -> None:
        """Say that something begins which nobody asked for."""
        self.tell(Progress(note=text))

    def tell(self, event: Progress) -> None:
        if self._on_progress is not None:
            self._on_progress(event)

    def _stage(self, name: str) -> Progress:
        return self._stages.get(name) or Progress(name, name)

    def _set(self, event: Progress) -> None:
        if self._on_progress is not None:  # a shared watcher without a callback remembers nothing
            self._stages[event.stage] = event
            self.tell(event)


class Task(Watcher, Generic[Result]):
    """Long work with an id, its latest progress, `cancel()`, and a result or error. Any thread may cancel and read it;
    one thread runs it, once.
    """

    def __init__(self, on_progress: ProgressCallback | None = None) -> None:
        super().__init__(self._keep)
        self.id = os.urandom(8).hex()
        self.progress: Progress | None = None  # of the stage that moved last
        self.error: BaseException | None = None
        self.stop = threading.Event()
        self._cut_off: Callable[[], None] | None = None
        self._guard = threading.Lock()
        self._listeners = [on_progress] if on_progress else []
        self._result: list[Result] = []
        self._ended = threading.Event()

    def cancel(self) -> None:
        """End the work at its next step."""
        with self._guard:  # once the work has ended, what it would cut off belongs to the next task
            self.stop.set()
            if self._cut_off is not None:
                self._cut_off()

    def is_cancelled(self) -> bool:
        return self.stop.is_set()

    def check(self) -> None:
        """Raise Stopped if the task was cancelled."""
        if self.stop.is_set():
            raise Stopped

    @property
    def is_done(self) -> bool:
        return self._ended.is_set()

    def run(self, work: Callable[[], Result], *, cut_off: Callable[[], None] | None = None) -> Result:
        """Do the work in this thread; return its result or raise its error, and keep either for `wait`. `cut_off` is
        called by `cancel`, in its thread, to end what takes long between two steps.
        """
        self._connect(cut_off)
        try:
            self.check()
            self._result.append(work())
        except BaseException as error:
            self.error = error
            raise
        finally:
            self._connect(None)
            self._ended.set()
        return self._result[0]

    def wait(self, timeout_s: float | None = None) -> Result:
        """Return the result or raise the error, from another thread. Raises TimeoutError."""
        if not self._ended.wait(timeout_s):
            raise TimeoutError(f"task {self.id} is still running")
        if self.error is not None:
            raise self.error
        return self._result[0]

    def listen(self, on_progress: ProgressCallback) -> None:
        """Have one more callback told of progress; adding it again changes nothing."""
        if on_progress not in self._listeners:
            self._listeners.append(on_progress)

    def _connect(self, cut_off: Callable[[], None] | None) -> None:
        with self._guard:
            self._cut_off = cut_off

    def _keep(self, event: Progress) -> None:
        if event.stage:
            self.progress = event
        for tell in self._listeners:
            tell(event)
