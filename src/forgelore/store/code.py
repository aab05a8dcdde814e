"""Files of code: writing what changed in a project's tree, words included, and reading found code and commits."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from forgelore.records import CodeChunk
from forgelore.store.database import Store
from forgelore.store.filters import Columns, Filters, Values, build_where, in_view
from forgelore.store.sqlite.connection import one_of, pack_list
from forgelore.store.sqlite.fulltext import WordRow, add_code_words, remake_code_words, remove_code_words
from forgelore.text.items import StoredItem
from forgelore.text.refs import file_page
from forgelore.text.terms import build_terms


class CodeTree(NamedTuple):
    """What is indexed of a project's clone: the commit of its files, the one its history goes up to, by which rules."""

    tree_commit: str = ""
    history_commit: str = ""
    rules: str = ""


class CodeFile(NamedTuple):
    """A file of code, with its chunks where it is about to be written: the last line of each is within `text`. What is
    indexed of a tree is compared without texts.
    """

    path: str
    blob: str
    language: str
    size: int = 0
    text: str = ""
    chunks: Sequence[CodeChunk] = ()
    id: int = 0
    text_hash: bytes = b""


def load_code_tree(store: Store, project_id: int) -> CodeTree:
    sql = "SELECT tree_commit, history_commit, rules FROM code_trees WHERE project_id = ?"
    row = store.row(sql, project_id)
    return CodeTree(*row) if row else CodeTree()


def save_code_tree(store: Store, project_id: int, tree: CodeTree, now_ms: int) -> None:
    sql = """
        INSERT INTO code_trees (project_id, tree_commit, history_commit, rules, indexed_at)
        VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (project_id) DO UPDATE SET
          tree_commit = excluded.tree_commit, history_commit = excluded.history_commit, rules = excluded.rules,
          indexed_at = excluded.indexed_at
    """
    store.run(sql, project_id, *tree, now_ms)


def load_known_files(store: Store, project_id: int) -> dict[str, CodeFile]:
    """Return path -> what is indexed of it, without its text."""
    sql = "SELECT id, path, blob, language FROM code_files WHERE project_id = ?"
    return {
        path: CodeFile(path, blob, language, id=file_id)
        for file_id, path, blob, language in store.each(sql, project_id)
    }


def load_left_out(store: Store, project_id: int) -> dict[str, tuple[str, str]]:
    """Return path -> its blob, and why it is left out."""
    sql = "SELECT path, blob, reason FROM code_left_out WHERE project_id = ?"
    return {path: (blob, reason) for path, blob, reason in store.each(sql, project_id)}


def save_left_out(store: Store, project_id: int, rows: Iterable[tuple[str, str, str]]) -> None:
    """Remember (path, blob, reason) of files that are left out. In a transaction."""
    sql = """
        INSERT INTO code_left_out (project_id, path, blob, reason)
        VALUES (?, ?, ?, ?)
        ON CONFLICT (project_id, path) DO UPDATE SET blob = excluded.blob, reason = excluded.reason
    """
    store.run_many(sql, [(project_id, *row) for row in rows])


def forget_left_out(store: Store, project_id: int, paths: Iterable[str]) -> None:
    sql = "DELETE FROM code_left_out WHERE project_id = ? AND path = ?"
    store.run_many(sql, [(project_id, path) for path in paths])


def save_file(store: Store, project_id: int, file: CodeFile) -> None:
    """Write a file and its chunks in place of what stood at its path. In a transaction."""
    before = store.value("SELECT id FROM code_files WHERE project_id = ? AND path = ?", project_id, file.path)
    if before is not None:
        remove_files(store, [before])
    sql = """
        INSERT INTO code_files (project_id, path, blob, language, size, text, text_hash)
        VALUES (?, ?, ?, ?, ?, ?, ?)
    """
    digest = hash_text(file.text)
    file_id = store.insert(sql, project_id, file.path, file.blob, file.language, file.size, file.text, digest)
    lines = file.text.split("\n")
    add_code_words(
        store,
        "code",
        [_insert_chunk(store, project_id, file_id, file.path, at, lines) for at in enumerate(file.chunks)],
    )


