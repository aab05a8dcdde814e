"""The contract of work: the queue, cursors, runs, locks, and the numbers of what waits."""

import pytest
from samples import HOUR, NOW, change, index, item, project, save, written_by

from forgelore.errors import Locked
from forgelore.model import Cursor
from forgelore.store.documents import (
    add_embedder,
    drop_other_embedders,
    find_current_embedder,
    find_embedder,
    list_embedders,
    save_dimension,
)
from forgelore.store.jobs import (
    Job,
    count_jobs,
    count_untired,
    count_waiting,
    drop_jobs,
    excuse_job,
    fail_job,
    find_without_job,
    finish_job,
    load_failures,
    load_reasons,
    queue_documents,
    queue_jobs,
    queue_missing_part,
    queue_replays,
    ready_jobs,
    retry_jobs,
)
from forgelore.store.stats import count_kinds, count_project_documents, load_queues
from forgelore.store.sync import (
    STALE_AFTER_MS,
    WorkProgress,
    acquire_lock,
    find_lock_holder,
    finish_run,
    has_cursors,
    load_cursor,
    load_positions,
    load_runs,
    reset_cursors,
    save_cursor,
    start_run,
    was_interrupted,
)
from forgelore.words import JobKind

THREADS, DOCUMENT, EMBED = JobKind.THREADS, JobKind.DOCUMENT, JobKind.EMBED
EVER = 1 << 60


@pytest.fixture
def web(store):
    return project(store)


def ready(store, project_id, kind=THREADS, now_ms=NOW, limit=99, **how):
    return ready_jobs(store, project_id, kind, now_ms, limit, **how)


def keys(jobs):
    return [job.key for job in jobs]


# The queue


def test_a_key_waits_once_however_often_it_is_queued(store, web):
    queue_jobs(store, web, THREADS, ["issue:1", "issue:1"], NOW)
    queue_jobs(store, web, THREADS, ["issue:1"], NOW)
    assert keys(ready(store, web)) == ["issue:1"]


def test_a_job_that_is_done_is_cleared(store, web):
    queue_jobs(store, web, THREADS, ["issue:1"], NOW)
    assert finish_job(store, web, *ready(store, web))
    assert ready(store, web) == []


def test_a_job_queued_again_while_it_is_worked_on_is_not_cleared(store, web):
    queue_jobs(store, web, THREADS, ["issue:1"], NOW)
    (taken,) = ready(store, web)
    queue_jobs(store, web, THREADS, ["issue:1"], NOW)
    assert not finish_job(store, web, taken)
    assert keys(ready(store, web)) == ["issue:1"]


def test_a_job_that_was_finished_and_queued_anew_does_not_look_like_the_old_one(store, web):
    queue_jobs(store, web, THREADS, ["issue:1"], NOW)
    (taken,) = ready(store, web)
    finish_job(store, web, taken)
    queue_jobs(store, web, THREADS, ["issue:1"], NOW)
    assert not finish_job(store, web, taken)


def test_documents_queued_again_while_they_are_made_are_not_cleared(store, web):
    queue_documents(store, web, [5, 5, 6])
    first, second = ready(store, web, DOCUMENT)
    queue_documents(store, web, [5])
    assert [finish_job(store, web, job) for job in (first, second)] == [False, True]


def test_a_failure_waits_longer_each_time_and_never_more_than_an_hour_or_so(store, web):
    queue_jobs(store, web, THREADS, ["issue:1"], NOW)
    waits = []
    for _ in range(20):
        (job,) = ready(store, web, now_ms=NOW + 1000 * HOUR)
        fail_job(store, web, job, "503", NOW)
        waits.append(load_failures(store, web, 1)[0][4] - NOW)
    assert ready(store, web, now_ms=NOW) == []
    assert waits[0] < waits[3] < waits[6]
    assert max(waits) <= 1.1 * HOUR
    assert min(waits[-5:]) >= 0.9 * HOUR


def test_a_failure_of_a_job_that_was_queued_again_does_not_delay_it(store, web):
    queue_jobs(store, web, THREADS, ["issue:1"], NOW)
    (taken,) = ready(store, web)
    queue_jobs(store, web, THREADS, ["issue:1"], NOW)
    fail_job(store, web, taken, "503", NOW)
    assert keys(ready(store, web)) == ["issue:1"]


def test_fresh_jobs_go_before_failed_ones_and_older_before_younger(store, web):
    queue_jobs(store, web, THREADS, ["issue:1"], NOW)
    fail_job(store, web, *ready(store, web), "503", NOW)
    queue_jobs(store, web, THREADS, ["issue:3"], NOW + 1)
    queue_jobs(store, web, THREADS, ["issue:2"], NOW + 2)
    assert keys(ready(store, web, now_ms=NOW + HOUR)) == ["issue:3", "issue:2", "issue:1"]


