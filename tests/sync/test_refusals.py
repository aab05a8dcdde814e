"""Losing sight of something is not its deletion, one refusal is not the end of everything else, and comparing is rare."""

import os
import subprocess
import sys

import pytest

from forgelore.errors import AuthError, NotFound
from forgelore.model import Cursor
from forgelore.store.sync import load_cursor
from forgelore.sync import deletions as sweep
from support import raised

DAY_S = 86_400


def lose_access(lab):
    """From now on nothing of the project is shown."""
    lab.server.fail(path=r".", status=404, body={"message": "Not Found"})


def run_status(lab):
    return lab.value("SELECT status FROM sync_runs ORDER BY id DESC LIMIT 1")


def test_access_that_is_lost_while_a_sync_runs_buries_nothing(github):
    for n in range(40):
        github.project.add_change(f"change {n}", files=[])
    github.sync()
    github.time.pass_by(DAY_S + 3600)
    github.on_request(r"/pulls/comments", lambda: lose_access(github))
    with raised(NotFound, says="acme/web"):
        github.sync()
    assert github.deleted() == set()
    assert run_status(github) == "failed"
    github.server.faults.clear()
    github.time.pass_by(2 * 3600)
    github.sync()
    github.assert_same()


def test_a_project_that_hides_most_of_a_kind_keeps_it_whoever_asked_for_the_look(gitlab):
    """The project itself still answers; its issues and their threads do not."""
    gitlab.populate(issues=30)
    gitlab.server.graphql = False
    gitlab.sync()
    rule = gitlab.server.fail(path=r"/issues/\d+", status=404, body={"message": "404 Not found"})
    for number in range(1, 31):
        gitlab.project.edit("issue", number, title="edited")
    result = gitlab.sync()
    assert gitlab.deleted() == set()
    assert any("issues are no longer visible to this token" in warning for warning in result.warnings)
    assert gitlab.value("SELECT count(*) FROM jobs WHERE kind = 'look'") == 0
    gitlab.server.faults.remove(rule)
    gitlab.time.pass_by(2 * 3600)
    gitlab.sync()
    gitlab.assert_same()


def test_a_few_deletions_are_buried_in_the_sync_that_meets_them(lab):
    lab.populate(issues=30)
    lab.sync()
    numbers = [number for (number,) in lab.rows("SELECT number FROM items WHERE kind = 'issue' ORDER BY number")]
    for number in numbers[:3]:
        lab.on_issue("delete", number)
    lab.time.pass_by(3600)
    assert lab.sync().deleted == 3
    lab.assert_same()


def test_releases_that_all_vanish_at_once_are_kept(lab):
    lab.populate(releases=30)
    lab.sync()
    lab.time.pass_by(DAY_S + 3600)
    lab.server.fail(path=r"/releases(\?|$)", status=200, body=[])
    lab.server.fail(path=r"/releases/\d+", status=404, body={"message": "Not Found"})
    result = lab.sync()
    assert lab.deleted() == set()
    assert any("30 of 30 releases" in warning for warning in result.warnings)


# refusals


def test_one_part_that_is_refused_waits_and_the_others_go_on(gitlab):
    gitlab.populate(issues=30)
    rule = gitlab.server.fail(path=r"/merge_requests/2/diffs", status=403, body={"message": "403 Forbidden"})
    result = gitlab.sync()
    assert (result.pending_jobs, result.failing_jobs) == (1, 1)
    assert gitlab.rows("SELECT number FROM items WHERE kind = 'change' AND detail_hash IS NULL") == [(2,)]
    gitlab.server.faults.remove(rule)
    gitlab.time.pass_by(60)
    assert gitlab.sync().pending_jobs == 0
    gitlab.assert_same()


def test_a_token_that_is_rejected_amid_the_work_ends_the_run(gitlab):
    gitlab.populate()
    gitlab.server.graphql = False
    gitlab.server.fail(path=r"/discussions", status=401, body={"message": "401 Unauthorized"})
    with raised(AuthError, code="auth"):
        gitlab.sync()
    assert run_status(gitlab) == "failed"


@pytest.mark.parametrize("status", [403, 404])
def test_a_list_that_is_refused_is_a_warning_and_the_others_are_read(gitlab, status):
    gitlab.populate(issues=30)
    rule = gitlab.server.fail(path=r"/merge_requests\?", status=status, body={"message": "no"})
    result = gitlab.sync()
    (warning,) = [warning for warning in result.warnings if "merge requests" in warning]
    assert "token" in warning, "the hint says what to do"
    assert gitlab.rows("SELECT DISTINCT kind FROM items WHERE kind <> 'release'") == [("issue",)]
    assert gitlab.value("SELECT count(*) FROM notes") > 0
    assert load_cursor(gitlab.app.store(), 1, "merge_requests") == Cursor()
    gitlab.server.faults.remove(rule)
    gitlab.sync()
    gitlab.assert_same()


def test_a_stream_of_comments_that_is_refused_leaves_the_rest(github):
    github.populate()
    github.server.fail(path=r"/pulls/comments", status=403, body={"message": "Resource not accessible"})
    result = github.sync()
    assert any(warning.startswith("review comments") for warning in result.warnings)
    assert github.value("SELECT count(*) FROM items WHERE kind = 'change'") == 6


