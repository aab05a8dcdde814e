"""Intent cards against themselves: what is searched of a card must be what the card says.

A card that is older than its item is no fault: the next `dedupe intent` makes it anew.

Code against what it is made from: texts against their hashes, chunks against their texts, words against both.

Every text is hashed and every row compared; a sample of the files is cut into chunks once more.

Documents against what they are made from: their texts against their hashes, and all of them against their items.

Vectors made again for a sample of documents, and compared with those that are stored.

Servers do not give the same numbers twice, and packing moves them a little: a vector counts as the same down to a
cosine of `SAME`. Two different texts of one tracker are seldom that near.

Second vectors made again for a sample of items, and compared with those that are stored.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import MsgspecError

from forgelore.dedupe.cards import card_text, decode_card
from forgelore.errors import EmbeddingFailed
from forgelore.index.cleaning import build_chunks
from forgelore.index.definitions import cut_code
from forgelore.index.vectors import measure_texts
from forgelore.ports.embedder import Embedder
from forgelore.ports.progress import Watcher
from forgelore.records import Chunk
from forgelore.store.candidates import each_card
from forgelore.store.checks import Fault
from forgelore.store.code import count_files, each_file, find_loose_parts, hash_text, load_chunks
from forgelore.store.database import Store
from forgelore.store.documents import StoredDocument, count_texts, each_text, load_sources, load_stored_documents
from forgelore.store.item_lists import count_items, next_indexed_items
from forgelore.store.items import find_key
from forgelore.store.sqlite.check import SampledDocument, packed_size
from forgelore.store.sqlite.fulltext import CodeWords, find_code_damage, find_code_gaps
from forgelore.store.sqlite.vector_rows import sample_second_vectors
from forgelore.text.documents import Document, build_documents, content_hash
from forgelore.text.terms import build_terms
from forgelore.text.vectors import check_vector, pack_vector, unpack_vector

if TYPE_CHECKING:
    from forgelore.text.vectors import Vector


def find_altered_cards(store: Store) -> Iterator[Fault]:
    """Read every card, and compare its text with what would be searched of it now."""
    for item_id, card, text in each_card(store):
        if not _is_of(card, text):
            yield "card_differs", f"card of item {item_id}", item_id


def _is_of(card: str, text: str) -> bool:
    try:
        return card_text(decode_card(card)) == text
    except MsgspecError:
        return False


_INDEXES: tuple[tuple[CodeWords, str], ...] = (("code", "code_chunks"), ("commits", "commits"))


def find_wrong_code(store: Store, sample: int, watcher: Watcher) -> Iterator[Fault]:
    """Yield files and commits that are not what they were made from."""
    for index, table in _INDEXES:
        yield from (("code_differs", line, 0) for line in find_code_damage(store, index))
        yield from (("code_differs", f"words of {table} {one}", one) for one in find_code_gaps(store, index, table))
    yield from (("code_differs", f"{table} {one}", one) for table, one in find_loose_parts(store))
    total = sum(count_files(store).values())
    if not total:
        return
    watcher.begin("code", "files of code compared", total)
    yield from _compare_files(store, sample, max(1, total // max(sample, 1)), watcher)
    watcher.done("code")


def _compare_files(store: Store, sample: int, step: int, watcher: Watcher) -> Iterator[Fault]:
    for at, file in enumerate(each_file(store)):
        if hash_text(file.text) != file.text_hash:
            yield "code_differs", file.path, file.id
        elif sample and at % step == 0 and load_chunks(store, file.id) != cut_code(file.text, file.language):
            yield "code_differs", f"chunks of {file.path}", file.id
        watcher.saved("code", 1)


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


SAME = 0.98


class VectorComparison(NamedTuple):
    """Documents whose vectors are not those of their texts, and how many were compared."""

    wrong: list[int]
    checked: int


def compare_vectors(sample: Sequence[SampledDocument], embedder: Embedder, watcher: Watcher) -> VectorComparison:
    """Make the vectors of these documents again. Raises EmbedderError when nobody answers."""
    made = [build_chunks(one.title, one.text, max_chars=embedder.chunk_chars) for one in sample]
    watcher.begin("remade", "vectors made again", sum(map(len, made)))
    vectors = iter(_embed([chunk for chunks in made for chunk in chunks], embedder, watcher))
    found = [_is_same(one, chunks, [next(vectors) for _ in chunks]) for one, chunks in zip(sample, made, strict=True)]
    watcher.done("remade")
    wrong = [one.document_id for one, is_same in zip(sample, found, strict=True) if is_same is False]
    return VectorComparison(wrong, sum(is_same is not None for is_same in found))


def _is_same(document: SampledDocument, made: list[Chunk], vectors: "list[Vector | str]") -> bool | None:
    """Return whether the stored chunks are those of the text; None when the embedder refuses it."""
    if [(chunk.start, chunk.end) for chunk in document.chunks] != [(chunk.start, chunk.end) for chunk in made]:
        return False
    if any(isinstance(vector, str) for vector in vectors):
        return None
    return all(
        not isinstance(vector, str)
        and packed_size(*chunk.packed) == vector.size
        and float(unpack_vector(chunk.packed) @ unpack_vector(pack_vector(vector))) >= SAME
        for chunk, vector in zip(document.chunks, vectors, strict=True)
    )


def _embed(chunks: list[Chunk], embedder: Embedder, watcher: Watcher) -> "list[Vector | str]":
    found: list[Vector | str] = []
    for at in range(0, len(chunks), embedder.batch_size):
        batch = [chunk.passage for chunk in chunks[at : at + embedder.batch_size]]
        raw: Sequence[Sequence[float] | EmbeddingFailed]
        try:
            raw = embedder.embed_passages(batch)
        except EmbeddingFailed as error:
            raw = [error] * len(batch)
        if len(raw) != len(batch):
            raw = [EmbeddingFailed(f"{len(raw)} vectors for {len(batch)} texts")] * len(batch)
        found += [check_vector(vector, None) for vector in raw]
        watcher.saved("remade", len(batch))
    return found


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
