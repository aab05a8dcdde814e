"""Reading several lists of a forge side by side: a thread each fetches, the caller's thread saves what arrives."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from queue import Empty, Queue
from typing import Any, TypeGuard

from forgelore.errors import AuthError, LoreError, NotFound
from forgelore.ports import Page, Resource

POLL_S = 0.1
PATIENCE_S = 2.0
STOPPED_S = 0.2  # somebody pressed Ctrl-C: who hangs in an answer is left behind

# What a thread hands over: a page, the error that ended it, or None at its end.
_Handed = tuple[Resource, "Page | BaseException | None"]


def read_side_by_side(
    sources: dict[Resource, Callable[[], Iterator[Page]]], save: Callable[[Resource, Page], None],
    done: Callable[[Resource], None], stop: threading.Event,
) -> dict[Resource, LoreError]:  # fmt: skip
    """Save every page of every source in the order they arrive. Returns the sources that this reader may not see.

    Any other error ends it, and a stop ends it at once.
    """
    refused: dict[Resource, LoreError] = {}
    handed: Queue[_Handed] = Queue(maxsize=len(sources) + 2)
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
            resource, page = _next(handed, stop)
            if isinstance(page, BaseException):
                if not is_refusal(page):
                    raise page
                refused[resource] = page
            if isinstance(page, BaseException) or page is None:
                still_open -= 1
                done(resource)
            else:
                save(resource, page)
    finally:
        halt.set()
        _wait_for(threads, handed, STOPPED_S if stop.is_set() else PATIENCE_S)
    return refused


def is_refusal(error: BaseException) -> TypeGuard[LoreError]:
    """True when one thing is not for this reader, or not there; with a rejected token nothing is."""
    return not error.is_rejected if isinstance(error, AuthError) else isinstance(error, NotFound)


def _fetch(
    resource: Resource, pages: Callable[[], Iterator[Page]], handed: "Queue[_Handed]", halt: threading.Event
) -> None:
    try:
        for page in pages():
            handed.put((resource, page))
            if halt.is_set():
                return
        handed.put((resource, None))
    except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
        handed.put((resource, error))


def _next(handed: "Queue[_Handed]", stop: threading.Event) -> _Handed:
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
