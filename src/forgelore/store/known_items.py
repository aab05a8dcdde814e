"""Items that a query names by number or tag, with the documents they are shown by."""

from collections.abc import Sequence
from typing import NamedTuple

from forgelore.core.names import Ref
from forgelore.store.db import Store
from forgelore.store.filters import Allowed


class KnownRow(NamedTuple):
    item_id: int
    is_deleted: int
    document_id: int | None  # None: not indexed


def load_known(store: Store, ref: Ref, project_ids: Sequence[int] = (), *, is_public: bool = False) -> list[KnownRow]:
    """Return the items of that number or tag in these projects (none: in all): live ones first, issues before changes.

    Releases are known by their tag alone; the numbers they have are the forge's own, and nobody sees them.
    """
    marks = ", ".join("?" * len(project_ids))
    within = f"i.project_id IN ({marks})" if project_ids else "i.project_id IN (SELECT id FROM projects)"
    named = "i.kind = 'release' AND i.tag = ?" if ref.tag else "i.kind <> 'release' AND i.number = ?"
    kind = "" if ref.tag or ref.kind is None else "AND i.kind = ?"
    public = "AND NOT i.is_confidential" if is_public else ""
    sql = f"""
        SELECT i.id, i.deleted_at IS NOT NULL, d.id
        FROM items i
        LEFT JOIN documents d ON d.item_id = i.id AND d.representation = 'item'
        WHERE {within} AND {named} {kind} {public}
        ORDER BY 2, CASE i.kind WHEN 'issue' THEN 0 WHEN 'change' THEN 1 ELSE 2 END, i.project_id
    """
    given = (*project_ids, ref.tag or ref.number, *((ref.kind,) if kind else ()))
    return [KnownRow._make(row) for row in store.rows(sql, *given)]


def load_permitted(store: Store, allowed: Allowed, document_ids: tuple[int, ...]) -> set[int]:
    """Return those of these documents that are allowed."""
    marks = ", ".join("?" * len(document_ids))
    within = allowed.condition("o.id")
    sql = f"SELECT o.id FROM documents o WHERE o.id IN ({marks}) AND {within.sql}"
    return {row[0] for row in store.rows(sql, *document_ids, *within.bindings)}


def load_document_of(store: Store, item_id: int, *, is_public: bool) -> int | None:
    """Return the document that an item is shown by; None where there is none that may be seen."""
    sql = """
        SELECT d.id
        FROM documents d
        WHERE d.item_id = ? AND d.representation = 'item' AND NOT (? AND d.is_confidential)
    """
    found: int | None = store.value(sql, item_id, int(is_public))
    return found
