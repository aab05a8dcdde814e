"""Second vectors made again for a sample of items, and compared with those that are stored."""

from forgelore.core.search.vectors import pack_vector, unpack_vector
from forgelore.flows.index.second_vectors import measure_texts
from forgelore.flows.index.vector_check import SAME
from forgelore.flows.progress import Watcher
from forgelore.ports import Embedder
from forgelore.store.db import Store
from forgelore.store.engine.second_vectors import sample_second_vectors

_PART = "second vectors made again"


def compare_seconds(store: Store, embedder: Embedder, size: int, watcher: Watcher) -> tuple[list[int], int]:
    """Return documents whose second vector is not that of their text, and how many were compared. Raises EmbedderError
    when it cannot be used.
    """
    sample = sample_second_vectors(store, embedder.fingerprint(), size)
    if not sample:
        return [], 0
    watcher.begin(_PART, _PART, len(sample))
    made = measure_texts(embedder, [text for text, _ in sample])
    watcher.saved(_PART, len(sample))
    watcher.done(_PART)
    wrong = []
    for (text, stored), vector in zip(sample, made, strict=True):
        if isinstance(vector, str):
            is_same = not stored.data
        else:
            is_same = len(stored.data) == vector.size
            is_same = is_same and float(unpack_vector(stored) @ unpack_vector(pack_vector(vector))) >= SAME
        if not is_same:
            wrong.append(text.document_id)
    return wrong, len(sample)
