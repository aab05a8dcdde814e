"""The steps of a repair: for each group of findings, what makes them good again.

The order matters. Tables come before their rows, rows before what is made from them, and removing a document needs a
full-text index that fits its texts.
"""

import json
from collections.abc import Callable
from typing import NamedTuple

from forgelore.core.content import content_hash
from forgelore.core.terms import build_terms
from forgelore.flows.document_check import find_stale
from forgelore.flows.findings import AGAIN, Finding
from forgelore.flows.health import CheckRequest
from forgelore.flows.replay import replay_items
from forgelore.flows.row_check import keeps_payloads
from forgelore.store.checks import COUNTED_TABLES, LEARNED, PLACED, blank_unreadable, find_rows
from forgelore.store.db import Store
from forgelore.store.documents import remove_documents
from forgelore.store.health import count_vectors, find_current_embedder
from forgelore.store.jobs import queue_documents, queue_jobs
from forgelore.store.orphans import drop_orphans
from forgelore.store.projects import StoredProject, list_projects
from forgelore.store.replays import forget_lost_payloads, forget_rows
from forgelore.store.schema import DERIVED, fill_gaps, find_gaps, remake_full_text
from forgelore.store.vector_check import measure_vectors
from forgelore.store.vectors import mark_stale, queue_unembedded
from forgelore.store.words import refresh_common_words

_WITHIN = "IN (SELECT value FROM json_each(?))"


class Patient(NamedTuple):
    """A store under repair: what the last check found, by name, and what people should know afterwards (as keys)."""

    store: Store
    request: CheckRequest
    findings: dict[str, Finding]
    notes: dict[str, None]

    def rows(self, *names: str) -> list[int]:
        return sorted(frozenset[int]().union(*(self.findings[name].rows for name in names if name in self.findings)))

    def projects(self, item_ids: list[int]) -> dict[int, tuple[StoredProject, list[int]]]:
        """Return project -> itself and those of these items that belong to it."""
        known = {project.id: project for project in list_projects(self.store)}
        found: dict[int, tuple[StoredProject, list[int]]] = {}
        for project_id, item_id in self.store.rows(
            f"SELECT project_id, id FROM items WHERE id {_WITHIN} ORDER BY id", json.dumps(item_ids)
        ):
            found.setdefault(project_id, (known[project_id], []))[1].append(item_id)
        return found


def _make_tables(patient: Patient) -> None:
    gaps = find_gaps(patient.store)
    fill_gaps(patient.store, gaps)
    emptied = [gap.name for gap in gaps if gap.type == "table" and gap.name not in DERIVED]
    if emptied:
        with patient.store.transaction():
            _forget_rows(patient, emptied)
        patient.notes[f"made again, and empty: {', '.join(emptied)}; to fill them, {AGAIN}"] = None


def _forget_rows(patient: Patient, emptied: list[str]) -> None:
    """Let the next full sync or import write rows again whose parts or payloads are gone."""
    store = patient.store
    if "raw_payloads" in emptied:
        store.run("UPDATE items SET row_hash = x'', detail_hash = NULL")
        store.run("UPDATE notes SET row_hash = x''")
    elif {"item_labels", "item_files"} & set(emptied):
        store.run("UPDATE items SET row_hash = x'' WHERE project_id NOT IN (SELECT project_id FROM raw_payloads)")


def _reindex(patient: Patient) -> None:
    patient.store.run("REINDEX")


def _blank_texts(patient: Patient) -> None:
    with patient.store.transaction():
        blank_unreadable(patient.store)
    remake_full_text(patient.store)


def _drop_orphans(patient: Patient) -> None:
    with patient.store.transaction():
        if drop_orphans(patient.store):
            patient.notes[f"what hung on items that are gone was removed; to bring them back, {AGAIN}"] = None
    remake_full_text(patient.store)


