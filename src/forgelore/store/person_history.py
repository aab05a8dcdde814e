"""What a person did: items they wrote, changes they reviewed, threads they resolved, files and labels they touched."""

from collections.abc import Iterator
from typing import NamedTuple

from forgelore.store.db import Store
from forgelore.store.person_work import ITEM_COLUMNS
from forgelore.store.persons import SAID, VISIBLE, PersonScope, is_person
from forgelore.store.reviewers import RANK


class DoneRow(NamedTuple):
    """An item, and when and how a person had to do with it."""

    kind: str
    number: int
    title: str
    state: str | None
    author: str | None
    updated_at: int | None
    item_url: str | None
    tag: str | None
    forge: str
    host: str
    project_path: str
    at: int | None
    verdict: str | None
    path: str | None
    line: int | None


# A review is somebody else's: remarks of an author on their own change are none.
_REVIEWED = f"""
    item_people x
    JOIN items i ON i.id = x.item_id
    LEFT JOIN notes n ON n.id = x.note_id
    WHERE {is_person("x.login")} AND x.role = 'reviewed' AND i.kind = 'change' AND {VISIBLE} AND {SAID}
      AND NOT coalesce({is_person("i.author")}, 0) AND coalesce(x.created_at, 0) >= ?3
"""


def count_written(store: Store, scope: PersonScope) -> dict[tuple[str, str], int]:
    """Return (kind, state) -> how many items the person wrote."""
    sql = f"""
        SELECT i.kind, coalesce(i.state, ''), count(*)
        FROM items i
        WHERE {is_person("i.author")} AND {VISIBLE} AND coalesce(i.created_at, 0) >= ?3
        GROUP BY 1, 2
    """
    return {(kind, state): number for kind, state, number in store.rows(sql, *scope.values)}


def count_notes(store: Store, scope: PersonScope) -> tuple[int, int | None, int | None]:
    """Return how many notes the person wrote, and when the first and the last."""
    sql = f"""
        SELECT count(*), min(n.created_at), max(n.created_at)
        FROM notes n
        JOIN items i ON i.id = n.item_id
        WHERE {is_person("n.author")} AND NOT n.is_system AND {SAID} AND {VISIBLE} AND coalesce(n.created_at, 0) >= ?3
    """
    row = store.row(sql, *scope.values)
    return row[0:3] if row else (0, None, None)


def count_verdicts(store: Store, scope: PersonScope) -> dict[str, int]:
    """Return verdict -> how many changes got it from the person in the end."""
    sql = f"""
        SELECT verdict, count(*)
        FROM (
          SELECT x.verdict AS verdict, max({RANK.format("x")})
          FROM {_REVIEWED}
          GROUP BY i.id
        )
        WHERE ?3 NOTNULL
        GROUP BY 1
        ORDER BY 1
    """
    return {verdict or "commented": number for verdict, number in store.rows(sql, *scope.values)}


def count_mentions(store: Store, scope: PersonScope) -> int:
    """Return how many items mention the person."""
    sql = f"""
        SELECT count(DISTINCT i.id)
        FROM item_people x
        JOIN items i ON i.id = x.item_id
        LEFT JOIN notes n ON n.id = x.note_id
        WHERE {is_person("x.login")} AND x.role = 'mentioned' AND {VISIBLE} AND {SAID}
          AND coalesce(x.created_at, 0) >= ?3
    """
    return int(store.value(sql, *scope.values))


def count_commits_by(store: Store, scope: PersonScope) -> int:
    """Return how many commits are the person's: by the address that a forge gives out, or by a name that is a login."""
    sql = f"""
        SELECT count(*)
        FROM commits c
        WHERE ({is_person("c.login")} OR {is_person("c.author")}) AND coalesce(c.authored_at, 0) >= ?3
          AND (?2 IS NULL OR c.project_id IN (SELECT value FROM json_each(?2))) AND ?4 NOTNULL
    """
    return int(store.value(sql, *scope.values))


