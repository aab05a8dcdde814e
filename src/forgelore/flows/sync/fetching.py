"""Fetching the pages of several lists: side by side, a thread for each, or in turn and not a page too many.

The caller's thread takes what arrives and saves it.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Iterator
from queue import Empty, Queue
from typing import Any

from forgelore.errors import LoreError
from forgelore.ports import Page, Resource

POLL_S = 0.1
PATIENCE_S = 2.0
STOPPED_S = 0.2  # somebody pressed Ctrl-C: who hangs in an answer is left behind

# What arrives of a list: a page, the error that ended it, or None at its end.
Arrival = tuple[Resource, Page | BaseException | None]
Sources = dict[Resource, Callable[[], Iterator[Page]]]


def fetch_in_turn(sources: Sources) -> Generator[Arrival]:
    """Yield the pages of one list after the other, each asked for when the one before is done with."""
    for resource, pages in sources.items():
        try:
            for page in pages():
                yield resource, page
        except LoreError as error:
            yield resource, error
        else:
            yield resource, None


def fetch_side_by_side(sources: Sources, stop: threading.Event) -> Generator[Arrival]:
    """Yield the pages of all lists in the order they arrive. A stop ends it at once."""
    handed: Queue[Arrival] = Queue(maxsize=len(sources) + 2)
    halt = threading.Event()
    threads = [
        threading.Thread(target=_fetch, args=(resource, pages, handed, halt), daemon=True)
        for resource, pages in sources.items()
    ]
    for thread in threads:
        thread.start()
    try:
        still_open = len(sources)
        while still_open:
            arrival = _next(handed, stop)
            still_open -= not isinstance(arrival[1], Page)
            yield arrival
    finally:
        halt.set()
        _wait_for(threads, handed, STOPPED_S if stop.is_set() else PATIENCE_S)


def _fetch(
    resource: Resource, pages: Callable[[], Iterator[Page]], handed: "Queue[Arrival]", halt: threading.Event
) -> None:
    try:
        for page in pages():
            handed.put((resource, page))
            if halt.is_set():
                return
        handed.put((resource, None))
    except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
        handed.put((resource, error))


def _next(handed: "Queue[Arrival]", stop: threading.Event) -> Arrival:
    while True:
        if stop.is_set():
            raise KeyboardInterrupt
        with contextlib.suppress(Empty):
            return handed.get(timeout=POLL_S)


def _wait_for(threads: list[threading.Thread], handed: "Queue[Any]", patience_s: float) -> None:
    """Let the threads end, emptying the queue so that none waits to put. One that hangs in an answer is left behind."""
    until = time.monotonic() + patience_s
    while any(thread.is_alive() for thread in threads) and time.monotonic() < until:
        with contextlib.suppress(Empty):
            handed.get(timeout=0.01)
