"""What is stored of a path: changes and commits that touched it, threads on it, its other names, and how many touch it.

Paths are those of filters: a file, everything below `src/`, a glob. In the public view confidential items are not
there, nor is a path that only they touch.
"""

import datetime as dt
import json
from collections.abc import Iterable
from typing import NamedTuple

from forgelore.store.database import Store
from forgelore.store.filters import Values, path_condition, said, visible
from forgelore.store.sqlite.connection import each_of, one_of, pack_list
from forgelore.text.dates import as_time


def _live(store: Store) -> str:
    return f"i.deleted_at IS NULL AND {visible(store, 'i')}"


def load_known_paths(store: Store, project_id: int, paths: tuple[str, ...], limit: int) -> list[str]:
    """Return stored paths that these name, each once, not more than so many."""
    project, parts, bindings = project_id, [], []
    for column in ("new_path", "old_path"):
        where, values = _match(paths, f"f.{column}")
        parts.append(f"""
            SELECT f.{column} AS path
            FROM item_files f
            JOIN items i ON i.id = f.item_id
            WHERE f.project_id = ? AND {where} AND {_live(store)}
        """)
        bindings += [project, *values]
    where, values = _match(paths, "n.path")
    parts.append(f"""
        SELECT n.path
        FROM notes n
        JOIN items i ON i.id = n.item_id
        WHERE n.project_id = ? AND {where} AND NOT n.is_internal AND {_live(store)}
    """)
    bindings += [project, *values]
    for table in ("commit_paths", "code_files", "code_left_out"):
        where, values = _match(paths, "path")
        parts.append(f"SELECT path FROM {table} WHERE project_id = ? AND {where}")
        bindings += [project, *values]
    # UNION would walk each index in the order of what it returns, not by what is asked.
    sql = f"""
        SELECT DISTINCT path
        FROM ({" UNION ALL ".join(parts)})
        LIMIT ?
    """
    return [row[0] for row in store.rows(sql, *bindings, limit)]


def list_touching_items(store: Store, project_id: int, paths: tuple[str, ...], limit: int) -> list[int]:
    """Return the changes that touched a path, newest first."""
    (new, values), (old, _) = _match(paths, "f.new_path"), _match(paths, "f.old_path")
    # Two questions, each with its own index: an OR of both columns reads the files of all changes.
    sql = f"""
        SELECT i.id
        FROM items i
        WHERE {_live(store)} AND i.id IN (
          SELECT f.item_id
          FROM item_files f
          WHERE f.project_id = ? AND {new}
          UNION ALL
          SELECT f.item_id
          FROM item_files f
          WHERE f.project_id = ? AND {old}
        )
        ORDER BY coalesce(i.merged_at, i.closed_at, i.created_at, 0) DESC, i.id DESC
        LIMIT ?
    """
    return [row[0] for row in store.rows(sql, project_id, *values, project_id, *values, limit)]


def list_touching_commits(store: Store, project_id: int, paths: tuple[str, ...], limit: int) -> list[int]:
    """Return the commits that touched a path, newest first."""
    where, values = _match(paths, "p.path")
    sql = f"""
        SELECT m.id
        FROM commits m
        WHERE m.project_id = ? AND m.id IN (SELECT p.commit_id FROM commit_paths p WHERE {where})
        ORDER BY coalesce(m.authored_at, 0) DESC, m.id
        LIMIT ?
    """
    return [row[0] for row in store.rows(sql, project_id, *values, limit)]


def list_threads_on(store: Store, project_id: int, paths: tuple[str, ...], limit: int) -> list[tuple[int, str]]:
    """Return (item, thread) of those that are about a line of such a file, those of the newest items first."""
    where, values = _match(paths, "coalesce(t.path, n.path)")
    sql = f"""
        SELECT t.item_id, t.key
        FROM notes n
        JOIN threads t ON t.id = n.thread_id
        JOIN items i ON i.id = t.item_id
        WHERE n.project_id = ? AND (n.path NOTNULL OR t.path NOTNULL) AND {where} AND {_live(store)}
        GROUP BY t.id
        ORDER BY max(coalesce(i.updated_at, i.created_at, 0)) DESC, t.id DESC
        LIMIT ?
    """
    return store.rows(sql, project_id, *values, limit)


def list_closed_by(store: Store, item_ids: Iterable[int], limit: int) -> list[int]:
    """Return the items that these close, as the forge or their words say: what led to a change stands there."""
    sql = f"""
        SELECT i.id
        FROM item_links l
        JOIN items i ON i.project_id = l.project_id AND i.number = l.target_number
          AND i.kind = coalesce(l.target_kind, 'issue')
        WHERE l.item_id {one_of()} AND l.relation = 'closes' AND l.target_project = ''
          AND NOT l.is_withdrawn AND {_live(store)}
        GROUP BY i.id
        ORDER BY max(coalesce(i.closed_at, i.created_at, 0)) DESC
        LIMIT ?
    """
    return [row[0] for row in store.rows(sql, pack_list(item_ids), limit)]


