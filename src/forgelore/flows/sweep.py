"""What the forge no longer has, and what it has that we missed.

Counting is cheap: when the forge's totals equal ours, nothing more is asked. Otherwise the numbers are compared, each
item that seems gone gets a second look by itself, and only then a tombstone. A reader who lost rights sees less, which
is not a deletion: confidential items are never buried, and when too much seems gone at once nothing is.
"""

from collections.abc import Callable

from forgelore.errors import LoreError
from forgelore.flows.known import KnownStore
from forgelore.flows.save import is_switched_off, job_key, parse_job_key
from forgelore.model import Cursor, ItemKey, Kind, Project
from forgelore.ports import Forge, Look
from forgelore.store.db import Store
from forgelore.store.items import bury
from forgelore.store.jobs import fail_job, finish_job, queue_jobs, ready_jobs
from forgelore.store.sync_state import Lock, load_cursor, save_cursor

# (more than so many, and more than this share of all): that is a lost permission rather than somebody tidying up
TOO_MANY = ((20, 0.2), (3, 0.5))


def compare_totals(
    store: Store,
    forge: Forge,
    project: Project,
    project_id: int,
    totals: dict[Kind, int],
    lock: Lock,
    now: Callable[[], int],
) -> list[str]:
    """Queue a look at everything that seems gone and a fetch of everything that was missed. Returns warnings."""
    known = KnownStore(store, project_id)
    warnings: list[str] = []
    for kind, total in totals.items():
        mine = known.live_count(kind)
        if mine != total and load_cursor(store, project_id, f"sweep:{kind}").token != _pair(total, mine):
            _compare(store, forge, project, project_id, kind, lock, now, warnings)
    return warnings


def _compare(
    store: Store, forge: Forge, project: Project, project_id: int, kind: Kind, lock: Lock, now: Callable[[], int],
    warnings: list[str],
) -> None:  # fmt: skip
    there = forge.sweep(project, kind)
    mine = KnownStore(store, project_id).live_numbers(kind)
    gone = [number for number, is_confidential in mine.items() if number not in there and not is_confidential]
    missed = sorted(there - mine.keys())
    if any(len(gone) > number and len(gone) > share * len(mine) for number, share in TOO_MANY):
        warnings.append(
            f"{len(gone)} of {len(mine)} {kind}s are not shown to this token any more; kept, because that looks like"
            f" a lost permission"
        )
        gone = []
    with store.transaction():
        lock.confirm(now())
        queue_jobs(store, project_id, "look", [job_key(ItemKey(kind, number)) for number in gone], now())
        queue_jobs(
            store,
            project_id,
            "item",
            [job_key(ItemKey(kind, number)) for number in missed],
            now(),
        )


def look_again(
    store: Store, forge: Forge, project: Project, project_id: int, lock: Lock, now: Callable[[], int]
) -> int:
    """Ask for each item that seems gone by itself and bury it if it is; returns how many were."""
    buried = 0
    known = KnownStore(store, project_id)
    for job in ready_jobs(store, project_id, "look", now(), 1_000_000):
        key = parse_job_key(job.key)
        if is_switched_off(project, job.key):
            continue
        try:
            look: Look = forge.look(project, key)
        except LoreError as error:
            if error.exit_code in (4, 7):
                raise
            with store.transaction():
                fail_job(store, project_id, job, error.message, now())
            continue
        with store.transaction():
            lock.confirm(now())
            if look.is_gone and not known.is_confidential(key):
                buried += bury(store, project_id, key, now(), look.moved_to)
            finish_job(store, project_id, job)
    return buried


def remember_totals(store: Store, project_id: int, totals: dict[Kind, int], lock: Lock, now: Callable[[], int]) -> None:
    """Keep a pair of totals that could not be made equal, so that the next sync does not sweep again for the same."""
    known = KnownStore(store, project_id)
    with store.transaction():
        lock.confirm(now())
        for kind, total in totals.items():
            mine = known.live_count(kind)
            save_cursor(store, project_id, f"sweep:{kind}", Cursor(token=None if mine == total else _pair(total, mine)))


def _pair(total: int, mine: int) -> str:
    return f"{total}/{mine}"
