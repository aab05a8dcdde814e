"""What a release attaches: the one-file program that runs by itself, and workflow files pinned to the release's commit."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

from action.runner import ROOT, load
from action.test_zizmor import zizmor
from forgelore.version import __version__

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Built from what is installed here, without a network."""
    folder = tmp_path_factory.mktemp("dist")
    build(folder)
    return next(folder.iterdir())


def build(folder):
    command = [sys.executable, str(ROOT / "scripts" / "zipapp.py"), str(folder)]
    subprocess.run(command, check=True, capture_output=True, env={"PATH": os.environ["PATH"]})


def run(program, home, *arguments, **more):
    """With an interpreter that has no libraries of its own, in an empty environment."""
    python = os.path.realpath(sys.executable)
    environ = {"HOME": str(home), "PATH": os.defpath, **more}
    return subprocess.run(
        [python, "-I", str(program), *arguments], capture_output=True, text=True, env=environ, cwd=home
    )


def unpacked(home):
    return sorted((home / ".cache" / "forgelore" / "pyz").iterdir())


def test_the_program_is_one_file_that_runs_by_itself(program, tmp_path):
    assert program.name.startswith(f"forgelore-{__version__}-cpython-3")
    assert program.read_bytes().startswith(b"#!/usr/bin/env python3\n")
    helped = run(program, tmp_path, "--help")
    assert helped.returncode == 0, helped.stderr
    assert "usage: forgelore" in helped.stdout
    shown = run(program, tmp_path, "demo", "--keep", "demo.db")  # compiled modules and data files
    assert shown.returncode == 0, shown.stdout + shown.stderr
    [folder] = unpacked(tmp_path)
    assert json.loads(zipfile.ZipFile(program).read("built.json"))["sum"] == folder.name
    assert sorted(path.name for path in folder.glob("*.dist-info") if (path / "licenses").is_dir())


def test_the_program_unpacks_itself_once(program, tmp_path):
    run(program, tmp_path, "--version")
    [folder] = unpacked(tmp_path)
    (folder / "seen").touch()
    assert run(program, tmp_path, "--version").stdout == f"forgelore {__version__}\n"
    assert unpacked(tmp_path) == [folder]
    assert (folder / "seen").exists()


def test_the_program_says_which_python_it_was_built_for(program, tmp_path):
    other = tmp_path / "other.pyz"
    with zipfile.ZipFile(program) as source, zipfile.ZipFile(other, "w") as target:
        target.writestr("__main__.py", source.read("__main__.py"))
        target.writestr("built.json", json.dumps({"built_for": "cpython-399-x86_64-linux-gnu", "sum": "0"}))
    done = run(other, tmp_path)
    assert done.returncode == 1
    assert "other.pyz was built for cpython-399-x86_64-linux-gnu, and this is cpython-3" in done.stderr
    assert not (tmp_path / ".cache").exists()


def test_the_same_environment_gives_the_same_bytes(program, tmp_path):
    build(tmp_path)
    assert sha256(tmp_path / program.name) == sha256(program)


def sha256(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_attached_workflow_files_are_pinned_to_the_commit(tmp_path):
    """The step of release.yml itself, in a copy of the tree; then zizmor without the exception for our own action."""
    shutil.copytree(ROOT / "docs" / "triage", tmp_path / "docs" / "triage")
    (tmp_path / "dist").mkdir()
    [script] = [step["run"] for step in load_release()["packages"]["steps"] if "Pin" in step.get("name", "")]
    environ = {"PATH": os.environ["PATH"], "GITHUB_SHA": COMMIT, "GITHUB_REF_NAME": "v1.2.3"}
    subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, env=environ, check=True)
    found = {ident for ident, _ in zizmor("--no-config", "triage.yml", "split.yml", cwd=tmp_path / "dist")}
    assert found == {"dangerous-triggers"}
    for name in ("triage.yml", "split.yml"):
        assert f"uses: forgelore/forgelore@{COMMIT} # v1.2.3\n" in (tmp_path / "dist" / name).read_text()
        assert load(tmp_path / "dist" / name)["jobs"].keys() == load(ROOT / "docs" / "triage" / name)["jobs"].keys()
    assert load(tmp_path / "dist" / "gitlab-ci.yml")["forgelore-triage"]["variables"]["FORGELORE_COMMIT"] == COMMIT


def test_only_the_last_job_of_a_release_can_write():
    jobs = load_release()
    assert [name for name, job in jobs.items() if "write" in job["permissions"].values()] == ["publish"]
    assert set(jobs["publish"]["needs"]) == {"packages", "programs"}
    assert not any("checkout" in step.get("uses", "") for step in jobs["publish"]["steps"])
    used = [step.get("uses", "").partition("@")[0] for step in jobs["publish"]["steps"]]
    assert "actions/attest-build-provenance" in used


def test_the_tag_must_be_the_version(tmp_path):
    [script] = [step["run"] for step in load_release()["packages"]["steps"] if "Compare" in step.get("name", "")]
    (tmp_path / "python").symlink_to(os.path.realpath(sys.executable))
    for tag, code in ((f"v{__version__}", 0), ("v999.0.0", 1)):
        environ = {"PATH": f"{tmp_path}{os.pathsep}{os.defpath}", "GITHUB_REF_NAME": tag}
        assert (
            subprocess.run(["bash", "-e", "-c", script], cwd=ROOT, env=environ, capture_output=True).returncode == code
        )


def load_release() -> dict:
    return load(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
