"""Documents in an order that is not relevance: by when their item was created or updated, by how much was said."""

from forgelore.store.db import Store
from forgelore.store.filter_columns import COMMENTS
from forgelore.store.filters import Allowed

_ORDERS = {
    "created": "coalesce(m.created_at, 0)",
    "updated": "coalesce(m.updated_at, m.created_at, 0)",
    "comments": COMMENTS,
}


def load_sorted(store: Store, allowed: Allowed | None, key: str, *, is_ascending: bool, limit: int) -> list[int]:
    """Return one document of each item that has any allowed, in the order of the items; its own before a thread's."""
    within = _within(allowed)
    direction = "ASC" if is_ascending else "DESC"
    # min() decides which row of an item the other columns come from: "item" before "thread".
    sql = f"""
        SELECT o.id, min(o.representation)
        FROM documents o
        JOIN items m ON m.id = o.item_id
        WHERE {within}
        GROUP BY o.item_id
        ORDER BY {_ORDERS[key]} {direction}, m.project_id, m.number {direction}, o.item_id
        LIMIT ?
    """
    return [row[0] for row in store.rows(sql, *(allowed.bindings if allowed else ()), limit)]


def count_allowed(store: Store, allowed: Allowed | None) -> int:
    """Return how many items have a document that is allowed."""
    within = _within(allowed)
    sql = f"SELECT count(DISTINCT o.item_id) FROM documents o WHERE {within}"
    return int(store.value(sql, *(allowed.bindings if allowed else ())))


def _within(allowed: Allowed | None) -> str:
    """Return the condition on documents `o`: allowed, and written by people."""
    written = "o.representation <> 'intent'"
    return f"{written} AND o.id IN ({allowed.sql})" if allowed else written
