"""Values that filters name: whether anybody has them, all there are, for a suggestion, and how many items have each."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from forgelore.store.database import Store
from forgelore.store.filters import DOCUMENTS, ITEMS, Filters, build_where, path_condition, said, visible
from forgelore.store.sqlite.connection import elements, glob_condition, one_of, pack_list
from forgelore.text.globs import loose_glob

# What is asked for -> where its values are. {public} and {said} are conditions on an item or document, and on a note.
_SOURCES = {
    "label": "SELECT l.name AS value FROM document_labels l JOIN documents d ON d.id = l.document_id WHERE {public}",
    "author": """
        SELECT coalesce(d.thread_author, d.author) AS value
        FROM documents d
        WHERE coalesce(d.thread_author, d.author) NOTNULL AND {public}
    """,
    "milestone": """
        SELECT d.milestone AS value
        FROM items d
        WHERE d.milestone NOTNULL AND d.deleted_at IS NULL AND {public}
    """,
    "assignee": """
        SELECT a.value
        FROM items d
        JOIN {assignees} a
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
# Somebody who only ever was mentioned, asked for a review or assigned has written nothing.
_LOOKED_UP["person"] = (
    *_LOOKED_UP["author"],
    """
    SELECT 1
    FROM item_people x
    JOIN items d ON d.id = x.item_id
    LEFT JOIN notes n ON n.id = x.note_id
    WHERE x.login COLLATE NOCASE IN (?1, '@' || ?1) AND {public} AND {said}
    """,
    """
    SELECT 1
    FROM items d
    JOIN {assignees} a
    WHERE d.assignees <> '[]' AND a.value COLLATE NOCASE IN (?1, '@' || ?1) AND {public}
    """,
)


def has_value(store: Store, what: str, value: str) -> bool:
    """True when anything has that label, author or person; by an index, unless hardly anybody or nobody has."""
    return any(store.value(f"SELECT EXISTS ({_limited(store, sql)})", value) for sql in _LOOKED_UP[what])


def list_values(store: Store, what: str) -> list[str]:
    """Return all there are of a kind, the most used first."""
    sql = f"""
        SELECT value
        FROM ({_limited(store, _SOURCES[what])})
        GROUP BY value
        ORDER BY count(*) DESC, value
    """
    return [row[0] for row in store.rows(sql)]


def has_path(store: Store, path: str) -> bool:
    """True when anything touches the path: a file, `src/`, a glob. By an index, unless it begins with a star."""
    asked = path_condition((path,), DOCUMENTS.paths)
    return _first_path(store, asked.sql, asked.bindings) is not None


def find_path_in_other_case(store: Store, path: str) -> str | None:
    """Return a path that would be meant if capitals did not count. It reads paths until there is one."""
    folded = path.lower()
    sql = glob_condition("lower(path)")
    return _first_path(store, sql, (loose_glob(folded), folded))


def _first_path(store: Store, condition: str, bindings: tuple[object, ...]) -> str | None:
    public = f"EXISTS (SELECT 1 FROM documents d WHERE d.id = document_id AND {visible(store, 'd')})"
    found: str | None = store.value(
        f"SELECT path FROM document_paths WHERE {condition} AND {public} LIMIT 1", *bindings
    )
    return found


def _limited(store: Store, sql: str) -> str:
    return sql.format(public=visible(store, "d"), said=said(store), assignees=elements("d.assignees"))


def count_labels(store: Store, project_id: int | None) -> list[tuple[str, int]]:
    """Return the labels of live items and how many have each, the most used first."""
    sql = f"""
        SELECT l.name, count(*)
        FROM item_labels l
        JOIN items i ON i.id = l.item_id
        WHERE i.deleted_at IS NULL AND (?1 IS NULL OR i.project_id = ?1)
          AND {visible(store, "i")}
        GROUP BY 1
        ORDER BY 2 DESC, 1
    """
    return [(name, count) for name, count in store.rows(sql, project_id)]


Facets = Mapping[str, Mapping[str, int]]  # type, state, label, author -> value -> how many items have it
NO_FACETS: Facets = MappingProxyType({})


def count_facets(store: Store, item_ids: Iterable[int]) -> Facets:
    """Return how many of these items have which type, state, label and author, the commonest first."""
    sql = f"""
        SELECT i.id
        FROM items i
        WHERE i.id {one_of()}
    """
    return _count_facets(store, sql, [pack_list(item_ids)])


def count_listed_facets(store: Store, filters: Filters) -> Facets:
    """Return the same of the items that match."""
    where, values = build_where(store, filters, ITEMS)
    sql = f"""
        SELECT i.id
        FROM items i
        WHERE {where}
    """
    return _count_facets(store, sql, values)


def count_found_facets(store: Store, document_ids: Iterable[int]) -> Facets:
    """Return the same of the items that these documents are of."""
    sql = f"""
        SELECT d.item_id
        FROM documents d
        WHERE d.id {one_of()}
    """
    return _count_facets(store, sql, [pack_list(document_ids)])


def _count_facets(store: Store, chosen: str, values: Sequence[object]) -> Facets:
    sql = f"""
        WITH chosen AS MATERIALIZED (
          SELECT i.id, i.kind, i.state, i.author
          FROM items i
          WHERE i.deleted_at IS NULL AND i.id IN ({chosen})
        )
        SELECT 'type', kind, count(*)
        FROM chosen
        GROUP BY kind
        UNION ALL
        SELECT 'state', state, count(*)
        FROM chosen
        WHERE state NOTNULL
        GROUP BY state
        UNION ALL
        SELECT 'label', l.name, count(*)
        FROM chosen c
        JOIN item_labels l ON l.item_id = c.id
        GROUP BY l.name
        UNION ALL
        SELECT 'author', author, count(*)
        FROM chosen
        WHERE author NOTNULL
        GROUP BY author
    """
    found: dict[str, dict[str, int]] = {"type": {}, "state": {}, "label": {}, "author": {}}
    for name, value, count in sorted(store.rows(sql, *values), key=lambda row: (-row[2], row[1])):
        found[name][value] = count
    return found