def test_the_newest_first_are_those_of_the_highest_numbers(store, web):
    queue_documents(store, web, [9, 10, 8])
    assert keys(ready(store, web, DOCUMENT, is_newest_first=True, limit=2)) == ["10", "9"]


def test_a_failed_job_that_is_queued_again_gets_its_turn_at_once(store, web):
    queue_jobs(store, web, THREADS, ["issue:1"], NOW)
    queue_documents(store, web, [5])
    for kind in (THREADS, DOCUMENT):
        fail_job(store, web, *ready(store, web, kind), "503", NOW)
    queue_jobs(store, web, THREADS, ["issue:1"], NOW)
    queue_documents(store, web, [5])
    assert [job.attempt_count for kind in (THREADS, DOCUMENT) for job in ready(store, web, kind)] == [0, 0]


def test_a_time_that_another_clock_wrote_counts_as_come(store, web):
    queue_jobs(store, web, THREADS, ["issue:1"], NOW)
    fail_job(store, web, *ready(store, web), "503", NOW + 1000 * HOUR)
    assert keys(ready(store, web, now_ms=NOW)) == ["issue:1"]


def test_a_job_that_failed_often_enough_waits_until_somebody_asks_for_it(store, web):
    queue_jobs(store, web, THREADS, ["issue:1"], NOW)
    fail_job(store, web, *ready(store, web), "404", NOW)
    assert ready(store, web, now_ms=NOW + HOUR, max_attempts=1) == []
    assert count_untired(store, THREADS, 1) == 0
    assert keys(retry_jobs(store, web, THREADS)) == ["issue:1"]
    assert keys(ready(store, web, max_attempts=1)) == ["issue:1"]


def test_an_excuse_is_no_attempt(store, web):
    queue_jobs(store, web, THREADS, ["issue:1", "issue:2"], NOW)
    excuse_job(store, web, ready(store, web)[0], "no budget left")
    assert keys(ready(store, web)) == ["issue:1", "issue:2"]
    assert load_reasons(store, web) == [("no budget left", 1, "issue:1")]


def test_a_part_that_another_job_missed_waits_with_the_reason(store, web):
    queue_missing_part(store, web, Job(JobKind.FILES, "change:1", 0, 7), "502", NOW)
    assert [row[:4] for row in load_failures(store, web, 9)] == [("files", "change:1", 1, "502")]


def test_reasons_are_of_what_the_forge_did_not_give_most_first(store, web):
    queue_jobs(store, web, THREADS, ["issue:1", "issue:2", "issue:3"], NOW)
    queue_documents(store, web, [4])
    for job, reason in zip(ready(store, web), ("502", "404", "502"), strict=True):
        fail_job(store, web, job, reason, NOW)
    fail_job(store, web, *ready(store, web, DOCUMENT), "ours", NOW)
    assert load_reasons(store, web) == [("502", 2, "issue:1"), ("404", 1, "issue:2")]


def test_jobs_are_counted_by_kind_and_project(store, web):
    other = project(store, "acme/api")
    queue_jobs(store, web, THREADS, ["issue:1", "issue:2"], NOW)
    queue_jobs(store, other, THREADS, ["issue:1"], NOW)
    fail_job(store, web, ready(store, web)[0], "503", NOW)
    assert count_jobs(store, web) == {"threads": (2, 1)}
    assert [count_waiting(store, THREADS, named) for named in ((), (other,), (web, other))] == [3, 1, 3]
    drop_jobs(store, web, THREADS, ["issue:1", "issue:2"])
    assert count_jobs(store, web) == {}


def test_items_that_never_had_a_job_and_wait_for_none_are_found(store, web):
    save(store, web, item(1), item(2), change(3))
    queue_jobs(store, web, THREADS, ["issue:1"], NOW)
    assert find_without_job(store, web, THREADS, ["issue"]) == ["issue:2"]
    assert set(find_without_job(store, web, THREADS, ["issue", "change"])) == {"issue:2", "change:3"}


def test_a_replay_is_queued_for_the_kinds_that_are_named_or_for_all(store, web):
    ids = save(store, web, item(1), change(2))
    queue_replays(store, web, ["change"])
    assert keys(ready(store, web, JobKind.REPLAY)) == [str(ids[2])]
    queue_replays(store, web)
    assert len(ready(store, web, JobKind.REPLAY)) == 2


# Cursors and runs


def test_a_cursor_comes_back_as_it_was_and_an_equal_one_writes_nothing(store, web):
    place = Cursor(NOW, 7, "token", "etag", NOW, True)
    save_cursor(store, web, "items", place)
    assert load_cursor(store, web, "items") == place
    assert written_by(store, lambda: save_cursor(store, web, "items", place)) == 0
    assert load_cursor(store, web, "comments") == Cursor()


