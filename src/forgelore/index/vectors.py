"""`embed`, and the last part of every sync: vectors for documents that have none of the current embedder.

    jobs -> texts -> chunks -> embedder -> checked, packed -> saved with the cleared jobs, in one transaction

A document whose vectors are refused (wrong size, NaN, zero, or the embedder's own refusal) waits with the reason, five
times, then until `embed --retry-failed`. When the embedder as a whole fails, nothing is counted as tried.

Second vectors are what another embedder makes of the beginning of each item, beside those that are searched. Nothing
is queued for them: an item that has none of its text is found by looking; a text that was refused is not asked again.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from forgelore.errors import EmbeddingFailed, Stopped
from forgelore.index.cleaning import build_chunks, first_chunk
from forgelore.ports.embedder import Embedder
from forgelore.ports.progress import Watcher
from forgelore.records import Chunk, HashedText, StoredEmbedder
from forgelore.store.database import Store
from forgelore.store.documents import (
    add_embedder,
    drop_other_embedders,
    find_embedder,
    has_other_embedders,
    save_dimension,
)
from forgelore.store.jobs import Job, count_jobs, count_untired, fail_job, finish_job, ready_jobs, retry_jobs
from forgelore.store.sqlite.vector_memory import refresh_file
from forgelore.store.sqlite.vector_rows import (
    NOTHING,
    count_second_vectors,
    count_waiting_texts,
    drop_second_vectors,
    has_stale,
    load_waiting_texts,
    mark_stale,
    queue_unembedded,
    save_second_vectors,
)
from forgelore.store.sqlite.vectors import load_unembedded, save_chunks
from forgelore.text.dates import machine_ms
from forgelore.text.values import PackedVector, check_vector, pack_vector
from forgelore.words import JobKind, Passage

if TYPE_CHECKING:
    from forgelore.text.values import Vector


MAX_ATTEMPTS = 5
_DOCUMENTS = 64
_CHUNKS = 128  # in a transaction: what a crash costs is a few seconds


class Embedded(Struct):
    """What a run did, in documents. `waiting` are those that no attempt reached or that wait for their next."""

    embedded: int = 0
    failed: int = 0
    waiting: int = 0
    dropped: int = 0  # vectors of an embedder that is no longer used
    second: int = 0  # items that got a vector of the second embedder (index/vectors)


class _Text(NamedTuple):
    job: Job
    document_id: int
    content_hash: bytes
    chunks: list[Chunk]


def embed_documents(
    store: Store, embedder: Embedder, project_ids: Iterable[int], *, is_retry: bool = False, is_full: bool = False,
    has_file: bool = False, watcher: Watcher | None = None, should_stop: Callable[[], bool] = lambda: False,
    now_ms: Callable[[], int] = machine_ms,
) -> Embedded:  # fmt: skip
    """Compute what is missing; with `is_retry`, only what failed before; with `is_full`, everything anew, and what is
    there stays until then. `has_file`: a large store has its vectors in a file beside it too, for those who search.
    Raises EmbedderError when nobody answers.
    """
    watcher = watcher or Watcher()
    projects = list(project_ids)
    if not is_retry and not is_full and _is_idle(store, embedder, projects, now_ms):
        return Embedded(waiting=count_unembedded(store, projects))
    run = _Run(store, embedder, register(store, embedder, now_ms()), now_ms)
    if is_full:
        _begin_anew(store, run.stored, projects)
    size = max(_DOCUMENTS, embedder.batch_size)  # one that takes much at once must not wait for more
    todo = {project_id: _todo(store, project_id, size, now_ms, is_retry=is_retry) for project_id in projects}
    watcher.begin("vectors", "vectors", sum(total for total, _ in todo.values()))
    for project_id, (_, next_jobs) in todo.items():
        while jobs := next_jobs():
            run.embed(project_id, jobs)
            watcher.saved("vectors", len(jobs))
            if should_stop():
                raise Stopped
    watcher.done("vectors")
    run.result.waiting = count_unembedded(store, projects)
    if has_other_embedders(store, run.stored.id) and not count_untired(store, JobKind.EMBED, MAX_ATTEMPTS):
        with store.transaction():
            run.result.dropped = drop_other_embedders(store, run.stored.id)
    if has_file:
        refresh_file(store, run.stored)
    return run.result


def _begin_anew(store: Store, stored: StoredEmbedder, projects: list[int]) -> None:
    """Mark all vectors, unless a run that did so was cut off: then this one goes on with what that left."""
    for project_id in projects:
        if not has_stale(store, stored.id, project_id):
            with store.transaction():
                mark_stale(store, stored.id, project_id)


def _is_idle(store: Store, embedder: Embedder, projects: list[int], now_ms: Callable[[], int]) -> bool:
    """True when nothing waits for a known embedder: a sync with nothing new must not load a model or write."""
    known = find_embedder(store, embedder.fingerprint())
    if known is None or has_other_embedders(store, known.id):
        return False
    return not any(_ready(store, project_id, now_ms()) for project_id in projects)


def register(store: Store, embedder: Embedder, now_ms: int) -> StoredEmbedder:
    """Return the embedder's row. A new fingerprint queues every document: vectors of two never mix."""
    fingerprint = embedder.fingerprint()
    known = find_embedder(store, fingerprint)
    if known is not None and not has_other_embedders(store, known.id):
        return known
    with store.transaction():
        known = find_embedder(store, fingerprint)
        if known is None:
            return add_embedder(store, embedder.name, embedder.model, fingerprint, now_ms)
        queue_unembedded(store, known.id)  # somebody came back to it: what changed meanwhile has only the other's
        return known


