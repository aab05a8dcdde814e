"""Work that waits for a person (assigned, asked for a review, mentioned, open threads, later notes) and what they did.

What waits is of open items, newest first, and nothing that happened before the scope's time.
"""

import datetime as dt
from collections.abc import Iterator
from typing import NamedTuple

from forgelore.store.database import Store
from forgelore.store.people import CURRENT_REQUEST, RANK, SAID, VISIBLE, PersonScope, is_awaited, is_person
from forgelore.store.sqlite.connection import elements, one_of
from forgelore.text.dates import as_time
from forgelore.text.refs import note_page, shown_ref
from forgelore.words import ProjectName

MAX_NOTES = 2_000  # that are looked at for questions and for mentions
MAX_CHARS = 20_000  # of a note
_OPEN = "coalesce(i.state, 'open') = 'open' AND i.kind <> 'release'"
ITEM_COLUMNS = "p.forge, p.host, p.path, i.kind, i.number, i.title, i.tag, i.state, i.author, i.updated_at, i.url"
_NEVER = -1
# When the person last said something on an item, its own text included.
_LAST_WORD = f"""
    max(
      coalesce((SELECT max(o.created_at) FROM notes o WHERE o.item_id = i.id AND {is_person("o.author")}), {_NEVER}),
      CASE WHEN {is_person("i.author")} THEN coalesce(i.created_at, {_NEVER}) ELSE {_NEVER} END
    )
"""


class PersonItem(NamedTuple):
    """An item that somebody wrote, reviewed or is wanted for. `at`: when; `by` and `text`: who said what; `verdict`:
    of a review; `path` and `line`: of a thread; `url`: of the note, or of the item.
    """

    ref: str
    kind: str
    number: int
    title: str
    state: str | None
    author: str | None
    updated_at: dt.datetime | None
    project: str
    url: str | None
    at: dt.datetime | None = None
    by: str | None = None
    text: str = ""
    verdict: str | None = None
    path: str | None = None
    line: int | None = None
    is_answered: bool = False


def load_assigned(store: Store, scope: PersonScope) -> list[PersonItem]:
    """Return open items that are assigned to the person."""
    sql = f"""
        SELECT {ITEM_COLUMNS}, i.updated_at
        FROM items i
        JOIN projects p ON p.id = i.project_id
        WHERE {_OPEN} AND {VISIBLE} AND coalesce(i.updated_at, i.created_at, 0) >= ?3
          AND i.assignees <> '[]'
          AND EXISTS (SELECT 1 FROM {elements("i.assignees")} a WHERE {is_person("a.value")})
        ORDER BY i.updated_at DESC, i.id DESC
    """
    return _load(store, sql, scope)


