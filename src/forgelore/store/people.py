"""Persons: whether a login is known here, how it is spelled, whose tokens are used; and who reviews a change.

A login is compared without regard to capitals, and with or without an @ (imported trackers may have one). The public
view leaves out what only confidential items and internal notes say. `item_people` has a row per request and review.
"""

from collections.abc import Iterable
from typing import NamedTuple

from forgelore.store.database import Store
from forgelore.store.filters import projects_in_view, said, visible
from forgelore.store.sqlite.connection import elements, one_of, pack_list
from forgelore.text.items import StoredReviewer


class PersonScope(NamedTuple):
    """Whose history is asked for, and of what: no project ids mean all."""

    login: str
    project_ids: tuple[int, ...] = ()
    since_ms: int | None = None
    limit: int = 10

    def values(self, store: Store) -> tuple[object, ...]:
        """?1 the login, ?2 the projects, ?3 since when, ?4 whether the view is public."""
        ids = projects_in_view(store, self.project_ids)
        projects = None if ids is None else pack_list(ids)
        return (self.login, projects, self.since_ms or 0, int(not store.viewer.includes_internal))


_SAMPLE = 200  # rows that tell how a login is spelled
# Conditions on an item `i` and a note `n`, in terms of `PersonScope.values`.
VISIBLE = f"""
    i.deleted_at IS NULL AND NOT (?4 AND i.is_confidential)
      AND (?2 IS NULL OR i.project_id {one_of(2)})
"""
_IN_PROJECTS = f"(?2 IS NULL OR {{}}.project_id {one_of(2)})"
SAID = "NOT (?4 AND coalesce(n.is_internal, 0))"


def is_person(column: str) -> str:
    """Return the condition that a column holds the login."""
    return f"{column} COLLATE NOCASE IN (?1, '@' || ?1)"


# How a login is mostly spelled, by indexes; then where no index helps.
_BY_INDEX = f"""
    SELECT login
    FROM (
      SELECT *
      FROM (
        SELECT i.author AS login, 2 AS weight
        FROM items i
        WHERE {is_person("i.author")} AND {VISIBLE}
        LIMIT {_SAMPLE}
      )
      UNION ALL
      SELECT *
      FROM (
        SELECT n.author, 2
        FROM notes n
        JOIN items i ON i.id = n.item_id
        WHERE {is_person("n.author")} AND {SAID} AND {VISIBLE}
        LIMIT {_SAMPLE}
      )
      UNION ALL
      SELECT *
      FROM (
        SELECT x.login, CASE WHEN x.role <> 'mentioned' THEN 1 ELSE 0 END
        FROM item_people x
        JOIN items i ON i.id = x.item_id
        LEFT JOIN notes n ON n.id = x.note_id
        WHERE {is_person("x.login")} AND {SAID} AND {VISIBLE}
        LIMIT {_SAMPLE}
      )
    )
    WHERE ?3 NOTNULL
    GROUP BY login
    ORDER BY sum(weight) DESC, login
    LIMIT 1
"""
_BY_LOOK = f"""
    SELECT login
    FROM (
      SELECT a.value AS login
      FROM items i
      JOIN {elements("i.assignees")} a
      WHERE i.assignees <> '[]' AND {is_person("a.value")} AND {VISIBLE}
      UNION ALL
      SELECT t.resolved_by
      FROM threads t
      JOIN items i ON i.id = t.item_id
      WHERE {is_person("t.resolved_by")} AND {VISIBLE}
      UNION ALL
      SELECT c.login
      FROM commits c
      WHERE {is_person("c.login")} AND {_IN_PROJECTS.format("c")}
      UNION ALL
      SELECT c.author
      FROM commits c
      WHERE {is_person("c.author")} AND {_IN_PROJECTS.format("c")}
      UNION ALL
      SELECT m.login
      FROM members m
      WHERE NOT ?4 AND {is_person("m.login")} AND {_IN_PROJECTS.format("m")}
    )
    WHERE ?3 NOTNULL
    LIMIT 1
"""


def find_spelling(store: Store, scope: PersonScope) -> str | None:
    """Return a login as it is mostly spelled; None when nobody here has it. First by indexes, then by a look at all."""
    found: str | None = store.value(_BY_INDEX, *scope.values(store)) or store.value(_BY_LOOK, *scope.values(store))
    return found.removeprefix("@") if found else None


