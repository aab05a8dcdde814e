"""Values that filters name: whether anybody has them, and all there are, for a suggestion."""

from forgelore.store.db import Store

# What is asked for -> where its values are. {public} and {said} are conditions on an item or document, and on a note.
_SOURCES = {
    "label": "SELECT l.name AS value FROM document_labels l JOIN documents d ON d.id = l.document_id WHERE {public}",
    "author": "SELECT d.author AS value FROM documents d WHERE d.author NOTNULL AND {public}",
    "milestone": """
        SELECT d.milestone AS value
        FROM items d
        WHERE d.milestone NOTNULL AND d.deleted_at IS NULL AND {public}
    """,
    "assignee": """
        SELECT a.value
        FROM items d
        JOIN json_each(d.assignees) a
        WHERE d.assignees <> '[]' AND d.deleted_at IS NULL AND {public}
    """,
}
_LOOKED_UP = {
    "label": (
        """
        SELECT 1
        FROM document_labels l
        JOIN documents d ON d.id = l.document_id
        WHERE l.name = ?1 COLLATE NOCASE AND {public}
        """,
    ),
    "author": (
        "SELECT 1 FROM documents d WHERE d.author COLLATE NOCASE IN (?1, '@' || ?1) AND {public}",
        # No index: who only ever answered.
        """
        SELECT 1
        FROM notes n
        JOIN items d ON d.id = n.item_id
        WHERE n.author COLLATE NOCASE IN (?1, '@' || ?1) AND {public} AND {said}
        """,
    ),
}


def has_value(store: Store, what: str, value: str, *, is_public: bool = False) -> bool:
    """True when anything has that label or author; by an index, unless hardly anybody or nobody has. `is_public`:
    confidential items and internal notes are not asked.
    """
    return any(store.value(f"SELECT EXISTS ({_limited(sql, is_public=is_public)})", value) for sql in _LOOKED_UP[what])


def list_values(store: Store, what: str, *, is_public: bool = False) -> list[str]:
    """Return all there are of a kind, the most used first."""
    sql = f"""
        SELECT value
        FROM ({_limited(_SOURCES[what], is_public=is_public)})
        GROUP BY value
        ORDER BY count(*) DESC, value
    """
    return [row[0] for row in store.rows(sql)]


def _limited(sql: str, *, is_public: bool) -> str:
    if is_public:
        return sql.format(public="NOT d.is_confidential", said="NOT n.is_internal")
    return sql.format(public="1", said="1")
