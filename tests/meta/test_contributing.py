"""CONTRIBUTING.md is the door: every place it names is there, and the commonest changes are described."""

import pathlib
import re

import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[2]
DOOR = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CHANGES = {
    "A forge", "A filter", "A column", "A job kind", "An evidence feature", "An embedder", "A command",
    "An output format", "A comment's layout", "An engine", "A page", "A page of the web", "A setting",
}  # fmt: skip
ELSEWHERE = {"forgelore.toml", "wire.py", "forge.py", "payloads.py"}  # in a clone; in the folder of any forge


def recipes():
    parts = re.split(r"^### (.+)$", DOOR.partition("## The commonest changes")[2], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def places(text):
    """`store/items.py`, `docs`, `python tests/core/test_comments.py`: what stands in backticks and looks like a path."""
    words = " ".join(re.findall(r"`([^`\n]+)`", text)).split()
    found = {
        word.rstrip("/") for word in words if re.fullmatch(r"[\w.-]+(/[\w.-]+)+/?|[\w-]+\.(py|md|toml|txt|sql)", word)
    }
    return {word for word in found if "NAME" not in word}


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md"])
def test_every_place_that_the_page_names_is_there(page):
    named = places((ROOT / page).read_text(encoding="utf-8")) - ELSEWHERE
    assert named
    assert {
        name for name in named if not any((base / name).exists() for base in (ROOT, ROOT / "src/forgelore"))
    } == set()


def test_the_commonest_changes_are_all_there_and_short():
    assert recipes().keys() == CHANGES
    assert {name: text for name, text in recipes().items() if len(text.strip().splitlines()) > 6} == {}


def test_every_recipe_names_where_to_go():
    assert {name for name, text in recipes().items() if len(places(text)) < 3} == set()


def test_every_target_of_make_that_it_names_is_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"`make ([\w-]+)`|^    make ([\w-]+)", DOOR, re.MULTILINE))
    assert named
    assert {
        name for pair in named for name in pair if name and not re.search(rf"^{name}:", makefile, re.MULTILINE)
    } == set()


def hooks():
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert local["repo"] == "local"
    return local["hooks"]


def test_the_hooks_run_what_ci_runs_and_download_nothing():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("$(BIN)", ".venv/bin").replace('"', "")
    commands = {hook["entry"].removesuffix(" --force-exclude") for hook in hooks()}
    checks = re.findall(r"^(?:lint|types|imports|docs-check): setup\n((?:\t.+\n)+)", makefile, re.MULTILINE)
    assert commands == {line.strip().removesuffix(" .") for block in checks for line in block.splitlines()}
    assert {hook["language"] for hook in hooks()} == {"system"}
