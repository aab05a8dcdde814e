"""Work that waits for a person: assigned, asked for a review, mentioned, threads of their changes, later notes.

Only open items, and nothing that happened before the scope's time. Newest first.
"""

from typing import NamedTuple

from forgelore.store.db import Store
from forgelore.store.persons import SAID, VISIBLE, PersonScope, is_person
from forgelore.store.reviewers import CURRENT_REQUEST, is_awaited

MOST_NOTES = 2_000  # that are looked at for questions and for mentions
MOST_CHARS = 20_000  # of a note
_OPEN = "coalesce(i.state, 'open') = 'open' AND i.kind <> 'release'"
ITEM_COLUMNS = "i.kind, i.number, i.title, i.state, i.author, i.updated_at, i.url, i.tag, p.forge, p.host, p.path"
_NEVER = -1
# When the person last said something on an item, its own text included.
_LAST_WORD = f"""
    max(
      coalesce((SELECT max(o.created_at) FROM notes o WHERE o.item_id = i.id AND {is_person("o.author")}), {_NEVER}),
      CASE WHEN {is_person("i.author")} THEN coalesce(i.created_at, {_NEVER}) ELSE {_NEVER} END
    )
"""


class WorkRow(NamedTuple):
    """An item, and what of it concerns a person: when, said by whom, where and in which words."""

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
    by: str | None
    path: str | None
    line: int | None
    text: str | None
    note_key: str | None
    note_url: str | None
    is_answered: int


def load_assigned(store: Store, scope: PersonScope) -> list[WorkRow]:
    """Return open items that are assigned to the person."""
    sql = f"""
        SELECT {ITEM_COLUMNS}, i.updated_at, NULL, NULL, NULL, NULL, NULL, NULL, 0
        FROM items i
        JOIN projects p ON p.id = i.project_id
        WHERE {_OPEN} AND {VISIBLE} AND coalesce(i.updated_at, i.created_at, 0) >= ?3
          AND i.assignees <> '[]'
          AND EXISTS (SELECT 1 FROM json_each(i.assignees) a WHERE {is_person("a.value")})
        ORDER BY i.updated_at DESC, i.id DESC
    """
    return _rows(store, sql, scope)


def load_requested(store: Store, scope: PersonScope) -> list[WorkRow]:
    """Return open changes whose review the person is asked for and has not given since."""
    sql = f"""
        SELECT {ITEM_COLUMNS},
          (
            SELECT max(x.created_at)
            FROM item_people x
            WHERE x.item_id = i.id AND x.role = 'requested' AND {is_person("x.login")}
          ) AS asked_at,
          i.author, NULL, NULL, NULL, NULL, NULL, 0
        FROM items i
        JOIN projects p ON p.id = i.project_id
        WHERE i.id IN (
            SELECT item_id
            FROM item_people
            WHERE {is_person("login")} AND {CURRENT_REQUEST}
          )
          AND i.kind = 'change' AND {_OPEN} AND {VISIBLE} AND coalesce(i.updated_at, i.created_at, 0) >= ?3
          AND {is_awaited("i.id", "?1")}
        ORDER BY coalesce(asked_at, i.updated_at) DESC, i.id DESC
    """
    return _rows(store, sql, scope)


def load_mentioned(store: Store, scope: PersonScope) -> list[WorkRow]:
    """Return where others mention the person in open items; several rows of one item are its mentions, last first."""
    by = "CASE WHEN x.note_id IS NULL THEN i.author ELSE n.author END"
    sql = f"""
        SELECT {ITEM_COLUMNS}, x.created_at, {by}, n.path, n.line,
          substr(CASE WHEN x.note_id IS NULL THEN i.body ELSE n.body END, 1, {MOST_CHARS}), n.key, n.url,
          {_LAST_WORD} > coalesce(x.created_at, 0) AS is_answered
        FROM item_people x
        JOIN items i ON i.id = x.item_id
        JOIN projects p ON p.id = i.project_id
        LEFT JOIN notes n ON n.id = x.note_id
        WHERE {is_person("x.login")} AND x.role = 'mentioned' AND {_OPEN} AND {VISIBLE} AND {SAID}
          AND coalesce(x.created_at, 0) >= ?3
          AND NOT coalesce({is_person(by)}, 0)
        ORDER BY x.created_at DESC, x.id DESC
        LIMIT {MOST_NOTES}
    """
    return _rows(store, sql, scope)


def load_open_threads(store: Store, scope: PersonScope) -> list[WorkRow]:
    """Return unresolved threads on the person's open changes, each with its last note; where others had the last word
    first.
    """
    sql = f"""
        SELECT {ITEM_COLUMNS}, max(coalesce(n.created_at, 0)) AS at, n.author, t.path, t.line,
          substr(n.body, 1, {MOST_CHARS}), n.key, n.url, coalesce({is_person("n.author")}, 0) AS is_answered
        FROM items i
        JOIN projects p ON p.id = i.project_id
        JOIN threads t ON t.item_id = i.id
        JOIN notes n ON n.thread_id = t.id
        WHERE {is_person("i.author")} AND i.kind = 'change' AND {_OPEN} AND {VISIBLE}
          AND t.is_resolvable AND NOT t.is_resolved AND NOT n.is_system AND {SAID} AND coalesce(n.created_at, 0) >= ?3
        GROUP BY t.id
        ORDER BY is_answered, at DESC, t.id DESC
    """
    return _rows(store, sql, scope)


def load_later_notes(store: Store, scope: PersonScope, bot: str) -> list[WorkRow]:
    """Return what others wrote on open items after the person's last word there, and that has a question mark. `bot` is
    how the logins of programs end: these ask nothing. Threads that were resolved, and those that `load_open_threads`
    tells of, are left out.
    """
    sql = f"""
        SELECT {ITEM_COLUMNS}, n.created_at, n.author, n.path, n.line, substr(n.body, -{MOST_CHARS}), n.key, n.url, 0
        FROM items i
        JOIN projects p ON p.id = i.project_id
        JOIN notes n ON n.item_id = i.id
        JOIN threads t ON t.id = n.thread_id
        WHERE i.id IN (
            SELECT id
            FROM items
            WHERE {is_person("author")}
            UNION
            SELECT item_id
            FROM notes
            WHERE {is_person("author")} AND NOT is_system
          )
          AND {_OPEN} AND {VISIBLE} AND {SAID} AND NOT n.is_system AND n.created_at >= ?3
          AND (instr(n.body, '?') OR instr(n.body, char(65311)))
          AND NOT coalesce({is_person("n.author")}, 0) AND coalesce(substr(n.author, -length(?5)), '') <> ?5
          AND NOT t.is_resolved AND NOT (t.is_resolvable AND i.kind = 'change' AND {is_person("i.author")} IS TRUE)
          AND n.created_at > {_LAST_WORD}
        ORDER BY n.created_at DESC, n.id DESC
        LIMIT {MOST_NOTES}
    """
    return [WorkRow._make(row) for row in store.rows(sql, *scope.values, bot)]


def _rows(store: Store, sql: str, scope: PersonScope) -> list[WorkRow]:
    return [WorkRow._make(row) for row in store.rows(sql, *scope.values)]
