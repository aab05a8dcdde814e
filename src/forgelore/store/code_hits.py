"""Found code and commits as rows: which chunks are allowed, what is shown of them, and what is read of them."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from forgelore.store.db import Store
from forgelore.store.filter_columns import Columns, Values
from forgelore.store.filters import Filters, build_where

_NO_LABELS = Values("(SELECT '' AS name, 0 AS id WHERE 0)", "id", "0", ("name",))
# A file has no author, state or time, and is no item: what asks for one is answered by none.
FILES = Columns(
    item_id="NULL", project_id="f.project_id", kind="'file'", state="NULL", author="NULL", created_at="NULL",
    updated_at="NULL", is_confidential="0", labels=_NO_LABELS, paths=Values("code_files", "id", "f.id", ("path",)),
)  # fmt: skip
COMMITS = Columns(
    item_id="NULL", project_id="m.project_id", kind="'commit'", state="NULL", author="coalesce(m.login, m.author)",
    created_at="m.authored_at", updated_at="m.committed_at", is_confidential="0", labels=_NO_LABELS,
    paths=Values("commit_paths", "commit_id", "m.id", ("path",)),
)  # fmt: skip


class CodeHitRow(NamedTuple):
    """A chunk with its file and its project."""

    chunk_id: int
    file_id: int
    path: str
    language: str
    start_line: int
    end_line: int
    symbol: str
    names: str
    tree_commit: str
    forge: str
    host: str
    project_path: str
    lines: tuple[str, ...] = ()


class CommitHitRow(NamedTuple):
    id: int
    sha: str
    author: str | None
    login: str | None
    authored_at: int | None
    committed_at: int | None
    message: str
    forge: str
    host: str
    project_path: str


def allow_files(filters: Filters) -> tuple[str, tuple[object, ...]]:
    """Return a query for the ids of the chunks whose file the filters allow; "" when they allow all."""
    where, bindings = build_where(filters._replace(types=()), FILES)
    if where == "1":
        return "", ()
    files = f"SELECT f.id FROM code_files f WHERE {where}"
    return f"SELECT c.id FROM code_chunks c WHERE c.file_id IN ({files})", bindings


def allow_commits(filters: Filters) -> tuple[str, tuple[object, ...]]:
    """The same of commits."""
    where, bindings = build_where(filters._replace(types=()), COMMITS)
    return ("", ()) if where == "1" else (f"SELECT m.id FROM commits m WHERE {where}", bindings)


def load_code_hits(store: Store, chunk_ids: Iterable[int]) -> dict[int, CodeHitRow]:
    """Return chunks with their lines. Each file is read once, however many of its chunks there are."""
    sql = """
        SELECT c.id, f.id, f.path, f.language, c.start_line, c.end_line, c.symbol, c.names,
          coalesce(t.tree_commit, ''), p.forge, p.host, p.path
        FROM code_chunks c
        JOIN code_files f ON f.id = c.file_id
        JOIN projects p ON p.id = f.project_id
        LEFT JOIN code_trees t ON t.project_id = f.project_id
        WHERE c.id IN (SELECT value FROM json_each(?))
        ORDER BY f.id
    """
    found: dict[int, CodeHitRow] = {}
    last, lines = 0, [""]
    for row in (CodeHitRow(*row) for row in store.rows(sql, json.dumps(list(chunk_ids)))):
        if row.file_id != last:
            text: str = store.value("SELECT text FROM code_files WHERE id = ?", row.file_id)
            last, lines = row.file_id, text.split("\n")
        found[row.chunk_id] = row._replace(lines=tuple(lines[row.start_line - 1 : row.end_line]))
    return found


def load_commit_hits(store: Store, commit_ids: Iterable[int]) -> dict[int, CommitHitRow]:
    sql = """
        SELECT m.id, m.sha, m.author, m.login, m.authored_at, m.committed_at, m.message, p.forge, p.host, p.path
        FROM commits m
        JOIN projects p ON p.id = m.project_id
        WHERE m.id IN (SELECT value FROM json_each(?))
    """
    return {row[0]: CommitHitRow._make(row) for row in store.rows(sql, json.dumps(list(commit_ids)))}


def load_commit_paths(store: Store, commit_id: int) -> list[str]:
    return [
        path for (path,) in store.rows("SELECT path FROM commit_paths WHERE commit_id = ? ORDER BY path", commit_id)
    ]


def list_newest_commits(store: Store, filters: Filters, limit: int, *, is_ascending: bool = False) -> list[int]:
    """Return commits that filters allow, newest first."""
    where, bindings = build_where(filters._replace(types=()), COMMITS)
    direction = "ASC" if is_ascending else "DESC"
    sql = f"""
        SELECT m.id
        FROM commits m
        WHERE {where}
        ORDER BY m.authored_at {direction}, m.id
        LIMIT ?
    """
    return [row[0] for row in store.rows(sql, *bindings, limit)]


def list_first_chunks(store: Store, filters: Filters, limit: int) -> list[int]:
    """Return the first chunk of each file that filters allow, in the order of their paths."""
    where, bindings = build_where(filters._replace(types=()), FILES)
    sql = f"""
        SELECT c.id
        FROM code_files f
        JOIN code_chunks c ON c.file_id = f.id AND c.position = 0
        WHERE {where}
        ORDER BY f.path, f.id
        LIMIT ?
    """
    return [row[0] for row in store.rows(sql, *bindings, limit)]


def list_first_chunks_of(store: Store, file_ids: Iterable[int]) -> list[int]:
    sql = "SELECT id FROM code_chunks WHERE position = 0 AND file_id IN (SELECT value FROM json_each(?))"
    return [row[0] for row in store.rows(sql, json.dumps(list(file_ids)))]


class ReadFileRow(NamedTuple):
    path: str
    text: str
    tree_commit: str
    forge: str
    host: str
    project_path: str
    project_id: int


def load_read_file(store: Store, file_id: int) -> ReadFileRow | None:
    """Return a file with its project; None when it is gone."""
    sql = """
        SELECT f.path, f.text, coalesce(t.tree_commit, ''), p.forge, p.host, p.path, p.id
        FROM code_files f
        JOIN projects p ON p.id = f.project_id
        LEFT JOIN code_trees t ON t.project_id = f.project_id
        WHERE f.id = ?
    """
    row = store.row(sql, file_id)
    return ReadFileRow(*row) if row else None


def find_files_at(store: Store, path: str, project_id: int | None) -> list[int]:
    """Return the files at a path: one in each project that has it, or that of one project."""
    sql = """
        SELECT id
        FROM code_files
        WHERE path = ?1 AND (?2 IS NULL OR project_id = ?2)
        ORDER BY id
    """
    return [file_id for (file_id,) in store.rows(sql, path, project_id)]