def _place_rows(patient: Patient) -> None:
    """What names another project than its owner gets the owner's; a note goes where its thread is."""
    store = patient.store
    with store.transaction():
        store.run(
            "UPDATE OR IGNORE notes SET item_id = (SELECT item_id FROM threads t WHERE t.id = thread_id)"
            " WHERE item_id <> (SELECT item_id FROM threads t WHERE t.id = thread_id)"
        )
        for table, column, owner in PLACED:
            store.run(
                f"UPDATE {table} SET project_id = (SELECT project_id FROM {owner} o WHERE o.id = {column})"
                f" WHERE project_id <> (SELECT project_id FROM {owner} o WHERE o.id = {column})"
            )


def _restore_rows(patient: Patient) -> None:
    """Items and notes become again what the forge said, links what their texts say."""
    for project, item_ids in patient.projects(patient.rows("row_differs")).values():
        with patient.store.transaction():
            replay_items(patient.store, patient.request.reader_of(project.name), project.id, item_ids)


def _distrust_items(patient: Patient) -> None:
    """An item that differs from its hash: when its document says the same as it does, the hash is wrong. Else nobody
    can tell what it was; the next full sync or import writes it again.
    """
    store = patient.store
    ids = patient.rows("content_differs")
    stale = set(find_stale(store, ids))
    with store.transaction():
        for item_id, kind, title, body in store.rows(
            f"SELECT id, kind, title, body FROM items WHERE id {_WITHIN}", json.dumps(ids)
        ):
            if item_id in stale:
                forget_rows(store, [item_id])
            else:
                digest = content_hash(kind, title, body)
                store.run("UPDATE items SET content_hash = ? WHERE id = ?", digest, item_id)


def _forget_payloads(patient: Patient) -> None:
    for project, item_ids in patient.projects(patient.rows("payload_missing")).values():
        with patient.store.transaction():
            forget_lost_payloads(patient.store, project.id, item_ids)


def _split_words(patient: Patient) -> None:
    store = patient.store
    with store.transaction():
        for document_id, title, text in store.rows(
            f"SELECT id, title, text FROM document_texts WHERE id {_WITHIN}", json.dumps(patient.rows("terms_differ"))
        ):
            store.run("UPDATE document_texts SET terms = ? WHERE id = ?", build_terms(title, text), document_id)
    remake_full_text(store)


def _make_words(patient: Patient) -> None:
    remake_full_text(patient.store)


def _count_words(patient: Patient) -> None:
    refresh_common_words(patient.store, is_forced=True)


def _drop_documents(patient: Patient) -> None:
    """Forget documents whose text cannot be trusted; their items are indexed again."""
    store = patient.store
    with store.transaction():
        for document_id, project_id, item_id in store.rows(
            f"SELECT id, project_id, item_id FROM documents WHERE id {_WITHIN}",
            json.dumps(patient.rows("text_missing", "text_differs")),
        ):
            remove_documents(store, project_id, [document_id])
            queue_documents(store, project_id, [item_id])


def _queue_items(patient: Patient) -> None:
    """Index items again. Without its hashes a document gets its labels and paths anew, and its text if that differs."""
    store = patient.store
    ids = patient.rows("document_of_deleted_item", "item_without_document", "document_outdated")
    with store.transaction():
        store.run(f"UPDATE documents SET labels_hash = x'', paths_hash = x'' WHERE item_id {_WITHIN}", json.dumps(ids))
        for project, item_ids in patient.projects(ids).values():
            queue_documents(store, project.id, item_ids)
    _tell_unproved(patient)


def _tell_unproved(patient: Patient) -> None:
    """A document that differs from its item may be the one that is right: without payloads nobody can tell. The item
    is believed, and a new import writes it again.
    """
    unproved = [
        item_id
        for project, item_ids in patient.projects(patient.rows("document_outdated")).values()
        if not keeps_payloads(patient.store, project.id)
        for item_id in item_ids
    ]
    if unproved:
        with patient.store.transaction():
            forget_rows(patient.store, unproved)
        patient.notes[
            f"{len(unproved):,} documents were made again from items that no stored answer of a forge proves; if"
            f" somebody changed those items, {AGAIN}"
        ] = None


