"""Job context: what every long job is given, whichever job it is. The store, the project, the clock, who watches, and
whether to stop.

A job takes it as its first argument and its own options after it, so that a surface, a test or a worker sets up all
jobs alike. `App.job` makes one for the people at a terminal.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from forgelore.ports.progress import Watcher
from forgelore.store.database import Store
from forgelore.store.projects import StoredProject
from forgelore.text.dates import machine_ms


def never() -> bool:
    """Whether to stop, for a job that nobody stops."""
    return False


class JobContext(NamedTuple):
    """A job asks `should_stop` between two steps, and keeps what it did until then."""

    store: Store
    project: StoredProject
    now_ms: Callable[[], int] = machine_ms
    watcher: Watcher = Watcher()
    should_stop: Callable[[], bool] = never
    sleep: Callable[[float], None] = time.sleep
