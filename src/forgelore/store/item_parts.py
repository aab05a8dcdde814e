"""Parts of items that hang on them as rows of their own: labels and files, of many items with one query."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from forgelore.store.db import Store

if TYPE_CHECKING:
    from forgelore.model import FileStatus


def load_labels_of(store: Store, item_ids: Iterable[int]) -> dict[int, list[str]]:
    """Return item -> its labels, sorted; items without are missing."""
    sql = """
        SELECT item_id, name
        FROM item_labels
        WHERE item_id IN (SELECT value FROM json_each(?))
        ORDER BY name
    """
    found: dict[int, list[str]] = {}
    for item_id, name in store.each(sql, json.dumps(list(item_ids))):
        found.setdefault(item_id, []).append(name)
    return found


def load_files_of(store: Store, item_ids: Iterable[int]) -> "dict[int, list[tuple[str, str, FileStatus]]]":
    """Return item -> (new path, old path, status) of the files it changes; items without are missing."""
    sql = """
        SELECT item_id, new_path, old_path, status
        FROM item_files
        WHERE item_id IN (SELECT value FROM json_each(?))
        ORDER BY new_path, old_path
    """
    found: dict[int, list[tuple[str, str, FileStatus]]] = {}
    for item_id, new_path, old_path, status in store.each(sql, json.dumps(list(item_ids))):
        found.setdefault(item_id, []).append((new_path, old_path, status))
    return found
