"""Lists of live items, by age and by number, and what is asked of a single one.

Live is what its forge has not deleted. Ids are those of rows.
"""

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from forgelore.errors import NotFound
from forgelore.store.db import Store


class ItemHead(NamedTuple):
    """Columns of an item that decide whether and how it is spoken of, whatever it says."""

    url: str | None
    content_hash: str
    author: str | None
    state: str | None
    is_confidential: int


def each_author_and_text(
    store: Store, project_id: int, kind: str, *, max_chars: int
) -> Iterator[tuple[str | None, str]]:
    """Yield who wrote each live item of a kind, and the beginning of what they wrote."""
    sql = """
        SELECT author, substr(body, 1, ?)
        FROM items
        WHERE project_id = ? AND kind = ? AND deleted_at IS NULL
    """
    for author, text in store.each(sql, max_chars, project_id, kind):
        yield author, text or ""


def list_newest(store: Store, project_id: int, kind: str, *, limit: int) -> list[int]:
    """Return the ids of live items of a kind, newest first; those without a time are left out."""
    sql = """
        SELECT id
        FROM items
        WHERE project_id = ? AND kind = ? AND deleted_at IS NULL AND created_at NOTNULL
        ORDER BY created_at DESC, id DESC
        LIMIT ?
    """
    return [item_id for (item_id,) in store.rows(sql, project_id, kind, limit)]


def list_oldest(store: Store, project_id: int, kind: str) -> list[int]:
    """Return the ids of all live items of a kind, oldest first; those without a time are left out."""
    sql = """
        SELECT id
        FROM items
        WHERE project_id = ? AND kind = ? AND deleted_at IS NULL AND created_at NOTNULL
        ORDER BY created_at, id
    """
    return [item_id for (item_id,) in store.rows(sql, project_id, kind)]


def find_live(store: Store, project_id: int, kind: str, number: int, *, is_public: bool = False) -> int | None:
    """Return the id of an item that is there; None also for one that its forge deleted, and where `is_public` for a
    confidential one.
    """
    sql = f"""
        SELECT id
        FROM items
        WHERE project_id = ? AND kind = ? AND number = ? AND deleted_at IS NULL
          {"AND NOT is_confidential" if is_public else ""}
    """
    found: int | None = store.value(sql, project_id, kind, number)
    return found


def is_live(store: Store, item_id: int) -> bool:
    return bool(store.value("SELECT deleted_at IS NULL FROM items WHERE id = ?", item_id))


def load_number(store: Store, item_id: int) -> int | None:
    """Return the number of an item on its forge; None when it is not here."""
    number: int | None = store.value("SELECT number FROM items WHERE id = ?", item_id)
    return number


def load_head(store: Store, item_id: int) -> ItemHead:
    sql = """
        SELECT url, content_hash, author, state, is_confidential
        FROM items
        WHERE id = ?
    """
    row = store.row(sql, item_id)
    if row is None:
        raise NotFound(f"item {item_id} is not in this database")
    return ItemHead._make(row)


def list_numbered(store: Store, project_id: int, numbers: Iterable[int]) -> list[int]:
    """Return the ids of the items with these numbers, of every kind, the deleted ones too."""
    sql = """
        SELECT id
        FROM items
        WHERE project_id = ? AND number IN (SELECT value FROM json_each(?))
    """
    return [item_id for (item_id,) in store.rows(sql, project_id, json.dumps(list(numbers)))]
