"""What the forge no longer has, and what it has that we missed.

Counting is cheap: when the forge's totals equal ours, nothing more is asked. When it has fewer, the numbers are
compared at once: each item that seems gone gets a second look by itself, and only then a tombstone. In a large project
the spans of time are found first in which the totals differ, and only what was last changed in these is listed. When
it has more, something was probably created while we read and the next sync's list brings it: only a difference that is
still there then is looked into, once a day at most. A difference that comparing does not mend is compared again after a
day, and what cannot be counted (GitLab stops at 10,000) after a week. A reader who lost rights sees less, which is not
a deletion: confidential items are never buried, and when too much seems gone at once nothing is.
"""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from forgelore.errors import LoreError, RateLimited
from forgelore.model import Cursor, ItemKey, Kind, Project
from forgelore.ports.forge import ForgeReader, Page, Resource, SecondLook
from forgelore.store.items import bury
from forgelore.store.jobs import Job, fail_job, finish_job, queue_jobs, ready_jobs
from forgelore.store.sync import load_cursor, save_cursor
from forgelore.sync.jobs import SyncContext
from forgelore.sync.pages import KnownStore, ends_the_run, is_switched_off, job_key, parse_job_key
from forgelore.words import JobKind

# (more than so many, and more than this share of all): that is a lost permission rather than somebody tidying up
TOO_MANY = ((20, 0.2), (3, 0.5))
DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
AT_ONCE = 0  # swept so long ago that it is due, whatever the totals were before

# None: there are such items, but the forge does not count them.
Totals = dict[Kind, int | None]


def compare_totals(context: SyncContext, forge: ForgeReader, totals: Totals) -> list[str]:
    """Queue a look at everything that seems gone and a fetch of everything that was missed. Returns warnings."""
    return [
        warning
        for kind, total in totals.items()
        if _is_due(context, kind, total)
        for warning in _compare(context, forge, kind, total)
    ]


def compare_anew(context: SyncContext, kinds: Iterable[Kind]) -> None:
    """Let the next comparison of these kinds trust no earlier one (`--full`)."""
    for kind in kinds:
        save_cursor(context.store, context.project_id, f"sweep:{kind}", Cursor(swept_at=AT_ONCE))


def _is_due(context: SyncContext, kind: Kind, total: int | None) -> bool:
    last = load_cursor(context.store, context.project_id, f"sweep:{kind}")
    if total is None:  # the first sync has just seen everything
        return last.swept_at is not None and not _is_within(WEEK_MS, context, last)
    difference = total - KnownStore(context.store, context.project_id).live_count(kind)
    is_same, is_recent = last.token == str(difference), _is_within(DAY_MS, context, last)
    if difference > 0 and last.swept_at != AT_ONCE:
        return is_same and not is_recent
    return difference != 0 and not (is_same and is_recent)


def _is_within(span_ms: int, context: SyncContext, last: Cursor) -> bool:
    """A time in the future was written under another clock: it says nothing."""
    return last.swept_at is not None and 0 <= context.now() - last.swept_at < span_ms


class Comparison(NamedTuple):
    """The forge's numbers of a kind beside ours. `gone` may be what this reader lost sight of."""

    live: int  # of ours
    gone: list[ItemKey]  # which every reader could see
    missed: list[ItemKey]

    @property
    def is_lost_sight(self) -> bool:
        return lost_too_many(len(self.gone), self.live)


def compare_numbers(
    known: KnownStore, forge: ForgeReader, project: Project, kind: Kind, total: int | None = None
) -> Comparison:
    """Ask the forge which items of a kind it has: of all of them, or where its total shows that few are missing."""
    mine = known.live_numbers(kind)
    narrow = total is not None and len(mine) > FEW and abs(total - len(mine)) <= FEW_DIFFER
    if narrow and (found := _compare_spans(known, forge, project, kind, total or 0)) is not None:
        return found
    there = forge.sweep(project, kind)
    gone = [ItemKey(kind, number) for number, is_hidden in mine.items() if number not in there and not is_hidden]
    return Comparison(len(mine), gone, [ItemKey(kind, number) for number in sorted(there - mine.keys())])


