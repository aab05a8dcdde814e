"""Commits of a project's clone: which are here, and writing new ones, their words included."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from forgelore.records import Commit, CommitAuthor, GitName
from forgelore.store.database import Store
from forgelore.store.filters import in_view
from forgelore.store.sqlite.connection import one_of, pack_list
from forgelore.store.sqlite.fulltext import WordRow, add_code_words, remove_code_words
from forgelore.text.items import StoredCommit
from forgelore.text.terms import build_terms

_COLUMNS = """
    m.id, m.project_id, p.forge, p.host, p.path, m.sha, m.message, m.author, m.login, m.authored_at, m.committed_at,
    m.parents, c.number, coalesce(t.folder, '')
"""
_TABLES = """
    commits m
    JOIN projects p ON p.id = m.project_id
    LEFT JOIN commit_changes c ON c.commit_id = m.id
    LEFT JOIN code_trees t ON t.project_id = m.project_id
"""


def load_shas(store: Store, project_id: int) -> set[str]:
    return {sha for (sha,) in store.each("SELECT sha FROM commits WHERE project_id = ?", project_id)}


def save_commits(store: Store, project_id: int, commits: Iterable[Commit]) -> None:
    """Write commits that are not here yet. In a transaction."""
    sql = """
        INSERT INTO commits (
          project_id, sha, author, login, authored_at, committed_at, message, is_merge, mail, parents, has_renames
        )
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, TRUE)
        ON CONFLICT (project_id, sha) DO NOTHING
    """
    touched = "INSERT INTO commit_paths (project_id, commit_id, path) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
    known = load_shas(store, project_id)
    words = []
    for one in commits:
        if one.sha in known:
            continue
        facts = (one.sha, one.author, one.login, one.authored_at, one.committed_at, one.message, int(one.is_merge))
        commit_id = store.insert(sql, project_id, *facts, one.mail, " ".join(one.parents))
        store.run_many(touched, [(project_id, commit_id, path) for path in one.paths])
        _add_renames(store, project_id, commit_id, one)
        words.append(_word_row(commit_id, one))
    add_code_words(store, "commits", words)


def list_incomplete(store: Store, project_id: int) -> list[str]:
    """Return the commits that an earlier version wrote, with less than this one keeps of a commit."""
    sql = "SELECT sha FROM commits WHERE project_id = ? AND NOT has_renames"
    return [row[0] for row in store.rows(sql, project_id)]


def complete_commits(store: Store, project_id: int, commits: Iterable[Commit]) -> None:
    """Write what is missing of known commits: renames, parents, the author's address. In a transaction."""
    for one in commits:
        commit_id = store.value("SELECT id FROM commits WHERE project_id = ? AND sha = ?", project_id, one.sha)
        _add_renames(store, project_id, commit_id, one)
        sql = "UPDATE commits SET has_renames = 1, mail = ?, parents = ? WHERE id = ?"
        store.run(sql, one.mail, " ".join(one.parents), commit_id)


def _add_renames(store: Store, project_id: int, commit_id: int, commit: Commit) -> None:
    sql = """
        INSERT INTO commit_renames (project_id, commit_id, old_path, new_path)
        VALUES (?, ?, ?, ?)
        ON CONFLICT DO NOTHING
    """
    store.run_many(sql, [(project_id, commit_id, old, new) for old, new in commit.renames])


def _word_row(commit_id: int, commit: Commit) -> WordRow:
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


def each_graph_row(store: Store, project_id: int) -> Iterator[tuple[int, str, str, str, str | None, str | None]]:
    """Yield (id, sha, parents, message, author, mail) of the commits of a project; of messages the beginning and the
    end, where changes are named.
    """
    sql = """
        SELECT id, sha, parents,
          CASE WHEN length(message) > 4000 THEN substr(message, 1, 2000) || char(10) || substr(message, -1500)
            ELSE message END,
          author, mail
        FROM commits
        WHERE project_id = ?
    """
    return iter(store.each(sql, project_id))


def save_commit_changes(store: Store, project_id: int, changes: Mapping[int, int]) -> None:
    """Make these the changes (commit id -> number) of the project's commits. In a transaction."""
    sql = "SELECT commit_id, number FROM commit_changes WHERE project_id = ?"
    before: dict[int, int] = dict(store.rows(sql, project_id))
    gone = [(commit_id,) for commit_id in before if commit_id not in changes]
    store.run_many("DELETE FROM commit_changes WHERE commit_id = ?", gone)
    sql = """
        INSERT INTO commit_changes (commit_id, project_id, number)
        VALUES (?, ?, ?)
        ON CONFLICT (commit_id) DO UPDATE SET number = excluded.number
    """
    fresh = ((commit_id, number) for commit_id, number in changes.items() if before.get(commit_id) != number)
    store.run_many(sql, ((commit_id, project_id, number) for commit_id, number in fresh))


