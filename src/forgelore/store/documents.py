"""Documents: reading what they are made from, writing what changed with its words, listing and checking them.

A document is compared by its columns and hashes: an equal one costs no write. Every write that touches the text also
moves the full-text row, drops the vectors of the old text and queues new ones, in the caller's transaction.

Embedders: those that documents have vectors of, and how long the vectors of each are.
"""

from collections.abc import Iterable, Iterator

from forgelore.records import HashedText, StoredEmbedder
from forgelore.store.database import Store
from forgelore.store.filters import COMMENTS, Allowed
from forgelore.store.item_lists import load_files_of, load_items, load_labels_of, load_threads
from forgelore.store.jobs import queue_jobs
from forgelore.store.sqlite.connection import one_of, pack_list, source_of
from forgelore.store.sqlite.fulltext import add_text, remove_text
from forgelore.store.sqlite.vector_rows import drop_document_vectors, drop_other_vectors, queue_unembedded
from forgelore.text.documents import Document, Facts
from forgelore.text.items import StoredItem
from forgelore.text.terms import build_terms
from forgelore.words import JobKind

_FACTS = ", ".join(Facts._fields)
_MARKS = ", ".join("?" * len(Facts._fields))
_INSERT = f"""
    INSERT INTO documents (project_id, item_id, representation, thread_key, {_FACTS})
    VALUES (?, ?, ?, ?, {_MARKS})
"""
_UPDATE = f"UPDATE documents SET {', '.join(f'{name} = ?' for name in Facts._fields)} WHERE id = ?"
_CARDS = f"""
    SELECT item_id, text
    FROM intent_cards
    WHERE item_id {one_of()}
"""


def load_sources(store: Store, item_ids: Iterable[int]) -> dict[int, tuple[StoredItem, str]]:
    """Return what the documents of these items are made from, with the text of their card, "" where they have none;
    items that are gone are missing.
    """
    ids = list(item_ids)
    labels, files = load_labels_of(store, ids), load_files_of(store, ids)
    threads = load_threads(store, ids, by_people=True)
    cards: dict[int, str] = dict(store.rows(_CARDS, pack_list(ids)))
    found = {}
    for item_id, item in load_items(store, ids).items():
        if item.deleted_ms is None:
            whole = item.with_parts(labels.get(item_id, ()), files.get(item_id, ()), threads.get(item_id, ()))
            found[item_id] = (whole, cards.get(item_id, ""))
    return found


def save_documents(
    store: Store, item_id: int, project_id: int, documents: list[Document], *, is_full: bool = False
) -> tuple[int, int, int, int]:
    """Make the documents of one item these, and no others; returns how many were made, changed, left as they are, and
    removed. Called inside a transaction.

    `is_full` distrusts what lies in the index: the terms of a text may follow rules of an older program.
    """
    sql = f"SELECT id, representation, thread_key, {_FACTS} FROM documents WHERE item_id = ?"
    known = {(row[1], row[2]): (row[0], Facts(*row[3:])) for row in store.rows(sql, item_id)}
    new, changed, unchanged = 0, 0, 0
    for document in documents:
        before = known.pop((document.representation, document.thread_key), None)
        if before is None:
            _insert(store, item_id, project_id, document)
            new += 1
        elif before[1] == document.facts:
            is_changed = is_full and _renew_text(store, before[0], document)
            changed, unchanged = changed + is_changed, unchanged + (not is_changed)
        else:
            _update(store, *before, project_id, document)
            changed += 1
    gone = [document_id for document_id, _ in known.values()]
    remove_documents(store, project_id, gone)
    return new, changed, unchanged, len(gone)


def _insert(store: Store, item_id: int, project_id: int, document: Document) -> None:
    place = (project_id, item_id, document.representation, document.thread_key)
    document_id = store.insert(_INSERT, *place, *document.facts)
    _save_lists(store, project_id, document_id, document, {"labels", "paths"})
    _save_text(store, document_id, document)
    _queue_embedding(store, project_id, document_id)


