"""The page loop: lists of a forge, read page by page from where their cursors stand, each page saved with its cursor.

One list that this reader may not see is remembered and the others go on. Any other error ends the loop, and so does the
policy.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TypeGuard

from msgspec import Struct, field

from forgelore.errors import AuthError, LoreError, NotFound, RateLimited
from forgelore.flows.progress import Watcher
from forgelore.flows.sync.fetching import fetch_in_turn, fetch_side_by_side
from forgelore.flows.sync.page import PageSaver
from forgelore.model import Cursor
from forgelore.ports import Page, Resource
from forgelore.store.db import Store
from forgelore.store.sync_state import load_cursor


class ListsRead(Struct):
    """What was read. `stopped`: why reading ended before the end."""

    pages: int = 0
    read: set[str] = field(default_factory=set)  # names of lists that were shown
    refused: dict[Resource, LoreError] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    stopped: str = ""


class PageLoop:
    """Reads lists of one project by the policy of its saver; `result` grows with every page, also when one fails.

    `confirm` is called in each transaction before anything is written, and raises where this run may not write.
    """

    def __init__(
        self, saver: PageSaver, *, now: Callable[[], int], watcher: Watcher | None = None,
        stop: threading.Event | None = None, confirm: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._saver, self._now, self._confirm = saver, now, confirm
        self._watcher, self._stop = watcher or Watcher(), stop or threading.Event()
        self.result = ListsRead()

    def read(self, resources: Iterable[Resource], expected: Mapping[str, int] | None = None) -> None:
        """Read these lists to their ends, or until the policy says stop. `expected` rows of a list, by its name, are
        for people only.
        """
        expected = expected or {}
        sources = {resource: self._pages_of(resource, expected.get(resource.name)) for resource in resources}
        policy = self._saver.policy
        arriving = fetch_in_turn(sources) if policy.is_in_turn else fetch_side_by_side(sources, self._stop)
        with contextlib.closing(arriving):
            for arrival in arriving:
                self.result.stopped = self._take(*arrival)
                if self.result.stopped:
                    return

    def _take(self, resource: Resource, page: Page | BaseException | None) -> str:
        """Save a page, or note how its list ended; returns why to stop, empty: go on."""
        policy = self._saver.policy
        if isinstance(page, Page):
            self._save(resource, page)
            return policy.why_stop()
        if isinstance(page, RateLimited) and policy.is_stopped_by_limits:
            return page.message
        if page is not None:
            if not is_refusal(page):
                raise page
            self.result.refused[resource] = page
        self._watcher.done(resource.name)
        return ""

    def _pages_of(self, resource: Resource, expected: int | None) -> Callable[[], Iterator[Page]]:
        saver = self._saver
        self._watcher.begin(resource.name, resource.title, expected)
        cursor = load_cursor(saver.store, saver.project_id, resource.name)
        now_ms = saver.forge.server_ms() or self._now()
        if saver.policy.since is not None:
            cursor = Cursor(saver.policy.since, swept_at=now_ms, is_complete=True)
        return partial(saver.forge.pages, saver.project, resource.name, cursor, saver.known, now_ms)

    def _save(self, resource: Resource, page: Page) -> None:
        with self._saver.store.transaction():
            self._confirm()
            rows = self._saver.save(page, resource.name, self._now())
        if page.cursor is not None:  # else it holds a warning, and nothing of the list
            self.result.read.add(resource.name)
        self.result.pages += 1
        self.result.warnings += page.warnings
        self._watcher.saved(resource.name, rows)


def are_complete(store: Store, project_id: int, resources: Iterable[Resource]) -> bool:
    """True when each of these lists was once read to its end."""
    return all(load_cursor(store, project_id, resource.name).is_complete for resource in resources)


def is_refusal(error: BaseException) -> TypeGuard[LoreError]:
    """True when one thing is not for this reader, or not there; with a rejected token nothing is."""
    return not error.is_rejected if isinstance(error, AuthError) else isinstance(error, NotFound)
