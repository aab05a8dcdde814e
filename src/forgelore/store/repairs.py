"""Writes of a repair: rows made good again, or forgotten so that something else makes them anew.

When each is needed say the steps (`flows/index/repair_steps`), which also hold the transactions.
"""

import json
from collections.abc import Iterable

from forgelore.core.search.terms import build_terms
from forgelore.store.checks import COUNTED_TABLES, LEARNED, PLACED, find_rows
from forgelore.store.db import Store
from forgelore.store.documents import remove_documents
from forgelore.store.jobs import queue_documents

_WITHIN = "IN (SELECT value FROM json_each(?))"


def load_owners(store: Store, item_ids: Iterable[int]) -> list[tuple[int, int]]:
    """Return (project, item) of those of these items that are there, in the order of their ids."""
    sql = f"""
        SELECT project_id, id
        FROM items
        WHERE id {_WITHIN}
        ORDER BY id
    """
    return [(project_id, item_id) for project_id, item_id in store.rows(sql, json.dumps(list(item_ids)))]


def forget_all_rows(store: Store) -> None:
    """Let the next full sync or import write every item and note again: no payload is left."""
    store.run("UPDATE items SET row_hash = x'', detail_hash = NULL")
    store.run("UPDATE notes SET row_hash = x''")


def forget_unproved_rows(store: Store) -> None:
    """Let the next full sync or import write the items again of projects that have no payloads."""
    store.run("""
        UPDATE items
        SET row_hash = x''
        WHERE project_id NOT IN (SELECT project_id FROM raw_payloads)
    """)


def rebuild_indexes(store: Store) -> None:
    store.run("REINDEX")


def place_rows(store: Store) -> None:
    """Move rows to the project of their owner, and notes to the item of their thread."""
    store.run("""
        UPDATE OR IGNORE notes
        SET item_id = (SELECT item_id FROM threads t WHERE t.id = thread_id)
        WHERE item_id <> (SELECT item_id FROM threads t WHERE t.id = thread_id)
    """)
    for table, column, owner in PLACED:
        store.run(f"""
            UPDATE {table}
            SET project_id = (SELECT project_id FROM {owner} o WHERE o.id = {column})
            WHERE project_id <> (SELECT project_id FROM {owner} o WHERE o.id = {column})
        """)


def split_words(store: Store, document_ids: Iterable[int]) -> None:
    """Make the terms of texts anew; the full-text index must be made again after it."""
    sql = f"""
        SELECT id, title, text
        FROM document_texts
        WHERE id {_WITHIN}
    """
    for document_id, title, text in store.rows(sql, json.dumps(list(document_ids))):
        store.run("UPDATE document_texts SET terms = ? WHERE id = ?", build_terms(title, text), document_id)


def drop_documents(store: Store, document_ids: Iterable[int]) -> None:
    """Delete documents, and queue their items to be indexed again."""
    sql = f"""
        SELECT id, project_id, item_id
        FROM documents
        WHERE id {_WITHIN}
    """
    for document_id, project_id, item_id in store.rows(sql, json.dumps(list(document_ids))):
        remove_documents(store, project_id, [document_id])
        queue_documents(store, project_id, [item_id])


def forget_document_lists(store: Store, item_ids: Iterable[int]) -> None:
    """Let the documents of these items get their labels and paths anew when they are indexed."""
    sql = f"""
        UPDATE documents
        SET labels_hash = x'', paths_hash = x''
        WHERE item_id {_WITHIN}
    """
    store.run(sql, json.dumps(list(item_ids)))


def drop_malformed_learned(store: Store) -> None:
    """Delete learned numbers that can be none."""
    for table, good in LEARNED:
        store.run(f"DELETE FROM {table} WHERE NOT ({good})")


def set_id_counters(store: Store) -> None:
    """Set the counters of ids: new ones go on behind the highest."""
    for table in COUNTED_TABLES:
        store.run("DELETE FROM sqlite_sequence WHERE name = ?", table)
        store.run(f"INSERT INTO sqlite_sequence (name, seq) SELECT ?, max(id) FROM {table}", table)


def mend_jobs(store: Store) -> None:
    """Delete jobs of nothing and reset impossible counts. Looks again: the queue moves on while a sync runs, and its
    rows have no lasting ids.
    """
    store.run(f"DELETE FROM jobs WHERE rowid {_WITHIN}", json.dumps(find_rows(store, "job_of_nothing")))
    sql = f"""
        UPDATE jobs
        SET attempt_count = 0, last_attempt_at = NULL, last_error = NULL, next_attempt_at = NULL
        WHERE rowid {_WITHIN}
    """
    store.run(sql, json.dumps(find_rows(store, "job_miscounted")))