def load_written(store: Store, scope: PersonScope) -> list[DoneRow]:
    """Return the items the person wrote, newest first."""
    sql = f"""
        SELECT {ITEM_COLUMNS}, i.created_at, NULL, NULL, NULL
        FROM items i
        JOIN projects p ON p.id = i.project_id
        WHERE {is_person("i.author")} AND {VISIBLE} AND coalesce(i.created_at, 0) >= ?3
        ORDER BY i.created_at DESC, i.id DESC
        LIMIT ?5
    """
    return _rows(store, sql, scope)


def load_reviewed(store: Store, scope: PersonScope) -> list[DoneRow]:
    """Return the changes the person reviewed with what they said of each in the end, newest first."""
    sql = f"""
        SELECT {ITEM_COLUMNS}, r.at, r.verdict, NULL, NULL
        FROM (
          SELECT i.id AS id, x.verdict AS verdict, max({RANK.format("x")}) % 1000000000000000 AS at
          FROM {_REVIEWED}
          GROUP BY i.id
        ) r
        JOIN items i ON i.id = r.id
        JOIN projects p ON p.id = i.project_id
        ORDER BY r.at DESC, i.id DESC
        LIMIT ?5
    """
    return _rows(store, sql, scope)


def load_resolved(store: Store, scope: PersonScope) -> tuple[int, list[DoneRow]]:
    """Return how many threads the person resolved, and the last of them."""
    since = "coalesce(t.resolved_at, i.updated_at, 0) >= ?3"
    where = f"{is_person('t.resolved_by')} AND t.is_resolved AND {VISIBLE} AND {since}"
    total = f"""
        SELECT count(*)
        FROM threads t
        JOIN items i ON i.id = t.item_id
        WHERE {where}
    """
    sql = f"""
        SELECT {ITEM_COLUMNS}, t.resolved_at, NULL, t.path, t.line
        FROM threads t
        JOIN items i ON i.id = t.item_id
        JOIN projects p ON p.id = i.project_id
        WHERE {where}
        ORDER BY coalesce(t.resolved_at, i.updated_at) DESC, t.id DESC
        LIMIT ?5
    """
    return int(store.value(total, *scope.values)), _rows(store, sql, scope)


def each_touched_path(store: Store, scope: PersonScope) -> Iterator[tuple[str, str]]:
    """Return each path that the person's changes, reviews and commits touch, and by which: w12, r7, c3."""
    sql = f"""
        SELECT f.new_path, 'w' || i.id
        FROM items i
        JOIN item_files f ON f.item_id = i.id
        WHERE {is_person("i.author")} AND i.kind = 'change' AND i.state <> 'closed' AND {VISIBLE}
          AND coalesce(i.created_at, 0) >= ?3
        UNION ALL
        SELECT f.new_path, 'r' || r.id
        FROM (
          SELECT DISTINCT i.id AS id
          FROM {_REVIEWED}
        ) r
        JOIN item_files f ON f.item_id = r.id
        UNION ALL
        SELECT t.path, 'c' || c.id
        FROM commits c
        JOIN commit_paths t ON t.commit_id = c.id
        WHERE ({is_person("c.login")} OR {is_person("c.author")}) AND coalesce(c.authored_at, 0) >= ?3
          AND (?2 IS NULL OR c.project_id IN (SELECT value FROM json_each(?2)))
    """
    return ((path, thing) for path, thing in store.each(sql, *scope.values))


def count_labels_of(store: Store, scope: PersonScope) -> list[tuple[str, int]]:
    """Return the labels of what the person wrote and reviewed, the most frequent first."""
    sql = f"""
        SELECT l.name, count(*)
        FROM item_labels l
        WHERE l.item_id IN (
          SELECT i.id
          FROM items i
          WHERE {is_person("i.author")} AND {VISIBLE} AND coalesce(i.created_at, 0) >= ?3
          UNION
          SELECT i.id
          FROM {_REVIEWED}
        )
        GROUP BY l.name
        ORDER BY 2 DESC, 1
        LIMIT ?5
    """
    return [(name, number) for name, number in store.rows(sql, *scope.values, scope.limit)]


def _rows(store: Store, sql: str, scope: PersonScope) -> list[DoneRow]:
    return [DoneRow._make(row) for row in store.rows(sql, *scope.values, scope.limit)]
