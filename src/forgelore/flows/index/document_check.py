"""Documents against what they are made from: their texts against their hashes, and all of them against their items."""

import json
from collections.abc import Iterator

from forgelore.core.search.documents import Document, Facts, build_documents, content_hash
from forgelore.core.search.terms import build_terms
from forgelore.flows.progress import Watcher
from forgelore.store.checks import Fault
from forgelore.store.db import Store
from forgelore.store.documents import load_sources

_BATCH = 500


def find_altered_texts(store: Store, watcher: Watcher) -> Iterator[Fault]:
    """Hash every text, and split its words once more."""
    watcher.begin("texts", "texts compared", int(store.value("SELECT count(*) FROM document_texts")))
    at = 0
    for at, (document_id, digest, title, text, terms) in enumerate(store.each(
        "SELECT d.id, d.content_hash, t.title, t.text, t.terms FROM documents d JOIN document_texts t ON t.id = d.id"
    ), 1):  # fmt: skip
        if content_hash(title, text) != digest:
            yield "text_differs", f"document {document_id}", document_id
        if build_terms(title, text) != terms:
            yield "terms_differ", f"document {document_id}", document_id
        if at % _BATCH == 0:
            watcher.saved("texts", _BATCH)
    watcher.saved("texts", at % _BATCH)
    watcher.done("texts")


def find_outdated(store: Store, distrusted: frozenset[int], watcher: Watcher) -> Iterator[Fault]:
    """Build every document once more, without writing it, and compare. What waits to be indexed is left out, and what
    is made from a text that cannot be trusted: the document may be all that is left of the true one.
    """
    watcher.begin("compared", "items compared with their documents", int(store.value("SELECT count(*) FROM items")))
    last = 0
    while ids := _indexed_items(store, last):
        last = ids[-1]
        for item_id in find_stale(store, ids):
            if item_id not in distrusted:
                kind, number = store.rows("SELECT kind, number FROM items WHERE id = ?", item_id)[0]
                yield "document_outdated", f"{kind} {number}", item_id
        watcher.saved("compared", len(ids))
    watcher.done("compared")


def find_stale(store: Store, item_ids: list[int]) -> list[int]:
    """Return those of these items whose documents would be others if they were built now."""
    known = _load_known(store, item_ids)
    return [
        item_id
        for item_id, source in load_sources(store, item_ids).items()
        if {(one.representation, one.thread_key): _compared(one) for one in build_documents(source)}
        != known.get(item_id)
    ]


def _indexed_items(store: Store, last: int) -> list[int]:
    rows = store.rows(
        "SELECT DISTINCT i.id FROM items i JOIN documents d ON d.item_id = i.id AND d.representation = 'item'"
        " WHERE i.id > ? AND i.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM jobs j"
        " WHERE j.project_id = i.project_id AND j.kind = 'document' AND j.key = CAST(i.id AS TEXT))"
        " ORDER BY i.id LIMIT ?", last, _BATCH,
    )  # fmt: skip
    return [item_id for (item_id,) in rows]


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
