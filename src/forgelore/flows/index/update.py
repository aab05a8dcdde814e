"""The update of the index, once items are there: documents for full text, then vectors for meaning.

Vectors may wait. An embedder that cannot be made or does not answer is told as a `failure` of the result and never
raised, because what was read and what words find is good without them. What is wrong with the store is raised.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct

from forgelore.clock import machine_ms
from forgelore.errors import LoreError, StoreError
from forgelore.flows.index.documents import Indexed, index_items
from forgelore.flows.index.vectors import Embedded, count_unembedded, embed_documents
from forgelore.flows.progress import Watcher
from forgelore.ports import Embedder
from forgelore.store.db import Store


class IndexUpdate(Struct, frozen=True):
    """What an update did. `vectors` None: no embedder is wanted, or it failed, and `failure` says how."""

    documents: Indexed
    vectors: Embedded | None = None
    failure: LoreError | None = None
    waiting: int = 0  # documents without a vector because of the failure


def update_index(
    store: Store, project_ids: Iterable[int], make_embedder: Callable[[], Embedder | None] = lambda: None, *,
    has_file: bool = False, watcher: Watcher | None = None, should_stop: Callable[[], bool] = lambda: False,
    now_ms: Callable[[], int] = machine_ms,
) -> IndexUpdate:  # fmt: skip
    """Bring documents and vectors of these projects up to date.

    `make_embedder` is called when the documents are there; without it, or when it returns None, no vectors are made.
    `has_file`: as for `embed_documents`.
    """
    projects = list(project_ids)
    documents = index_items(store, projects, watcher=watcher, should_stop=should_stop, now_ms=now_ms)
    try:
        embedder = make_embedder()
        if embedder is None:
            return IndexUpdate(documents)
        vectors = embed_documents(
            store, embedder, projects, has_file=has_file, watcher=watcher, should_stop=should_stop, now_ms=now_ms
        )
    except StoreError:
        raise
    except LoreError as error:
        return IndexUpdate(documents, failure=error, waiting=count_unembedded(store, projects))
    return IndexUpdate(documents, vectors)