def load_requested(store: Store, scope: PersonScope) -> list[PersonItem]:
    """Return open changes whose review the person is asked for and has not given since."""
    sql = f"""
        SELECT {ITEM_COLUMNS},
          (
            SELECT max(x.created_at)
            FROM item_people x
            WHERE x.item_id = i.id AND x.role = 'requested' AND {is_person("x.login")}
          ) AS asked_at,
          i.author
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
    return _load(store, sql, scope)


def load_mentioned(store: Store, scope: PersonScope) -> list[PersonItem]:
    """Return where others mention the person in open items; several rows of one item are its mentions, last first."""
    by = "CASE WHEN x.note_id IS NULL THEN i.author ELSE n.author END"
    sql = f"""
        SELECT {ITEM_COLUMNS}, x.created_at, {by}, NULL, n.path, n.line,
          substr(CASE WHEN x.note_id IS NULL THEN i.body ELSE n.body END, 1, {MAX_CHARS}), n.key, n.url,
          {_LAST_WORD} > coalesce(x.created_at, 0) AS is_answered
        FROM item_people x
        JOIN items i ON i.id = x.item_id
        JOIN projects p ON p.id = i.project_id
        LEFT JOIN notes n ON n.id = x.note_id
        WHERE {is_person("x.login")} AND x.role = 'mentioned' AND {_OPEN} AND {VISIBLE} AND {SAID}
          AND coalesce(x.created_at, 0) >= ?3
          AND NOT coalesce({is_person(by)}, FALSE)
        ORDER BY x.created_at DESC, x.id DESC
        LIMIT {MAX_NOTES}
    """
    return _load(store, sql, scope)


def load_open_threads(store: Store, scope: PersonScope) -> list[PersonItem]:
    """Return unresolved threads on the person's open changes, each with its last note; where others had the last word
    first.
    """
    sql = f"""
        SELECT {ITEM_COLUMNS}, coalesce(n.created_at, 0) AS at, n.author, NULL, t.path, t.line,
          substr(n.body, 1, {MAX_CHARS}), n.key, n.url, coalesce({is_person("n.author")}, FALSE) AS is_answered
        FROM items i
        JOIN projects p ON p.id = i.project_id
        JOIN threads t ON t.item_id = i.id
        JOIN notes n ON n.thread_id = t.id
        WHERE {is_person("i.author")} AND i.kind = 'change' AND {_OPEN} AND {VISIBLE}
          AND t.is_resolvable AND NOT t.is_resolved AND NOT n.is_system AND {SAID} AND coalesce(n.created_at, 0) >= ?3
          AND n.id = (
            SELECT n.id
            FROM notes n
            WHERE n.thread_id = t.id AND NOT n.is_system AND {SAID}
            ORDER BY coalesce(n.created_at, 0) DESC, n.id
            LIMIT 1
          )
        ORDER BY is_answered, at DESC, t.id DESC
    """
    return _load(store, sql, scope)


def load_later_notes(store: Store, scope: PersonScope, bot: str) -> list[PersonItem]:
    """Return what others wrote on open items after the person's last word there, and that has a question mark. `bot` is
    how the logins of programs end: these ask nothing. Threads that were resolved, and those that `load_open_threads`
    tells of, are left out.
    """
    sql = f"""
        SELECT {ITEM_COLUMNS}, n.created_at, n.author, NULL, n.path, n.line, substr(n.body, -{MAX_CHARS}), n.key, n.url
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
          AND (instr(n.body, '?') > 0 OR instr(n.body, char(65311)) > 0)
          AND NOT coalesce({is_person("n.author")}, FALSE) AND coalesce(substr(n.author, -length(?5)), '') <> ?5
          AND NOT t.is_resolved AND NOT (t.is_resolvable AND i.kind = 'change' AND {is_person("i.author")} IS TRUE)
          AND n.created_at > {_LAST_WORD}
        ORDER BY n.created_at DESC, n.id DESC
        LIMIT {MAX_NOTES}
    """
    return _load(store, sql, scope, bot)


# A review is somebody else's: remarks of an author on their own change are none.
_REVIEWED = f"""
    item_people x
    JOIN items i ON i.id = x.item_id
    LEFT JOIN notes n ON n.id = x.note_id
    WHERE {is_person("x.login")} AND x.role = 'reviewed' AND i.kind = 'change' AND {VISIBLE} AND {SAID}
      AND NOT coalesce({is_person("i.author")}, FALSE) AND coalesce(x.created_at, 0) >= ?3
"""


def count_written(store: Store, scope: PersonScope) -> dict[tuple[str, str], int]:
    """Return (kind, state) -> how many items the person wrote."""
    sql = f"""
        SELECT i.kind, coalesce(i.state, ''), count(*)
        FROM items i
        WHERE {is_person("i.author")} AND {VISIBLE} AND coalesce(i.created_at, 0) >= ?3
        GROUP BY 1, 2
    """
    return {(kind, state): number for kind, state, number in store.rows(sql, *scope.values(store))}


def count_notes(store: Store, scope: PersonScope) -> tuple[int, int | None, int | None]:
    """Return how many notes the person wrote, and when the first and the last."""
    sql = f"""
        SELECT count(*), min(n.created_at), max(n.created_at)
        FROM notes n
        JOIN items i ON i.id = n.item_id
        WHERE {is_person("n.author")} AND NOT n.is_system AND {SAID} AND {VISIBLE} AND coalesce(n.created_at, 0) >= ?3
    """
    row = store.row(sql, *scope.values(store))
    return row[0:3] if row else (0, None, None)


def count_verdicts(store: Store, scope: PersonScope) -> dict[str, int]:
    """Return verdict -> how many changes got it from the person in the end."""
    sql = f"""
        SELECT verdict, count(*)
        FROM (
          SELECT x.verdict AS verdict, row_number() OVER (PARTITION BY i.id ORDER BY {RANK.format("x")} DESC) AS place
          FROM {_REVIEWED}
        )
        WHERE place = 1 AND ?3 NOTNULL
        GROUP BY 1
        ORDER BY 1
    """
    return {verdict or "commented": number for verdict, number in store.rows(sql, *scope.values(store))}


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
    return int(store.value(sql, *scope.values(store)))


def count_commits_by(store: Store, scope: PersonScope) -> int:
    """Return how many commits are the person's: by the address that a forge gives out, or by a name that is a login."""
    sql = f"""
        SELECT count(*)
        FROM commits c
        WHERE ({is_person("c.login")} OR {is_person("c.author")}) AND coalesce(c.authored_at, 0) >= ?3
          AND (?2 IS NULL OR c.project_id {one_of(2)}) AND ?4 NOTNULL
    """
    return int(store.value(sql, *scope.values(store)))


