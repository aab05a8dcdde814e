"""Promises the project makes about itself: what commands load, what is documented, what the package holds."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAVY = {
    "msgspec",
    "httpx",
    "rich",
    "numpy",
    "click",
    "tomllib",
    "subprocess",
    "shutil",
    "dataclasses",
    "inspect",
    "asyncio",
    "ssl",
}


def modules_after(*words, env=None):
    code = (
        "import sys, io, contextlib\n"
        "from forgelore.surfaces.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        f"    main({list(words)!r})\n"
        "import json; print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **(env or {})}, check=True
    )
    return set(json.loads(done.stdout))


def as_installed(**more):
    """The environment of somebody who has set nothing: the default embedder too."""
    return {**{name: value for name, value in os.environ.items() if name != "FORGELORE_EMBEDDER"}, **more}


@pytest.fixture(scope="session")
def demo_db(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("demo") / "demo.db")
    subprocess.run(
        [sys.executable, "-m", "forgelore.surfaces.cli.main", "demo", "--keep", path],
        capture_output=True,
        check=True,
        env=as_installed(),
    )
    return path


def test_help_loads_nothing_but_the_standard_library():
    assert not modules_after("--help") & (HEAVY | {"apsw", "argparse", "sqlite3"})


@pytest.mark.parametrize(
    "words",
    [["list", "issues"], ["count", "issues"], ["show", "#41"], ["search", "deleted files", "--mode", "lexical"]],
)
def test_reading_commands_load_no_heavy_library(demo_db, words):
    """The import budget: a list stays within eight times the price of Python itself, a search by words within nine."""
    assert not modules_after(*words, env={"FORGELORE_DB": demo_db}) & HEAVY


def test_generated_documentation_is_current():
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "docs.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def sessions(name):
    """Yield (command, shown output) of each `$ forgelore …` in the console blocks of a page."""
    for block in re.findall(r"```console\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output.rstrip("\n")


SESSIONS = [
    pytest.param(command, output, id=command)
    for command, output in sessions("README.md")
    if command.startswith("forgelore")
]


def test_the_readme_shows_sessions():
    assert len(SESSIONS) >= 3


@pytest.mark.parametrize(("command", "shown"), SESSIONS)
def test_a_session_in_the_readme_is_what_the_program_prints(command, shown, demo_db, tmp_path):
    """`…` alone on a line stands for lines left out."""
    words = shlex.split(command)[1:]
    env = as_installed(FORGELORE_DB=demo_db, NO_COLOR="1", COLUMNS="100")
    done = subprocess.run(
        [sys.executable, "-m", "forgelore.surfaces.cli.main", *words],
        capture_output=True,
        text=True,
        env=env,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout
    for piece in re.split(r"^…$", shown, flags=re.MULTILINE):
        piece = piece.strip("\n")
        assert piece in printed, f"{command} does not print:\n{piece}\nbut:\n{printed}"
        printed = printed[printed.index(piece) + len(piece) :]


def test_every_link_inside_the_documentation_leads_somewhere():
    for page in [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_changelog_knows_this_version():
    from forgelore import __version__

    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_lock_files_hold_hashes_and_name_no_registry():
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text()
        assert "://" not in text
        packages = re.findall(r"^[\w.\-]+==", text, re.MULTILINE)
        assert packages
        assert text.count("--hash=sha256:") >= len(packages)


def test_the_demo_tracker_keeps_its_shape():
    items = [
        json.loads(line) for line in (ROOT / "src/forgelore/data/demo.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    kinds = [item["kind"] for item in items]
    assert len(items) >= 150
    assert set(kinds) == {"issue", "change", "discussion", "release"}
    assert sum(item["state_reason"] == "duplicate" for item in items) >= 20
    assert len({(item["kind"], item["number"]) for item in items}) == len(items)
