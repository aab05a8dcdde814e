"""Commands that take longer: progress on standard error, and how Ctrl-C ends them.

In a terminal progress is a bar per resource with counts, rate and time left; in a log a line now and then. rich is
imported here, by the bars alone.
"""

import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from forgelore.api import Watcher

if TYPE_CHECKING:
    from rich.progress import TaskID
    from rich.status import Status

    from forgelore.surfaces.cli.command import Context


class LogWatcher(Watcher):
    """For pipes and CI: one line when a resource is done, and one every ten seconds while it is not."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._rows: dict[str, int] = {}
        self._titles: dict[str, str] = {}
        self._totals: dict[str, int | None] = {}
        self._last = time.monotonic()

    def begin(self, resource: str, title: str, total: int | None) -> None:
        self._titles[resource], self._totals[resource] = title, total
        self._rows.setdefault(resource, 0)

    def saved(self, resource: str, rows: int) -> None:
        self._rows[resource] = self._rows.get(resource, 0) + rows
        if time.monotonic() - self._last >= 10:
            self._last = time.monotonic()
            self._say(resource, " …")

    def done(self, resource: str) -> None:
        if self._rows.get(resource):
            self._say(resource, "")

    def waiting(self, seconds: float, reason: str) -> None:
        if seconds >= 5:
            print(f"{self._project}: waiting {seconds:.0f} s ({reason})", file=sys.stderr)

    def announce(self, text: str) -> None:
        print(f"{self._project}: {text}", file=sys.stderr)

    def _say(self, resource: str, end: str) -> None:
        rows, total = self._rows[resource], self._totals[resource]
        # A forge's total is older than its rows: "740 of 500" would be no news but of a wrong total.
        of = f" of {total:,}" if total and end and rows <= total else ""
        print(f"{self._project}: {self._titles[resource]}: {rows:,}{of}{end}", file=sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        return


class BarWatcher(Watcher):
    """For people: a bar per resource, with counts, rate and time left."""

    def __init__(self, project: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

        self._bars = Progress(
            SpinnerColumn(finished_text="[green]✓[/]"), TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24), TextColumn("{task.fields[count]}", justify="right"),
            TextColumn("[dim]{task.fields[rate]}[/]", justify="right"), TimeRemainingColumn(elapsed_when_finished=True),
            console=Console(stderr=True),
        )  # fmt: skip
        self._project = project
        self._tasks: dict[str, TaskID] = {}
        self._started: dict[str, float] = {}

    def begin(self, resource: str, title: str, total: int | None) -> None:
        if resource not in self._tasks:
            self._tasks[resource] = self._bars.add_task(title, total=total, rate="", count="0")
            self._started[resource] = time.monotonic()

    def saved(self, resource: str, rows: int) -> None:
        task = self._bars.tasks[self._tasks[resource]]
        done = int(task.completed) + rows
        total = max(task.total, done) if task.total else None
        seconds = time.monotonic() - self._started[resource]
        rate = f"{done / seconds:,.0f}/s" if seconds > 0.5 else ""
        count = f"{done:,}/{int(total):,}" if total else f"{done:,}"
        self._bars.update(task.id, completed=done, total=total, rate=rate, count=count)

    def done(self, resource: str) -> None:
        task = self._bars.tasks[self._tasks[resource]]
        self._bars.update(
            task.id, total=task.completed or 1, completed=task.completed or 1, count=f"{int(task.completed):,}"
        )

    def waiting(self, seconds: float, reason: str) -> None:
        self._bars.console.print(f"[yellow]waiting {seconds:.0f} s[/] ({reason})", highlight=False)

    def announce(self, text: str) -> None:
        self._bars.console.print(text, highlight=False, markup=False)

    def __enter__(self) -> Self:
        self._bars.console.print(f"[bold]{self._project}[/]", highlight=False)
        self._bars.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._bars.stop()


class Spinner:
    """For a wait of a few seconds: one line that moves, on a terminal only, and leaves nothing behind."""

    def __init__(self, *, is_shown: bool) -> None:
        self._is_shown = is_shown and sys.stderr.isatty()
        self._status: Status | None = None

    def show_asking(self, server: str) -> None:
        self.hide()
        if self._is_shown:
            from rich.console import Console
            from rich.markup import escape

            self._status = Console(stderr=True).status(f"asking {escape(server)} …")
            self._status.start()

    def hide(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.hide()


def make_watcher(project: str, *, is_quiet: bool) -> BarWatcher | LogWatcher:
    return BarWatcher(project) if sys.stderr.isatty() and not is_quiet else LogWatcher(project)


@contextlib.contextmanager
def watched(context: "Context", title: str) -> Iterator[BarWatcher | LogWatcher]:
    """Show progress below a title; Ctrl-C and SIGTERM end the command at once."""
    with stopping_on_interrupt(context), make_watcher(title, is_quiet=context.is_data) as watcher:
        yield watcher


@contextlib.contextmanager
def stopping_on_interrupt(context: "Context") -> Iterator[None]:
    """Ctrl-C and SIGTERM end the command at once, a request that hangs included.

    Only a transaction is finished first, which takes a moment; a second Ctrl-C does not wait for that either.
    """
    history = context.history

    def stop(_signal: int, _frame: object) -> None:
        is_second = history.stop.is_set()
        history.stop.set()
        if is_second or not history.is_writing:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
