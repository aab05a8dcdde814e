"""Statements of the store as PostgreSQL reads them: the store writes one dialect, SQLite's, and this rewrites it.

    SELECT id FROM items WHERE author COLLATE NOCASE IN (?) ORDER BY closed_at DESC
    SELECT id FROM items WHERE lower(author) IN (lower('ann')) ORDER BY closed_at DESC NULLS LAST

What differs: how parameters and bytes are written, lists in JSON, names compared without case, where NULL is sorted,
and numbers as conditions. Functions that PostgreSQL lacks (`instr`, `group_concat`) are made by the first migration.
Each statement is rewritten once; the values of a call are put in as literals, escaped by the driver.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from forgelore.store.postgres.words import parse_expression
from forgelore.text.globs import as_expression

_TOKEN = re.compile(r"'(?:[^']|'')*'|--[^\n]*|\?(\d*)(?::(\w+))?")
_HEX = re.compile(r"\bx'([0-9a-fA-F]*)'")
_COLUMN = r"(?:\w+\.)?\w+"
_NAME = rf"(?:coalesce\({_COLUMN}, ''\)|'@' \|\| \?\d*|\?\d*|{_COLUMN})"
_FLAG = r"(?:\w+\.)?(?:is|has)_\w+"
_LIST = r"\(SELECT value FROM json_each\((\?\d*)\)\)"
# Columns that are never NULL, wherever a statement sorts by them: an index answers these orders.
_NEVER_NULL = frozenset(["id", "number", "document_id", "item_id", "project_id", "key", "path", "position", "path_key"])
_ORDER = re.compile(r"\bORDER BY\b", re.IGNORECASE)
_ORDER_ENDS = re.compile(r"\b(?:LIMIT|UNION|ROWS|RANGE|GROUPS|INTERSECT|EXCEPT)\b")

_Rule = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]


def _folded(match: re.Match[str]) -> str:
    """Both sides of a comparison in small letters."""
    names = re.sub(_NAME, lambda name: f"lower({name[0]})", match["names"])
    return f"lower({match['column']}) IN ({names})"


def _matching(match: re.Match[str]) -> str:
    sign = "NOT " if match[1] == "documents" else ""
    return f"SELECT document_id FROM document_words WHERE {sign}is_card AND words @@ CAST(?:words AS tsquery)"


_RULES: list[_Rule] = [
    (_HEX, r"'\\x\1'::bytea"),
    (re.compile(rf"\bNOT IN {_LIST}"), r"<> ALL (\1:array)"),
    (re.compile(rf"\bIN {_LIST}"), r"= ANY (\1:array)"),
    (re.compile(r"\bjson_each\((\?\d*)\)"), r"\1:each"),
    (re.compile(rf"((?:\w+\([^()]*\)|{_COLUMN})) GLOB \? AND glob_matches\(\?, \1\)"), r"?:skip \1 ~ ?:glob"),
    (re.compile(r"\bJOIN ((?:\?\d*:each|json_each\([^()]*\)) \w+)(\s+WHERE)"), r"CROSS JOIN \1\2"),
    (re.compile(rf"(?P<column>\bCASE\b[^()]*?\bEND|{_COLUMN}) COLLATE NOCASE IN \((?P<names>[^()]*)\)"), _folded),
    (re.compile(rf"({_COLUMN}) (=|<>) ({_NAME}) COLLATE NOCASE"), r"lower(\1) \2 lower(\3)"),
    (re.compile(rf"({_COLUMN}) COLLATE NOCASE"), r"lower(\1)"),
    (re.compile(rf"coalesce\(({_FLAG}), 0\)"), r"coalesce(\1, FALSE)"),
    (re.compile(rf"({_FLAG}) = 0\b"), r"\1 = FALSE"),
    (re.compile(rf"({_FLAG}) = 1\b"), r"\1 = TRUE"),
    (re.compile(r"\b(WHERE|AND|OR|NOT) 1(?=\s*(?:\)|$|AND\b|OR\b|ORDER\b|GROUP\b|LIMIT\b|UNION\b))"), r"\1 TRUE"),
    (re.compile(r"\bgroup_concat\(vector, ''\)"), "string_agg(vector, '' ORDER BY id)"),
    (re.compile(r"\bgroup_concat\(([^(),]+)\)"), r"string_agg(CAST(\1 AS TEXT), ',' ORDER BY id)"),
    (re.compile(r"\bjson_group_array\(([^()]+)\)"), r"coalesce(CAST(json_agg(\1) AS TEXT), '[]')"),
    (re.compile(r"\bjson_extract\(([^,]+), '\$\.(\w+)'\)"), r"json_field(\1, '\2')"),
    (re.compile(r"\bSELECT rowid FROM (documents|cards)_fts WHERE \1_fts MATCH \?"), _matching),
    (re.compile(r"CAST\((.+?) AS INTEGER\)"), r"CAST(\1 AS BIGINT)"),
    (re.compile(r"CAST\((.+?) AS BLOB\)"), r"CAST(\1 AS BYTEA)"),
    (re.compile(r"abs\(random\(\) (?:% 281474976710656|>> 16)\)"), "CAST(random() * 281474976710655 AS BIGINT)"),
    (re.compile(r"(?<![\w)] )(?<![\w)])\+(?=[a-z_]+\.?[a-z_]*\b)"), ""),
    (re.compile(r"\bmain\."), ""),
    (
        re.compile(r"\bSELECT o\.id, min\(o\.representation\)"),
        "SELECT (array_agg(o.id ORDER BY o.representation, o.id))[1], min(o.representation)",
    ),
    (re.compile(r"\bGROUP BY o\.item_id\b"), "GROUP BY o.item_id, m.id"),
    (re.compile(r"\bchar\((?=\d)"), "chr("),
    (re.compile(r"\bIS NOT (?=[?']|\w+\.)"), "IS DISTINCT FROM "),
    (re.compile(r"\bIS (?=[?']|\w+\.)"), "IS NOT DISTINCT FROM "),
]
_INSERT_IGNORE = re.compile(r"INSERT OR IGNORE\b(.*)", re.DOTALL)
_UPSERT = re.compile(r"INSERT INTO (\w+)\b.*\bDO UPDATE\b", re.DOTALL)
_GROWING = re.compile(r"\bSET (\w+) = \1 \+ 1\b|(?<=, )(\w+) = \2 \+ 1\b")
_REPLACE = re.compile(r"INSERT OR REPLACE INTO (\w+) \(([^)]*)\)(.*)", re.DOTALL)
_REPLACED_BY = {"second_vectors": "document_id"}


class Placeholder(NamedTuple):
    at: int  # which value goes there
    form: str  # how it is written: "" as it is


class Statement(NamedTuple):
    """A rewritten statement: pieces of text, with a value between each two."""

    texts: tuple[str, ...]
    places: tuple[Placeholder, ...]


@lru_cache(maxsize=2048)
def rewrite(sql: str) -> Statement:
    """Return a statement as PostgreSQL reads it, and where its values go."""
    for pattern, replacement in _RULES:
        sql = pattern.sub(replacement, sql)
    sql = _place_nulls(_rewrite_insert(_compare_several(sql)))
    texts, places = [""], []
    last = following = 0
    for match in _TOKEN.finditer(sql):
        if not match[0].startswith("?"):
            continue
        texts[-1] += sql[last : match.start()]
        texts.append("")
        at = int(match[1]) - 1 if match[1] else following
        following = max(following, at + 1)
        places.append(Placeholder(at, match[2] or ""))
        last = match.end()
    texts[-1] += sql[last:]
    return Statement(tuple(texts), tuple(places))


def fill(statement: Statement, values: Sequence[Any], literal: Callable[[Any], bytes]) -> bytes:
    """Return the statement with its values in it. `literal`: how the driver writes one."""
    parts = [statement.texts[0].encode()]
    for text, place in zip(statement.texts[1:], statement.places, strict=True):
        parts += (_written(place.form, values[place.at], literal), text.encode())
    return b"".join(parts)


def storable(value: Any) -> Any:
    """Return a value that PostgreSQL keeps: a text without NUL and without halves of characters. Forges send both."""
    if not isinstance(value, str) or (value.isascii() and "\0" not in value):
        return value
    paired = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return paired.replace("\0", "\ufffd")


def _written(form: str, value: Any, literal: Callable[[Any], bytes]) -> bytes:
    if form == "skip":
        return b""
    if form == "array":
        return b"NULL" if value is None else literal(_array(json.loads(value)))
    if form == "each":
        return _each(value, literal)
    if form in ("glob", "words"):
        return literal(as_expression(value) if form == "glob" else parse_expression(value).query)
    if isinstance(value, int) and 0 <= value <= 1:
        return b"'%d'" % value  # a number or a flag, as the column has it
    return literal(storable(value))


def _array(values: list[Any]) -> str:
    """Return a list as PostgreSQL writes an array: what it is compared with says of which type."""
    quoted = (re.sub(r'(["\\])', r"\\\1", storable(one)) if isinstance(one, str) else str(one) for one in values)
    return "{" + ",".join(f'"{one}"' for one in quoted) + "}"


def _each(value: str, literal: Callable[[Any], bytes]) -> bytes:
    """Return a list or an object in JSON as a table; one of numbers has numbers in it."""
    known = json.loads(value)
    first = next(iter(known), 0) if isinstance(known, list) else ""
    name = "json_numbers" if isinstance(first, int) else "json_each"
    return b"%s(%s)" % (name.encode(), literal(storable(value)))


def _rewrite_insert(sql: str) -> str:
    sql = _INSERT_IGNORE.sub(r"INSERT\1 ON CONFLICT DO NOTHING", sql)
    if upsert := _UPSERT.search(sql):
        sql = _GROWING.sub(lambda found: _qualified(found, upsert[1]), sql)
    if replaced := _REPLACE.search(sql):
        key = _REPLACED_BY[replaced[1]]
        columns = [name.strip() for name in replaced[2].split(",")]
        changes = ", ".join(f"{name} = excluded.{name}" for name in columns if name != key)
        sql = f"INSERT INTO {replaced[1]} ({replaced[2]}){replaced[3]} ON CONFLICT ({key}) DO UPDATE SET {changes}"
    return sql


def _qualified(found: re.Match[str], table: str) -> str:
    name = found[1] or found[2]
    return f"{'SET ' if found[1] else ''}{name} = {table}.{name} + 1"


def _compare_several(sql: str) -> str:
    """SQLite's `max` of several values in a row is `greatest`."""
    parts, last = [], 0
    for match in re.finditer(r"\b(max|min)\(", sql):
        end = _end_of_part(sql, match.end())
        if len(_terms(sql[match.end() : end])) > 1:
            parts += [sql[last : match.start()], "greatest(" if match[1] == "max" else "least("]
            last = match.end()
    return "".join([*parts, sql[last:]])