FEW = 500  # items: to list them costs no more than to count them
FEW_DIFFER = 20
LISTED = 100  # items of a span that are listed rather than counted once more
PARTS = 20  # of a span, counted at once
MAX_COUNTS = 14  # requests: where differences are everywhere, a sweep is cheaper
FOREVER = 253_402_300_000_000  # the end of the year 9999


def _compare_spans(
    known: KnownStore, forge: ForgeReader, project: Project, kind: Kind, total: int
) -> Comparison | None:
    """Compare totals of spans of time, and list those that differ; None where the forge cannot say or most differ.

    An item that was changed meanwhile has left its span: it seems gone, and the second look finds it.
    """
    mine = known.update_times((kind,))
    times = [moment for moment, _ in mine]
    later = {0: total, FOREVER: 0}  # how many the forge has from a moment on
    spans, listed, requests = [(0, FOREVER)], list[tuple[int, int]](), 0
    while spans:
        start, end = spans.pop()
        first, last = bisect_left(times, start), bisect_left(times, end)
        if last - first == later[start] - later[end]:
            continue
        cuts = _cuts(times[first:last], start) if last - first > LISTED else []
        if not cuts:
            listed.append((start, end))
            continue
        counted = forge.counts_since(project, kind, cuts)
        later |= counted
        requests += 1
        if not counted or requests + len(listed) > MAX_COUNTS:
            return None
        ends = [start, *sorted(counted), end]
        spans += pairwise(ends)
    there = {item.key for start, end in listed for item in forge.items_between(project, (kind,), start, end - 1)}
    inside = [key for moment, key in mine if any(start <= moment < end for start, end in listed)]
    hidden, mine_all = known.live_numbers(kind), {key for _, key in mine}
    gone = [key for key in inside if key not in there and not hidden[key.number]]
    return Comparison(len(mine), gone, sorted(there - mine_all, key=lambda key: key.number))


