"""Ctrl-C and SIGTERM end a running sync within seconds, at any point of it; the next run goes on from there."""

import json
import signal
import subprocess
import sys
import time

import apsw
import pytest

from crash.killing import environ
from servers.embedding import EmbeddingServer
from support import compare, forge_truth, stored_truth

FORGELORE = [sys.executable, "-m", "forgelore.surfaces.cli.main"]

# Where the forge is slow when the signal comes: the first request, a list, the conversations, the last comparison.
SLOW = {
    "github": [r"^/repos/acme/web$", r"/issues\?", r"/issues/comments", r"/graphql"],
    "forgejo": [r"/repos/acme/web$", r"/issues\?.*page", r"/pulls/\d+/reviews", r"/issues\?.*limit=1$"],
    "gitlab": [r"/projects/group%2Fapp$", r"/issues\?.*order_by", r"/api/graphql", r"per_page=1(&|$)"],
}


@pytest.fixture(params=["github", "gitlab", "forgejo"])
def lab(request):
    found = request.getfixturevalue(request.param)
    found.populate(issues=16, changes=8)
    return found


def start(lab, tmp_path, *more):
    command = [*FORGELORE, "sync", lab.name_text, "--db", str(tmp_path / "lore.db"), *more]
    env = environ(tmp_path, **lab.environ(lab.good_token))
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_request(lab, rule):
    end = time.monotonic() + 20
    while not rule.get("_seen"):
        assert time.monotonic() < end, "the request never came"
        time.sleep(0.01)


def statuses(tmp_path):
    if not (tmp_path / "lore.db").exists():
        return []
    connection = apsw.Connection(str(tmp_path / "lore.db"))
    there = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'sync_runs'").get
    found = [status for (status,) in connection.execute("SELECT status FROM sync_runs ORDER BY id")] if there else []
    locks = connection.execute("SELECT count(*) FROM locks").get if there else 0
    connection.close()
    assert locks == 0
    return found


def assert_reaches_the_truth(lab, tmp_path):
    """A plain rerun needs no --force and ends where the forge is."""
    with start(lab, tmp_path) as process:
        _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    app = lab.new_app(db=str(tmp_path / "lore.db"))
    assert compare(stored_truth(app, lab.path), forge_truth(lab.server, lab.path)) == []


@pytest.mark.parametrize(
    ("number", "place"), [(signal.SIGINT, 0), (signal.SIGINT, 2), (signal.SIGINT, 3), (signal.SIGTERM, 1)]
)
def test_a_signal_ends_the_sync_soon_and_nothing_is_lost(lab, tmp_path, number, place):
    slow = lab.server.fail(path=SLOW[lab.server.kind][place], delay=0.7)
    with start(lab, tmp_path) as process:
        wait_for_request(lab, slow)
        began = time.monotonic()
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
        took_s = time.monotonic() - began
    lab.server.faults.clear()
    assert process.returncode == 130, err
    assert took_s < 3, f"{took_s:.1f} s"
    assert "run the same command to continue" in err
    assert "Traceback" not in err
    assert set(statuses(tmp_path)) <= {"interrupted"}
    assert place == 0 or statuses(tmp_path) == ["interrupted"]
    assert_reaches_the_truth(lab, tmp_path)


def test_a_second_signal_does_not_wait_for_the_page_in_hand(lab, tmp_path):
    slow = lab.server.fail(path=SLOW[lab.server.kind][1], delay=6.0)
    with start(lab, tmp_path) as process:
        wait_for_request(lab, slow)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        took_s = time.monotonic() - began
    lab.server.faults.clear()
    assert process.returncode == 130, err
    assert took_s < 3, f"{took_s:.1f} s"
    assert "Traceback" not in err
    assert_reaches_the_truth(lab, tmp_path)


def test_a_signal_ends_a_wait_for_the_limit_at_once(lab, tmp_path):
    """The forge asked for ten minutes; a person asked for the end."""
    wait = lab.server.fail(
        path=SLOW[lab.server.kind][1], status=429, headers={"Retry-After": "600"}, body={"message": "slow down"}
    )
    with start(lab, tmp_path) as process:
        wait_for_request(lab, wait)
        time.sleep(0.2)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        took_s = time.monotonic() - began
    lab.server.faults.clear()
    assert process.returncode == 130, err
    assert took_s < 2, f"{took_s:.1f} s"
    assert statuses(tmp_path) == ["interrupted"]
    assert_reaches_the_truth(lab, tmp_path)


