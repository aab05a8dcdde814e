"""How triage comes to know a project: its issues and changes in bulk pages, newest state last, without conversations.

A first run reads the whole history, as far as the forge's limits go, and the next event goes on where it stopped; later
runs read what changed since. So an event that never started a workflow, or whose run failed, is caught up by the next.
Requests are other workflows' too: half of what was left at the start stays for them.
"""

from collections.abc import Callable
from typing import NamedTuple

from forgelore.errors import LoreError, RateLimited, in_words
from forgelore.flows.index.update import update_index
from forgelore.flows.progress import Watcher
from forgelore.flows.sync.deletions import lost_too_many
from forgelore.flows.sync.lists import is_refusal
from forgelore.flows.sync.stored import KnownStore
from forgelore.model import ItemKey, Kind, Project
from forgelore.ports import Embedder, ForgeMeter, ForgeReader
from forgelore.store.db import Store
from forgelore.store.items import save_items
from forgelore.store.sync_state import load_cursor, save_cursor
from forgelore.store.triage import forget_items

KINDS: tuple[Kind, ...] = ("issue", "change")
RESERVE = 100  # requests that are never touched
MAX_LOOKS = 30  # at items that seem gone, in a run
MAX_SWEPT = 5_000  # items whose numbers are compared: fifty requests


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
    store: Store, forge: ForgeReader, project: Project, project_id: int, *, budget: Budget, now_ms: int,
    kinds: tuple[Kind, ...] = KINDS, watcher: Watcher | None = None,
) -> Coverage:  # fmt: skip
    """Read what changed since the last run, as far as the budget goes. Every page is saved with its cursor. Items of
    other kinds than `kinds` are not kept, and not asked for where they have a list of their own.
    """
    watcher = watcher or Watcher()
    is_first = not _coverage(store, forge, project, project_id, kinds).is_complete
    total = _total(forge, project, kinds) if is_first else None  # only people need it, and only while it takes long
    watcher.begin("items", "issues and changes", total)
    pages, stopped = 0, ""
    warnings, refused = list[str](), list[str]()
    for resource in forge.resources(project):
        if not set(resource.lists) & set(kinds) or stopped:
            continue
        cursor = load_cursor(store, project_id, resource.name)
        try:
            for page in forge.pages(project, resource.name, cursor, KnownStore(store, project_id), now_ms):
                with store.transaction():
                    # What only some people may see is not for an index that everybody can read.
                    public = [item for item in page.items if not item.is_confidential and item.key.kind in kinds]
                    save_items(store, project_id, public, keep_raw=False)
                    forget_items(store, project_id, [item.key for item in page.items if item.is_confidential])
                    if page.cursor is not None:
                        save_cursor(store, project_id, resource.name, page.cursor)
                watcher.saved("items", len(page.items))
                warnings += page.warnings
                pages += 1
                if stopped := budget.spent():
                    break
        except RateLimited as error:
            stopped = error.message
        except LoreError as error:
            if not is_refusal(error):
                raise
            refused.append(f"{resource.title}: {in_words(error)}")
    watcher.done("items")
    return _coverage(store, forge, project, project_id, kinds)._replace(
        total=total, pages=pages, stopped=stopped, warnings=tuple(warnings), refused=tuple(refused)
    )


def _total(forge: ForgeReader, project: Project, kinds: tuple[Kind, ...]) -> int | None:
    try:
        counts = forge.counts(project)
    except LoreError:
        return None  # only the share that is known cannot be told
    found = [counts.get(kind) for kind in kinds if kind in counts]
    return sum(number or 0 for number in found) if found and None not in found else None


def _coverage(store: Store, forge: ForgeReader, project: Project, project_id: int, kinds: tuple[Kind, ...]) -> Coverage:
    lists = [resource.name for resource in forge.resources(project) if set(resource.lists) & set(kinds)]
    is_complete = all(load_cursor(store, project_id, name).is_complete for name in lists)
    known = KnownStore(store, project_id)
    return Coverage(sum(known.live_count(kind) for kind in KINDS), None, is_complete)


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
        total, mine = counts.get(kind), known.live_numbers(kind)
        if total is None or total == len(mine) or total > MAX_SWEPT or budget.spent():
            continue
        there = forge.sweep(project, kind)
        gone = [ItemKey(kind, number) for number in mine if number not in there]
        if lost_too_many(len(gone), len(mine)):
            warnings.append(f"{len(gone)} of {len(mine)} {kind}s are not shown to this token any more; they are kept")
            continue
        looks = [forge.look(project, key) for key in gone[:MAX_LOOKS]]
        with store.transaction():
            forgotten += forget_items(store, project_id, [one.key for one in looks if one.is_gone])
    return Dropped(forgotten, tuple(warnings))
