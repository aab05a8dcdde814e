"""A first sync that fails leaves nothing behind: no empty database that would answer "no items" ever after."""

import os
import subprocess
import sys

import pytest

FORGELORE = [sys.executable, "-m", "forgelore.surfaces.cli.main"]
AT_ONCE = "import forgelore.net.policy as p; p.ATTEMPTS = 1; import sys; from forgelore.surfaces.cli.main import main; sys.exit(main())"


@pytest.fixture
def start(tmp_path, github_env):
    """Start a command whose database would be `data/lore.db`, in a folder that is not there yet."""

    def run(*words, program=FORGELORE, **environ):
        env = {**os.environ, **github_env, "FORGELORE_DB": str(tmp_path / "data" / "lore.db"), **environ}
        return subprocess.Popen([*program, *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return run


def end(process):
    """Wait for a command and return its exit code, its output and its remarks."""
    out, err = process.communicate()
    return process.returncode, out, err


TROUBLES = {
    "a wrong name": (["sync", "acme/nothing"], {}, 5),
    "a wrong token": (["sync", "acme/web"], {"GITHUB_TOKEN": "wrong"}, 4),
    "a wrong name of one kind": (["ingest", "--type=issues", "acme/nothing"], {}, 5),
    "a wrong owner": (["sync", "nobody/*"], {}, 5),
    "only wrong names": (["sync", "acme/nothing", "acme/nobody"], {}, 5),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_first_sync_that_fails_leaves_no_database(github, start, tmp_path, trouble):
    words, environ, code = TROUBLES[trouble]
    found, _, err = end(start(*words, **environ))
    assert found == code, err
    assert not (tmp_path / "data").exists()
    assert "no database at" in end(start("list", "issues"))[2]


def test_no_network_leaves_no_database(github, start, tmp_path):
    nowhere = {"GITHUB_API_URL": "http://127.0.0.1:1"}
    code, _, err = end(start("sync", "acme/web", program=[sys.executable, "-c", AT_ONCE], **nowhere))
    assert code == 6, err
    assert not (tmp_path / "data").exists()


def test_a_project_that_is_known_keeps_the_record_of_its_failure(github, start, tmp_path):
    github.project.add_issue("One")
    assert end(start("sync", "acme/web"))[0] == 0
    assert end(start("sync", "acme/web", GITHUB_TOKEN="wrong"))[0] == 4
    _, out, _ = end(start("sync-status"))
    assert "✗ sync" in out
    assert "1 issues" in out


def test_a_sync_that_fails_beside_one_that_works_takes_nothing_from_it(github, start, tmp_path):
    """Both begin without a file; the one that fails must not remove what the other has made meanwhile."""
    github.server.populate("acme/web", seed=3, issues=30, changes=10)
    github.server.fail(path=r"/repos/acme/nothing$", delay=1.0, status=404, body={"message": "Not Found"})
    failing, working = start("sync", "acme/nothing"), start("sync", "acme/web")
    assert (end(failing)[0], end(working)[0]) == (5, 0)
    assert end(start("count", "issues"))[1].startswith("Issues: 30 ")