def test_programs_see_the_same_exit_code(lab, tmp_path):
    slow = lab.server.fail(path=SLOW[lab.server.kind][1], delay=0.7)
    with start(lab, tmp_path, "--json") as process:
        wait_for_request(lab, slow)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert not out or json.loads(out)["ok"] is False


# The first signal is enough, also where the server would keep the socket for minutes.
HUNG_S = 60.0


def interrupt(process):
    """Send one Ctrl-C; return what was said and how long it took."""
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=HUNG_S)
    return err, time.monotonic() - began


def assert_ended_at_once(process, err, took_s):
    assert process.returncode == 130, err
    assert took_s < 3, f"{took_s:.1f} s"
    assert err.splitlines()[-1] == "stopped: saved work is kept; run the same command to continue"
    assert "Traceback" not in err


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_the_first_signal_ends_a_request_that_hangs(lab, tmp_path, place):
    slow = lab.server.fail(path=SLOW[lab.server.kind][place], delay=HUNG_S)
    with start(lab, tmp_path) as process:
        wait_for_request(lab, slow)
        err, took_s = interrupt(process)
    lab.server.faults.clear()
    assert_ended_at_once(process, err, took_s)
    assert (tmp_path / "lore.db").exists() == (place > 0)
    assert set(statuses(tmp_path)) <= {"interrupted"}
    assert_reaches_the_truth(lab, tmp_path)


@pytest.mark.parametrize(
    ("words", "at_once"), [(["import"], 1), (["embed"], 1), (["embed"], 3), (["search", "crash"], 1)]
)
def test_the_first_signal_ends_an_embedder_that_hangs(tmp_path, words, at_once):
    db, source = str(tmp_path / "lore.db"), tmp_path / "x.jsonl"
    rows = [{"kind": "issue", "number": 1 + at, "title": f"Crash {at}", "body": "It falls over."} for at in
            range(1 if at_once == 1 else 100)]  # fmt: skip
    source.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    load = ["import", str(source), "--project", "p"]
    with EmbeddingServer() as server:
        env = environ(tmp_path, FORGELORE_EMBEDDER="ollama", FORGELORE_EMBEDDER_URL=server.url)
        env |= {"PATH": "/usr/bin:/bin", "FORGELORE_EMBEDDER_CONCURRENCY": str(at_once)}
        if words != ["import"]:
            ready = [] if words[0] == "search" else ["--no-embed"]
            assert subprocess.run([*FORGELORE, *load, *ready, "--db", db], env=env, capture_output=True).returncode == 0
        slow = server.fail(path="/api/embed", delay=HUNG_S)
        command = [*FORGELORE, *(load if words == ["import"] else words), "--db", db]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            wait_for_request(None, slow)
            err, took_s = interrupt(process)
    assert_ended_at_once(process, err, took_s)


def test_the_first_signal_ends_an_import_from_a_slow_pipe(tmp_path):
    db = str(tmp_path / "lore.db")
    command = [*FORGELORE, "import", "-", "--project", "p", "--db", db]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environ(tmp_path), text=True, **pipes) as process:
        process.stdin.write('{"kind": "issue", "number": 1}\n')
        process.stdin.flush()
        time.sleep(1.5)  # nothing tells that it waits for the next line
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.wait(timeout=HUNG_S)
        took_s = time.monotonic() - began
        err = process.stderr.read()
    assert_ended_at_once(process, err, took_s)


def test_the_first_signal_ends_a_git_that_hangs(github, tmp_path):
    """The index branch is pulled by git; its helper, which holds the socket, ends with it."""
    event = tmp_path / "event.json"
    number = github.project.add_issue("One")
    event.write_text(
        json.dumps({"action": "opened", "issue": {"number": number}, "repository": {"full_name": "acme/web"}})
    )
    ci = {
        "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "issues", "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REPOSITORY": "acme/web", "GITHUB_SERVER_URL": github.server.url, "RUNNER_TEMP": str(tmp_path),
    }  # fmt: skip
    slow = github.server.fail(path=r"info/refs", delay=HUNG_S)
    env = environ(tmp_path, **github.environ(github.good_token), **ci)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*FORGELORE, "triage"], env=env, **pipes) as process:
        wait_for_request(github, slow)
        err, took_s = interrupt(process)
    assert_ended_at_once(process, err, took_s)