def load_written(store: Store, scope: PersonScope) -> list[PersonItem]:
    """Return the items the person wrote, newest first."""
    sql = f"""
        SELECT {ITEM_COLUMNS}, i.created_at
        FROM items i
        JOIN projects p ON p.id = i.project_id
        WHERE {is_person("i.author")} AND {VISIBLE} AND coalesce(i.created_at, 0) >= ?3
        ORDER BY i.created_at DESC, i.id DESC
        LIMIT ?5
    """
    return _load(store, sql, scope, scope.limit)


def load_reviewed(store: Store, scope: PersonScope) -> list[PersonItem]:
    """Return the changes the person reviewed with what they said of each in the end, newest first."""
    sql = f"""
        SELECT {ITEM_COLUMNS}, r.at, NULL, r.verdict
        FROM (
          SELECT i.id AS id, x.verdict AS verdict, coalesce(x.created_at, 0) AS at,
            row_number() OVER (PARTITION BY i.id ORDER BY {RANK.format("x")} DESC) AS place
          FROM {_REVIEWED}
        ) r
        JOIN items i ON i.id = r.id
        JOIN projects p ON p.id = i.project_id
        WHERE r.place = 1
        ORDER BY r.at DESC, i.id DESC
        LIMIT ?5
    """
    return _load(store, sql, scope, scope.limit)


def load_resolved(store: Store, scope: PersonScope) -> tuple[int, list[PersonItem]]:
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
        SELECT {ITEM_COLUMNS}, t.resolved_at, NULL, NULL, t.path, t.line
        FROM threads t
        JOIN items i ON i.id = t.item_id
        JOIN projects p ON p.id = i.project_id
        WHERE {where}
        ORDER BY coalesce(t.resolved_at, i.updated_at) DESC, t.id DESC
        LIMIT ?5
    """
    return int(store.value(total, *scope.values(store))), _load(store, sql, scope, scope.limit)


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
          AND (?2 IS NULL OR c.project_id {one_of(2)})
    """
    return ((path, thing) for path, thing in store.each(sql, *scope.values(store)))


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
    return [(name, number) for name, number in store.rows(sql, *scope.values(store), scope.limit)]


def _load(store: Store, sql: str, scope: PersonScope, *more: object) -> list[PersonItem]:
    """Return what a statement finds. Its columns: those of the item, when, who, verdict, path, line, and of a note its
    text, key and page; whether the person has answered. Those at the end that it does not have are left out.
    """
    return [_as_item(*row) for row in store.rows(sql, *scope.values(store), *more)]


def _as_item(
    forge: str, host: str, project: str, kind: str, number: int, title: str, tag: str | None, state: str | None,
    author: str | None, updated_ms: int | None, item_url: str | None, at_ms: int | None, by: str | None = None,
    verdict: str | None = None, path: str | None = None, line: int | None = None, text: str | None = None,
    note_key: str | None = None, note_url: str | None = None, is_answered: int = 0,
) -> PersonItem:  # fmt: skip
    url = note_page(forge, item_url, note_key, note_url) if note_key else None
    return PersonItem(
        shown_ref(forge, kind, number, tag), kind, number, title, state, author, as_time(updated_ms),
        str(ProjectName(forge, host, project)), url or item_url, as_time(at_ms or None), by, text or "", verdict, path,
        line, bool(is_answered),
    )  # fmt: skip