def list_writers(store: Store) -> list[str]:
    """Return who wrote items and notes, those who wrote most first: for a suggestion."""
    sql = f"""
        SELECT author
        FROM (
          SELECT i.author AS author
          FROM items i
          WHERE {visible(store, "i")}
          UNION ALL
          SELECT n.author
          FROM notes n
          JOIN items i ON i.id = n.item_id
          WHERE NOT n.is_system AND {said(store)} AND {visible(store, "i")}
        )
        WHERE author NOTNULL
        GROUP BY author
        ORDER BY count(*) DESC, author
    """
    return [name for (name,) in store.rows(sql)]


def save_token_owner(store: Store, host: str, login: str, now_ms: int) -> None:
    """Remember whom a host says a token belongs to. In a transaction."""
    sql = """
        INSERT INTO token_owners (host, login, seen_at)
        VALUES (?, ?, ?)
        ON CONFLICT (host) DO UPDATE SET login = excluded.login, seen_at = excluded.seen_at
    """
    store.run(sql, host, login, now_ms)


def load_token_owners(store: Store, hosts: Iterable[str]) -> list[str]:
    """Return whose tokens were used on these hosts, the last seen first."""
    sql = f"""
        SELECT login
        FROM token_owners
        WHERE host {one_of()}
        GROUP BY login
        ORDER BY max(seen_at) DESC
    """
    return [login for (login,) in store.rows(sql, pack_list(hosts))]


_BY = "FROM item_people g WHERE g.role = 'reviewed' AND"
# Reviews by weight, then by time: whoever only remarks something decides nothing.
RANK = "(CASE WHEN {0}.verdict <> 'commented' THEN 1000000000000000 ELSE 0 END + coalesce({0}.created_at, 0))"
# What is asked for now, and not what a note says was asked for once.
CURRENT_REQUEST = "role = 'requested' AND source IN ('forge', 'detail')"


def is_awaited(item: str, login: str) -> str:
    """Return the SQL condition that a review, which is asked for, was not given since.

    A forge that takes a request away with the review (GitHub, Forgejo) tells no time of it: what is there is open.
    GitLab keeps reviewers; there the last request is compared with the last review.
    """
    asked = f"a.item_id = {item} AND a.role = 'requested' AND a.login = {login} COLLATE NOCASE"
    asked_at = f"(SELECT max(a.created_at) FROM item_people a WHERE {asked})"
    given = f"{_BY} g.item_id = {item} AND g.login = {login} COLLATE NOCASE"
    gave_at = f"(SELECT max(g.created_at) {given})"
    return f"coalesce({_verdict(given)} = 'dismissed' OR {gave_at} < {asked_at}, TRUE)"


def _verdict(given: str) -> str:
    """Return the SQL of what somebody's reviews say in the end: a later remark takes back no approval."""
    return f"(SELECT g.verdict {given} ORDER BY {RANK.format('g')} DESC LIMIT 1)"


def load_reviewers(store: Store, item_id: int) -> tuple[StoredReviewer, ...]:
    """Return who is to review a change and who did, its author left out."""
    given = f"{_BY} g.item_id = p.item_id AND g.login = p.login COLLATE NOCASE"
    sql = f"""
        SELECT p.login, {_verdict(given)}, (SELECT max(g.created_at) {given}),
          p.is_asked AND {is_awaited("p.item_id", "p.login")}
        FROM (
          SELECT p.item_id AS item_id, max(p.login) AS login, max({CURRENT_REQUEST}) AS is_asked
          FROM item_people p
          JOIN items i ON i.id = p.item_id
          LEFT JOIN notes n ON n.id = p.note_id
          WHERE p.item_id = ? AND (p.role = 'reviewed' OR {CURRENT_REQUEST})
            AND p.login <> coalesce(i.author, '') COLLATE NOCASE AND {said(store)}
          GROUP BY p.item_id, p.login COLLATE NOCASE
        ) p
        ORDER BY p.login COLLATE NOCASE
    """
    return tuple(StoredReviewer._make((*row, bool(awaited))) for *row, awaited in store.rows(sql, item_id))
