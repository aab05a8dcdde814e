"""Paths of changes: what each change touches, and how many changes touch a path."""

import json
from collections.abc import Iterable

from forgelore.store.db import Store


def load_paths_of(store: Store, project_id: int, item_ids: Iterable[int]) -> dict[int, frozenset[str]]:
    """Return item -> every path it touches, of a rename the old one too; items of other projects are missing, and those
    whose paths nobody knows.
    """
    # The project is looked at here: as a condition it made SQLite read the files of all its changes.
    sql = """
        SELECT item_id, project_id, new_path, old_path
        FROM item_files
        WHERE item_id IN (SELECT value FROM json_each(?))
    """
    found: dict[int, set[str]] = {}
    for item_id, its_project, *paths in store.each(sql, json.dumps(list(item_ids))):
        if its_project == project_id:
            found.setdefault(item_id, set()).update(filter(None, paths))
    return {item_id: frozenset(paths) for item_id, paths in found.items()}


def count_changes(store: Store, project_id: int) -> int:
    """Return how many changes of a project are indexed. From an index: counting rows of items takes twenty times as
    long, and a ranking asks each time.
    """
    sql = "SELECT count(*) FROM documents WHERE project_id = ? AND kind = 'change' AND representation = 'item'"
    return int(store.value(sql, project_id))


def count_changes_by_path(store: Store, project_id: int, paths: Iterable[str]) -> dict[str, int]:
    """Return path -> how many changes of a project touch it, by whichever of its two indexes has more: a file that was
    moved away and came back counts once less for each time, which is less than it costs to look.
    """
    wanted = json.dumps(list(paths))
    counts: dict[str, int] = dict.fromkeys(json.loads(wanted), 0)
    for column in ("new_path", "old_path"):
        sql = f"""
            SELECT value, (SELECT count(*) FROM item_files WHERE project_id = ?1 AND {column} = value)
            FROM json_each(?2)
        """
        for path, count in store.each(sql, project_id, wanted):
            counts[path] = max(counts[path], count)
    return counts