class ItemWeight(NamedTuple):
    """How much hangs on an item: other people's items that name it, people who wrote below what it closes, files."""

    item_id: int
    linking: int
    asking: int
    files: int


def load_weights(store: Store, item_ids: Iterable[int]) -> dict[int, ItemWeight]:
    """Return item -> how much hangs on it, of what the scope may know."""
    sql = f"""
        SELECT i.id,
          (
            SELECT count(DISTINCT o.author)
            FROM item_links l
            JOIN items o ON o.id = l.item_id
            WHERE l.project_id = i.project_id AND l.target_number = i.number AND l.target_project = ''
              AND (l.target_kind ISNULL OR l.target_kind = i.kind) AND NOT l.is_withdrawn
              AND o.author IS DISTINCT FROM i.author AND o.deleted_at ISNULL AND {visible(store, "o")}
          ),
          (
            SELECT count(DISTINCT n.author)
            FROM item_links l
            JOIN items o ON o.project_id = l.project_id AND o.number = l.target_number
              AND o.kind = coalesce(l.target_kind, 'issue')
            JOIN notes n ON n.item_id = o.id
            WHERE l.item_id = i.id AND l.relation = 'closes' AND l.target_project = '' AND NOT l.is_withdrawn
              AND NOT n.is_system AND NOT n.is_internal AND n.author IS DISTINCT FROM i.author
              AND {visible(store, "o")}
          ),
          (SELECT count(*) FROM item_files f WHERE f.item_id = i.id)
        FROM items i
        WHERE i.id {one_of(1)}
    """
    rows = store.rows(sql, pack_list(item_ids))
    return {row[0]: ItemWeight(*row) for row in rows}


def list_closers(store: Store, project_id: int, *, authors: int, within_ms: int) -> list[str]:
    """Return who wrote a comment and closed the item with it, for items of at least so many other people: a forge lets
    authors and those with rights close an item, nobody else. Only what the scope may know counts.
    """
    sql = f"""
        SELECT n.author
        FROM items i
        JOIN notes n ON n.item_id = i.id AND n.created_at BETWEEN i.closed_at - ?3 AND i.closed_at
        WHERE i.project_id = ?1 AND {_live(store)} AND i.state = 'closed' AND NOT n.is_system AND n.author NOTNULL
          AND {said(store)} AND i.author NOTNULL AND n.author != i.author
          AND n.author != 'ghost' AND i.author != 'ghost' -- all accounts that are gone
        GROUP BY n.author
        HAVING count(DISTINCT i.author) >= ?2
        ORDER BY n.author
    """
    return [row[0] for row in store.rows(sql, project_id, authors, within_ms)]


def load_renames(store: Store, project_id: int, path: str, *, is_later: bool) -> list[str]:
    """Return the names that a file had before, or got later, by one renaming each, as merged changes and commits say;
    of one that was split, several.
    """
    column, other = ("old_path", "new_path") if is_later else ("new_path", "old_path")
    sql = f"""
        SELECT f.{other}
        FROM item_files f
        JOIN items i ON i.id = f.item_id
        WHERE f.project_id = ?1 AND f.{column} = ?2 AND f.status = 'renamed'
          AND i.state = 'merged' AND {_live(store)}
        UNION ALL
        SELECT r.{other}
        FROM commit_renames r
        WHERE r.project_id = ?1 AND r.{column} = ?2
    """
    return sorted({row[0] for row in store.rows(sql, project_id, path)} - {"", None, path})


def list_code_paths(store: Store, project_id: int) -> list[tuple[int, str]]:
    """Return the files of a project's tree that have text: id and path."""
    return [(row[0], row[1]) for row in store.rows("SELECT id, path FROM code_files WHERE project_id = ?", project_id)]


def load_last_touch(store: Store, project_id: int, path: str) -> tuple[str | None, int | None]:
    """Return who touched a file last, and when, as the commits say."""
    sql = """
        SELECT coalesce(m.login, m.author), m.authored_at
        FROM commits m
        JOIN commit_paths p ON p.commit_id = m.id
        WHERE p.path = ?2 AND m.project_id = ?1
        ORDER BY m.authored_at DESC
        LIMIT 1
    """
    row = store.row(sql, project_id, path)
    return (row[0], row[1]) if row else (None, None)


class PathPerson(NamedTuple):
    """Somebody who knows a path: how many changes of it they wrote and reviewed, how many commits, and when last."""

    login: str
    written: int
    reviewed: int
    commits: int
    last_active_at: dt.datetime | None


