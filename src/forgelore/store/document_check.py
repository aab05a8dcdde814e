"""Documents as a check reads them: every text with its hash, and what the store holds of the documents of items."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from forgelore.core.search.documents import Facts
from forgelore.store.db import Store


class HashedText(NamedTuple):
    document_id: int
    content_hash: bytes
    title: str
    text: str
    terms: str


class StoredDocument(NamedTuple):
    facts: Facts
    labels: frozenset[str]
    paths: frozenset[str]


def count_texts(store: Store) -> int:
    return int(store.value("SELECT count(*) FROM document_texts"))


def each_text(store: Store) -> Iterator[HashedText]:
    """Yield every text, as it is read."""
    sql = """
        SELECT d.id, d.content_hash, t.title, t.text, t.terms
        FROM documents d
        JOIN document_texts t ON t.id = d.id
    """
    return (HashedText._make(row) for row in store.each(sql))


def load_stored_documents(store: Store, item_ids: list[int]) -> dict[int, dict[tuple[str, str], StoredDocument]]:
    """Return item -> (representation, thread) -> what the store holds of that document."""
    ids = json.dumps(item_ids)
    labels = _load_list(store, ids, "document_labels", "name")
    paths = _load_list(store, ids, "document_paths", "path")
    sql = f"""
        SELECT item_id, id, representation, thread_key, {", ".join(Facts._fields)}
        FROM documents
        WHERE item_id IN (SELECT value FROM json_each(?))
    """
    found: dict[int, dict[tuple[str, str], StoredDocument]] = {}
    for item_id, document_id, representation, key, *facts in store.each(sql, ids):
        found.setdefault(item_id, {})[representation, key] = StoredDocument(
            Facts(*facts), frozenset(labels.get(document_id, ())), frozenset(paths.get(document_id, ()))
        )
    return found


def _load_list(store: Store, ids: str, table: str, column: str) -> dict[int, set[str]]:
    sql = f"""
        SELECT document_id, {column}
        FROM {table}
        WHERE document_id IN (
          SELECT id
          FROM documents
          WHERE item_id IN (SELECT value FROM json_each(?))
        )
    """
    found: dict[int, set[str]] = {}
    for document_id, value in store.each(sql, ids):
        found.setdefault(document_id, set()).add(value)
    return found
