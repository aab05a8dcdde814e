"""Commits of a project's clone: which are here, and writing new ones, their words included."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from forgelore.core.search.terms import build_terms
from forgelore.store.db import Store
from forgelore.store.engine.code_words import WordRow, add_code_words, remove_code_words


class NewCommit(NamedTuple):
    """A commit as it is written; times are milliseconds."""

    sha: str
    author: str | None
    login: str | None
    authored_at: int | None
    committed_at: int | None
    message: str
    paths: Sequence[str]
    is_merge: bool
    renames: Sequence[tuple[str, str]] = ()


def load_shas(store: Store, project_id: int) -> set[str]:
    return {sha for (sha,) in store.each("SELECT sha FROM commits WHERE project_id = ?", project_id)}


def save_commits(store: Store, project_id: int, commits: Iterable[NewCommit]) -> None:
    """Write commits that are not here yet. In a transaction."""
    sql = """
        INSERT INTO commits (project_id, sha, author, login, authored_at, committed_at, message, is_merge, has_renames)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)
        ON CONFLICT (project_id, sha) DO NOTHING
    """
    touched = "INSERT INTO commit_paths (project_id, commit_id, path) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
    known = load_shas(store, project_id)
    words = []
    for one in commits:
        if one.sha in known:
            continue
        facts = (one.sha, one.author, one.login, one.authored_at, one.committed_at, one.message, int(one.is_merge))
        commit_id = store.insert(sql, project_id, *facts)
        store.run_many(touched, [(project_id, commit_id, path) for path in one.paths])
        _add_renames(store, project_id, commit_id, one)
        words.append(_word_row(commit_id, one))
    add_code_words(store, "commits", words)


def list_without_renames(store: Store, project_id: int) -> list[str]:
    """Return the commits that were written before anybody asked what they renamed."""
    sql = "SELECT sha FROM commits WHERE project_id = ? AND NOT has_renames"
    return [row[0] for row in store.rows(sql, project_id)]


def save_renames(store: Store, project_id: int, commits: Iterable[NewCommit]) -> None:
    """Write what known commits renamed. In a transaction."""
    for one in commits:
        commit_id = store.value("SELECT id FROM commits WHERE project_id = ? AND sha = ?", project_id, one.sha)
        _add_renames(store, project_id, commit_id, one)
        store.run("UPDATE commits SET has_renames = 1 WHERE id = ?", commit_id)


def _add_renames(store: Store, project_id: int, commit_id: int, commit: NewCommit) -> None:
    sql = """
        INSERT INTO commit_renames (project_id, commit_id, old_path, new_path)
        VALUES (?, ?, ?, ?)
        ON CONFLICT DO NOTHING
    """
    store.run_many(sql, [(project_id, commit_id, old, new) for old, new in commit.renames])


def _word_row(commit_id: int, commit: NewCommit) -> WordRow:
    subject, _, rest = commit.message.partition("\n")
    paths = "\n".join(commit.paths)
    return WordRow(commit_id, paths, subject, rest, build_terms(f"{subject}\n{paths}", rest))


def remove_commits(store: Store, project_id: int, shas: Iterable[str]) -> None:
    """Delete commits that are no longer part of the history. In a transaction."""
    for sha in shas:
        commit_id = store.value("SELECT id FROM commits WHERE project_id = ? AND sha = ?", project_id, sha)
        if commit_id is not None:
            remove_code_words(store, "commits", [commit_id])
            store.run("DELETE FROM commits WHERE id = ?", commit_id)


def count_commits(store: Store, project_id: int) -> int:
    return int(store.value("SELECT count(*) FROM commits WHERE project_id = ?", project_id))