def _cuts(times: list[int], start: int) -> list[int]:
    """Return moments that cut a span into parts with about as many items each."""
    picked = {times[place * len(times) // PARTS] for place in range(1, PARTS)}
    return sorted(picked - {start})


RECHECKED_IN_DAYS = 30
AT_A_TIME = 100


def recheck_old(context: SyncContext, forge: ForgeReader, resources: Iterable[Resource]) -> None:
    """Read the next part of each list again, once a day, so that all of it was in a month: deleting a comment moves no
    time, and the number of comments in the list tells of it. What differs is saved, and its conversation read again.
    """
    for resource in resources if context.saver.policy.moves_cursors else ():
        kinds = [kind for kind in resource.lists if kind in ("issue", "change")]
        place = f"recheck:{resource.name}"
        read = load_cursor(context.store, context.project_id, resource.name)
        looked_ms = (forge.server_ms() or context.now()) - (read.swept_at or 0)
        if not kinds or not read.is_complete or 0 <= looked_ms < DAY_MS:
            continue
        times = [moment for moment, _ in context.saver.known.update_times(kinds)]
        size = max(AT_A_TIME, -(-len(times) // RECHECKED_IN_DAYS))
        last = load_cursor(context.store, context.project_id, place)
        first = bisect_left(times, last.updated_at or 0)
        part = times[first : first + size]
        try:
            items = forge.items_between(context.project, kinds, part[0], part[-1]) if part else []
        except LoreError as error:
            if ends_the_run(error):
                raise
            return  # the list itself will say what is wrong
        is_end = first + size >= len(times)
        behind = Cursor(updated_at=None if is_end else part[-1] + 1)
        with context.store.transaction():
            context.saver.save(Page(items=items), resource.name, context.now())
            save_cursor(context.store, context.project_id, place, behind)
            context.lock.confirm(context.now())


def _compare(context: SyncContext, forge: ForgeReader, kind: Kind, total: int | None) -> list[str]:
    found = compare_numbers(KnownStore(context.store, context.project_id), forge, context.project, kind, total)
    looks, missed = list(map(job_key, found.gone)), list(map(job_key, found.missed))
    warnings = []
    if found.is_lost_sight:
        warnings.append(_lost_sight(len(looks), found.live, kind))
        looks = []
    with context.store.transaction():
        context.lock.confirm(context.now())
        queue_jobs(context.store, context.project_id, JobKind.LOOK, looks, context.now())
        for job_kind in (JobKind.ITEM, JobKind.THREADS) if kind != "discussion" else (JobKind.ITEM,):
            queue_jobs(context.store, context.project_id, job_kind, missed, context.now())
        last = load_cursor(context.store, context.project_id, f"sweep:{kind}")
        save_cursor(
            context.store, context.project_id, f"sweep:{kind}", Cursor(token=last.token, swept_at=context.now())
        )
    return warnings


def look_again(context: SyncContext, forge: ForgeReader) -> tuple[int, list[str]]:
    """Ask for each item that seems gone by itself and bury those that are; returns how many were, and warnings.

    Nothing is buried before every answer is in: a reader who lost the project, or most of it, is told 404 as well.
    """
    gone = _seem_gone(context, forge)
    if not gone:
        return 0, []
    project = forge.fetch_project(context.project.name)  # raises when it is the project that is not shown any more
    buried, warnings = 0, []
    known = KnownStore(context.store, context.project_id)
    for kind in dict.fromkeys(look.key.kind for _, look in gone):
        of_kind = [(job, look) for job, look in gone if look.key.kind == kind and not is_switched_off(project, job.key)]
        live = known.live_count(kind)
        if lost_too_many(len(of_kind), live):
            warnings.append(_lost_sight(len(of_kind), live, kind))
            _finish(context, [job for job, _ in of_kind])
        else:
            buried += _bury(context, of_kind)
    return buried, warnings


def _seem_gone(context: SyncContext, forge: ForgeReader) -> list[tuple[Job, SecondLook]]:
    """Return the looks that found nothing; those that found the item, or may not tell, are over."""
    store, project_id, now = context.store, context.project_id, context.now
    gone = []
    for job in ready_jobs(store, project_id, JobKind.LOOK, now(), 1_000_000):
        key = parse_job_key(job.key)
        if is_switched_off(context.project, job.key):
            continue
        try:
            look = forge.look(context.project, key)
        except LoreError as error:
            if ends_the_run(error):
                raise
            if isinstance(error, RateLimited):
                break  # nobody may ask now: the other looks wait as they are
            with store.transaction():
                fail_job(store, project_id, job, error.message, now())
            continue
        if look.is_gone and not KnownStore(store, project_id).is_confidential(key):
            gone.append((job, look))
        else:
            _finish(context, [job])
    return gone


def _finish(context: SyncContext, jobs: list[Job]) -> None:
    with context.store.transaction():
        context.lock.confirm(context.now())
        for job in jobs:
            finish_job(context.store, context.project_id, job)


def _bury(context: SyncContext, gone: list[tuple[Job, SecondLook]]) -> int:
    buried = 0
    with context.store.transaction():
        context.lock.confirm(context.now())
        for job, look in gone:
            buried += bury(context.store, context.project_id, look.key, context.now(), look.moved_to)
            finish_job(context.store, context.project_id, job)
    return buried


def lost_too_many(gone: int, live: int) -> bool:
    return any(gone > number and gone > share * live for number, share in TOO_MANY)


def _lost_sight(gone: int, live: int, kind: Kind) -> str:
    return (
        f"{gone} of {live} {kind}s are no longer visible to this token; they are kept, because this looks like a"
        " lost permission"
    )


def remember_totals(context: SyncContext, totals: Totals) -> None:
    """Keep by how much the totals differ, and when the numbers were last compared."""
    known = KnownStore(context.store, context.project_id)
    with context.store.transaction():
        context.lock.confirm(context.now())
        for kind, total in totals.items():
            place = f"sweep:{kind}"
            last = load_cursor(context.store, context.project_id, place)
            if total is None:
                cursor = Cursor(swept_at=context.now() if last.swept_at is None else last.swept_at)
            elif difference := total - known.live_count(kind):
                cursor = Cursor(token=str(difference), swept_at=last.swept_at or None)
            else:  # a difference that comes and goes, as with each item made during a sync, is the same for a day
                cursor = last if last.token and _is_within(DAY_MS, context, last) else Cursor()
            save_cursor(context.store, context.project_id, place, cursor)
