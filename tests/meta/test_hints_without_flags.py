"""Hints are read by people who type commands and by people who write Python: they name commands, and no flag alone."""

import ast
import pathlib
import re

import forgelore

SOURCE = pathlib.Path(forgelore.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z]")
COMMAND = re.compile(r"\b(forgelore|pip|git|gh|glab) ")


def texts(node):
    """The text of a string, an f-string, or of either side of a choice; what is filled in counts as a word."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    if isinstance(node, ast.JoinedStr):
        return ["".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)]
    if isinstance(node, ast.IfExp):
        return [*texts(node.body), *texts(node.orelse)]
    return []


def hints(tree):
    for node in ast.walk(tree):
        if (isinstance(node, ast.keyword) and node.arg == "hint") or (
            isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "hint" for target in node.targets)
        ):
            yield from texts(node.value)


def test_no_hint_of_the_library_names_a_flag_by_itself():
    found, seen = [], 0
    for path in sorted(SOURCE.rglob("*.py")):
        where = path.relative_to(SOURCE)
        if where.parts[0] == "surfaces":
            continue
        for hint in hints(ast.parse(path.read_text(encoding="utf-8"))):
            seen += 1
            if FLAG.search(hint) and not COMMAND.search(hint):
                found.append(f"{where}: {hint}")
    assert seen > 150
    assert found == []
