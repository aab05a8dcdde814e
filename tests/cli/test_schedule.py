"""The lines for cron and systemd in the documentation are run as they stand there, against a local forge."""

import configparser
import pathlib
import re
import subprocess
import sys

import pytest

from forgelore.surfaces.cli.command import build_parser

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "schedule.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def unit(text):
    read = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    read.optionxform = str
    read.read_string(text)
    return read


SERVICE, TIMER = map(unit, blocks("ini"))


@pytest.fixture
def home(tmp_path, github):
    """A home as the page describes it: the program, the settings, and a file with the token."""
    (tmp_path / ".local" / "bin").mkdir(parents=True)
    program = tmp_path / ".local" / "bin" / "forgelore"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m forgelore "$@"\n')
    program.chmod(0o755)
    settings = tmp_path / ".config" / "forgelore"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text('projects = ["acme/web"]\nembedder = "none"\n')
    wanted = github.environ(github.good_token) | {"FORGELORE_REQUESTS_PER_SECOND": "100"}
    (settings / "env").write_text("".join(f"{name}={value}\n" for name, value in wanted.items()))
    github.populate(issues=3, changes=1)
    return tmp_path


def run(home, *command, **more):
    """With nothing but what a timer's process has."""
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin", **more}
    return subprocess.run(command, env=environ, cwd=home, capture_output=True, text=True, timeout=120, check=False)


def count_issues(home):
    done = run(home, str(home / ".local" / "bin" / "forgelore"), "count", "issues", "--json")
    return done.stdout


def test_the_line_for_cron_syncs_every_ten_minutes_and_says_nothing(home):
    (line,) = blocks("cron")
    *when, command = line.rstrip("\n").split(" ", 5)
    assert when == ["*/10", "*", "*", "*", "*"]
    assert "%" not in command, "cron takes it for the end of a line"
    done = run(home, "/bin/sh", "-c", command)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert '"total": 3' in count_issues(home)
    assert "acme/web" in (home / "forgelore-sync.log").read_text()


def test_a_run_of_cron_that_failed_says_why(home, github):
    github.server.fail(path="/repos/acme/web", status=401, times=100)
    (line,) = blocks("cron")
    done = run(home, "/bin/sh", "-c", line.split(" ", 5)[5])
    assert "rejected the token" in done.stdout
    assert github.good_token not in done.stdout


def test_the_line_for_cron_does_without_a_file_of_tokens(home, github):
    (home / ".config" / "forgelore" / "env").unlink()
    (line,) = blocks("cron")
    done = run(home, "/bin/sh", "-c", line.split(" ", 5)[5], **github.environ(github.good_token))
    assert done.returncode == 0, done.stderr


def test_the_service_syncs(home):
    settings = SERVICE["Service"]
    place = settings["EnvironmentFile"].removeprefix("-").replace("%h", str(home))
    environ = dict(line.split("=", 1) for line in pathlib.Path(place).read_text().splitlines())
    done = run(home, *settings["ExecStart"].replace("%h", str(home)).split(), **environ)
    assert done.returncode == 0, done.stderr
    assert '"total": 3' in count_issues(home)


def test_the_timer_starts_that_service_every_ten_minutes(home):
    del home
    names = re.findall(r"`forgelore-sync\.(service|timer)`", PAGE)
    assert names == ["service", "timer"], "a timer starts the service of its own name"
    assert (TIMER["Timer"]["OnUnitInactiveSec"], TIMER["Install"]["WantedBy"]) == ("10min", "timers.target")
    assert "enable --now forgelore-sync.timer" in PAGE
    assert SERVICE["Service"]["Type"] == "oneshot"


def test_a_sync_that_finds_another_one_at_work_is_no_failure_of_the_service(home):
    from forgelore.errors import Locked

    del home
    assert SERVICE["Service"]["SuccessExitStatus"] == str(Locked.exit_code)
    assert f"exit code {Locked.exit_code}" in PAGE


def test_every_command_of_the_page_is_one_of_ours():
    found = re.findall(r"forgelore\"? (sync(?:-status)?)\b([^`>\n]*)", PAGE)
    assert len(found) >= 3
    for name, words in found:
        build_parser(name)[0].parse_args(words.split())


def test_the_page_is_found():
    assert "(docs/schedule.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
