"""Public names: what `forgelore.api` exports is meant to be used, is documented, and is all that surfaces import."""

import ast
import pathlib
import re
import subprocess
import sys
from functools import cached_property

import pytest

import forgelore
from forgelore import api
from forgelore.errors import LoreError

ROOT = pathlib.Path(__file__).resolve().parents[2]
SURFACES = sorted((ROOT / "src/forgelore/surfaces").rglob("*.py"))
PAGE = ROOT / "docs/python.md"
NOUNS = {name: one for name, one in vars(api.History).items() if isinstance(one, cached_property)}
PARTS = {"": api.History} | {f"{name}.": type(getattr(api.History(None), name)) for name in NOUNS}
METHODS = {
    prefix + name: getattr(part, name)
    for prefix, part in PARTS.items()
    for name in vars(part)
    if not name.startswith("_") and not (part is api.History and name in NOUNS)
}


def test_every_exported_name_is_there_and_once():
    assert len(api.__all__) == len(set(api.__all__))
    for name in api.__all__:
        assert getattr(api, name) is not None
    with pytest.raises(AttributeError):
        api.no_such_name  # noqa: B018


def test_the_names_for_the_type_checker_are_the_names_that_are_exported():
    tree = ast.parse((ROOT / "src/forgelore/api/__init__.pyi").read_text(encoding="utf-8"))
    listed = [
        (alias.name, node.module) for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    assert dict(listed) == api._HOMES
    assert [name for name, _ in listed] == api.__all__


def test_an_older_name_still_works_and_says_what_to_write(tmp_path):
    with forgelore.open(tmp_path / "history.db", create=True) as history:
        for old, new in api.METHODS.items():
            assert new in METHODS, f"{old} leads to {new}, which is not there"
            with pytest.warns(DeprecationWarning, match=re.escape(f"write history.{new}")):
                getattr(history, old)
        with pytest.warns(DeprecationWarning, match=re.escape("history.sync.run")), pytest.raises(LoreError):
            history.sync("no-project")
        with pytest.warns(DeprecationWarning, match="raw="):
            history.search("cache", is_raw=True)
        with pytest.raises(AttributeError):
            history.no_such_name  # noqa: B018
        with pytest.raises(TypeError, match="judgge"):
            history.dedupe.detect("#1", judgge="llm")


def test_the_documentation_has_exactly_the_public_names():
    text = PAGE.read_text(encoding="utf-8")
    listed = re.findall(r"^### `(\w+)`$", text.partition("## What is taken and returned")[2], re.MULTILINE)
    classes = {part.__name__ for part in PARTS.values()}
    assert sorted({*listed, *classes}) == sorted(api.__all__)
    methods = re.findall(
        r"^### `([\w.]+)`$", text.partition("## History")[2].partition("## What is taken")[0], re.MULTILINE
    )
    assert methods == list(METHODS)
    assert sorted(forgelore.__all__) == ["EVERYTHING", "PUBLIC", "Viewer", "__version__", "open"]


def test_every_public_name_and_method_says_what_it_is():
    undocumented = [name for name, method in METHODS.items() if not method.__doc__]
    undocumented += [
        name for name in api.__all__
        if isinstance(getattr(api, name), type) and (getattr(api, name).__doc__ or f"{name}(").startswith(f"{name}(")
    ]  # fmt: skip
    assert not undocumented


def test_importing_the_facade_loads_no_job_and_no_store():
    code = (
        "import sys, forgelore.api; print([m for m in sys.modules if m == 'apsw' or m.startswith('forgelore.')"
        " and m.split('.')[1] in ('ask', 'browse', 'compare', 'dedupe', 'history', 'index', 'search', 'store', 'sync')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("path", SURFACES, ids=lambda path: str(path.relative_to(ROOT / "src/forgelore")))
def test_a_surface_does_not_reach_through_the_facade(path):
    """Import contracts see modules; this sees `history.app`, which is for benches and tests."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in ("app", "_app")]
    assert not found
