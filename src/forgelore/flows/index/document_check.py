"""Documents against what they are made from: their texts against their hashes, and all of them against their items."""

from collections.abc import Iterator

from forgelore.core.search.documents import Document, build_documents, content_hash
from forgelore.core.search.terms import build_terms
from forgelore.flows.progress import Watcher
from forgelore.store.checks import Fault
from forgelore.store.db import Store
from forgelore.store.document_check import StoredDocument, count_texts, each_text, load_stored_documents
from forgelore.store.documents import load_sources
from forgelore.store.item_batches import count_items, next_indexed_items
from forgelore.store.item_facts import find_key

_BATCH = 500


def find_altered_texts(store: Store, watcher: Watcher) -> Iterator[Fault]:
    """Hash every text, and split its words once more."""
    watcher.begin("texts", "texts compared", count_texts(store))
    at = 0
    for at, (document_id, digest, title, text, terms) in enumerate(each_text(store), 1):
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
    watcher.begin("compared", "items compared with their documents", count_items(store))
    last = 0
    while ids := next_indexed_items(store, last, _BATCH):
        last = ids[-1]
        for item_id in find_stale(store, ids):
            if item_id not in distrusted:
                key = find_key(store, item_id)
                yield "document_outdated", f"{key.kind} {key.number}" if key else "", item_id
        watcher.saved("compared", len(ids))
    watcher.done("compared")


def find_stale(store: Store, item_ids: list[int]) -> list[int]:
    """Return those of these items whose documents would be others if they were built now."""
    known = load_stored_documents(store, item_ids)
    return [
        item_id
        for item_id, source in load_sources(store, item_ids).items()
        if {(one.representation, one.thread_key): _compared(one) for one in build_documents(source)}
        != known.get(item_id)
    ]


def _compared(document: Document) -> StoredDocument:
    return StoredDocument(document.facts, frozenset(document.labels), frozenset(document.paths))