class ChangeFacts(NamedTuple):
    """A change as the forge has it: who wrote it, and the last commit of its branch."""

    number: int
    author: str
    head_sha: str


def load_change_facts(store: Store, project_id: int) -> list[ChangeFacts]:
    sql = """
        SELECT number, ltrim(coalesce(author, ''), '@'), coalesce(head_sha, '')
        FROM items
        WHERE project_id = ? AND kind = 'change' AND NOT is_confidential
    """
    return [ChangeFacts(*row) for row in store.rows(sql, project_id)]


def save_git_people(store: Store, project_id: int, people: Mapping[GitName, CommitAuthor]) -> None:
    """Make these the authors of a project's commits, and theirs the logins of the commits. In a transaction."""
    sql = "SELECT name, mail, proper_name, login, source FROM git_people WHERE project_id = ?"
    before = {GitName(*row[:2]): CommitAuthor(*row[2:]) for row in store.rows(sql, project_id)}
    if before == people:
        return
    store.run("DELETE FROM git_people WHERE project_id = ?", project_id)
    sql = "INSERT INTO git_people (project_id, name, mail, proper_name, login, source) VALUES (?, ?, ?, ?, ?, ?)"
    store.run_many(sql, ((project_id, *name, *person) for name, person in people.items()))
    sql = """
        UPDATE commits
        SET login = (
          SELECT g.login
          FROM git_people g
          WHERE g.project_id = commits.project_id AND g.name = coalesce(commits.author, '') AND g.mail = commits.mail
        )
        WHERE project_id = ? AND mail NOTNULL
    """
    store.run(sql, project_id)


def load_git_names(store: Store, login: str, project_ids: Iterable[int]) -> list[GitName]:
    """Return what git calls somebody, the commonest first: proper names, and addresses as commits have them."""
    sql = f"""
        SELECT g.proper_name, g.mail
        FROM git_people g
        WHERE g.login = ?1 COLLATE NOCASE AND (?2 = '[]' OR g.project_id {one_of(2)})
        ORDER BY (
          SELECT count(*)
          FROM commits c
          WHERE c.project_id = g.project_id AND c.author = g.name AND c.mail = g.mail
        ) DESC, g.name, g.mail
    """
    return [GitName(*row) for row in store.rows(sql, login, pack_list(project_ids))]


def load_commits(store: Store, commit_ids: Iterable[int]) -> dict[int, StoredCommit]:
    sql = f"SELECT {_COLUMNS} FROM {_TABLES} WHERE m.id {one_of()} AND {in_view(store, 'm')}"
    return {row[0]: StoredCommit._make(row) for row in store.rows(sql, pack_list(commit_ids))}


def load_commit_paths(store: Store, commit_id: int) -> list[str]:
    return [
        path for (path,) in store.rows("SELECT path FROM commit_paths WHERE commit_id = ? ORDER BY path", commit_id)
    ]


def find_commits(store: Store, prefix: str, project_id: int | None, limit: int = 6) -> list[StoredCommit]:
    """Return the commits whose names begin with these letters, in lower case."""
    sql = f"""
        SELECT {_COLUMNS}
        FROM {_TABLES}
        WHERE m.sha >= ?1 AND m.sha < ?1 || 'g' AND (?2 IS NULL OR m.project_id = ?2) AND {in_view(store, "m")}
        ORDER BY m.sha, m.id
        LIMIT ?3
    """
    return [StoredCommit._make(row) for row in store.rows(sql, prefix, project_id, limit)] if prefix else []


def list_commits_of(store: Store, project_id: int, number: int, limit: int) -> list[int]:
    """Return the commits that a change brought, oldest first."""
    sql = """
        SELECT m.id
        FROM commit_changes c
        JOIN commits m ON m.id = c.commit_id
        WHERE c.project_id = ? AND c.number = ?
        ORDER BY m.committed_at, m.id
        LIMIT ?
    """
    return [row[0] for row in store.rows(sql, project_id, number, limit)]


def load_renames_of(store: Store, commit_id: int) -> dict[str, str]:
    """Return new path -> old path of what a commit renamed."""
    sql = "SELECT new_path, old_path FROM commit_renames WHERE commit_id = ?"
    return dict(store.rows(sql, commit_id))
