"""Items as clusters and plans see them: state, people, activity, marks; and what is known of a project's people."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from forgelore.model import ItemKey
from forgelore.store.db import Store


class PlanItem(NamedTuple):
    """Columns of an item that decide about its closing. `is_marked`: the forge calls it somebody's duplicate.
    `newest_comment`: the forge's id of it; None where no comment is stored.
    """

    id: int
    kind: str
    number: int
    title: str
    body: str | None
    url: str | None
    state: str | None
    author: str | None
    assignees: tuple[str, ...]
    created_at: int | None
    updated_at: int | None
    content_hash: str
    comment_count: int | None
    review_comment_count: int | None
    newest_comment: int | None
    is_marked: bool
    is_confidential: bool
    head_sha: str | None


def load_plan_items(store: Store, item_ids: Iterable[int]) -> dict[int, PlanItem]:
    """Return id -> item, of those that are live. What people only wrote ("duplicate of #5") marks nothing here."""
    sql = """
        SELECT i.id, i.kind, i.number, i.title, i.body, i.url, i.state, i.author, i.assignees, i.created_at,
          i.updated_at, i.content_hash, i.comment_count, i.review_comment_count,
          (SELECT max(CAST(ltrim(n.key, 'c') AS INTEGER)) FROM notes n WHERE n.item_id = i.id AND NOT n.is_system),
          coalesce(i.state_reason, '') = 'duplicate' OR EXISTS (
            SELECT 1
            FROM item_links l
            WHERE l.item_id = i.id AND l.relation = 'duplicate_of' AND l.source <> 'text' AND NOT l.is_withdrawn
          ),
          i.is_confidential, i.head_sha
        FROM items i
        WHERE i.id IN (SELECT value FROM json_each(?)) AND i.deleted_at IS NULL
    """
    found = {}
    for row in store.rows(sql, json.dumps(sorted(set(item_ids)))):
        item = PlanItem._make(row)
        names = tuple(json.loads(str(item.assignees)))
        is_marked, is_confidential = bool(item.is_marked), bool(item.is_confidential)
        found[item.id] = item._replace(assignees=names, is_marked=is_marked, is_confidential=is_confidential)
    return found


def list_open_labelled(store: Store, project_id: int, label: str) -> list[ItemKey]:
    """Return the open issues and changes with a label, oldest first."""
    sql = """
        SELECT i.kind, i.number
        FROM items i
        JOIN item_labels l ON l.item_id = i.id
        WHERE i.project_id = ? AND l.name = ? AND i.state = 'open' AND i.deleted_at IS NULL
          AND i.kind IN ('issue', 'change')
        ORDER BY i.number
    """
    return [ItemKey(*row) for row in store.rows(sql, project_id, label)]


def load_roles(store: Store, project_id: int) -> dict[str, str]:
    """Return login in lower case -> role, as the forge listed a project's people; empty where it refused."""
    rows = store.rows("SELECT lower(login), role FROM members WHERE project_id = ?", project_id)
    return dict(rows)


def load_associations(store: Store, project_id: int, logins: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return login in lower case -> what the forge said beside their items and comments (GitHub's association)."""
    sql = """
        SELECT lower(i.author), i.author_role
        FROM items i
        WHERE i.project_id = ?1 AND i.author_role NOTNULL AND lower(i.author) IN (SELECT value FROM json_each(?2))
        UNION
        SELECT lower(n.author), n.author_role
        FROM notes n
        JOIN items i ON i.id = n.item_id
        WHERE i.project_id = ?1 AND n.author_role NOTNULL AND lower(n.author) IN (SELECT value FROM json_each(?2))
    """
    names = json.dumps(sorted({login.lower() for login in logins}))
    found: dict[str, frozenset[str]] = {}
    for login, role in store.rows(sql, project_id, names):
        found[login] = found.get(login, frozenset()) | {role}
    return found
