"""Orphans: rows that hang on rows which do not exist, and that nobody can reach any more."""

from forgelore.store.db import Store
from forgelore.store.engine.tables import OF_DOCUMENTS
from forgelore.store.engine.vector_rows import drop_unowned_vectors
from forgelore.store.replays import forget_rows

_OF_ITEMS = (
    "threads",
    "notes",
    "item_labels",
    "item_files",
    "item_links",
    "item_people",
    "intent_cards",
    "nearest_strengths",
    "triage_reports",
)
_OF_DOCUMENTS = (
    ("document_texts", "id"),
    ("document_labels", "document_id"),
    ("document_paths", "document_id"),
    *OF_DOCUMENTS,
    ("documents", "id"),
)


def drop_orphans(store: Store) -> int:
    """Delete what hangs on items or documents that are gone; returns how many rows of items went. In a transaction.

    A note whose thread alone is gone stays: when the conversation is read again, it gets a thread. An import reads an
    item again only when its hash says nothing.
    """
    homeless = store.rows("SELECT DISTINCT item_id FROM notes WHERE thread_id NOT IN (SELECT id FROM threads)")
    forget_rows(store, [item_id for (item_id,) in homeless])
    gone = sum(store.run(f"DELETE FROM {table} WHERE item_id NOT IN (SELECT id FROM items)") for table in _OF_ITEMS)
    for table in ("item_links", "item_people"):
        store.run(f"DELETE FROM {table} WHERE note_id IS NOT NULL AND note_id NOT IN (SELECT id FROM notes)")
    for table, column in _OF_DOCUMENTS:
        store.run(f"""
            DELETE FROM {table}
            WHERE {column} NOT IN (
              SELECT d.id
              FROM documents d
              JOIN items i ON i.id = d.item_id
              JOIN projects p ON p.id = d.project_id
            )
        """)
    drop_unowned_vectors(store)
    store.run("DELETE FROM jobs WHERE project_id NOT IN (SELECT id FROM projects)")
    return gone