def _update(store: Store, document_id: int, before: Facts, project_id: int, document: Document) -> None:
    """Write what differs."""
    facts = document.facts
    store.run(_UPDATE, *facts, document_id)
    stale = {
        name
        for name, old, now in (
            ("labels", before.labels_hash, facts.labels_hash),
            ("paths", before.paths_hash, facts.paths_hash),
        )
        if old != now
    }
    _save_lists(store, project_id, document_id, document, stale)
    if before.content_hash != facts.content_hash:
        drop_text(store, document_id)
        _save_text(store, document_id, document)
        drop_document_vectors(store, document_id)
        _queue_embedding(store, project_id, document_id)


def _renew_text(store: Store, document_id: int, document: Document) -> bool:
    kept = store.row("SELECT title, text, terms FROM document_texts WHERE id = ?", document_id)
    if kept == (document.title, document.text, build_terms(document.title, document.text)):
        return False
    drop_text(store, document_id)
    _save_text(store, document_id, document)
    return True


def _save_lists(store: Store, project_id: int, document_id: int, document: Document, which: set[str]) -> None:
    for name, column, values in (("labels", "name", document.labels), ("paths", "path", document.paths)):
        if name in which:
            store.run(f"DELETE FROM document_{name} WHERE document_id = ?", document_id)
            if values:
                sql = f"""
                    INSERT INTO document_{name} (project_id, document_id, {column})
                    VALUES (?, ?, ?)
                    ON CONFLICT DO NOTHING
                """
                store.run_many(sql, [(project_id, document_id, value) for value in values])


def _save_text(store: Store, document_id: int, document: Document) -> None:
    """Store a text and make it findable."""
    row = (document_id, document.title, document.text, build_terms(document.title, document.text))
    store.run("INSERT INTO document_texts (id, title, text, terms) VALUES (?, ?, ?, ?)", *row)
    add_text(store, *row, source=source_of(document.representation))


def drop_text(store: Store, document_id: int) -> None:
    """Take a text out of the index."""
    sql = """
        SELECT t.title, t.text, t.terms, d.representation
        FROM document_texts t
        LEFT JOIN documents d ON d.id = t.id
        WHERE t.id = ?
    """
    old = store.row(sql, document_id)
    if old is not None:
        remove_text(store, document_id, *old[:3], source=source_of(old[3]))
        store.run("DELETE FROM document_texts WHERE id = ?", document_id)


def remove_documents(store: Store, project_id: int, document_ids: Iterable[int]) -> None:
    """Delete documents with their labels, paths, full text, vectors and waiting work."""
    for document_id in document_ids:
        drop_text(store, document_id)
        store.run("DELETE FROM jobs WHERE project_id = ? AND kind = 'embed' AND key = ?", project_id, str(document_id))
        store.run("DELETE FROM documents WHERE id = ?", document_id)


def _queue_embedding(store: Store, project_id: int, document_id: int) -> None:
    queue_jobs(store, project_id, JobKind.EMBED, [str(document_id)], 0)


StoredDocument = tuple[Facts, frozenset[str], frozenset[str]]  # with its labels and paths


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
    ids = pack_list(item_ids)
    labels = _load_list(store, ids, "document_labels", "name")
    paths = _load_list(store, ids, "document_paths", "path")
    sql = f"""
        SELECT item_id, id, representation, thread_key, {", ".join(Facts._fields)}
        FROM documents
        WHERE item_id {one_of()}
    """
    found: dict[int, dict[tuple[str, str], StoredDocument]] = {}
    for item_id, document_id, representation, key, *facts in store.each(sql, ids):
        found.setdefault(item_id, {})[representation, key] = (
            Facts(*facts),
            frozenset(labels.get(document_id, ())),
            frozenset(paths.get(document_id, ())),
        )
    return found


def _load_list(store: Store, ids: str, table: str, column: str) -> dict[int, set[str]]:
    sql = f"""
        SELECT document_id, {column}
        FROM {table}
        WHERE document_id IN (
          SELECT id
          FROM documents
          WHERE item_id {one_of()}
        )
    """
    found: dict[int, set[str]] = {}
    for document_id, value in store.each(sql, ids):
        found.setdefault(document_id, set()).add(value)
    return found


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


