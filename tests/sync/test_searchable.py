"""What arrives is searchable while the sync goes on, from the first page; other processes see how far it is."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from forgelore.api import make_history
from forgelore.ports.progress import Task
from forgelore.store.jobs import count_jobs, count_waiting
from forgelore.surfaces.present.text import describe_holder
from forgelore.sync import run as sync_flow
from forgelore.viewer import EVERYTHING
from support import GITHUB_TOKEN

COMMAND = [sys.executable, "-m", "forgelore.surfaces.cli.main"]


def history_of(lab):
    """A history on the lab's own file, as another process would open it."""
    environ = {**lab.environ(GITHUB_TOKEN), "FORGELORE_EMBEDDER": "none"}
    return make_history(environ, cwd=str(lab.folder), db=lab.app.config.db, viewer=EVERYTHING)


def sync(lab, app=None):
    from forgelore.api.fetch import sync as sync_by_facade

    options = {"full": False, "force": False, "wait": False, "kinds": (), "index": "all", "watcher": None}
    return sync_by_facade(app or lab.app, lab.name_text, **options)


def test_the_first_page_is_searchable_before_the_second_is_there(github):
    for number in range(150):
        github.project.add_issue(f"Relay {number} flickers", "since the update")
        github.time.pass_by(60)
    seen = []

    def look():
        with history_of(github) as history:
            found = history.search("flickers", limit=5)
            seen.append((len(found.hits), [one for one in found.warnings if "sync is running" in one]))

    github.on_request(r"/issues/comments", look)
    result = sync(github)
    ((hits, warnings),) = seen
    assert hits == 5
    assert len(warnings) == 1
    assert warnings[0].startswith("a sync is running: 150 items read, ")
    assert int(warnings[0].split(", ")[1].split()[0]) >= 100
    assert result.index.documents.new == 150
    with history_of(github) as history:
        assert not [one for one in history.search("flickers").warnings if "running" in one]


def test_indexing_meanwhile_and_at_the_end_give_the_same_documents(lab, monkeypatch):
    lab.populate(issues=40, changes=20, releases=2)
    plain, busy = lab.app, lab.new_app()
    sync(lab, plain)
    monkeypatch.setattr(sync_flow, "ITEMS_EVERY_MS", 0)
    monkeypatch.setattr(sync_flow, "COMMENTS_EVERY_MS", 0)
    sync(lab, busy)
    rows = (
        "SELECT representation, thread_key, kind, content_hash, paths_hash, labels_hash FROM documents ORDER BY 1, 4, 2"
    )
    assert plain.store().rows(rows) == busy.store().rows(rows)
    assert "document" not in count_jobs(busy.store(), 1)