def _drop_vectors(patient: Patient) -> None:
    """Forget vectors of documents that have a wrong one. When only a sample was compared, more are wrong: all go."""
    store, current = patient.store, find_current_embedder(patient.store)
    is_sampled = current is not None and count_vectors(store, current[0])[0] > patient.request.sample
    chunks = patient.rows("vector_of_other_text", "vector_malformed", "vector_incomplete")
    documents = patient.rows("vector_differs")
    with store.transaction():
        for project_id, document_id in store.rows(
            f"SELECT project_id, id FROM documents WHERE id {_WITHIN}"
            f" OR id IN (SELECT document_id FROM chunks WHERE id {_WITHIN})",
            json.dumps(documents), json.dumps(chunks),
        ):  # fmt: skip
            store.run("DELETE FROM chunks WHERE document_id = ?", document_id)
            queue_jobs(store, project_id, "embed", [str(document_id)], 0)
        if documents and is_sampled and current:
            for project in list_projects(store):
                mark_stale(store, current[0], project.id)
        store.run("UPDATE embedders SET dimension = 0 WHERE id NOT IN (SELECT embedder_id FROM chunks)")


def _set_dimensions(patient: Patient) -> None:
    with patient.store.transaction():
        for embedder_id, dimension in measure_vectors(patient.store).dimensions.items():
            patient.store.run("UPDATE embedders SET dimension = ? WHERE id = ?", dimension, embedder_id)


def _queue_vectors(patient: Patient) -> None:
    current = find_current_embedder(patient.store)
    if current:
        with patient.store.transaction():
            queue_unembedded(patient.store, current[0])


def _forget_learned(patient: Patient) -> None:
    with patient.store.transaction():
        for table, good in LEARNED:
            patient.store.run(f"DELETE FROM {table} WHERE NOT ({good})")
    patient.notes["what was learned from known duplicates is gone in part; run: forgelore calibrate"] = None


def _set_counters(patient: Patient) -> None:
    with patient.store.transaction():
        for table in COUNTED_TABLES:
            patient.store.run("DELETE FROM sqlite_sequence WHERE name = ?", table)
            patient.store.run(f"INSERT INTO sqlite_sequence (name, seq) SELECT ?, max(id) FROM {table}", table)


def _mend_jobs(patient: Patient) -> None:
    """Looks again: the queue moves on while a sync runs, and its rows have no lasting ids."""
    store = patient.store
    with store.transaction():
        store.run(f"DELETE FROM jobs WHERE rowid {_WITHIN}", json.dumps(find_rows(store, "job_of_nothing")))
        store.run(
            "UPDATE jobs SET attempt_count = 0, last_attempt_at = NULL, last_error = NULL, next_attempt_at = NULL"
            f" WHERE rowid {_WITHIN}", json.dumps(find_rows(store, "job_miscounted")),
        )  # fmt: skip


STEPS: tuple[tuple[tuple[str, ...], Callable[[Patient], None]], ...] = (
    (("table_missing", "index_missing", "trigger_extra"), _make_tables),
    (("index_damaged",), _reindex),
    (("text_unreadable",), _blank_texts),
    (("broken_references", "text_without_document"), _drop_orphans),
    (("row_misplaced", "note_misplaced"), _place_rows),
    (("row_differs",), _restore_rows),
    (("content_differs",), _distrust_items),
    (("payload_missing",), _forget_payloads),
    (("terms_differ",), _split_words),
    (("words_missing", "words_extra", "words_damaged", "words_lost"), _make_words),
    (("words_miscounted",), _count_words),
    (("text_missing", "text_differs"), _drop_documents),
    (("document_of_deleted_item", "item_without_document", "document_outdated"), _queue_items),
    (("embedder_altered",), _set_dimensions),
    (("vector_of_other_text", "vector_malformed", "vector_incomplete", "vector_differs"), _drop_vectors),
    (("document_without_vectors",), _queue_vectors),
    (("learned_malformed",), _forget_learned),
    (("id_counter_wrong",), _set_counters),
    (("job_of_nothing", "job_miscounted"), _mend_jobs),
)
