"""Progress of long work: the one event that jobs emit, and the reporter that jobs call.

A surface passes a callback that takes a `Progress`. A job calls `begin`, `saved` and `done` for each of its stages.
"""

from collections.abc import Callable
from typing import NamedTuple


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
