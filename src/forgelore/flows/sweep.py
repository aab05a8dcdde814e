"""What the forge no longer has, and what it has that we missed.

Counting is cheap: when the forge's totals equal ours, nothing more is asked. Otherwise the numbers are compared, each
item that seems gone gets a second look by itself, and only then a tombstone. What cannot be counted (GitLab stops at
10,000) is compared once a week. A reader who lost rights sees less, which is not a deletion: confidential items are
never buried, and when too much seems gone at once nothing is.
"""

from forgelore.errors import LoreError
from forgelore.flows.known import KnownStore
from forgelore.flows.save import is_switched_off, job_key, parse_job_key
from forgelore.flows.working import Bench
from forgelore.model import Cursor, ItemKey, Kind
from forgelore.ports import Forge
from forgelore.store.items import bury
from forgelore.store.jobs import fail_job, finish_job, queue_jobs, ready_jobs
from forgelore.store.sync_state import load_cursor, save_cursor

# (more than so many, and more than this share of all): that is a lost permission rather than somebody tidying up
TOO_MANY = ((20, 0.2), (3, 0.5))
WEEK_MS = 7 * 86_400_000

# None: there are such items, but the forge does not count them.
Totals = dict[Kind, int | None]


def compare_totals(bench: Bench, forge: Forge, totals: Totals) -> list[str]:
    """Queue a look at everything that seems gone and a fetch of everything that was missed. Returns warnings."""
    return [
        warning
        for kind, total in totals.items()
        if _is_due(bench, kind, total)
        for warning in _compare(bench, forge, kind)
    ]


def _is_due(bench: Bench, kind: Kind, total: int | None) -> bool:
    last = load_cursor(bench.store, bench.project_id, f"sweep:{kind}")
    if total is None:  # the first sync has just seen everything
        return last.swept_at is not None and not 0 <= bench.now() - last.swept_at < WEEK_MS
    mine = KnownStore(bench.store, bench.project_id).live_count(kind)
    return mine != total and last.token != _pair(total, mine)


def _compare(bench: Bench, forge: Forge, kind: Kind) -> list[str]:
    there = forge.sweep(bench.project, kind)
    mine = KnownStore(bench.store, bench.project_id).live_numbers(kind)
    gone = [number for number, is_hidden in mine.items() if number not in there and not is_hidden]
    missed = [job_key(ItemKey(kind, number)) for number in sorted(there - mine.keys())]
    warnings = []
    if any(len(gone) > number and len(gone) > share * len(mine) for number, share in TOO_MANY):
        warnings.append(
            f"{len(gone)} of {len(mine)} {kind}s are not shown to this token any more; kept, because that looks like"
            " a lost permission"
        )
        gone = []
    with bench.store.transaction():
        bench.lock.confirm(bench.now())
        looks = [job_key(ItemKey(kind, number)) for number in gone]
        queue_jobs(bench.store, bench.project_id, "look", looks, bench.now())
        for job_kind in ("item", "threads") if kind != "discussion" else ("item",):
            queue_jobs(bench.store, bench.project_id, job_kind, missed, bench.now())
        save_cursor(bench.store, bench.project_id, f"sweep:{kind}", Cursor(swept_at=bench.now()))
    return warnings


def look_again(bench: Bench, forge: Forge) -> int:
    """Ask for each item that seems gone by itself and bury it if it is; returns how many were."""
    store, project_id, now = bench.store, bench.project_id, bench.now
    buried = 0
    for job in ready_jobs(store, project_id, "look", now(), 1_000_000):
        key = parse_job_key(job.key)
        if is_switched_off(bench.project, job.key):
            continue
        try:
            look = forge.look(bench.project, key)
        except LoreError as error:
            if error.exit_code in (4, 7):
                raise
            with store.transaction():
                fail_job(store, project_id, job, error.message, now())
            continue
        with store.transaction():
            bench.lock.confirm(now())
            if look.is_gone and not KnownStore(store, project_id).is_confidential(key):
                buried += bury(store, project_id, key, now(), look.moved_to)
            finish_job(store, project_id, job)
    return buried


def remember_totals(bench: Bench, totals: Totals) -> None:
    """Keep a pair of totals that could not be made equal, so that the next sync does not sweep again for the same."""
    known = KnownStore(bench.store, bench.project_id)
    with bench.store.transaction():
        bench.lock.confirm(bench.now())
        for kind, total in totals.items():
            place, mine = f"sweep:{kind}", known.live_count(kind)
            if total is None:
                last = load_cursor(bench.store, bench.project_id, place).swept_at
                cursor = Cursor(swept_at=last if last is not None else bench.now())
            else:
                cursor = Cursor(token=None if mine == total else _pair(total, mine))
            save_cursor(bench.store, bench.project_id, place, cursor)


def _pair(total: int, mine: int) -> str:
    return f"{total}/{mine}"
