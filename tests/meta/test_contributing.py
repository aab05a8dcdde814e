"""CONTRIBUTING.md is the door: every place it names is there, and the twelve commonest changes are described."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
DOOR = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CHANGES = {
    "A forge", "A filter", "A column", "A job kind", "An evidence feature", "An embedder", "A command",
    "An output format", "A comment's layout", "An engine", "A page", "A setting",
}  # fmt: skip
ELSEWHERE = {"forgelore.toml", "wire.py", "forge.py", "payloads.py"}  # in a clone; in the folder of any forge


def recipes():
    parts = re.split(r"^### (.+)$", DOOR.partition("## The twelve commonest changes")[2], flags=re.MULTILINE)
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


def test_the_twelve_commonest_changes_are_all_there_and_short():
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