def _ready(store: Store, project_id: int, now_ms: int, limit: int = 1) -> list[Job]:
    return ready_jobs(store, project_id, JobKind.EMBED, now_ms, limit, max_attempts=MAX_ATTEMPTS)


def count_unembedded(store: Store, projects: list[int]) -> int:
    """Return how many documents of these projects wait for a vector."""
    return sum(count_jobs(store, project_id).get(JobKind.EMBED, (0, 0))[0] for project_id in projects)


def _todo(
    store: Store, project_id: int, size: int, now_ms: Callable[[], int], *, is_retry: bool
) -> tuple[int, Callable[[], list[Job]]]:
    """Return how many documents there are to do, and what hands out the next few."""
    if not is_retry:
        return count_jobs(store, project_id).get(JobKind.EMBED, (0, 0))[0], lambda: _ready(
            store, project_id, now_ms(), size
        )
    with store.transaction():
        failed = retry_jobs(store, project_id, JobKind.EMBED)
    batches = iter([failed[at : at + size] for at in range(0, len(failed), size)])
    return len(failed), lambda: next(batches, [])


def _groups(texts: list[_Text], most: int) -> list[list[_Text]]:
    """Return the texts in order, in groups of at most so many chunks where a single text allows it."""
    groups: list[list[_Text]] = []
    room = 0
    for text in texts:
        if not groups or len(text.chunks) > room:
            groups.append([])
            room = most
        groups[-1].append(text)
        room -= len(text.chunks)
    return groups


