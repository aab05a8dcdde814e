"""Benches and training run seldom: what they import from the program must be there all the same."""

import ast
import importlib
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = sorted([*(ROOT / "bench").rglob("*.py"), *(ROOT / "training").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")])


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "forgelore":
            yield from ((node.module, alias.name) for alias in node.names)


def is_there(module, name):
    found = importlib.import_module(module)
    return hasattr(found, name) or importlib.util.find_spec(f"{module}.{name}") is not None


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_script_imports_is_there(path):
    assert not [pair for pair in imported(path) if not is_there(*pair)]


def test_the_steps_that_the_event_bench_watches_are_there(monkeypatch):
    import pkgutil

    monkeypatch.setattr(sys, "path", [str(ROOT / "bench"), *sys.path])
    for place, name in importlib.import_module("event").STEPS:
        assert callable(getattr(pkgutil.resolve_name(place), name)), (place, name)
