"""Labels of items, and which of them may be suggested: what learning found out about each."""

from collections.abc import Mapping
from typing import NamedTuple

from forgelore.store.db import Store


class Trust(NamedTuple):
    """Trust in a label: the share of votes from which on it is suggested, and how often that was right, of how many."""

    share: float
    precision: float
    sample: int


def load_labels(store: Store, item_id: int) -> set[str]:
    """Return the labels an item has."""
    return {name for (name,) in store.rows("SELECT name FROM item_labels WHERE item_id = ?", item_id)}


def list_labelled(store: Store, project_id: int, kind: str, *, limit: int) -> list[int]:
    """Return the ids of the newest items of a kind that have labels and that everybody may read."""
    sql = """
        SELECT i.id
        FROM items i
        WHERE i.project_id = ? AND i.kind = ? AND i.deleted_at IS NULL AND NOT i.is_confidential
          AND EXISTS (SELECT 1 FROM item_labels l WHERE l.item_id = i.id)
        ORDER BY i.created_at DESC
        LIMIT ?
    """
    return [item_id for (item_id,) in store.rows(sql, project_id, kind, limit)]


def load_label_trust(store: Store, project_id: int, kind: str) -> dict[str, Trust]:
    """Return the labels that may be suggested."""
    sql = """
        SELECT name, share, precision, sample
        FROM label_trust
        WHERE project_id = ? AND kind = ?
    """
    return {name: Trust(*rest) for name, *rest in store.rows(sql, project_id, kind)}


def save_label_trust(store: Store, project_id: int, kind: str, trusted: Mapping[str, Trust]) -> None:
    """Replace what is known of the labels of a kind. In a transaction."""
    store.run("DELETE FROM label_trust WHERE project_id = ? AND kind = ?", project_id, kind)
    sql = """
        INSERT INTO label_trust (project_id, kind, name, share, precision, sample)
        VALUES (?, ?, ?, ?, ?, ?)
    """
    store.run_many(sql, [(project_id, kind, name, *trust) for name, trust in sorted(trusted.items())])


def load_labels_learned(store: Store, project_id: int, kind: str) -> tuple[int, int]:
    """Return how many items with labels there were when those were last learned, and how many there are now."""
    before = store.value("SELECT items FROM label_runs WHERE project_id = ? AND kind = ?", project_id, kind)
    sql = """
        SELECT count(DISTINCT l.item_id)
        FROM item_labels l
        JOIN items i ON i.id = l.item_id
        WHERE i.project_id = ? AND i.kind = ?
    """
    return before or 0, store.value(sql, project_id, kind)


def save_labels_learned(store: Store, project_id: int, kind: str, items: int) -> None:
    sql = """
        INSERT INTO label_runs (project_id, kind, items)
        VALUES (?, ?, ?)
        ON CONFLICT (project_id, kind) DO UPDATE SET items = excluded.items
    """
    store.run(sql, project_id, kind, items)