def load_document_places(store: Store, document_ids: Iterable[int]) -> dict[int, tuple[int, str]]:
    """Return document -> the item that it is of, and the key of the thread; "" of the item itself."""
    sql = f"SELECT id, item_id, thread_key FROM documents WHERE id {one_of()}"
    return {row[0]: row[1:] for row in store.rows(sql, pack_list(document_ids))}


def next_items(store: Store, project_id: int, after: int, limit: int) -> list[int]:
    """Return the next items of a project, behind the id `after`."""
    sql = """
        SELECT id
        FROM items
        WHERE project_id = ? AND id > ?
        ORDER BY id
        LIMIT ?
    """
    return [item_id for (item_id,) in store.rows(sql, project_id, after, limit)]


def next_replayed_items(store: Store, project_id: int, after: int, limit: int) -> list[int]:
    """Return the next items of a project that do not wait for a replay, behind the id `after`."""
    sql = """
        SELECT i.id
        FROM items i
        WHERE i.project_id = ? AND i.id > ?
          AND NOT EXISTS (
            SELECT 1
            FROM jobs j
            WHERE j.project_id = i.project_id AND j.kind = 'replay' AND j.key = CAST(i.id AS TEXT)
          )
        ORDER BY i.id
        LIMIT ?
    """
    return [item_id for (item_id,) in store.rows(sql, project_id, after, limit)]


def next_indexed_items(store: Store, after: int, limit: int) -> list[int]:
    """Return the next live items of all projects that have a document and do not wait for a new one."""
    sql = """
        SELECT DISTINCT i.id
        FROM items i
        JOIN documents d ON d.item_id = i.id AND d.representation = 'item'
        WHERE i.id > ? AND i.deleted_at IS NULL
          AND NOT EXISTS (
            SELECT 1
            FROM jobs j
            WHERE j.project_id = i.project_id AND j.kind = 'document' AND j.key = CAST(i.id AS TEXT)
          )
        ORDER BY i.id
        LIMIT ?
    """
    return [item_id for (item_id,) in store.rows(sql, after, limit)]


def find_current_embedder(store: Store, fingerprint: str | None = None) -> tuple[int, str, str, int] | None:
    """Return (id, name, model, dimension) of the embedder with that fingerprint, or of the last one that was used."""
    sql = """
        SELECT id, name, model, dimension
        FROM embedders
        WHERE ?1 IS NULL OR fingerprint = ?1
        ORDER BY id DESC
        LIMIT 1
    """
    row = store.row(sql, fingerprint)
    return (row[0], row[1], row[2], row[3]) if row else None


def find_embedder(store: Store, fingerprint: str) -> StoredEmbedder | None:
    row = store.row("SELECT id, name, model, fingerprint, dimension FROM embedders WHERE fingerprint = ?", fingerprint)
    return StoredEmbedder(*row) if row else None


def list_embedders(store: Store) -> list[StoredEmbedder]:
    rows = store.rows("SELECT id, name, model, fingerprint, dimension FROM embedders ORDER BY id")
    return [StoredEmbedder(*row) for row in rows]


def add_embedder(store: Store, name: str, model: str, fingerprint: str, now_ms: int) -> StoredEmbedder:
    """Register an embedder and queue every document that has no vector of it. Called inside a transaction."""
    sql = """
        INSERT INTO embedders (name, model, fingerprint, dimension, added_at)
        VALUES (?, ?, ?, 0, ?)
        RETURNING id
    """
    new_id: int = store.value(sql, name, model, fingerprint, now_ms)
    queue_unembedded(store, new_id)
    return StoredEmbedder(new_id, name, model, fingerprint, 0)


def save_dimension(store: Store, embedder_id: int, dimension: int) -> None:
    store.run("UPDATE embedders SET dimension = ? WHERE id = ?", dimension, embedder_id)


def has_other_embedders(store: Store, embedder_id: int) -> bool:
    return bool(store.value("SELECT EXISTS (SELECT 1 FROM embedders WHERE id <> ?)", embedder_id))


def drop_other_embedders(store: Store, embedder_id: int) -> int:
    """Forget vectors of embedders that are no longer used; returns how many chunks went. In a transaction."""
    dropped = drop_other_vectors(store, embedder_id)
    store.run("DELETE FROM embedders WHERE id <> ?", embedder_id)
    return dropped