def _insert_chunk(
    store: Store, project_id: int, file_id: int, path: str, at: tuple[int, CodeChunk], lines: list[str]
) -> WordRow:
    position, chunk = at
    sql = """
        INSERT INTO code_chunks (project_id, file_id, position, start_line, end_line, symbol, names)
        VALUES (?, ?, ?, ?, ?, ?, ?)
    """
    names = "\n".join(chunk.names)
    place = (chunk.start_line, chunk.end_line, chunk.symbol, names)
    chunk_id = store.insert(sql, project_id, file_id, position, *place)
    return build_word_row(chunk_id, path, chunk.symbol, names, "\n".join(lines[chunk.start_line - 1 : chunk.end_line]))


def build_word_row(chunk_id: int, path: str, symbol: str, names: str, text: str) -> WordRow:
    """Return what a chunk is found by. A later part of a long function is found by the function's name too."""
    named = f"{symbol}\n{names}" if symbol and symbol not in names.split("\n") else names
    return WordRow(chunk_id, path, named, text, build_terms(f"{path}\n{named}", text))


def move_file(store: Store, file_id: int, path: str) -> None:
    """Give a file another path: nothing is read or embedded again, and its words know the new place. In a
    transaction.
    """
    store.run("UPDATE code_files SET path = ? WHERE id = ?", path, file_id)
    lines = str(store.value("SELECT text FROM code_files WHERE id = ?", file_id)).split("\n")
    sql = "SELECT id, symbol, names, start_line, end_line FROM code_chunks WHERE file_id = ? ORDER BY position"
    rows = [
        build_word_row(chunk_id, path, symbol, names, "\n".join(lines[start - 1 : end]))
        for chunk_id, symbol, names, start, end in store.rows(sql, file_id)
    ]
    remove_code_words(store, "code", [row.id for row in rows])
    add_code_words(store, "code", rows)


def remove_files(store: Store, file_ids: Iterable[int]) -> None:
    """Delete files with their chunks and words. In a transaction."""
    for file_id in file_ids:
        chunks = store.rows("SELECT id FROM code_chunks WHERE file_id = ?", file_id)
        remove_code_words(store, "code", [row[0] for row in chunks])
        store.run("DELETE FROM code_files WHERE id = ?", file_id)


CODE_TABLES = (
    "code_trees", "code_left_out", "code_chunks", "code_files", "commit_paths", "commit_renames", "commit_changes",
    "git_people", "commits",
)  # fmt: skip


def forget_all_code(store: Store) -> None:
    """Delete files, commits and their words, of all projects: a clone brings them again. In a transaction."""
    remake_code_words(store)
    for table in CODE_TABLES:
        store.run(f"DELETE FROM {table}")


def save_clone_folder(store: Store, project_id: int, folder: str) -> None:
    """Remember where the clone of a project lies on this machine. In a transaction."""
    store.run("UPDATE code_trees SET folder = ? WHERE project_id = ? AND folder <> ?", folder, project_id, folder)


def each_file(store: Store) -> Iterator[CodeFile]:
    sql = "SELECT path, blob, language, size, text, id, text_hash FROM code_files"
    return (CodeFile._make((*row[:5], (), *row[5:])) for row in store.each(sql))


def find_loose_parts(store: Store) -> list[tuple[str, int]]:
    """Return (table, row) of what hangs on files and commits that are not there."""
    sql = """
        SELECT 'code_chunks', id
        FROM code_chunks
        WHERE file_id NOT IN (SELECT id FROM code_files)
        UNION
        SELECT 'commit_paths', commit_id
        FROM commit_paths
        WHERE commit_id NOT IN (SELECT id FROM commits)
        UNION
        SELECT 'commit_renames', commit_id
        FROM commit_renames
        WHERE commit_id NOT IN (SELECT id FROM commits)
        UNION
        SELECT 'commit_changes', commit_id
        FROM commit_changes
        WHERE commit_id NOT IN (SELECT id FROM commits)
    """
    return [(table, row_id) for table, row_id in store.rows(sql)]


def count_files(store: Store, project_id: int | None = None) -> dict[str, int]:
    """Return language -> files, the most first, of one project or of all."""
    sql = """
        SELECT language, count(*)
        FROM code_files
        WHERE ?1 IS NULL OR project_id = ?1
        GROUP BY 1
        ORDER BY 2 DESC, 1
    """
    return dict(store.rows(sql, project_id))


def load_chunks(store: Store, file_id: int) -> list[CodeChunk]:
    """Return the chunks of a file as they are stored."""
    sql = "SELECT start_line, end_line, symbol, names FROM code_chunks WHERE file_id = ? ORDER BY position"
    return [
        CodeChunk(start, end, symbol, tuple(names.split("\n")) if names else ())
        for start, end, symbol, names in store.rows(sql, file_id)
    ]


