"""Second vectors: what another embedder makes of each item, beside the vectors that are searched.

    items without one -> the beginning of their text -> embedder -> checked, packed -> saved, a batch at a time

Nothing waits in the queue for them: an item whose text has none, or one of an older text, is found by looking, and a
run that is cut off goes on where it was. Where the embedder refuses a text, that is kept too, and nobody asks again.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from forgelore.core.search.chunks import build_chunks
from forgelore.core.search.vectors import PackedVector, check_vector, pack_vector
from forgelore.errors import EmbeddingFailed
from forgelore.flows.progress import Watcher
from forgelore.ports import Embedder
from forgelore.store.db import Store
from forgelore.store.engine.second_vectors import (
    NOTHING,
    WaitingText,
    count_second_vectors,
    count_waiting_texts,
    drop_second_vectors,
    load_waiting_texts,
    save_second_vectors,
)
from forgelore.words import Passage

if TYPE_CHECKING:
    from forgelore.core.search.vectors import Vector

_ITEMS = 64  # in a transaction
_PART = "second vectors"


def embed_items(
    store: Store, embedder: Embedder, project_ids: Iterable[int], *, watcher: Watcher | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> int:  # fmt: skip
    """Make the second vectors that are missing; returns how many. Raises EmbedderError when it cannot be used."""
    watcher, fingerprint = watcher or Watcher(), embedder.fingerprint()
    waiting = {project_id: count_waiting_texts(store, fingerprint, project_id) for project_id in project_ids}
    if not any(waiting.values()):
        return 0
    with store.transaction():
        drop_second_vectors(store, but=fingerprint)
    watcher.begin(_PART, _PART, sum(waiting.values()))
    made = 0
    for project_id in waiting:
        after = 0
        while texts := load_waiting_texts(store, fingerprint, project_id, after=after, limit=_ITEMS):
            vectors = [_pack(vector) for vector in measure_texts(embedder, texts)]
            with store.transaction():
                save_second_vectors(store, fingerprint, list(zip(texts, vectors, strict=True)), project_id)
            made, after = made + len(texts), texts[-1].document_id
            watcher.saved(_PART, len(texts))
            if should_stop():
                raise KeyboardInterrupt
    watcher.done(_PART)
    return made


def forget_items(store: Store, project_ids: Iterable[int] | None = None) -> int:
    """Drop the second vectors, of some projects or all, where there are some; returns how many went."""
    if not count_second_vectors(store):
        return 0
    with store.transaction():
        return drop_second_vectors(store, project_ids=project_ids)


def measure_texts(embedder: Embedder, texts: list[WaitingText]) -> "list[Vector | str]":
    """Return the vector of each text, or why it has none."""
    passages = [build_chunks(one.title, one.text, max_chars=embedder.chunk_chars)[0].passage for one in texts]
    try:
        return [check_vector(raw, None) for raw in embedder.embed_passages(passages)]
    except EmbeddingFailed:  # one of them is too much for it: which?
        return [_measure_one(embedder, passage) for passage in passages]


def _measure_one(embedder: Embedder, passage: Passage) -> "Vector | str":
    try:
        (raw,) = embedder.embed_passages([passage])
    except EmbeddingFailed as error:
        return error.message
    return check_vector(raw, None)


def _pack(vector: "Vector | str") -> PackedVector:
    return NOTHING if isinstance(vector, str) else pack_vector(vector)