# Where a sync hangs when it is killed: the requests of that kind that come before, and how many items may wait to be
# indexed again, because of comments of the last half minute.
STAGES = {
    "second page": (r"/issues\?.*since=", 0, 0),
    "comments": (r"/issues/comments", 0, 30),
    "second page of comments": (r"/issues/comments\?.*since=", 0, 150),
    "details": ("graphql", 2, 150),
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_sync_that_is_killed_leaves_what_arrived_searchable(github, stage):
    """kill -9: every item that was listed is found by its title; only new comments of the last moments may wait."""
    path, before, may_wait = STAGES[stage]
    github.server.populate("acme/web", seed=3, issues=150, changes=30)
    for number in range(1, 121):
        github.project.comment(number, "It flickers here too")
    github.server.fail(path=path, skip=before, delay=600, status=500)
    command = [*COMMAND, "--db", github.app.config.db, "sync", "acme/web"]
    environ = {**github.environ(GITHUB_TOKEN), "HOME": str(github.folder), "FORGELORE_EMBEDDER": "none"}
    environ["FORGELORE_REQUESTS_PER_SECOND"] = "100"
    held = threading.Event()
    find_fault = github.server.find_fault

    def noticing(method, target):
        found = find_fault(method, target)
        if found:
            held.set()
        return found

    github.server.find_fault = noticing
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        assert held.wait(60)
        wait_until_few_wait(github, may_wait)
        process.send_signal(signal.SIGKILL)
    with history_of(github) as history:
        assert history.index.count_waiting() <= may_wait
        (status,) = history.sync.status()
        assert (status.locked_by, status.runs[0].status) == (None, "interrupted"), "its lock is nobody's"
        assert "the next sync goes on" in status.runs[0].error
        assert github.rows(WITHOUT_DOCUMENT) == []
        assert github.value("SELECT count(*) FROM items") >= 100


WITHOUT_DOCUMENT = "SELECT i.title FROM items i WHERE i.id NOT IN (SELECT item_id FROM documents)"


def wait_until_few_wait(lab, number):
    """Return once all items have a document and no more than so many wait for a new one, or after a minute."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        waiting = count_waiting(lab.app.store(create=True), "document")
        if lab.value("SELECT count(*) FROM items") >= 100 and waiting <= number and not lab.rows(WITHOUT_DOCUMENT):
            return
        time.sleep(0.1)


def test_another_process_sees_how_far_a_sync_is_and_what_it_waits_for(github):
    """Stage, rows, rate, requests, quotas; and until when it waits."""
    github.populate(issues=250, changes=20)
    github.server.set_limit(5000, remaining=6)
    app, seen = github.new_app(db=github.app.config.db), []
    sleep = github.time.sleep

    def look_and_sleep(seconds):
        if seconds > 60 and not seen:
            seen.append("…")
            with history_of(github) as history:
                wait_until(lambda: history.sync.status()[0].locked_by.waiting_until)
                seen[0] = history.sync.status()[0].locked_by
        sleep(seconds)

    app.sleep = look_and_sleep
    from forgelore.api.fetch import sync as sync_by_facade

    sync_by_facade(
        app, github.name_text, wait=True, full=False, force=False, kinds=(), index="documents", watcher=None
    )  # fmt: skip
    (holder,) = seen
    assert holder.stage
    assert holder.done > 0
    assert holder.requests >= 5
    assert {(one.name, one.limit) for one in holder.quotas} >= {("REST", 5000), ("GraphQL", 5000)}
    assert holder.waiting_for == "the quota for REST is used up"
    assert holder.waiting_until > github.time.now_ms() - 2 * 3_600_000
    lines = describe_holder(holder)
    assert lines[0].startswith(f"{holder.stage} {holder.done}")
    assert "0 of 5,000 left for REST" in lines[1]
    assert lines[2].startswith("waiting until ")


def test_another_process_sees_a_wait_before_the_first_answer(github):
    """The quota was used up before the sync began: of a project that is known, it is seen until when it waits."""
    github.populate(issues=5, changes=0, discussions=0)
    github.sync()
    github.server.set_limit(5000, remaining=0)
    app, seen = github.new_app(db=github.app.config.db), []
    sleep = github.time.sleep

    def look_and_sleep(seconds):
        if seconds > 60 and not seen:
            with history_of(github) as history:
                wait_until(lambda: history.sync.status()[0].locked_by)
                wait_until(lambda: history.sync.status()[0].locked_by.waiting_until)
                seen.append(history.sync.status()[0].locked_by)
        sleep(seconds)

    app.sleep = look_and_sleep
    from forgelore.api.fetch import sync as sync_by_facade

    done = sync_by_facade(
        app, github.name_text, wait=True, full=False, force=False, kinds=(), index="documents", watcher=None
    )  # fmt: skip
    assert [holder.waiting_for for holder in seen] == ["the quota for REST is used up"]
    assert done.result.status == "complete"


def test_a_task_hears_of_the_index_once(github):
    """What watches for other processes must not tell the task what the task told it."""
    github.populate()
    seen = []
    with history_of(github) as history:
        task = Task(seen.append)
        history.run(task, lambda one: one.sync.run(github.name_text))
    done = [event for event in seen if event.stage == "documents" and event.is_finished]
    assert len(done) == 1


def wait_until(is_so):
    end = time.monotonic() + 60
    while not is_so() and time.monotonic() < end:
        time.sleep(0.05)