def test_a_full_sync_forgets_the_cursors_it_names_or_all(store, web):
    for name in ("items", "comments", "sweep:issue"):
        save_cursor(store, web, name, Cursor(NOW))
    reset_cursors(store, web, ["items"])
    assert [one.resource for one in load_positions(store, web)] == ["comments"], "a sweep is no list"
    reset_cursors(store, web)
    assert not has_cursors(store, web)


def test_a_run_that_died_is_interrupted_when_the_next_begins(store, web):
    start_run(store, web, "sync", NOW)
    second = start_run(store, web, "sync", NOW + 1)
    assert was_interrupted(store, web)
    finish_run(store, second, NOW + 2, status="succeeded", requests=3, rows_written=5, summary={"items": 5})
    newest, before = load_runs(store, web, 9)
    assert (newest.status, newest.requests, newest.rows_written, newest.finished_at) == ("succeeded", 3, 5, NOW + 2)
    assert before.status == "interrupted"
    start_run(store, web, "sync", NOW + 3)
    assert not was_interrupted(store, web)


# Locks


def test_a_lock_is_held_by_one_until_it_is_given_back(store, opened):
    lock, other = acquire_lock(store, "p", NOW), opened()
    with pytest.raises(Locked):
        acquire_lock(other, "p", NOW)
    with pytest.raises(Locked):
        acquire_lock(other, "p", NOW, force=True)
    acquire_lock(other, "q", NOW).release()
    lock.release()
    acquire_lock(other, "p", NOW).release()


def test_a_lock_that_has_gone_quiet_can_be_taken_and_its_holder_learns_of_it(store, opened):
    lock, later = acquire_lock(store, "p", NOW), NOW + STALE_AFTER_MS
    lock.confirm(NOW)
    with pytest.raises(Locked):
        acquire_lock(opened(), "p", later)
    taken = acquire_lock(opened(), "p", later, force=True)
    with pytest.raises(Locked):
        lock.confirm(later)
    lock.release()
    taken.confirm(later)
    taken.release()


def test_others_see_how_far_the_holder_of_a_lock_is(store, opened):
    other = opened()
    assert find_lock_holder(other, "p") is None
    lock = acquire_lock(store, "p", NOW)
    holder = find_lock_holder(other, "p")
    assert (holder.stage, holder.done, holder.expected) == (None, 0, None)
    lock.progress = WorkProgress("comments", 40, 90)
    lock.confirm(NOW + 1)
    holder = find_lock_holder(other, "p")
    assert (holder.heartbeat_at, holder.stage, holder.done, holder.expected) == (NOW + 1, "comments", 40, 90)
    lock.release()
    assert find_lock_holder(other, "p") is None


# Numbers


def test_kinds_of_work_that_nothing_waits_for_are_there_with_zeros(store, web):
    queue_jobs(store, web, THREADS, ["issue:1", "issue:2"], NOW)
    fail_job(store, web, ready(store, web)[1], "503", NOW)
    queues = load_queues(store, web)
    assert set(queues) == set(JobKind)
    assert queues["threads"][:2] == (2, 1)
    assert [(one.key, one.attempts, one.error) for one in queues["threads"].errors] == [("issue:2", 1, "503")]
    assert queues["embed"] == (0, 0, ())


def test_a_new_embedder_queues_every_document_and_the_last_one_is_the_current(store, web):
    index(store, *save(store, web, item(1), item(2)).values())
    for job in ready(store, web, EMBED):
        finish_job(store, web, job)
    first = add_embedder(store, "lore", "small", "f1", NOW)
    assert len(ready(store, web, EMBED)) == 2
    save_dimension(store, first.id, 256)
    second = add_embedder(store, "served", "large", "f2", NOW)
    assert find_current_embedder(store) == (second.id, "served", "large", 0)
    assert find_current_embedder(store, "f1") == (first.id, "lore", "small", 256)
    drop_other_embedders(store, second.id)
    assert list_embedders(store) == [second]
    assert find_embedder(store, "f1") is None


def test_documents_are_counted_by_kind_and_part(store, web):
    index(store, *save(store, web, item(1), item(2), change(3)).values())
    assert count_kinds(store) == {"change": {"item": 1}, "issue": {"item": 2}}
    assert count_project_documents(store, web) == (3, 0)
    assert count_kinds(store, project(store, "acme/api")) == {}


def test_a_job_belongs_to_its_time_and_none_to_the_end_of_time(store, web):
    queue_jobs(store, web, THREADS, ["issue:1"], NOW)
    assert keys(ready(store, web, now_ms=EVER, limit=1)) == ["issue:1"]
    assert ready(store, web, limit=0) == []
