"""Tasks: a sync that another thread cancels, watches and waits for, and that another process can see."""

import json
import re
import threading
import time

import pytest

from forgelore.api import History, Progress, Task
from forgelore.errors import ForgeError, Stopped

PATIENCE_S = 30


def start(lab, task):
    """Sync as a server would: in a thread and a history of its own, in the file that is there."""
    lab.app.store(create=True)
    ended = []

    def work():
        with History(lab.same_file()) as history:
            try:
                history.run(task, lambda one: one.sync.run(lab.name_text, index="none"))
            except Stopped as error:
                ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, ended


def test_cancelling_a_task_ends_a_sync_at_the_next_page_and_leaves_the_store_whole(lab):
    lab.populate(issues=30, comments_per_item=2)
    task = Task(lambda event: event.done and event.stage != "labels" and task.cancel())
    thread, ended = start(lab, task)
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert ended, "the worker thread did not raise Stopped"
    assert task.is_done
    with pytest.raises(Stopped):
        task.wait(0)
    assert task.progress.done > 0
    assert lab.value("SELECT status FROM sync_runs") == "interrupted"
    assert lab.value("SELECT count(*) FROM locks") == 0
    lab.sync()
    lab.assert_same()


def test_another_process_sees_how_far_a_sync_is(github):
    github.populate(issues=40, comments_per_item=2)
    go_on, moved = threading.Event(), threading.Event()
    task = Task(lambda event: moved.set() if event.done else None)
    github.on_request("GET .*/issues/comments", lambda: go_on.wait(PATIENCE_S))
    thread, _ = start(github, task)
    assert moved.wait(PATIENCE_S)
    wait_for(lambda: github.rows("SELECT stage FROM locks WHERE done > 0"))
    file = github.app.config.db
    shown = json.loads(github.command("sync-status", "--json", "--db", file).stdout)["data"][0]["locked_by"]
    text = github.command("sync-status", "--db", file).stdout
    go_on.set()
    thread.join(PATIENCE_S)
    assert shown["stage"]
    assert shown["done"] > 0
    assert re.search(rf"a sync is running \(process {shown['pid']} on .+\): \w.* \d+", text)
    assert task.is_done
    assert github.value("SELECT count(*) FROM locks") == 0


def wait_for(question):
    ends = time.monotonic() + PATIENCE_S
    while time.monotonic() < ends:
        if found := question():
            return found
        time.sleep(0.02)
    raise AssertionError("it never came")


def test_a_task_keeps_its_result_its_error_and_the_stage_that_moved_last():
    heard = []
    task = Task(heard.append)

    def work():
        task.begin("items", "issues and changes", 7)
        task.saved("items", 5)
        task.waiting(9.0, "rate limit")
        return "done"

    threading.Thread(target=task.run, args=(work,)).start()
    assert task.wait(PATIENCE_S) == "done"
    assert task.progress == Progress("items", "issues and changes", 5, 7)
    assert [event.note for event in heard] == ["", "", "rate limit"]
    failed = Task()
    with pytest.raises(ForgeError):
        failed.run(lambda: (_ for _ in ()).throw(ForgeError("no")))
    with pytest.raises(ForgeError):
        failed.wait(0)
    assert task.id != failed.id


def test_a_task_that_is_still_running_has_no_result_yet():
    with pytest.raises(TimeoutError):
        Task().wait(0.01)


def test_a_task_that_was_cancelled_before_it_began_does_nothing():
    task, done = Task(), []
    task.cancel()
    with pytest.raises(Stopped):
        task.run(lambda: done.append(1))
    assert done == []


def test_cancelling_cuts_off_what_takes_long_but_not_what_comes_after():
    task, cut = Task(), []
    task.run(task.cancel, cut_off=lambda: cut.append(1))
    task.cancel()
    assert cut == [1]
