"""Values that filters name: whether anybody has them, and all there are, for a suggestion."""

from forgelore.store.db import Store

# What is asked for -> where its values are.
_SOURCES = {
    "label": "SELECT name AS value FROM document_labels",
    "author": "SELECT author AS value FROM documents WHERE author NOTNULL",
    "milestone": "SELECT milestone AS value FROM items WHERE milestone NOTNULL AND deleted_at IS NULL",
    "assignee": """
        SELECT a.value
        FROM items i
        JOIN json_each(i.assignees) a
        WHERE i.assignees <> '[]' AND i.deleted_at IS NULL
    """,
}
_LOOKED_UP = {
    "label": ("SELECT 1 FROM document_labels WHERE name = ?1 COLLATE NOCASE",),
    "author": (
        "SELECT 1 FROM documents WHERE author COLLATE NOCASE IN (?1, '@' || ?1)",
        "SELECT 1 FROM notes WHERE author COLLATE NOCASE IN (?1, '@' || ?1)",  # no index: who only ever answered
    ),
}


def has_value(store: Store, what: str, value: str) -> bool:
    """True when anything has that label or author; by an index, unless hardly anybody or nobody has."""
    return any(store.value(f"SELECT EXISTS ({sql})", value) for sql in _LOOKED_UP[what])


def list_values(store: Store, what: str) -> list[str]:
    """Return all there are of a kind, the most used first."""
    sql = f"""
        SELECT value
        FROM ({_SOURCES[what]})
        GROUP BY value
        ORDER BY count(*) DESC, value
    """
    return [row[0] for row in store.rows(sql)]
