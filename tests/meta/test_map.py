"""docs/design.md is the map of the code: what it names is there, and what is there is on it."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SOURCE = ROOT / "src" / "forgelore"
MAP = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
ROOMS = (
    "api|ask|browse|compare|dedupe|embedders|forges|history|index|llm|net|ports|search|store|surfaces|sync|text|triage"
)
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])


def places(text: str) -> set[str]:
    """`sync/pages.py`, `store/links`: what stands in backticks and begins with one of our rooms."""
    return set(re.findall(rf"`((?:{ROOMS})/[\w/]+(?:\.py)?)`", text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_place_that_a_page_names_is_there(page):
    named = places(page.read_text(encoding="utf-8"))
    missing = {name for name in named if not any((SOURCE / f"{name}{end}").exists() for end in ("", ".py"))}
    assert not missing


def test_the_map_names_places_at_all():
    assert len(places(MAP)) >= 30


def test_every_room_is_on_the_map():
    rooms = {folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").exists()}
    assert {name for name in rooms if name not in rooms_on_the_map()} == set()


def rooms_on_the_map() -> dict[str, str]:
    """The lines of the map by folder; a line without one goes on with the line above."""
    found, room = {}, ""
    for line in MAP.partition("    src/forgelore/\n")[2].partition("\n\n")[0].splitlines():
        if folder := re.match(r" {6,8}(\w+)/ ", line):
            room = folder[1]
        found[room] = found.get(room, "") + line
    return found


def test_every_module_of_a_job_is_on_the_map():
    rooms = rooms_on_the_map()
    for name in ("ask", "browse", "compare", "dedupe", "history", "index", "ports", "search", "sync", "text", "triage"):
        modules = {module.stem for module in (SOURCE / name).glob("*.py")} - {"__init__"}
        assert modules - set(re.findall(r"\w+", rooms[name])) == set(), name
