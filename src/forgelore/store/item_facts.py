"""Single facts of stored items, found by kind and number: what an adapter asks before it fetches something."""

import json
from typing import Literal

from forgelore.model import ItemKey, Kind
from forgelore.store.db import Store

FactName = Literal["threads_etag", "files_sha", "head_sha", "node_id"]  # columns that hold text


def load_fact(store: Store, project_id: int, key: ItemKey, name: FactName) -> str | None:
    """Return one column of an item; None when it is empty, and for an item that is not there."""
    sql = f"SELECT {name} FROM items WHERE project_id = ? AND kind = ? AND number = ?"
    found: str | None = store.value(sql, project_id, key.kind, key.number)
    return found


def is_confidential(store: Store, project_id: int, key: ItemKey) -> bool:
    """Whether an item is marked as confidential; one that is not there is not."""
    sql = "SELECT is_confidential FROM items WHERE project_id = ? AND kind = ? AND number = ?"
    return bool(store.value(sql, project_id, key.kind, key.number))


def find_key(store: Store, item_id: int) -> ItemKey | None:
    """Return kind and number of an item; None when it is not there."""
    row = store.row("SELECT kind, number FROM items WHERE id = ?", item_id)
    return ItemKey(*row) if row else None


def load_kinds(store: Store, project_id: int, numbers: list[int]) -> dict[int, Kind]:
    """Return the kind of the issue or change with each number. Live ones before tombstones, and changes before
    issues: an issue can become a change.
    """
    sql = """
        SELECT number, kind
        FROM items
        WHERE project_id = ? AND kind IN ('issue', 'change')
          AND number IN (SELECT value FROM json_each(?))
        ORDER BY deleted_at IS NULL, kind = 'change'
    """
    rows = store.rows(sql, project_id, json.dumps(numbers))
    return dict(rows)  # the last of two rows with one number wins


def load_fetch_times(store: Store, project_id: int, keys: list[ItemKey]) -> dict[ItemKey, int | None]:
    """Return when the threads of these items were last read in full."""
    sql = """
        SELECT number, threads_fetched_at
        FROM items
        WHERE project_id = ? AND kind = ?
          AND number IN (SELECT value FROM json_each(?))
    """
    found: dict[ItemKey, int | None] = {}
    for kind in {key.kind for key in keys}:
        rows = store.rows(sql, project_id, kind, json.dumps([key.number for key in keys if key.kind == kind]))
        found.update((ItemKey(kind, number), fetched_at) for number, fetched_at in rows)
    return found
