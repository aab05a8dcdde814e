"""docs/glossary.md: one word per idea, no riddles, and words that later jobs need are kept for them."""

import ast
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SOURCE = ROOT / "src" / "forgelore"
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
RIDDLES = {
    "Desk",
    "Shift",
    "Told",
    "Bench",
    "Likeness",
    "Resident",
    "Asked",
    "Outcome",
    "Done",
    "Scope",
    "Lore",
    "Rows",
}


def public_types() -> set[str]:
    """The names of classes and of aliases of types. A module is a namespace: a name may exist in several."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            name = node.name if isinstance(node, ast.ClassDef) else getattr(target, "id", "")
            if re.fullmatch(r"[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*", name):
                found.add(name)
    return found


def rows_of(part: str) -> list[list[str]]:
    lines = [line for line in part.splitlines() if line.startswith("| ") and not line.startswith("| word")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


DEFINED, KEPT = (rows_of(part) for part in GLOSSARY.split("## Kept for what comes"))


def test_no_name_is_a_riddle():
    assert RIDDLES & public_types() == set()


def names_in(tree: ast.Module) -> set[str]:
    """Every name that a module gives or uses: functions, classes, parameters, variables, attributes, keywords."""
    kinds = ("name", "id", "attr", "arg")
    return {name for node in ast.walk(tree) for kind in kinds if isinstance(name := getattr(node, kind, None), str)}


@pytest.mark.parametrize("riddle", [r"(?:\A|_)ow(?:e|es|ed|ing)(?:_|\Z)", r"(?:\A|_)told\Z", r"\Ais_whole\Z"])
def test_no_name_says_something_else_than_it_means(riddle):
    """Nobody looks for "owed" (missing parts), "told" (which was a reason, a line, an item) or "whole" (complete)."""
    riddle = re.compile(riddle, re.IGNORECASE)
    found = {
        path.relative_to(SOURCE).as_posix(): names
        for path in sorted(SOURCE.rglob("*.py"))
        if (names := {name for name in names_in(ast.parse(path.read_text(encoding="utf-8"))) if riddle.search(name)})
    }
    assert found == {}


def test_words_that_later_jobs_need_are_not_spent_on_other_things():
    kept = {word.title().replace(" ", "") for word, _ in KEPT}
    assert kept >= {"Judge"}
    assert kept & public_types() == set()


def test_words_of_dedupe_name_nothing_elsewhere():
    words = {"candidates", "judge", "verdict", "gates", "clusters", "canonical", "closings"}
    named = {path.parent.name for path in SOURCE.rglob("*.py") if path.stem in words}
    assert named <= {"dedupe", "store"}


def test_every_word_of_the_glossary_is_where_it_says():
    assert len(DEFINED) >= 20
    for word, _, place in DEFINED:
        path = SOURCE / place.strip("`")
        text = (path if path.suffix else path.with_suffix(".py")).read_text(encoding="utf-8").lower()
        assert all(re.search(rf"\b{each.strip()}", text) for each in word.split(",")), word
