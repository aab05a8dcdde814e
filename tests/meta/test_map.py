"""docs/design.md is the map of the code: what it names is there, and what is there is on it."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SOURCE = ROOT / "src" / "forgelore"
MAP = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
RECIPES = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## The commonest changes")[2]
ROOMS = (
    "api|ask|browse|compare|dedupe|embedders|forges|history|index|llm|net|ports|search|store|surfaces|sync|text|triage"
)
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])
# Recipe of CONTRIBUTING.md -> the file that its work begins in. Who has read the map alone must be able to name it.
BEGINNINGS = {
    "A forge": "forges/adapters.py", "A filter": "store/filters.py", "A column": "store/items.py",
    "A job kind": "sync/jobs.py", "An evidence feature": "compare/evidence.py", "An embedder": "embedders/serving.py",
    "A command": "surfaces/cli/main.py", "An output format": "surfaces/cli/main.py",
    "A comment's layout": "triage/report.py", "An engine": "store/sqlite/__init__.py", "A page": "scripts/docs.py",
    "A page of the web": "surfaces/web/pages.py", "A setting": "config.py",
}  # fmt: skip


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


@pytest.mark.parametrize(
    "name",
    ["ask", "browse", "compare", "dedupe", "embedders", "history", "index", "llm", "net", "ports", "search", "store",
     "store/sqlite", "surfaces/web", "sync", "text", "triage"],
)  # fmt: skip
def test_every_module_of_a_room_is_on_the_map(name):
    modules = {module.stem for module in (SOURCE / name).glob("*.py")} - {"__init__"}
    assert modules - words_of_room(name.rpartition("/")[2]) == set()


def words_of_room(name: str) -> set[str]:
    return set(re.findall(r"\w+", rooms_on_the_map()[name]))


@pytest.mark.parametrize("recipe", BEGINNINGS)
def test_the_map_names_the_file_that_a_recipe_begins_in(recipe):
    path = pathlib.Path(BEGINNINGS[recipe])
    on_tree = path.stem in words_of_room(path.parent.name) if path.parent.name in rooms_on_the_map() else False
    assert on_tree or str(path) in MAP
    described = RECIPES.partition(f"### {recipe}\n")[2].partition("\n### ")[0]
    assert f"`{path}`" in described


def test_every_recipe_has_a_beginning():
    assert re.findall(r"^### (.+)$", RECIPES, re.MULTILINE) == list(BEGINNINGS)
