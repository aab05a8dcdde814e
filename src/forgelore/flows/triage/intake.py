"""How triage comes to know a project: its issues and changes by sync's page loop, without conversations and payloads.

A first run reads the whole history, as far as the forge's limits go, and the next event goes on where it stopped; later
runs read what changed since. So an event that never started a workflow, or whose run failed, is caught up by the next.
Requests are other workflows' too: half of what was left at the start stays for them.
"""

from collections.abc import Callable
from typing import NamedTuple

from forgelore.errors import LoreError, in_words
from forgelore.flows.index.update import update_index
from forgelore.flows.progress import Watcher
from forgelore.flows.sync.deletions import compare_numbers
from forgelore.flows.sync.lists import PageLoop, are_complete
from forgelore.flows.sync.page import PageSaver
from forgelore.flows.sync.policy import ReadPolicy
from forgelore.flows.sync.stored import KnownStore
from forgelore.model import Kind, Project
from forgelore.ports import Embedder, ForgeMeter, ForgeReader
from forgelore.store.db import Store
from forgelore.store.triage import forget_items

KINDS: tuple[Kind, ...] = ("issue", "change")
RESERVE = 100  # requests that are never touched
MAX_LOOKS = 30  # at items that seem gone, in a run
MAX_SWEPT = 5_000  # items whose numbers are compared: fifty requests
# What only some people may see is not for an index that everybody can read. Pages are read in turn: a page that was
# fetched ahead would be a request too many when the budget is spent.
INDEX_POLICY = ReadPolicy(
    forget_hidden=forget_items, keeps_payloads=False, is_items_only=True, is_in_turn=True, is_stopped_by_limits=True
)


class Coverage(NamedTuple):
    """How much of a project is in the index. `total` None: the forge did not say."""

    known: int
    total: int | None
    is_complete: bool
    pages: int = 0
    stopped: str = ""  # why reading ended before the end
    warnings: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()  # lists that this token may not read


class Budget:
    """What a run may spend: half of the requests that are left, and some time."""

    def __init__(self, forge: ForgeMeter, is_late: Callable[[], bool]) -> None:
        self._forge, self._is_late = forge, is_late
        self._floor: int | None = None

    def spent(self) -> str:
        """Return why to stop now; empty: go on."""
        left = self._forge.requests_left()
        if left is not None:
            if self._floor is None:
                self._floor = max(RESERVE, left // 2)
            if left <= self._floor:
                return f"{left} requests are left in this hour"
        return "the time of this run is spent" if self._is_late() else ""


def cover(
    store: Store, forge: ForgeReader, project: Project, project_id: int, *, budget: Budget, now_ms: Callable[[], int],
    kinds: tuple[Kind, ...] = KINDS, queues_files: bool = False, watcher: Watcher | None = None,
) -> Coverage:  # fmt: skip
    """Read what changed since the last run, as far as the budget goes. Items of other kinds than `kinds` are not kept,
    and not asked for where they have a list of their own. With `queues_files` changes wait for `flows/triage/files`.
    """
    lists = [resource for resource in forge.resources(project) if set(resource.lists) & set(kinds)]
    # Only people need the total, and only while reading takes long.
    total = None if are_complete(store, project_id, lists) else _total(forge, project, kinds)
    policy = INDEX_POLICY._replace(kinds=kinds, queues_files=queues_files, why_stop=budget.spent)
    saver = PageSaver(store, forge, project, project_id, policy)
    watcher = watcher or Watcher()
    watcher.begin("items", "issues and changes", total)
    pages = PageLoop(saver, now=now_ms, watcher=_OnePart(watcher))
    pages.read(lists)
    watcher.done("items")
    done, known = pages.result, sum(saver.known.live_count(kind) for kind in KINDS)
    refused = tuple(f"{resource.title}: {in_words(error)}" for resource, error in done.refused.items())
    is_complete = are_complete(store, project_id, lists)
    return Coverage(known, total, is_complete, done.pages, done.stopped, tuple(done.warnings), refused)


def _total(forge: ForgeReader, project: Project, kinds: tuple[Kind, ...]) -> int | None:
    try:
        counts = forge.counts(project)
    except LoreError:
        return None  # only the share that is known cannot be told
    found = [counts.get(kind) for kind in kinds if kind in counts]
    return sum(number or 0 for number in found) if found and None not in found else None


class _OnePart(Watcher):
    """Shows several lists as one part: a forge may have one for issues and changes, or one for each."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def saved(self, resource: str, rows: int) -> None:  # noqa: ARG002 - whichever list it was
        self._watcher.saved("items", rows)


def make_searchable(
    store: Store, embedder: Embedder | None, project_ids: list[int], *, now_ms: Callable[[], int],
    watcher: Watcher | None = None,
) -> None:  # fmt: skip
    """Build the documents and vectors of what was read. An embedder that fails is a problem of the run."""
    update = update_index(store, project_ids, lambda: embedder, watcher=watcher, now_ms=now_ms)
    if update.failure is not None:
        raise update.failure


class Dropped(NamedTuple):
    forgotten: int = 0
    warnings: tuple[str, ...] = ()


def drop_missing(
    store: Store,
    forge: ForgeReader,
    project: Project,
    project_id: int,
    *,
    budget: Budget,
    kinds: tuple[Kind, ...] = KINDS,
) -> Dropped:
    """Forget what the forge no longer has: an item's deletion may have started no workflow.

    The forge's total may count what the index must not hold, so any difference is a reason to compare the numbers.
    """
    counts = forge.counts(project)
    known = KnownStore(store, project_id)
    forgotten, warnings = 0, []
    for kind in kinds:
        total = counts.get(kind)
        if total is None or total == known.live_count(kind) or total > MAX_SWEPT or budget.spent():
            continue
        found = compare_numbers(known, forge, project, kind)
        if found.is_lost_sight:
            gone = len(found.gone)
            warnings.append(f"{gone} of {found.live} {kind}s are not shown to this token any more; they are kept")
            continue
        looks = [forge.look(project, key) for key in found.gone[:MAX_LOOKS]]
        with store.transaction():
            forgotten += forget_items(store, project_id, [one.key for one in looks if one.is_gone])
    return Dropped(forgotten, tuple(warnings))
