"""SQL lives in `store/`: everybody else asks its named functions, and nobody else holds the connection.

There it is written as it would be typed into a shell: on one line, or triple-quoted and broken at its clauses.
"""

import ast
import pathlib
import re

import pytest

SOURCE = pathlib.Path(__file__).parents[2] / "src" / "forgelore"
STATEMENT = re.compile(
    r"""
    \A\s*(?:
        (?:SELECT|WITH)\b.*\b(?:FROM|SELECT)\b
      | SELECT\s+(?:\?|\w+\()
      | (?:INSERT|REPLACE)(?:\s+OR\s+\w+)?\s+INTO\b
      | UPDATE\s.*\bSET\b
      | DELETE\s+FROM\b
      | PRAGMA\s+\w
      | (?:CREATE|DROP|ALTER)\s+(?:(?:TEMP|TEMPORARY|UNIQUE|VIRTUAL)\s+)*(?:TABLE|INDEX|TRIGGER|VIEW)\b
      | (?:VACUUM|REINDEX|ANALYZE)\s*;?\s*\Z
      | (?:ATTACH|DETACH)\s+DATABASE\b
      | BEGIN\s+IMMEDIATE\b
    )
    """,
    re.VERBOSE | re.DOTALL,
)
PART = re.compile(r"\(\s*SELECT\s.*\sFROM\s|\bIN\s*\(\s*SELECT\b|\bFROM\s+\w+(?:\s+\w+)?\s+WHERE\b", re.DOTALL)
WORDS = re.compile(r"\b(?:SELECT|FROM|WHERE|VALUES|JOIN|(?:ORDER|GROUP) BY|INSERT INTO|DELETE FROM|UPDATE \w+ SET)\b")
# What begins a line of a statement that has several. `DELETE FROM` and `DO UPDATE SET` are one clause each.
CLAUSES = re.compile(
    r"""
    (?:(?<=\S)\s+|\()(?:
        (?<!DELETE\ )(?<!DISTINCT\ )FROM | SELECT | WHERE | VALUES | HAVING | LIMIT | RETURNING | UNION | ON\ CONFLICT
      | (?:ORDER|GROUP)\ BY | (?<!LEFT\ )(?:LEFT\ )?JOIN | (?<!DO\ UPDATE\ )SET
    )\b
    """,
    re.VERBOSE,
)
INNERMOST = re.compile(r"\([^()]*\)")
STORES_OWN = {"rows", "row", "value", "run", "run_many", "each", "insert", "connection"}
STORES = re.compile(r"(?:\A|_)store\Z|\AStore\Z")  # `store`, `self._store`, `context.store`, `app.store()`


