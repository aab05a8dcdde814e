"""`stats`: how much is in the index, whether its parts fit each other, and the repair of what does not.

A check reads one moment of the file, also while a sync writes. A repair touches what is derived (documents, full text,
vectors, waiting work) and never what a forge said; every step is a transaction of its own, and doing it twice is doing
it once, so that a repair that was cut off is simply run again.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from forgelore.core.documents import Document, Facts, build_documents
from forgelore.errors import CorruptStore
from forgelore.flows.watching import Watcher
from forgelore.store.db import Store
from forgelore.store.documents import load_sources, remove_documents
from forgelore.store.health import (
    MEANINGS,
    count_kinds,
    count_truncated,
    count_vectors,
    find_broken_references,
    find_current_embedder,
    find_damage,
    find_rows,
    find_word_damage,
    find_wrong,
    load_queues,
    measure_file,
)
from forgelore.store.jobs import queue_documents, queue_jobs
from forgelore.store.vectors import queue_unembedded
from forgelore.store.words import count_documents

_EXAMPLES = 5
_BATCH = 500


def load_stats(store: Store, fingerprint: str | None = None) -> dict[str, Any]:
    """Return how much is there and what waits. Vectors are counted for one embedder: the given, or the last used."""
    with store.snapshot():
        kinds = count_kinds(store)
        truncated = count_truncated(store)
        total = sum(count for counts in kinds.values() for count in counts.values())
        queues = load_queues(store)
        return {
            "documents": {
                "total": total, "by_kind": kinds, "truncated": sum(truncated.values()), "truncated_by": truncated,
            },
            "vectors": _vector_stats(store, total, queues["embed"], fingerprint),
            "full_text": {"indexed": count_documents(store)},
            "queues": queues,
            "file": {
                "path": store.path, "bytes": measure_file(store),
                "schema_version": store.value("SELECT max(version) FROM schema_version"),
            },
        }  # fmt: skip


def _vector_stats(store: Store, total: int, queue: dict[str, Any], fingerprint: str | None) -> dict[str, Any]:
    current = find_current_embedder(store, fingerprint)
    documents, chunks = count_vectors(store, current[0]) if current else (0, 0)
    return {
        "embedder": {"name": current[1], "model": current[2], "dimension": current[3]} if current else None,
        "embedded": documents,
        "pending": queue["waiting"] - queue["failing"],
        "failed": queue["failing"],
        "coverage": round(documents / total, 4) if total else None,
        "chunks": chunks,
    }


class Finding(Struct, frozen=True):
    """Something in the index that is not as it should be. `name` is stable; `rows` are what a repair must touch."""

    name: str
    count: int
    examples: list[str]
    meaning: str
    rows: frozenset[int] = frozenset()


class Repair(Struct, frozen=True):
    name: str
    found: int
    left: int


def check_store(store: Store, fingerprint: str | None = None) -> list[Finding]:
    """Return everything that contradicts itself, empty for a sound store."""
    with store.snapshot():
        damage = find_damage(store)
        try:
            wrong = [] if damage else list(_all_wrong(store, fingerprint))
        except CorruptStore as error:
            damage, wrong = [error.message], []
    return _findings([*(("damaged_file", line, 0) for line in damage), *wrong])


def _all_wrong(store: Store, fingerprint: str | None) -> Iterator[tuple[str, str, int]]:
    for table, parent, row_id in find_broken_references(store):
        yield "broken_references", f"{table} {row_id or ''}".strip() + f" without {parent}", row_id or 0
    current = find_current_embedder(store, fingerprint)
    yield from find_wrong(store, current[0] if current else None)
    yield from (("words_damaged", line, 0) for line in find_word_damage(store))
    yield from _find_outdated(store)


def _findings(wrong: Iterable[tuple[str, str, int]]) -> list[Finding]:
    shown: dict[str, list[str]] = {}
    rows: dict[str, list[int]] = {}
    for name, what, row_id in wrong:
        rows.setdefault(name, []).append(row_id)
        if len(examples := shown.setdefault(name, [])) < _EXAMPLES:
            examples.append(what)
    return [Finding(name, len(rows[name]), shown[name], MEANINGS[name], frozenset(rows[name])) for name in rows]


def _find_outdated(store: Store) -> Iterator[tuple[str, str, int]]:
    """Build every document once more, without writing it, and compare. What waits to be indexed is left out."""
    last = 0
    while ids := _indexed_items(store, last):
        last = ids[-1]
        known = _load_known(store, ids)
        for item_id, source in load_sources(store, ids).items():
            built = {(one.representation, one.thread_key): _compared(one) for one in build_documents(source)}
            if built != known.get(item_id):
                yield "document_outdated", f"{source.kind} {_number(store, item_id)}", item_id


def _indexed_items(store: Store, last: int) -> list[int]:
    rows = store.rows(
        "SELECT DISTINCT i.id FROM items i JOIN documents d ON d.item_id = i.id AND d.representation = 'item'"
        " WHERE i.id > ? AND i.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM jobs j"
        " WHERE j.project_id = i.project_id AND j.kind = 'document' AND j.key = CAST(i.id AS TEXT))"
        " ORDER BY i.id LIMIT ?", last, _BATCH,
    )  # fmt: skip
    return [item_id for (item_id,) in rows]


def _number(store: Store, item_id: int) -> int:
    return int(store.value("SELECT number FROM items WHERE id = ?", item_id))


_Compared = tuple[Facts, frozenset[str], frozenset[str]]


def _compared(document: Document) -> _Compared:
    return document.facts, frozenset(document.labels), frozenset(document.paths)


def _load_known(store: Store, item_ids: list[int]) -> dict[int, dict[tuple[str, str], _Compared]]:
    """Return item -> (representation, thread) -> what the store holds of that document."""
    ids = json.dumps(item_ids)
    chosen = "(SELECT id FROM documents WHERE item_id IN (SELECT value FROM json_each(?)))"
    lists: dict[str, dict[int, set[str]]] = {"labels": {}, "paths": {}}
    for name, column in (("labels", "name"), ("paths", "path")):
        for document_id, value in store.each(
            f"SELECT document_id, {column} FROM document_{name} WHERE document_id IN {chosen}", ids
        ):
            lists[name].setdefault(document_id, set()).add(value)
    found: dict[int, dict[tuple[str, str], _Compared]] = {}
    for item_id, document_id, representation, key, *facts in store.each(
        f"SELECT item_id, id, representation, thread_key, {', '.join(Facts._fields)} FROM documents"
        " WHERE item_id IN (SELECT value FROM json_each(?)) AND representation <> 'intent'", ids,
    ):  # fmt: skip
        found.setdefault(item_id, {})[representation, key] = (
            Facts(*facts),
            frozenset(lists["labels"].get(document_id, ())),
            frozenset(lists["paths"].get(document_id, ())),
        )
    return found


def repair_store(store: Store, *, watcher: Watcher | None = None) -> list[Repair]:
    """Mend what was found and return, per finding, how much of it there was and how much is left.

    Damaged pages are left as they are: what could be read of them cannot be trusted.
    """
    findings = {finding.name: finding for finding in check_store(store)}
    if not findings:
        return []
    if "damaged_file" not in findings:
        for names, mend in _MENDS:
            rows = frozenset[int]().union(*(findings[name].rows for name in names if name in findings))
            if any(name in findings for name in names):
                with store.transaction():
                    mend(store, rows)
        _index(store, watcher)
    left = {finding.name: finding.count for finding in check_store(store)}
    return [Repair(name, finding.count, left.get(name, 0)) for name, finding in findings.items()]


def _index(store: Store, watcher: Watcher | None) -> None:
    from forgelore.flows.indexing import index_items

    index_items(store, [row[0] for row in store.rows("SELECT id FROM projects")], watcher=watcher)


def _drop_orphans(store: Store, _rows: frozenset[int]) -> None:
    """Delete derived rows that hang on nothing, then write the full-text index anew from the texts that are left."""
    store.run("DELETE FROM document_texts WHERE id NOT IN (SELECT id FROM documents)")
    for table in ("document_labels", "document_paths", "chunks"):
        store.run(f"DELETE FROM {table} WHERE document_id NOT IN (SELECT id FROM documents)")
    store.run("DELETE FROM chunks WHERE embedder_id NOT IN (SELECT id FROM embedders)")
    store.run("DELETE FROM jobs WHERE project_id NOT IN (SELECT id FROM projects)")
    store.run("INSERT INTO documents_fts (documents_fts) VALUES ('rebuild')")
    homeless = store.rows(
        "SELECT project_id, id FROM documents WHERE item_id NOT IN (SELECT id FROM items)"
        " OR project_id NOT IN (SELECT id FROM projects)"
    )
    for project_id, document_id in homeless:
        remove_documents(store, project_id, [document_id])


def _drop_documents(store: Store, rows: frozenset[int]) -> None:
    """Forget documents whose text cannot be trusted; their items are indexed again."""
    for document_id, project_id, item_id in store.rows(
        "SELECT id, project_id, item_id FROM documents WHERE id IN (SELECT value FROM json_each(?))",
        json.dumps([*rows]),
    ):
        remove_documents(store, project_id, [document_id])
        queue_documents(store, project_id, [item_id])


def _queue_items(store: Store, rows: frozenset[int]) -> None:
    """Index items again. Without its hashes a document gets its labels and paths anew, and its text if that differs."""
    ids = json.dumps([*rows])
    store.run(
        "UPDATE documents SET labels_hash = x'', paths_hash = x'' WHERE item_id IN (SELECT value FROM json_each(?))",
        ids,
    )
    for project_id, item_id in store.rows(
        "SELECT project_id, id FROM items WHERE id IN (SELECT value FROM json_each(?))", ids
    ):
        queue_documents(store, project_id, [item_id])


def _drop_vectors(store: Store, rows: frozenset[int]) -> None:
    """Forget all vectors of documents that have a wrong one; they are embedded again."""
    for project_id, document_id in store.rows(
        "SELECT DISTINCT d.project_id, d.id FROM chunks c JOIN documents d ON d.id = c.document_id"
        " WHERE c.id IN (SELECT value FROM json_each(?))", json.dumps([*rows]),
    ):  # fmt: skip
        store.run("DELETE FROM chunks WHERE document_id = ?", document_id)
        queue_jobs(store, project_id, "embed", [str(document_id)], 0)


def _queue_vectors(store: Store, _rows: frozenset[int]) -> None:
    current = find_current_embedder(store)
    if current:
        queue_unembedded(store, current[0])


def _drop_jobs(store: Store, _rows: frozenset[int]) -> None:
    """Looks again: the queue moves on while a sync runs, and its rows have no lasting ids."""
    rows = find_rows(store, "job_of_nothing")
    store.run("DELETE FROM jobs WHERE rowid IN (SELECT value FROM json_each(?))", json.dumps(rows))


def _recount_jobs(store: Store, _rows: frozenset[int]) -> None:
    """The work is due now, as if it had never been tried."""
    rows = find_rows(store, "job_miscounted")
    store.run(
        "UPDATE jobs SET attempt_count = 0, last_attempt_at = NULL, last_error = NULL, next_attempt_at = NULL"
        " WHERE rowid IN (SELECT value FROM json_each(?))", json.dumps(rows),
    )  # fmt: skip


# In this order: removing a document needs a full-text index that fits, and may leave work to forget.
_MENDS: tuple[tuple[tuple[str, ...], Callable[[Store, frozenset[int]], None]], ...] = (
    (("broken_references", "text_without_document", "words_missing", "words_extra", "words_damaged"), _drop_orphans),
    (("text_missing", "text_differs"), _drop_documents),
    (("document_of_deleted_item", "item_without_document", "document_outdated"), _queue_items),
    (("vector_of_other_text", "vector_malformed", "vector_incomplete"), _drop_vectors),
    (("document_without_vectors",), _queue_vectors),
    (("job_of_nothing",), _drop_jobs),
    (("job_miscounted",), _recount_jobs),
)
