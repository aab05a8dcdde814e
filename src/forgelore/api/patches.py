"""Patches of changes: the beginning of their diffs, read from their forge for a model that is shown them."""

import threading
from collections.abc import Callable

from forgelore.app import App
from forgelore.config import find_token
from forgelore.errors import LoreError
from forgelore.model import Project
from forgelore.ports.forge import ForgeReader
from forgelore.records import JudgedItem
from forgelore.store.projects import StoredProject
from forgelore.store.sync import has_cursors
from forgelore.words import ItemKey

MAX_CHARS = 60_000  # thirty files of two thousand; a model is shown the beginning of each
FAILURES = 3


def make_patch_reader(app: App, project: StoredProject) -> Callable[[JudgedItem], str] | None:
    """Return what reads the patches of many changes; None for an imported project, and without a token: a forge lets
    nobody read hundreds of them unnamed.
    """
    is_synced = has_cursors(app.store(), project.id)
    has_token = is_synced and find_token(app.config, app.environ, project.name.forge, project.name.host)[0]
    return PatchReader(app, project).fetch if has_token else None


class PatchReader:
    """Reads the patches of one project's changes, for several threads; the project itself is asked for once.

    A patch that is not shown is "": a model can do without. After a few failures in a row nobody asks further: each
    takes half a minute of retries.
    """

    def __init__(self, app: App, project: StoredProject) -> None:
        self._app, self._name = app, project.name
        self._guard = threading.Lock()
        self._current: Project | None = None
        self._failures = 0

    def fetch(self, item: JudgedItem) -> str:
        """Return the beginning of a change's diff."""
        if self._failures >= FAILURES:
            return ""
        try:
            forge, project = self._connect()
            found = forge.fetch_diff(project, ItemKey("change", item.number), max_chars=MAX_CHARS) or ""
        except LoreError:
            self._failures += 1
            return ""
        self._failures = 0
        return found

    def _connect(self) -> tuple[ForgeReader, Project]:
        with self._guard:
            forge = self._app.forge(self._name)
            if self._current is None:
                self._current = forge.fetch_project(self._name)
            return forge, self._current


def fetch_start_of_diff(forge: ForgeReader, project: Project, number: int) -> str:
    """Return the beginning of a change's diff; "" where the forge does not show it: a judge can do without."""
    try:
        return forge.fetch_diff(project, ItemKey("change", number), max_chars=MAX_CHARS) or ""
    except LoreError:
        return ""
