"""The steps of action.yml, executed as a runner would: what they install, from where, and what they do when they cannot."""

import os
import re
import subprocess
import sys
import zipfile

import pytest

from action.expressions import evaluate, fill
from action.runner import ROOT, TRAPS, Machine, load, parse_outputs, run_action

NOWHERE = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path / "machine", **NOWHERE)


def test_a_bare_machine_gets_what_the_lock_file_names_and_nothing_else(installed):
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(installed.python), "freeze", "--all"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    locked = re.findall(r"^([a-z][\w.-]+==\S+)", (ROOT / "requirements" / "runtime.txt").read_text(), re.MULTILINE)
    assert listed
    assert {line.lower().replace("_", "-") for line in listed.splitlines()} <= set(locked)


def test_the_cache_key_names_the_lock_and_the_python(installed):
    assert re.fullmatch(r"forgelore-wheels-[\w-]*\d+[\w-]*-[0-9a-f]{32}", installed.key)


def test_a_second_use_in_the_same_job_installs_nothing(machine, installed):
    installed.put_on(machine)
    result = run_action(machine, until="install")
    assert result.steps["install"]["outputs"] == {"ready": "true"}
    assert not (machine.temp / "forgelore-wheels").exists()


def test_a_cache_hit_needs_no_index(tmp_path, installed):
    cache = tmp_path / "cache"
    (cache / "refs-heads-main").mkdir(parents=True)
    (cache / "refs-heads-main" / installed.key).symlink_to(installed.wheels)
    machine = Machine(tmp_path / "machine", cache=cache, **NOWHERE)
    result = run_action(machine, until="install")
    assert result.steps["install"]["outputs"] == {"ready": "true"}, result.log
    assert result.warnings == []


def test_wheels_that_somebody_changed_in_the_cache_are_not_installed(tmp_path, installed):
    cache = tmp_path / "cache" / "refs-heads-main" / installed.key
    cache.mkdir(parents=True)
    for wheel in installed.wheels.iterdir():
        (cache / wheel.name).symlink_to(wheel)
    changed = next(cache.glob("mdurl-*.whl"))
    content = changed.read_bytes()
    changed.unlink()
    changed.write_bytes(content)
    with zipfile.ZipFile(changed, "a") as archive:
        archive.writestr("mdurl/planted.py", "")
    machine = Machine(tmp_path / "machine", cache=tmp_path / "cache", **NOWHERE)
    result = run_action(machine)
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in result.log
    assert list(machine.temp.rglob("planted.py")) == []
    assert result.ran[-1] == "Install what forgelore needs"


def test_without_an_index_the_job_stays_green_and_says_so(machine):
    result = run_action(machine)
    assert not result.is_failed
    assert result.ran == ["Look at the runner's Python", "Keep what was downloaded", "Install what forgelore needs"]
    assert "could not install" in result.warnings[0]
    assert "could not install" in result.summary
    assert result.outputs == {"report": "", "matched": "", "duplicate-of": ""}
    assert not (machine.temp / "forgelore-wheels").exists()  # half a download must not be kept


def test_an_old_python_is_told_what_is_missing(machine):
    python = machine.folder / "bin" / "python3"
    real = os.readlink(python)
    python.unlink()
    older = "import sys; sys.version_info = (3, 10, 12); exec(sys.argv[1])"
    python.write_text(f'#!/bin/sh\nexec {real} -I -c "{older}" "$3"\n')
    python.chmod(0o755)
    result = run_action(machine)
    assert not result.is_failed
    assert result.ran == ["Look at the runner's Python"]
    assert "this is Python 3.10" in result.log
    assert "Python 3.11 or newer" in result.warnings[0]
    assert "Python 3.11 or newer" in result.summary


def test_a_machine_without_python_is_told_what_is_missing(machine):
    (machine.folder / "bin" / "python3").unlink()
    result = run_action(machine)
    assert not result.is_failed
    assert "Python 3.11 or newer" in result.warnings[0]


def test_modules_that_lie_in_the_workspace_are_never_imported(installed):
    assert len(TRAPS) == len(list((installed.machine / "workspace").rglob("*.py")))
    assert list((installed.machine / "workspace").rglob("sprung")) == []


def test_no_script_contains_an_expression():
    """What a stranger wrote (a title, a branch) can only become code where an expression is pasted into a script."""
    scripts = [step["run"] for step in load(ROOT / "action.yml")["runs"]["steps"] if "run" in step]
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        scripts += [step["run"] for job in load(path)["jobs"].values() for step in job["steps"] if "run" in step]
    assert len(scripts) > 6
    assert [script for script in scripts if "${{" in script] == []


def test_nothing_is_checked_out_where_strangers_start_the_run():
    for name in ("triage.yml", "split.yml"):
        text = (ROOT / "docs" / "triage" / name).read_text()
        assert "pull_request_target" in text
        assert "actions/checkout" not in text
    assert "checkout" not in (ROOT / "action.yml").read_text()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("steps.a.outputs.x == 'TRUE'", True),
        ("steps.a.outputs.none == ''", True),
        ("steps.a.outputs.x != '' && !steps.b.outputs.x", True),
        ("'' || 'it''s'", "it's"),
        ("${{ !cancelled() && steps.a.outputs.x == 'true' }}", True),
        ("failure()", True),
    ],
)
def test_the_runner_evaluates_expressions_as_github_does(text, value):
    contexts = {"steps": {"a": {"outputs": {"x": "true"}}}, "job": {"failed": True}}
    assert evaluate(text, contexts) == value
    assert fill("<${{ steps.a.outputs.x }}>", contexts) == "<true>"


def test_the_runner_reads_outputs_of_several_lines():
    assert parse_outputs("a=1=2\nb<<E\nx\n\ny\nE\nc=\n") == {"a": "1=2", "b": "x\n\ny", "c": ""}
