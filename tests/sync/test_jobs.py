"""The queue of work that hangs on items: nothing queued is lost, nothing that fails is in anybody's way."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forgelore.store.jobs import count_jobs, fail_job, finish_job, queue_jobs, queue_missing_part, ready_jobs
from forgelore.store.sqlite.schema import open_store

HOUR_MS = 3_600_000


@pytest.fixture
def store(tmp_path):
    made = open_store(str(tmp_path / "jobs.db"))
    made.run(
        "INSERT INTO projects (id, forge, host, path, path_key, added_at) VALUES (1, 'github', 'h', 'a/b', 'a/b', 0)"
    )
    yield made
    made.close()


def ready(store, now_ms=0, kind="threads"):
    return ready_jobs(store, 1, kind, now_ms, 100)


def test_a_job_that_is_queued_again_while_being_worked_is_not_lost(store):
    queue_jobs(store, 1, "threads", ["issue:1"], 0)
    (taken,) = ready(store)
    queue_jobs(store, 1, "threads", ["issue:1"], 5)
    assert finish_job(store, 1, taken) is False
    (again,) = ready(store, 5)
    assert again.version == taken.version + 1
    assert finish_job(store, 1, again) is True
    assert ready(store, 5) == []


def test_failing_an_outdated_job_does_not_delay_the_new_one(store):
    queue_jobs(store, 1, "threads", ["issue:1"], 0)
    (taken,) = ready(store)
    queue_jobs(store, 1, "threads", ["issue:1"], 5)
    fail_job(store, 1, taken, "no", 5)
    assert [job.attempt_count for job in ready(store, 5)] == [0]


def test_each_failure_doubles_the_wait_up_to_an_hour(store):
    queue_jobs(store, 1, "threads", ["issue:1"], 0)
    now, waits = 0, []
    for _ in range(16):
        (job,) = ready(store, now)
        fail_job(store, 1, job, "still no", now)
        when = store.value("SELECT next_attempt_at FROM jobs")
        assert ready(store, when - 1) == []
        waits.append((when - now) / 1000)
        now = when
    for attempt, wait in enumerate(waits, 1):
        assert 0.9 * min(3600, 2**attempt) <= wait <= 1.1 * min(3600, 2**attempt)


def test_fresh_work_comes_before_failing_work(store):
    queue_jobs(store, 1, "threads", ["issue:1", "issue:2"], 0)
    first, _ = ready(store)
    fail_job(store, 1, first, "no", 0)
    queue_jobs(store, 1, "threads", ["issue:3"], 1)
    assert [job.key for job in ready(store, HOUR_MS)] == ["issue:2", "issue:3", "issue:1"]


def test_a_time_far_in_the_future_was_written_by_another_clock(store):
    queue_jobs(store, 1, "threads", ["issue:1"], 0)
    (job,) = ready(store)
    fail_job(store, 1, job, "no", 30 * 24 * HOUR_MS)
    assert ready(store, 0)


def test_waiting_and_failing_are_counted_apart(store):
    queue_jobs(store, 1, "threads", ["issue:1", "issue:2"], 0)
    fail_job(store, 1, ready(store)[0], "no", 0)
    assert count_jobs(store, 1) == {"threads": (2, 1)}


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(st.sampled_from(["queue", "take", "finish", "fail"]), max_size=30))
def test_whatever_happens_a_queued_job_is_worked_after_it_was_queued(tmp_path_factory, steps):
    """The law of the queue: after the last "queue", some job with that version or a later one is finished or still waits."""
    store = open_store(str(tmp_path_factory.mktemp("law") / "jobs.db"))
    store.run(
        "INSERT INTO projects (id, forge, host, path, path_key, added_at) VALUES (1, 'github', 'h', 'a/b', 'a/b', 0)"
    )
    is_waiting, taken, now = False, None, 0
    taken_after_queue = False
    for step in steps:
        now += 2 * HOUR_MS
        if step == "queue":
            queue_jobs(store, 1, "threads", ["issue:1"], now)
            is_waiting, taken_after_queue = True, False
        elif step == "take":
            taken = next(iter(ready(store, now)), None)
            taken_after_queue = taken is not None
        elif step == "finish" and taken:
            if finish_job(store, 1, taken):
                assert taken_after_queue
                is_waiting = False
        elif step == "fail" and taken:
            fail_job(store, 1, taken, "no", now)
        assert bool(store.value("SELECT count(*) FROM jobs")) == is_waiting
    store.close()


def test_a_comment_that_arrives_while_its_thread_is_read_is_not_lost(gitlab):
    """The conversation is read, then grows, then its page is saved: the next run reads it again."""
    number = gitlab.project.add_issue("busy")
    gitlab.project.comment("issue", number, "first")
    gitlab.on_request("/discussions", lambda: gitlab.project.comment("issue", number, "meanwhile"))
    gitlab.sync()
    gitlab.time.pass_by(3600)
    gitlab.sync()
    gitlab.assert_same()


def test_one_change_that_cannot_be_read_spoils_no_other(github):
    """They travel in one batch of 25; the one whose files fail is found and waits alone."""
    changes = [github.project.add_change(f"change {n}", files=[("renamed", f"a{n}", f"b{n}")]) for n in range(30)]
    rule = github.server.fail(path=f"/pulls/{changes[7]}/files", status=400, body={"message": "never"})
    result = github.sync()
    assert (result.pending_jobs, result.failing_jobs) == (1, 1)
    missing = github.rows(
        "SELECT number FROM items WHERE NOT EXISTS (SELECT 1 FROM item_files f WHERE f.item_id = items.id)"
    )
    assert missing == [(changes[7],)]
    assert "never" in github.value("SELECT last_error FROM jobs WHERE kind <> 'document'")
    assert github.sync().requests < 20, "a job that failed waits for its turn"
    github.server.faults.remove(rule)
    github.time.pass_by(10)
    assert github.sync().pending_jobs == 0
    github.assert_same()


def test_a_job_that_fails_is_retried_with_growing_pauses(gitlab):
    gitlab.project.comment("issue", gitlab.project.add_issue("stuck"), "hello")
    rule = gitlab.server.fail(path="/issues/1/discussions", status=400)

    def asked():
        return sum("/issues/1/discussions" in path for path in gitlab.server.paths())

    gitlab.sync()
    attempts = [asked()]
    for pause_s in (3, 5, 9):
        gitlab.time.pass_by(pause_s)
        gitlab.rows("UPDATE items SET threads_fetched_at = 9e15")  # nothing but the queue asks for it
        gitlab.sync()
        attempts.append(asked())
    assert attempts == [1, 2, 3, 4]
    assert gitlab.value("SELECT attempt_count FROM jobs WHERE kind <> 'document'") == 4
    gitlab.server.faults.remove(rule)
    gitlab.time.pass_by(20)
    assert gitlab.sync().pending_jobs == 0


def test_comments_of_an_item_that_nobody_shows_end_in_no_circle(github):
    """GitHub streams comments of issues it hides: asked for once, then let go."""
    number = github.project.add_issue("hidden")
    github.project.comment(number, "visible")
    github.server.fail(path=r"/issues\?", status=200, body=[])
    github.server.fail(path=rf"/issues/{number}$", status=404, body={"message": "Not Found"})
    result = github.sync()
    assert result.requests < 25
    assert github.value("SELECT count(*) FROM jobs WHERE kind <> 'document'") == 0
    github.server.faults.clear()
    github.time.pass_by(600)
    github.sync()
    github.assert_same()


def test_jobs_of_an_item_that_is_gone_go_with_it(gitlab):
    """Threads give 404, the second look gives 404: a tombstone, and an empty queue."""
    gitlab.populate()
    number = gitlab.project.add_issue("short-lived")
    gitlab.on_request("/discussions", lambda: gitlab.project.delete("issue", number))
    result = gitlab.sync()
    gitlab.time.pass_by(600)
    gitlab.sync()
    assert gitlab.value("SELECT count(*) FROM jobs WHERE kind <> 'document'") == 0
    gitlab.assert_same()
    assert result.failing_jobs == 0


def test_a_part_that_another_job_missed_waits_as_after_its_first_failure(store):
    """However often the job that looked for it had failed, the part itself was tried once."""
    queue_jobs(store, 1, "threads", ["change:1"], 0)
    (often,) = ready(store)
    queue_missing_part(store, 1, often._replace(kind="links", attempt_count=9), "GraphQL said null", 1000)
    sql = "SELECT attempt_count, last_error, next_attempt_at FROM jobs WHERE kind = 'links'"
    attempts, error, next_at = store.row(sql)
    assert (attempts, error) == (1, "GraphQL said null")
    assert 1000 + 1800 <= next_at <= 1000 + 2200
