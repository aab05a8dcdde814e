"""An output that cannot be written ends in one line and exit code 8, whatever the command; a reader that leaves early ends in silence."""

import json
import os
import pathlib
import resource
import shlex
import shutil
import subprocess
import sys

import pytest

import forgelore
from forgelore.surfaces.cli.main import COMMANDS

FORGELORE = f"{shlex.quote(sys.executable)} -m forgelore.surfaces.cli.main"


def quote(path):
    return shlex.quote(str(path))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A database that holds the example project."""
    path = tmp_path_factory.mktemp("output") / "lore.db"
    source = pathlib.Path(forgelore.__file__).parent / "data" / "demo.jsonl"
    words = ["import", source, "--project", "lanternsync/lantern", "--no-embed", "--db", path]
    subprocess.run([*shlex.split(FORGELORE), *words], check=True, capture_output=True)
    return path


@pytest.fixture
def sh(store):
    """Run a line of shell on the example store; `lore` in it stands for the program."""

    def run(line, **more):
        env = {**os.environ, "FORGELORE_DB": str(store)}
        script = f'set -o pipefail; lore() {{ {FORGELORE} "$@"; }}; {line}'
        return subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, **more)

    return run


RESULTS = [
    "--help",
    "--version",
    "list --help",
    "list issues",
    "list issues --json",
    "show nothing-there --json",
    "search 'deleted files' --mode lexical",
    "stats",
    "completion bash",
    "export",
    "doctor --offline",
    "demo",
]


@pytest.mark.parametrize("how", ["> /dev/full", ">&-"])
@pytest.mark.parametrize("words", RESULTS)
def test_an_output_that_cannot_be_written_is_one_line_and_exit_8(sh, words, how):
    done = sh(f"lore {words} {how}")
    said = [line for line in done.stderr.splitlines() if not line.startswith("!")]  # warnings are part of a result
    why = "No space left on device" if "full" in how else "it is closed"
    assert (done.returncode, said) == (8, [f"error: standard output cannot be written: {why}"])


def test_the_help_of_every_command_knows_a_full_output(sh):
    names = " ".join(f"'{name}'" for name in COMMANDS)
    line = f"for name in {names}; do lore $name --help > /dev/full; echo $?; done"
    done = sh(line)
    assert done.stdout.split() == ["8"] * len(COMMANDS)
    assert len(done.stderr.splitlines()) == len(COMMANDS)


def test_an_unbuffered_output_that_is_full_is_told_the_same_way(sh):
    """Containers set PYTHONUNBUFFERED: the failure comes with the first line then, and not at the end."""
    done = sh("PYTHONUNBUFFERED=1 lore list issues > /dev/full; echo $?; PYTHONUNBUFFERED=1 lore export > /dev/full")
    assert (done.stdout, done.returncode) == ("8\n", 8)
    assert done.stderr.splitlines() == ["error: standard output cannot be written: No space left on device"] * 2


@pytest.mark.parametrize("words", ["export", "completion bash", "list issues --limit 100 --json", "list --help"])
def test_a_reader_that_leaves_early_ends_it_in_silence(sh, words):
    done = sh(f"lore {words} | head -1 > /dev/null")
    assert (done.returncode, done.stderr) == (0, "")


def test_without_standard_error_nothing_of_it_reaches_the_result(sh):
    """Python prints to standard output where there is no standard error."""
    done = sh(
        "lore list --project nobody/nothing issues --json 2>&-; lore show nothing-there 2>&-; lore show nothing 2> /dev/full"
    )
    assert done.stdout.count("\n") == 1
    assert json.loads(done.stdout)["ok"] is False
    assert done.returncode == 5


def test_work_is_done_although_nobody_reads_about_it(sh, demo_file):
    done = sh(f"export FORGELORE_DB=new.db; lore import {quote(demo_file)} --project p >&-; echo $?; lore count issues")
    assert done.stdout.startswith("8\nIssues: ")
    again = sh(f"export FORGELORE_DB=newer.db; lore import {quote(demo_file)} --project p 2>&- > /dev/null; echo $?")
    assert again.stdout == "0\n"


def test_reading_a_closed_input_is_an_error(sh):
    done = sh("lore import - --project p <&-")
    assert done.returncode == 13
    assert "standard input is closed" in done.stderr


def assert_no_half_file(done, folder):
    assert done.returncode == 8, done.stderr
    assert done.stderr.startswith("error: cannot write ")
    assert "Traceback" not in done.stderr
    assert os.listdir(folder) == []


def test_an_export_larger_than_a_file_may_be_leaves_no_half_file(sh, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))  # noqa: E731
    assert_no_half_file(sh(f"lore export --output {quote(folder)}/out.jsonl", preexec_fn=limit), folder)


def test_an_export_to_a_full_disk_leaves_what_was_there(sh, tmp_path):
    """Has the store's exit code: the machine must act, and not who typed the path."""
    disk = tmp_path / "disk"
    disk.mkdir()
    there = quote(disk)
    mount = f"mount -t tmpfs -o size=64k small {there}"
    probe = ["unshare", "-Urm", "sh", "-c", mount]
    if not shutil.which("unshare") or subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("this system lets nobody mount a file system of their own")
    inner = f"{mount} && echo before > {there}/out.jsonl && {FORGELORE} export --output {there}/out.jsonl; echo $?; ls {there}; cat {there}/*"
    done = sh(f"unshare -Urm sh -c {quote(inner)}")
    assert done.stdout.splitlines() == ["8", "out.jsonl", "before"], done.stderr
    assert "No space left on device" in done.stderr
    assert "free some space" in done.stderr


def test_an_export_to_a_full_device_has_the_same_code(sh):
    done = sh("lore export --output /dev/full --json")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (8, "store")