def list_path_people(
    store: Store, project_id: int, paths: tuple[str, ...], since_ms: int, limit: int
) -> list[PathPerson]:
    """Return who changed, reviewed or committed a path, those who did most first; a change counts as two commits."""
    (new, values), (old, _) = _match(paths, "f.new_path"), _match(paths, "f.old_path")
    committed, _ = _match(paths, "p.path")
    sql = f"""
        WITH touching (id) AS (
          SELECT f.item_id
          FROM item_files f
          WHERE f.project_id = ? AND {new}
          UNION
          SELECT f.item_id
          FROM item_files f
          WHERE f.project_id = ? AND {old}
        ),
        done (login, is_written, is_reviewed, is_commit, at) AS (
          SELECT i.author, 1, 0, 0, coalesce(i.merged_at, i.created_at)
          FROM items i
          WHERE {_live(store)} AND i.state <> 'closed' AND i.id IN (SELECT id FROM touching)
          UNION ALL
          SELECT max(x.login), 0, 1, 0, max(coalesce(x.created_at, i.merged_at, i.created_at))
          FROM item_people x
          JOIN items i ON i.id = x.item_id
          LEFT JOIN notes n ON n.id = x.note_id
          WHERE x.role = 'reviewed' AND {_live(store)} AND i.id IN (SELECT id FROM touching) AND {said(store)}
            AND lower(ltrim(x.login, '@')) <> lower(ltrim(coalesce(i.author, ''), '@'))
          GROUP BY i.id, lower(x.login)
          UNION ALL
          SELECT coalesce(m.login, m.author), 0, 0, 1, m.authored_at
          FROM commits m
          WHERE m.project_id = ? AND NOT m.is_merge
            AND m.id IN (SELECT p.commit_id FROM commit_paths p WHERE {committed})
        )
        SELECT ltrim(max(login), '@'), sum(is_written), sum(is_reviewed), sum(is_commit), max(at)
        FROM done
        WHERE login NOTNULL AND coalesce(at, 0) >= ?
        GROUP BY lower(ltrim(login, '@'))
        ORDER BY 2 * sum(is_written) + sum(is_reviewed) + sum(is_commit) DESC, max(at) DESC, 1
        LIMIT ?
    """
    project = project_id
    bindings = (project, *values, project, *values, project, *values, since_ms, limit)
    return [PathPerson._make((*row, as_time(last_ms))) for *row, last_ms in store.rows(sql, *bindings)]


def list_tree_paths(store: Store, project_id: int, folder: str) -> list[str]:
    """Return the files of a project's tree below a folder ("src/"; "" for all), those without text included."""
    sql = """
        SELECT path
        FROM code_files
        WHERE project_id = ?1 AND path >= ?2 AND path < ?3
        UNION ALL
        SELECT path
        FROM code_left_out
        WHERE project_id = ?1 AND path >= ?2 AND path < ?3
    """
    end = f"{folder[:-1]}0" if folder else "\U0010ffff"
    return [row[0] for row in store.rows(sql, project_id, folder, end)]


def _match(paths: tuple[str, ...], *columns: str) -> tuple[str, tuple[object, ...]]:
    condition = path_condition(paths, Values("", "", "", columns))
    return condition.sql, condition.bindings


def load_paths_of(store: Store, project_id: int, item_ids: Iterable[int]) -> dict[int, frozenset[str]]:
    """Return item -> every path it touches, of a rename the old one too; items of other projects are missing, and those
    whose paths nobody knows.
    """
    # The project is looked at here: as a condition it made SQLite read the files of all its changes.
    sql = f"""
        SELECT item_id, project_id, new_path, old_path
        FROM item_files
        WHERE item_id {one_of()}
    """
    found: dict[int, set[str]] = {}
    for item_id, its_project, *paths in store.each(sql, pack_list(item_ids)):
        if its_project == project_id:
            found.setdefault(item_id, set()).update(filter(None, paths))
    return {item_id: frozenset(paths) for item_id, paths in found.items()}


def count_changes(store: Store, project_id: int) -> int:
    """Return how many changes of a project are indexed. From an index: counting rows of items takes twenty times as
    long, and a ranking asks each time.
    """
    sql = "SELECT count(*) FROM documents WHERE project_id = ? AND kind = 'change' AND representation = 'item'"
    return int(store.value(sql, project_id))


def count_changes_by_path(store: Store, project_id: int, paths: Iterable[str]) -> dict[str, int]:
    """Return path -> how many changes of a project touch it, by whichever of its two indexes has more: a file that was
    moved away and came back counts once less for each time, which is less than it costs to look.
    """
    wanted = pack_list(paths)
    counts: dict[str, int] = dict.fromkeys(json.loads(wanted), 0)
    for column in ("new_path", "old_path"):
        sql = f"""
            SELECT value, (SELECT count(*) FROM item_files WHERE project_id = ?1 AND {column} = value)
            FROM {each_of(2)}
        """
        for path, count in store.each(sql, project_id, wanted):
            counts[path] = max(counts[path], count)
    return counts
