"""Second opinion: how near another embedder puts an item to its candidates, by vectors that are stored beside.

    second vectors of the item and of its candidates -> cosines -> positions among the candidates

Candidates are found without it; it has a say in their order alone. Either all candidates have a second vector, or none
is looked at: strengths with and without it belong to two models, and are never compared.
"""

from typing import TYPE_CHECKING

from forgelore.core.compare.evidence import compare_second
from forgelore.core.search.chunks import build_chunks
from forgelore.core.search.vectors import check_vector, unpack_vector
from forgelore.errors import LoreError, StoreError
from forgelore.flows.search.retriever import Retriever
from forgelore.store.engine.second_vectors import has_second_vectors, load_second_vectors
from forgelore.store.hits import Subject

if TYPE_CHECKING:
    from forgelore.core.search.vectors import Vector


def compare_by_second(retriever: Retriever, subject: Subject, item_ids: list[int]) -> list[dict[str, float]] | None:
    """Return the numbers of each candidate by the second embedder; None where not all of them have a vector of it."""
    second = retriever.second
    if second is None or not item_ids:
        return None
    stored = load_second_vectors(retriever.store, second.fingerprint(), [subject.item_id, *item_ids])
    if any(item_id not in stored for item_id in item_ids):
        return None
    if subject.item_id in stored:
        packed = stored[subject.item_id]
        mine = unpack_vector(packed) if packed.data else None
    else:
        mine = _measure(retriever, subject)
    if mine is None:
        return None
    # What has no words is near nothing.
    cosines = [
        float(unpack_vector(stored[item_id]) @ mine) if len(stored[item_id].data) == mine.size else 0.0
        for item_id in item_ids
    ]
    return compare_second(cosines)


def has_second_opinion(retriever: Retriever, project_id: int, kind: str) -> bool:
    """Tell whether items of a kind would be compared by it now."""
    second = retriever.second
    return second is not None and has_second_vectors(retriever.store, second.fingerprint(), project_id, kind)


def _measure(retriever: Retriever, subject: Subject) -> "Vector | None":
    """Return the vector of a text that is not stored; None where it has none."""
    assert retriever.second is not None
    first = build_chunks(subject.title, subject.body, max_chars=retriever.second.chunk_chars)[0]
    try:
        found = check_vector(retriever.second.embed_passages([first.passage])[0], None)
    except StoreError:
        raise
    except LoreError:  # the first embedder's word is enough
        return None
    return None if isinstance(found, str) else found