def hash_text(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


_NO_LABELS = Values("(SELECT '' AS name, 0 AS id WHERE FALSE)", "id", "0", ("name",))
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


def allow_files(store: Store, filters: Filters) -> tuple[str, tuple[object, ...]]:
    """Return a query for the ids of the chunks whose file the filters allow; "" when they allow all."""
    where, bindings = build_where(store, filters._replace(types=()), FILES)
    if where == "1":
        return "", ()
    files = f"SELECT f.id FROM code_files f WHERE {where}"
    return f"SELECT c.id FROM code_chunks c WHERE c.file_id IN ({files})", bindings


def allow_commits(store: Store, filters: Filters) -> tuple[str, tuple[object, ...]]:
    """The same of commits."""
    where, bindings = build_where(store, filters._replace(types=()), COMMITS)
    return ("", ()) if where == "1" else (f"SELECT m.id FROM commits m WHERE {where}", bindings)


def load_code_hits(store: Store, chunk_ids: Iterable[int]) -> dict[int, CodeHitRow]:
    """Return chunks with their lines. Each file is read once, however many of its chunks there are."""
    sql = f"""
        SELECT c.id, f.id, f.path, f.language, c.start_line, c.end_line, c.symbol, c.names,
          coalesce(t.tree_commit, ''), p.forge, p.host, p.path
        FROM code_chunks c
        JOIN code_files f ON f.id = c.file_id
        JOIN projects p ON p.id = f.project_id
        LEFT JOIN code_trees t ON t.project_id = f.project_id
        WHERE c.id {one_of()}
        ORDER BY f.id
    """
    found: dict[int, CodeHitRow] = {}
    last, lines = 0, [""]
    for row in (CodeHitRow(*row) for row in store.rows(sql, pack_list(chunk_ids))):
        if row.file_id != last:
            text: str = store.value("SELECT text FROM code_files WHERE id = ?", row.file_id)
            last, lines = row.file_id, text.split("\n")
        found[row.chunk_id] = row._replace(lines=tuple(lines[row.start_line - 1 : row.end_line]))
    return found


def list_newest_commits(store: Store, filters: Filters, limit: int, *, is_ascending: bool = False) -> list[int]:
    """Return commits that filters allow, newest first."""
    where, bindings = build_where(store, filters._replace(types=()), COMMITS)
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
    where, bindings = build_where(store, filters._replace(types=()), FILES)
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
    sql = f"SELECT id FROM code_chunks WHERE position = 0 AND file_id {one_of()}"
    return [row[0] for row in store.rows(sql, pack_list(file_ids))]


def load_file(store: Store, file_id: int) -> StoredItem | None:
    """Return a file, with its text, as an item is shown; None when it is gone."""
    sql = f"""
        SELECT f.id, p.id, p.forge, p.host, p.path, f.path, f.text, coalesce(t.tree_commit, '')
        FROM code_files f
        JOIN projects p ON p.id = f.project_id
        LEFT JOIN code_trees t ON t.project_id = f.project_id
        WHERE f.id = ? AND {in_view(store, "f")}
    """
    row = store.row(sql, file_id)
    if row is None:
        return None
    item_id, project_id, forge, host, project, path, text, commit = row
    url = file_page(forge, host, project, commit, path)
    return StoredItem(item_id, project_id, forge, host, project, "file", 0, path, text, url=url, name=path)


def load_texts_at(store: Store, project_id: int, paths: Iterable[str]) -> dict[str, str]:
    """Return path -> text, of the files of a project that are indexed."""
    sql = f"""
        SELECT path, text
        FROM code_files
        WHERE project_id = ? AND path {one_of()} AND {in_view(store, "code_files")}
    """
    return dict(store.rows(sql, project_id, pack_list(paths)))


def find_files_at(store: Store, path: str, project_id: int | None) -> list[int]:
    """Return the files at a path: one in each project that has it, or that of one project."""
    sql = f"""
        SELECT id
        FROM code_files
        WHERE path = ?1 AND (?2 IS NULL OR project_id = ?2) AND {in_view(store, "code_files")}
        ORDER BY id
    """
    return [file_id for (file_id,) in store.rows(sql, path, project_id)]
