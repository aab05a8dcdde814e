"""Work on several parts side by side, results in the order of the parts: requests under way at a server of a model."""

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import TypeVar

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


def map_side_by_side(work: Callable[[_Part], _Result], parts: Sequence[_Part], *, at_once: int) -> list[_Result]:
    """Return what `work` makes of each part, at most `at_once` of them under way.

    The first error is raised, and nothing further is begun. The threads are daemons: after it nobody waits for those
    that hang in an answer, and what they bring is dropped.
    """
    if at_once == 1 or len(parts) < 2:
        return [work(part) for part in parts]
    todo: SimpleQueue[int] = SimpleQueue()
    done: SimpleQueue[tuple[int, _Result | BaseException]] = SimpleQueue()
    halt = threading.Event()
    for at in range(len(parts)):
        todo.put(at)

    def run() -> None:
        while not halt.is_set():
            try:
                at = todo.get_nowait()
            except Empty:
                return
            try:
                done.put((at, work(parts[at])))
            except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
                halt.set()  # here: until that thread runs, others would go on
                done.put((at, error))

    for _ in range(min(at_once, len(parts))):
        threading.Thread(target=run, daemon=True).start()
    results: dict[int, _Result] = {}
    try:
        while len(results) < len(parts):
            at, result = done.get()
            if isinstance(result, BaseException):
                raise result
            results[at] = result
    finally:
        halt.set()
    return [results[at] for at in range(len(parts))]