@pytest.mark.parametrize(("status", "error"), [(403, AuthError), (404, NotFound)])
def test_a_project_of_which_no_list_can_be_read_is_an_error(lab, status, error):
    lab.populate()
    lab.server.fail(path=r"/(issues|pulls|merge_requests|graphql)\b", status=status, body={"message": "no"})
    with raised(error):
        lab.sync()
    assert run_status(lab) == "failed"


def test_the_process_ends_with_its_error_though_a_worker_sits_out_a_limit(gitlab):
    gitlab.populate(issues=20)
    gitlab.server.graphql = False
    place, wait = r"/issues/\d+/discussions", {"Retry-After": "60"}
    # The limit comes late: once it is known, nobody asks for anything.
    gitlab.server.fail(path=place, status=429, body={"message": "slow"}, headers=wait, times=1, delay=1.0)
    gitlab.server.fail(path=place, status=401, body={"message": "no"}, delay=2.0)
    command = [
        sys.executable,
        "-m",
        "forgelore.surfaces.cli.main",
        "--db",
        str(gitlab.folder / "own.db"),
        "sync",
        gitlab.name_text,
    ]
    environ = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **gitlab.environ(gitlab.good_token)}
    environ["FORGELORE_REQUESTS_PER_SECOND"] = "100"
    done = subprocess.run(command, env=environ, cwd=gitlab.folder, capture_output=True, timeout=20, check=False)
    assert done.returncode == 4, done.stderr


# comparing


@pytest.fixture
def sweeps(monkeypatch):
    """The kinds that were compared number by number."""
    compared, compare = [], sweep._compare
    monkeypatch.setattr(
        sweep, "_compare", lambda bench, forge, kind, *rest: compared.append(kind) or compare(bench, forge, kind, *rest)
    )
    return compared


def test_what_is_created_during_a_sync_is_left_to_the_next(lab, sweeps):
    lab.populate()
    lab.sync()
    lab.time.pass_by(3600)
    lab.on_request(r"/labels", lambda: lab.project.add_issue("meanwhile"), nth=1)
    lab.sync()
    lab.time.pass_by(60)
    lab.sync()
    assert sweeps == []
    lab.assert_same()


def test_what_no_list_shows_is_found_by_the_second_sync_that_counts_it(lab, sweeps):
    lab.populate()
    lab.sync()
    lab.time.pass_by(30 * DAY_S)
    lab.sync()
    lab.project.add_issue("late", created_at="2025-01-01T00:00:00Z")
    lab.sync()
    assert sweeps == []
    lab.sync()
    assert sweeps == ["issue"]
    lab.assert_same()


def test_a_project_that_grows_during_every_sync_is_compared_once_a_day(gitlab, sweeps):
    gitlab.populate()
    gitlab.sync()
    for number in range(8):
        gitlab.time.pass_by(3600)
        gitlab.on_request(r"/merge_requests\?.*per_page=1", lambda n=number: gitlab.project.add_issue(f"meanwhile {n}"))
        gitlab.sync()
    assert sweeps == ["issue"]
    gitlab.time.pass_by(3600)
    gitlab.sync()
    gitlab.assert_same()


def test_a_difference_that_stays_is_compared_once_a_day(gitlab, sweeps):
    """A confidential issue that this reader may not see any more: kept, and one more than the forge counts."""
    gitlab.populate()
    gitlab.sync()
    gitlab.rows("UPDATE items SET is_confidential = 1 WHERE kind = 'issue' AND number = 3")
    gitlab.project.delete("issue", 3)
    for number in range(4):
        gitlab.time.pass_by(3600)
        gitlab.project.add_issue(f"new {number}")
        gitlab.sync()
    assert sweeps == ["issue"]
    gitlab.time.pass_by(DAY_S)
    gitlab.sync()
    assert sweeps == ["issue", "issue"]
    assert gitlab.deleted() == set()


def test_a_deletion_beside_a_difference_that_stays_is_noticed_at_once(gitlab):
    gitlab.populate()
    gitlab.sync()
    gitlab.rows("UPDATE items SET is_confidential = 1 WHERE kind = 'issue' AND number = 3")
    gitlab.project.delete("issue", 3)
    gitlab.sync()
    gitlab.project.delete("issue", 4)
    gitlab.time.pass_by(60)
    gitlab.sync()
    assert gitlab.deleted() == {("issue", 4)}


def test_full_compares_again_where_the_forge_does_not_count(gitlab):
    gitlab.server.total_cutoff = 3
    gitlab.populate(issues=6, changes=6)
    gitlab.sync()
    gitlab.project.delete("change", 2)
    gitlab.time.pass_by(3600)
    gitlab.sync()
    assert gitlab.deleted() == set()
    gitlab.sync(full=True)
    assert gitlab.deleted() == {("change", 2)}
    gitlab.assert_same()


def test_full_compares_again_a_difference_that_was_let_be(gitlab, sweeps):
    gitlab.populate()
    gitlab.sync()
    gitlab.rows("UPDATE items SET is_confidential = 1 WHERE kind = 'issue' AND number = 3")
    gitlab.project.delete("issue", 3)
    gitlab.sync()
    gitlab.sync()
    assert sweeps == ["issue"]
    gitlab.sync(full=True)
    assert sweeps == ["issue", "issue"]
