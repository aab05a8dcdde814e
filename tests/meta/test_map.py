"""docs/design.md is the map of the code: what it names is there, and what is there is on it."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SOURCE = ROOT / "src" / "forgelore"
MAP = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
ROOMS = "api|core|flows|store|forges|embedders|llm|net|surfaces"
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])


def places(text: str) -> set[str]:
    """`flows/sync/page.py`, `store/links`: what stands in backticks and begins with one of our rooms."""
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
    assert {name for name in rooms if f"      {name}/ " not in MAP} == set()


def jobs_on_the_map() -> dict[str, set[str]]:
    """The lines below `flows/`: each job with its steps; a line without a folder goes on with the one above."""
    block = MAP.partition("      flows/")[2].partition("      store/")[0]
    found, job = {}, ""
    for line in block.splitlines()[1:]:
        folder, steps = re.fullmatch(r" +(?:(\w+)/)? +(.+)", line).groups()
        job = folder or job
        found.setdefault(job, set()).update(re.findall(r"\w+", re.sub(r"\((list, .+?)\)", "", steps)))
    return found


def test_every_job_and_its_steps_are_on_the_map():
    folders = [folder for folder in (SOURCE / "flows").iterdir() if (folder / "__init__.py").exists()]
    steps = {folder.name: {module.stem for module in folder.glob("*.py")} - {"__init__"} for folder in folders}
    assert jobs_on_the_map() == steps
