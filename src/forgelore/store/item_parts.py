"""Parts of items that hang on them as rows of their own: labels and files, of many items with one query."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from forgelore.store.db import Store

if TYPE_CHECKING:
    from forgelore.model import FileStatus

_Part = TypeVar("_Part")


def grouped(rows: Iterable[tuple[int, _Part]]) -> dict[int, list[_Part]]:
    """Return id -> its parts, in the order of the rows; ids without any are missing."""
    found: dict[int, list[_Part]] = {}
    for owner_id, part in rows:
        found.setdefault(owner_id, []).append(part)
    return found


def load_labels_of(store: Store, item_ids: Iterable[int]) -> dict[int, list[str]]:
    """Return item -> its labels, sorted; items without are missing."""
    sql = """
        SELECT item_id, name
        FROM item_labels
        WHERE item_id IN (SELECT value FROM json_each(?))
        ORDER BY name
    """
    return grouped((item_id, name) for item_id, name in store.each(sql, json.dumps(list(item_ids))))


def load_files_of(store: Store, item_ids: Iterable[int]) -> "dict[int, list[tuple[str, str, FileStatus]]]":
    """Return item -> (new path, old path, status) of the files it changes; items without are missing."""
    sql = """
        SELECT item_id, new_path, old_path, status
        FROM item_files
        WHERE item_id IN (SELECT value FROM json_each(?))
        ORDER BY new_path, old_path
    """
    rows = store.each(sql, json.dumps(list(item_ids)))
    return grouped((item_id, (new_path, old_path, status)) for item_id, new_path, old_path, status in rows)