def parse(path: pathlib.Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def is_store(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        node = node.func
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return bool(STORES.search(name))


def text_of(node: ast.AST) -> str:
    """What a string says; the values inside an f-string are left open."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


def docstrings(tree: ast.Module) -> set[int]:
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, owners) and node.body]
    return {id(body[0].value) for body in bodies if isinstance(body[0], ast.Expr)}


def find_sql(tree: ast.Module) -> list[str]:
    """Return what a module does that only the store may do, each with its line."""
    told = docstrings(tree)
    found = []
    for node in ast.walk(tree):
        text = "" if id(node) in told else text_of(node)
        if STATEMENT.search(text) or PART.search(text):
            found.append(f"{node.lineno}: {' '.join(text.split())[:60]}")
        elif isinstance(node, ast.Attribute) and node.attr in STORES_OWN and is_store(node.value):
            found.append(f"{node.lineno}: store.{node.attr}")
    return found


def strings(tree: ast.Module) -> list[ast.expr]:
    """Return the strings of a module, f-strings as one, without docstrings."""
    skipped = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in ast.walk(node) if part is not node}
    return [node for node in ast.walk(tree) if id(node) not in skipped and text_of(node)]


def find_ragged(source: str) -> list[str]:
    """Return SQL that nobody would type so: glued from pieces, not broken at its clauses, or held by `fmt: skip`."""
    tree = ast.parse(source)
    sql = [node for node in strings(tree) if WORDS.search(text_of(node))]
    lines = source.splitlines()
    held = {
        node.end_lineno: node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and "# fmt: skip" in lines[node.end_lineno - 1]
    }
    found = [
        f"{node.lineno}: held by fmt: skip"
        for node in sql
        if any(first <= node.lineno <= last for last, first in held.items())
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and any(part in (node.left, node.right) for part in sql):
            found.append(f"{node.lineno}: glued")
    for node in sql:
        literal = ast.get_source_segment(source, node) or ""
        if literal.lstrip("rf").startswith('"""'):
            found += [f"{node.lineno + at}: {line}" for at, line in unbroken_lines(text_of(node))]
        elif node.lineno != node.end_lineno:
            found.append(f"{node.lineno}: glued")
    return found


def unbroken_lines(sql: str) -> list[tuple[int, str]]:
    """Return the lines that hold a clause after something else. A question in brackets may stand on one line."""
    found = []
    for at, line in enumerate(sql.splitlines()):
        rest, before = line.strip(), ""
        while rest != before:
            rest, before = INNERMOST.sub("[]", rest), rest
        if CLAUSES.search(rest):
            found.append((at, line.strip()))
    return found


def modules_outside() -> dict[str, ast.Module]:
    paths = [path for path in SOURCE.rglob("*.py") if SOURCE / "store" not in path.parents]
    return {path.relative_to(SOURCE).as_posix(): parse(path) for path in sorted(paths)}


def test_no_module_outside_the_store_holds_sql():
    assert {name: sql for name, tree in modules_outside().items() if (sql := find_sql(tree))} == {}


def test_nobody_outside_the_store_knows_the_library_below_it():
    known = {
        name
        for name, tree in modules_outside().items()
        for node in ast.walk(tree)
        if (
            isinstance(node, ast.Import)
            and any(alias.name.split(".")[0] in ("apsw", "sqlite3") for alias in node.names)
        )
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("apsw", "sqlite3"))
    }
    assert known == set()


def test_sql_in_the_store_is_written_as_in_a_shell():
    ragged = {
        path.relative_to(SOURCE).as_posix(): found
        for path in sorted((SOURCE / "store").rglob("*.py"))
        if (found := find_ragged(path.read_text(encoding="utf-8")))
    }
    assert ragged == {}


@pytest.mark.parametrize(
    "code",
    [
        'sql = (\n    "SELECT id"\n    " FROM items"\n)',
        'sql = f"SELECT {names} FROM items" + where',
        'store.run(\n    "DELETE FROM items WHERE id = ?", 5,\n)  # fmt: skip',
        'sql = """\n    SELECT id FROM items\n    WHERE id = ?\n"""',
        'sql = """\n    SELECT id\n    FROM items WHERE id = ?\n"""',
        'sql = """\n    SELECT id\n    FROM items i JOIN notes n ON n.item_id = i.id\n"""',
        'sql = """\n    INSERT INTO items (id) VALUES (?)\n    ON CONFLICT DO NOTHING\n"""',
        'sql = """\n    UPDATE items SET title = ?\n    WHERE id = ?\n"""',
        'sql = """\n    SELECT id\n    FROM items\n    WHERE id IN (SELECT item_id\n      FROM notes)\n"""',
        'sql = f"""\n    SELECT id\n    FROM items\n    ORDER BY {order} LIMIT 5\n"""',
    ],
)
def test_ragged_sql_is_seen(code):
    assert find_ragged(code)


@pytest.mark.parametrize(
    "code",
    [
        'sql = "SELECT id FROM items WHERE id = ?"',
        'sql = """\n    SELECT id\n    FROM items\n    WHERE id IN (SELECT value FROM json_each(?))\n"""',
        'sql = """\n    DELETE FROM items\n    WHERE id = ?\n"""',
        'sql = """\n    SELECT 1\n    FROM items\n    LEFT JOIN notes n ON n.item_id = (SELECT max(id) FROM items)\n"""',
        'sql = """\n    INSERT INTO t (id)\n    VALUES (?)\n    ON CONFLICT (id) DO UPDATE SET id = excluded.id\n"""',
        'names = (\n    "id", "title",\n)  # fmt: skip\nsql = "SELECT id FROM items"',
        'hint = (\n    "select from the list,"\n    " or set another limit"\n)',
    ],
)
def test_plain_sql_is_left_alone(code):
    assert find_ragged(code) == []


@pytest.mark.parametrize(
    "code",
    [
        'store.rows("SELECT id FROM items")',
        "sql = '''\n    SELECT count(*)\n    FROM items\n'''",
        'sql = f"SELECT {column} FROM items WHERE id = ?"',
        'sql = "SELECT last_insert_rowid()"',
        'sql = "WITH live AS (SELECT 1) SELECT * FROM live"',
        'sql = "INSERT INTO items (id) VALUES (?)"',
        'sql = "INSERT OR IGNORE INTO items (id) VALUES (?)"',
        "sql = '''\n    UPDATE items\n    SET title = ?\n'''",
        'sql = "DELETE FROM items"',
        'sql = "PRAGMA quick_check(1)"',
        'sql = "CREATE TEMP TABLE chosen (id)"',
        'sql = "DROP TABLE IF EXISTS chosen"',
        'sql = "VACUUM"',
        'within = "item_id IN (SELECT value FROM json_each(?))"',
        'rest = " FROM items WHERE id = ?"',
        "self._store.value(sql, 1)",
        "retriever.store.each(sql)",
        "context.app.store().run(sql)",
        "store.run_many(sql, rows)",
        "changes = store.connection.changes()",
    ],
)
def test_a_statement_is_seen_however_it_is_written(code):
    assert find_sql(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        '"""SELECT id FROM items is what the store asks."""',
        'hint = "select one with --project; delete from the list what you do not need"',
        'parser.add_argument("--full", help="update what changed, and set the rest aside")',
        "found = load_listed(store, filters)",
        "hits = [hit.row for hit in answer.hits]",
        "with store.transaction(): sync.run()",
        'query = "query Viewer { viewer { login } }"',
    ],
)
def test_ordinary_words_are_no_statement(code):
    assert find_sql(ast.parse(code)) == []