class _Run:
    """One run with one embedder: holds the dimension, which the first vector tells."""

    def __init__(self, store: Store, embedder: Embedder, stored: StoredEmbedder, now_ms: Callable[[], int]) -> None:
        self._store, self._embedder, self.stored, self._now_ms = store, embedder, stored, now_ms
        self.result = Embedded()
        self._failed: set[int] = set()  # a long run may try the same document several times

    def embed(self, project_id: int, jobs: list[Job]) -> None:
        texts = self._load(jobs)
        for group in _groups(texts, max(_CHUNKS, self._embedder.batch_size)):
            chunks = [chunk for text in group for chunk in text.chunks]
            vectors = embed_chunks(self._embedder, chunks, dimension=self.stored.dimension)
            self._learn_dimension(vectors)
            with self._store.transaction():
                at = 0
                for text in group:
                    self._save(project_id, text, vectors[at : at + len(text.chunks)])
                    at += len(text.chunks)
        known = {text.job.key for text in texts}
        idle = [job for job in jobs if job.key not in known]
        if idle:
            with self._store.transaction():
                for job in idle:
                    finish_job(self._store, project_id, job)

    def _load(self, jobs: list[Job]) -> list[_Text]:
        """Return the texts to embed: not those that are gone, nor those that another embedder's try queued in vain."""
        by_id = {int(job.key): job for job in jobs}
        size = self._embedder.chunk_chars
        return [
            _Text(by_id[document_id], document_id, digest, build_chunks(title, text, max_chars=size))
            for document_id, digest, title, text in load_unembedded(self._store, self.stored.id, by_id)
        ]

    def _learn_dimension(self, vectors: "list[Vector | str]") -> None:
        if self.stored.dimension:
            return
        size = next((vector.size for vector in vectors if not isinstance(vector, str)), 0)
        if size:
            with self._store.transaction():
                save_dimension(self._store, self.stored.id, size)
            self.stored = self.stored._replace(dimension=size)

    def _save(self, project_id: int, text: _Text, vectors: "list[Vector | str]") -> None:
        packed: list[tuple[Chunk, PackedVector]] = []
        for chunk, vector in zip(text.chunks, vectors, strict=True):
            reason = vector if isinstance(vector, str) else ""
            if not isinstance(vector, str) and vector.size != self.stored.dimension:
                reason = f"the vector has {vector.size} dimensions instead of {self.stored.dimension}"
            if reason or isinstance(vector, str):
                fail_job(self._store, project_id, text.job, reason, self._now_ms())
                self._failed.add(text.document_id)
                self.result.failed = len(self._failed)
                return
            packed.append((chunk, pack_vector(vector)))
        if save_chunks(self._store, self.stored.id, text.document_id, text.content_hash, packed):
            self.result.embedded += 1
            self._failed.discard(text.document_id)
            self.result.failed = len(self._failed)
            finish_job(self._store, project_id, text.job)


def embed_chunks(
    embedder: Embedder, chunks: Sequence[Chunk], *, dimension: int = 0, saved: Callable[[int], None] | None = None
) -> "list[Vector | str]":
    """Return a checked vector, or the reason why there is none, for each chunk. `dimension` 0: any will do. `saved` is
    told of each batch. Raises EmbedderError when nobody answers.
    """
    found: list[Vector | str] = []
    for at in range(0, len(chunks), embedder.batch_size):
        batch = [chunk.passage for chunk in chunks[at : at + embedder.batch_size]]
        raw: Sequence[Sequence[float] | EmbeddingFailed]
        try:
            raw = embedder.embed_passages(batch)
        except EmbeddingFailed as error:
            raw = [error] * len(batch)
        if len(raw) != len(batch):
            raw = [EmbeddingFailed(f"the embedder returned {len(raw)} vectors for {len(batch)} texts")] * len(batch)
        found += [check_vector(vector, dimension or None) for vector in raw]
        if saved:
            saved(len(batch))
    return found


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
                raise Stopped
    watcher.done(_PART)
    return made


def forget_items(store: Store, project_ids: Iterable[int] | None = None) -> int:
    """Drop the second vectors, of some projects or all, where there are some; returns how many went."""
    if not count_second_vectors(store):
        return 0
    with store.transaction():
        return drop_second_vectors(store, project_ids=project_ids)


def measure_texts(embedder: Embedder, texts: list[HashedText]) -> "list[Vector | str]":
    """Return the vector of each text, or why it has none."""
    passages = [first_chunk(one.title, one.text, max_chars=embedder.chunk_chars).passage for one in texts]
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
