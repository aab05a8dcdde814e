"""What only SQLite understands stands in `store/sqlite`: everybody else writes SQL that a second engine reads too."""

import ast
import pathlib
import re

import pytest

STORE = pathlib.Path(__file__).parents[2] / "src" / "forgelore" / "store"
ONLY_SQLITE = re.compile(
    r"""
    \bPRAGMA\b | \bpragma_\w+ | \bsqlite_\w+ | \bVACUUM\b | \b(?:FTS5|fts5)\b | \bMATCH\b | \browid\b
  | \bjson_(?:each|extract|array|group_array)\b | \bGLOB\b | \bgroup_concat\b | \bWITHOUT\ ROWID\b | \bAUTOINCREMENT\b
  | \bINSERT\ OR\ \w+ | \bREPLACE\ INTO\b | \blast_insert_rowid\b | \bCREATE\ (?:TEMP|VIRTUAL)\b | \bINDEXED\ BY\b
  | \bmax\((?:\w+\.)?id\)\ *(?:,\ *0\)\ *)?\+ | \bifnull\( | \biif\( | \bstrftime\( | \bzeroblob\(
  | \bIS\ (?:NOT\ )?(?!NOT\b|NULL\b|TRUE\b|FALSE\b|DISTINCT\b)[?('\w] | (?:WHERE|AND|OR)\ [01]\b | \bis_\w+\ (?:=|<>)\ [01]\b
    """,
    re.VERBOSE,
)


def statements(path):
    """Yield (line, text) of the strings of a module that are no docstrings; f-strings part by part."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, owners) and is_text(node.body)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def is_text(body):
    return bool(body) and isinstance(body[0], ast.Expr)


def test_what_only_sqlite_understands_stands_in_its_folder():
    found = [
        f"{path.name}:{line}: {match[0]}"
        for path in sorted(STORE.glob("*.py"))
        for line, text in statements(path)
        for match in ONLY_SQLITE.finditer(text)
    ]
    assert found == []


def test_the_library_below_is_known_in_one_folder():
    known = [
        path.name for path in sorted(STORE.glob("*.py")) if re.search(r"^import apsw", path.read_text(), re.MULTILINE)
    ]
    assert known == []


@pytest.mark.parametrize(
    "sql",
    [
        "PRAGMA data_version",
        "SELECT name FROM sqlite_schema",
        "WHERE id IN (SELECT value FROM json_each(?))",
        "SELECT coalesce(max(id), 0) + 1 FROM items",
        "INSERT OR REPLACE INTO overrides",
        "WHERE author IS ?",
        "WHERE a.author IS NOT b.author",
        "WHERE is_confidential = 0",
        "WHERE 1",
    ],
)
def test_a_construct_of_sqlite_is_seen(sql):
    assert ONLY_SQLITE.search(sql)


@pytest.mark.parametrize(
    "sql",
    ["SELECT max(id) FROM sets", "author IS NOT DISTINCT FROM ?", "ON CONFLICT (id) DO UPDATE", "WHERE NOT is_draft"],
)
def test_what_both_engines_read_may_stand_anywhere(sql):
    assert not ONLY_SQLITE.search(sql)
