"""The repair of what a check found: what is derived is made again, and rows from the answers of their forge.

A repair mends, checks, and mends again what that brought to light (a table that was made again is empty, a row that was
restored has an old document), until a check is clean or nothing changes any more. Each step is a transaction of its
own, and doing it twice is doing it once: a repair that was cut off is simply run again. What cannot be made from
anything else is left as it is, and the finding says what to do.
"""

from functools import partial

from msgspec import Struct, structs

from forgelore.errors import EmbedderError
from forgelore.flows.index.check import Checked, CheckRequest, check_store
from forgelore.flows.index.repair_steps import STEPS, RepairContext
from forgelore.flows.index.update import update_index
from forgelore.flows.progress import Watcher
from forgelore.ports import Embedder
from forgelore.store.db import Store
from forgelore.store.health import find_current_embedder
from forgelore.store.projects import list_projects
from forgelore.store.waiting import count_waiting
from forgelore.words import JobKind

_ROUNDS = 5
_HOPELESS = frozenset(["damaged_file", "source_missing"])
# What these leave behind is seen by the next check: documents are not built on half of the truth.
_FIRST = frozenset(["table_missing", "text_unreadable"])
_LOSES_VECTORS = frozenset(["embedder_altered", "broken_references"])


class Repair(Struct, frozen=True):
    """What a repair did about a finding: how many there were, and how many are left."""

    name: str
    found: int
    left: int


class Repaired(Struct, frozen=True):
    """What was mended, what a check says now, and what people should know of how it was done."""

    repairs: list[Repair]
    checked: Checked
    notes: list[str]


def repair_store(store: Store, request: CheckRequest | None = None) -> Repaired:
    """Mend what can be mended. Damaged pages are left as they are: what could be read of them cannot be trusted."""
    request = request or CheckRequest()
    checked = check_store(store, request)
    found: dict[str, int] = {}
    notes: dict[str, None] = {}
    before: dict[str, int] | None = None
    for number in range(_ROUNDS):
        now = {finding.name: finding.count for finding in checked.findings}
        found = now | found
        if not now or now == before or _HOPELESS & now.keys():
            break
        before = now
        again = structs.replace(request, watcher=_RoundWatcher(request.watcher, number))
        _mend(RepairContext(store, again, {finding.name: finding for finding in checked.findings}, notes))
        checked = check_store(store, again)
    left = {finding.name: finding.count for finding in checked.findings}
    return Repaired([Repair(name, count, left.get(name, 0)) for name, count in found.items()], checked, list(notes))


class _RoundWatcher(Watcher):
    """Keeps the parts of one round apart from those of the others, which have the same names."""

    def __init__(self, watcher: Watcher, number: int) -> None:
        self._watcher, self._number = watcher, number

    def begin(self, resource: str, title: str, total: int | None) -> None:
        self._watcher.begin(f"{resource} {self._number}", title, total)

    def saved(self, resource: str, rows: int) -> None:
        self._watcher.saved(f"{resource} {self._number}", rows)

    def done(self, resource: str) -> None:
        self._watcher.done(f"{resource} {self._number}")


def _mend(context: RepairContext) -> None:
    for names, step in STEPS:
        if any(name in context.findings for name in names):
            step(context)
    if not _FIRST & context.findings.keys():
        _update_index(context)


def _update_index(context: RepairContext) -> None:
    store, request = context.store, context.request
    projects = [project.id for project in list_projects(store)]
    update = update_index(
        store, projects, partial(_embedder_of_the_others, context), watcher=request.watcher, now_ms=request.now_ms
    )
    if isinstance(update.failure, EmbedderError):
        context.notes[f"some vectors could not be made: {update.failure.message}"] = None
    elif update.failure is not None:
        raise update.failure
    if count := count_waiting(store, JobKind.EMBED):
        context.notes[f"{count:,} documents wait for their vectors; run: forgelore embed"] = None


def _embedder_of_the_others(context: RepairContext) -> Embedder | None:
    """Return the embedder of the settings if vectors wait, and if those that are there are of it."""
    store, embedder = context.store, context.request.embedder
    is_lost = any(name.startswith("vector_") or name in _LOSES_VECTORS for name in context.findings)
    if embedder is None or not (count_waiting(store, JobKind.EMBED) or is_lost):
        return None
    is_ours = find_current_embedder(store, embedder.fingerprint()) or (is_lost and not find_current_embedder(store))
    return embedder if is_ours else None
