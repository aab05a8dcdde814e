"""`--rescore`: cosines of the best candidates by a heavier embedder.

    candidates -> the chunk that stands for each -> vectors, on the fly -> cosines in place of the stored vectors' ones

Nothing is stored. A whole project takes such an embedder minutes; a hundred texts take it a few seconds of CPU.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from forgelore.core.search.chunks import build_chunks
from forgelore.core.search.vectors import check_vector
from forgelore.errors import EmbeddingFailed
from forgelore.store.db import Store
from forgelore.store.hits import Subject, load_texts
from forgelore.words import Passage

if TYPE_CHECKING:
    from forgelore.ports import Embedder


def measure_words(store: Store, embedder: "Embedder", ids: Iterable[int], *, text: str) -> dict[int, float]:
    """Return the cosine of each document to what a person typed; one that has nothing to embed is missing."""
    return _measure(store, embedder, ids, embedder.embed_query(text))


def measure_item(store: Store, embedder: "Embedder", ids: Iterable[int], *, subject: Subject) -> dict[int, float]:
    """Return the cosine of each document to an item."""
    (vector,) = embedder.embed_passages([_first_passage(embedder, subject.title, subject.body)])
    return _measure(store, embedder, ids, vector)


def _measure(
    store: Store, embedder: "Embedder", ids: Iterable[int], raw: Sequence[float] | EmbeddingFailed
) -> dict[int, float]:
    query = check_vector(raw, None)
    if isinstance(query, str):
        raise EmbeddingFailed(query, hint="search without rescoring")
    texts = load_texts(store, ids)
    passages = [_first_passage(embedder, title, text) for title, text in texts.values()]
    vectors = [check_vector(one, query.size) for one in _embed(embedder, passages)]
    return {
        document_id: float(vector @ query)
        for document_id, vector in zip(texts, vectors, strict=True)
        if not isinstance(vector, str)
    }


def _first_passage(embedder: "Embedder", title: str, text: str) -> Passage:
    return build_chunks(title, text, max_chars=embedder.chunk_chars)[0].passage


def _embed(embedder: "Embedder", passages: list[Passage]) -> "list[Sequence[float] | EmbeddingFailed]":
    size = embedder.batch_size
    return [
        vector for at in range(0, len(passages), size) for vector in embedder.embed_passages(passages[at : at + size])
    ]