def _place_nulls(sql: str) -> str:
    """Say where NULL is sorted: SQLite has it before everything, PostgreSQL behind."""
    parts, last = [], 0
    for match in _ORDER.finditer(sql):
        start = match.end()
        end = _end_of_part(sql, start)
        parts += [sql[last:start], ", ".join(_with_nulls(term) for term in _terms(sql[start:end]))]
        last = end
    return "".join([*parts, sql[last:]])


def _end_of_part(sql: str, start: int) -> int:
    depth = 0
    for at in range(start, len(sql)):
        if sql[at] == "(":
            depth += 1
        elif sql[at] == ")":
            depth -= 1
            if depth < 0:
                return at
        elif not depth and sql[at].isupper() and _ORDER_ENDS.match(sql, at) and not sql[at - 1].isalnum():
            return at
    return len(sql)


def _terms(text: str) -> list[str]:
    """Cut at the commas that stand in no bracket."""
    terms, depth = [""], 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            terms.append("")
        else:
            terms[-1] += sign
    return terms


def _with_nulls(term: str) -> str:
    bare = term.strip()
    if "NULLS" in bare:
        return f" {bare} "
    is_down = bare.upper().endswith(" DESC")
    name = re.sub(r"\s+(?:DESC|ASC)\Z", "", bare)
    if name.isdigit() or name.rpartition(".")[2] in _NEVER_NULL:
        return f" {bare} "
    return f" {bare} NULLS {'LAST' if is_down else 'FIRST'} "
