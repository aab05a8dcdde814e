"""Commands that take longer: progress on standard error, and how Ctrl-C ends them.

On a terminal progress is a bar per stage; in a log a line now and then. Both are shown from the same events. rich is
imported here, by the bars and the spinner alone.
"""

import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from forgelore.api import Progress, Watcher
from forgelore.surfaces.present.text import clock_time

if TYPE_CHECKING:
    from rich.progress import TaskID
    from rich.status import Status

    from forgelore.surfaces.cli.command import Context


_LOG_EVERY_S = 10
_LONG_WAIT_S = 5  # shorter waits are not worth a line in a log
_CLOCK_FROM_S = 90  # of longer ones people want to know the end


def _describe_wait(event: Progress) -> str:
    if event.wait_s < _CLOCK_FROM_S:
        return f"waiting {event.wait_s:.0f} s"
    return f"waiting until {clock_time(int((time.time() + event.wait_s + 59) * 1000))}"


class ProgressLog:
    """For pipes and CI: one line when a stage is done, and one every ten seconds while it is not."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._last = time.monotonic()

    def show(self, event: Progress) -> None:
        if event.note:
            self._show_note(event)
        elif event.is_finished:
            if event.done:
                self._print(event, "")
        elif event.done and time.monotonic() - self._last >= _LOG_EVERY_S:
            self._last = time.monotonic()
            self._print(event, " …")

    def _show_note(self, event: Progress) -> None:
        if not event.wait_s:
            print(f"{self._project}: {event.note}", file=sys.stderr)
        elif event.wait_s >= _LONG_WAIT_S:
            print(f"{self._project}: {_describe_wait(event)} ({event.note})", file=sys.stderr)

    def _print(self, event: Progress, end: str) -> None:
        # A forge's total is older than its rows: "740 of 500" would only say that the total is wrong.
        has_total = event.expected and end and event.done <= event.expected
        of = f" of {event.expected:,}" if has_total else ""
        print(f"{self._project}: {event.title}: {event.done:,}{of}{end}", file=sys.stderr)


class ProgressBars:
    """For people: a bar per stage, with counts, rate and time left."""

    def __init__(self, project: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        self.bars = Bars(
            SpinnerColumn(finished_text="[green]✓[/]"), TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24), TextColumn("{task.fields[count]}", justify="right"),
            TextColumn("[dim]{task.fields[rate]}[/]", justify="right"), TimeRemainingColumn(elapsed_when_finished=True),
            console=Console(stderr=True),
        )  # fmt: skip
        self.bars.console.print(f"[bold]{project}[/]", highlight=False)
        self._tasks: dict[str, TaskID] = {}
        self._started: dict[str, float] = {}

    def show(self, event: Progress) -> None:
        if event.wait_s:
            self.bars.console.print(f"[yellow]{_describe_wait(event)}[/] ({event.note})", highlight=False)
        elif event.note:
            self.bars.console.print(event.note, highlight=False, markup=False)
        elif event.stage not in self._tasks:
            self._tasks[event.stage] = self.bars.add_task(event.title, total=event.expected, rate="", count="0")
            self._started[event.stage] = time.monotonic()
        else:
            self._update(self._tasks[event.stage], event)

    def _update(self, task: "TaskID", event: Progress) -> None:
        done = event.done
        if event.is_finished:
            self.bars.update(task, total=done or 1, completed=done or 1, count=f"{done:,}")
            return
        total = max(event.expected, done) if event.expected else None
        seconds = time.monotonic() - self._started[event.stage]
        rate = f"{done / seconds:,.0f}/s" if seconds > 0.5 else ""
        count = f"{done:,}/{total:,}" if total else f"{done:,}"
        self.bars.update(task, completed=done, total=total, rate=rate, count=count)


class Spinner:
    """For a wait of a few seconds: one line that moves, on a terminal only, and leaves nothing behind."""

    def __init__(self, *, is_shown: bool) -> None:
        self._is_shown = is_shown and sys.stderr.isatty()
        self._status: Status | None = None

    def show(self, event: Progress) -> None:
        self.hide()
        if self._is_shown:
            from rich.console import Console
            from rich.markup import escape

            self._status = Console(stderr=True).status(escape(event.note))
            self._status.start()

    def hide(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.hide()


@contextlib.contextmanager
def make_watcher(title: str, *, is_quiet: bool) -> Iterator[Watcher]:
    """Show progress below a title: bars on a terminal, else lines."""
    if is_quiet or not sys.stderr.isatty():
        yield Watcher(ProgressLog(title).show)
        return
    shown = ProgressBars(title)
    with shown.bars:
        yield Watcher(shown.show)


@contextlib.contextmanager
def watched(context: "Context", title: str) -> Iterator[Watcher]:
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
        history.stop.set()  # not `interrupt`: a handler must not wait for a lock that its own thread holds
        if is_second or not history.is_writing:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
