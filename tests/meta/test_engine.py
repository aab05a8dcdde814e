"""Full text and vectors are behind one seam: outside `store/sqlite` nobody names its tables, no test but `engine_tables`
either, and what others import from it is in its contract, so that another engine is a second folder.
"""

import ast
import pathlib
import re

import pytest

import forgelore.store.sqlite
from forgelore.store.sqlite.connection import OF_DOCUMENTS, REMADE, TABLES

TESTS = pathlib.Path(__file__).parents[1]
SOURCE = TESTS.parent / "src" / "forgelore"
ENGINE = SOURCE / "store" / "sqlite"
# A name without an underscore ("chunks") is a word of people too (`stats` counts them): it is looked for where SQL can be.
PLAIN = sorted(name for name in TABLES if "_" not in name) or ["(?!)"]
NAMES = re.compile(rf"\b(?:{'|'.join(sorted(TABLES.difference(PLAIN)))})(?:_\w+)?\b")
NAMES_IN_STORE = re.compile(rf"{NAMES.pattern}|\b(?:{'|'.join(PLAIN)})\b")
NAMES_IN_TESTS = re.compile(rf"{NAMES.pattern}|\b(?:FROM|JOIN|INTO|UPDATE|TABLE) (?:{'|'.join(PLAIN)})\b")
FULL_TEXT, VECTORS = REMADE[0], OF_DOCUMENTS[0][0]


def modules_outside():
    others = (ENGINE, ENGINE.with_name("postgres"))
    return sorted(path for path in SOURCE.rglob("*.py") if not set(others) & set(path.parents))


def find_names(tree, pattern):
    """Return the engine's tables that the strings of a module name, docstrings left out."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, owners) and is_text(node.body[:1])}
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [found for node in strings if id(node) not in docs for found in pattern.findall(node.value)]


def is_text(statements):
    return any(isinstance(statement, ast.Expr) for statement in statements)


def imported_from_engine(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("forgelore.store.sqlite."):
            yield from ((node.module.rpartition(".")[2], alias.name) for alias in node.names)


def test_only_the_engine_names_its_tables():
    named = {}
    for path in modules_outside():
        pattern = NAMES_IN_STORE if SOURCE / "store" in path.parents else NAMES
        if found := find_names(ast.parse(path.read_text(encoding="utf-8")), pattern):
            named[path.relative_to(SOURCE).as_posix()] = found
    assert named == {}


def test_one_file_of_tests_names_its_tables():
    named = {
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("*.py")
        if find_names(ast.parse(path.read_text(encoding="utf-8")), NAMES_IN_TESTS)
    }
    assert named == {"engine_tables.py"}


@pytest.mark.parametrize(
    "code",
    [
        f'store.rows("SELECT id FROM {VECTORS}")',
        f'sql = f"SELECT {{name}} FROM {FULL_TEXT}_docsize WHERE id = ?"',
        f'tables = ("documents", "{REMADE[1]}")',
        f'condition = f"d.id = {FULL_TEXT}.rowid AND {{asked}}"',
    ],
)
def test_a_table_of_the_engine_is_seen_however_it_is_named(code):
    assert find_names(ast.parse(code), NAMES_IN_STORE)


@pytest.mark.parametrize(
    "code", [f'"""What {VECTORS} are."""', 'sql = "SELECT id FROM documents"', f"{VECTORS} = {FULL_TEXT}"]
)
def test_other_words_are_no_table_of_the_engine(code):
    assert find_names(ast.parse(code), NAMES_IN_STORE) == []


def test_what_others_import_from_the_engine_is_in_its_contract():
    contract = set(re.findall(r"\w+", forgelore.store.sqlite.__doc__))
    imported = {pair for path in modules_outside() for pair in imported_from_engine(path)}
    assert imported
    assert {pair for pair in imported if not contract.issuperset(pair)} == set()
