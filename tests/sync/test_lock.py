"""One sync of a project at a time: who is refused, who may take over, and how a robbed run ends."""

import contextlib
import os
import threading

import pytest

from forgelore.errors import Locked
from forgelore.store.sync import STALE_AFTER_MS, acquire_lock
from support import raised

NOBODY = 999_999_999  # no process has this number


def held(lab, *, pid=None, machine=None, quiet_s=0.0):
    """A lock row as another sync would have left it."""
    name = "project 1"  # the first project of a new store
    when = lab.time.now_ms() - int(quiet_s * 1000)
    acquire_lock(lab.app.store(create=True), name, when)
    lab.rows("UPDATE locks SET pid = coalesce(?, pid), machine = coalesce(?, machine)", pid, machine)


def test_the_second_of_two_syncs_is_refused(github):
    """While the first is in the middle of its pages."""
    github.populate()
    started, go_on = threading.Event(), threading.Event()

    def hold():
        started.set()
        go_on.wait(10)

    github.on_request(r"GET .*/labels", lambda: None)
    handle = github.server.handle

    def slow(request):
        if request.path.endswith("/labels") and not started.is_set():
            github.server.lock.release()  # the forge goes on answering others
            try:
                hold()
            finally:
                github.server.lock.acquire()
        return handle(request)

    github.server.handle = slow
    github.app.store(create=True)
    first = threading.Thread(target=github.sync)
    first.start()
    assert started.wait(10)
    with raised(Locked, code="locked", says=f"locked by process {os.getpid()}", hint="wait") as caught:
        github.sync(github.same_file())
    assert caught[0].exit_code == 9
    go_on.set()
    first.join(10)
    github.sync()
    github.assert_same()
    assert [status for (status,) in github.rows("SELECT status FROM sync_runs")] == ["succeeded", "succeeded"]


def test_the_lock_is_given_back_whatever_happens(github):
    github.server.fail(path="/labels", status=401, body={"message": "Bad credentials"})
    with pytest.raises(Exception, match="401"):
        github.sync()
    assert github.value("SELECT count(*) FROM locks") == 0


def test_a_live_lock_resists_even_force(github):
    """`--force` is for the dead and the silent, not for the impatient."""
    held(github, machine="elsewhere", quiet_s=STALE_AFTER_MS / 1000 - 5)
    for force in (False, True):
        with raised(Locked, says="on elsewhere (still working)", hint="wait for it"):
            github.sync(force=force)


def test_a_silent_lock_is_taken_by_force_only(github):
    github.populate()
    held(github, machine="elsewhere", quiet_s=300)
    with raised(Locked, says="silent for 300 s", hint="--force"):
        github.sync()
    github.sync(force=True)
    github.assert_same()


def test_the_lock_of_a_dead_process_is_taken_without_asking(github):
    github.populate()
    held(github, pid=NOBODY)
    github.sync()
    github.assert_same()


def test_the_dead_process_of_another_machine_is_not_ours_to_judge(github):
    held(github, pid=NOBODY, machine="elsewhere")
    with raised(Locked):
        github.sync()


def test_a_heartbeat_from_the_future_counts_as_silence(github):
    """It was written under another clock, and says nothing about how long ago that was."""
    held(github, machine="elsewhere", quiet_s=-86_400)
    with raised(Locked, hint="--force"):
        github.sync()
    github.sync(force=True)


@pytest.mark.parametrize("moment", ["/issues", "/labels", "graphql"])
def test_a_robbed_sync_stops_at_its_next_page_and_breaks_nothing(github, moment):
    """Somebody took the lock over: the first run writes no further row and says so."""
    github.populate(discussions=2)
    thief = []

    def rob():
        store = github.app.store()
        name = store.value("SELECT name FROM locks")
        while not thief:  # a page of another list that is saved in between brings a new heartbeat
            store.run("UPDATE locks SET heartbeat_at = 0, machine = 'elsewhere'")
            with contextlib.suppress(Locked):
                thief.append(acquire_lock(store, name, github.time.now_ms(), force=True))

    github.app.store(create=True)
    github.on_request(f"/acme/web{moment}[?]|POST /{moment}", rob)
    with raised(Locked, code="locked", says="took over", hint="kept"):
        github.sync()
    if moment == "/issues":
        assert github.value("SELECT count(*) FROM items WHERE kind <> 'release'") == 0, "written after the robbery"
    assert github.value("SELECT count(*) FROM locks") == 1, "the thief's lock is not the robbed one's to release"
    thief[0].release()
    github.sync()
    github.assert_same()


def test_two_projects_are_synced_side_by_side(github):
    github.populate()
    other = github.server.add_project("acme/api")
    other.add_issue("there")
    github.sync()  # acme/web is the store's first project
    held(github, machine="elsewhere")
    github.sync(path="acme/api")
    github.assert_same(path="acme/api")


def test_a_run_that_died_is_marked_when_the_next_begins(github):
    github.sync()
    github.rows("UPDATE sync_runs SET status = 'running', finished_at = NULL")
    github.sync()
    assert [status for (status,) in github.rows("SELECT status FROM sync_runs ORDER BY id")] == [
        "interrupted",
        "succeeded",
    ]
