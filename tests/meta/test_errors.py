"""The tree at the top of `errors.py` is the tree of classes: every error that a user can meet, below its parent, with its
exit code.
"""

import ast
import importlib
import pathlib
import re

from forgelore import errors

SOURCE = pathlib.Path(__file__).parents[2] / "src" / "forgelore"
ROW = re.compile(r"^ {6}(?P<depth> *)(?P<name>\w+) +(?P<exit>\d+)   (?P<who>\S.*)$", re.MULTILINE)


def find_classes():
    """Name -> class of every error of the package, wherever it is defined."""
    bases, places = {}, {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
                places[node.name] = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
    known = {"LoreError"}
    while more := {name for name, parents in bases.items() if parents & known} - known:
        known |= more
    return {name: getattr(importlib.import_module(places[name]), name) for name in known - {"LoreError"}}


def drawn_tree():
    """Name -> (parent, exit code), as the docstring draws it."""
    found, above = {}, ["LoreError"]
    for row in ROW.finditer(errors.__doc__):
        depth = len(row["depth"]) // 2
        above[depth + 1 :] = [row["name"]]
        found[row["name"]] = (above[depth], int(row["exit"]))
    return found


def test_the_tree_shows_every_error_below_its_parent_with_its_exit_code():
    classes = find_classes()
    assert len(classes) >= 20
    assert drawn_tree() == {name: (one.__base__.__name__, one.exit_code) for name, one in classes.items()}
