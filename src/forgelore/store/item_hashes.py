"""Hashes of items, and the title and text that each is made from: by them a check sees that a row was altered."""

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from forgelore.store.db import Store


class HashedItem(NamedTuple):
    id: int
    content_hash: str
    kind: str
    title: str
    body: str | None


def each_hashed_item(store: Store) -> Iterator[HashedItem]:
    """Yield all items, as they are read."""
    sql = """
        SELECT id, content_hash, kind, title, body
        FROM items
    """
    return (HashedItem._make(row) for row in store.each(sql))


def load_hashed_items(store: Store, item_ids: Iterable[int]) -> list[HashedItem]:
    sql = """
        SELECT id, content_hash, kind, title, body
        FROM items
        WHERE id IN (SELECT value FROM json_each(?))
    """
    return [HashedItem._make(row) for row in store.rows(sql, json.dumps(list(item_ids)))]


def save_content_hash(store: Store, item_id: int, digest: str) -> None:
    store.run("UPDATE items SET content_hash = ? WHERE id = ?", digest, item_id)
