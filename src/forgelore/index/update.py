"""The update of the index, once items are there: documents for full text, then vectors for meaning.

Vectors may wait. An embedder that cannot be made or does not answer is told as a `failure` of the result and never
raised, because what was read and what words find is good without them. What is wrong with the store is raised.

Only items that a sync or an import marked as changed are indexed. A batch, its full-text rows and the cleared jobs
share a transaction, so that a crash repeats a batch and leaves no half of one.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable

from msgspec import Struct

from forgelore.errors import LoreError, Stopped, StoreError
from forgelore.index.vectors import Embedded, count_unembedded, embed_documents
from forgelore.ports.embedder import Embedder
from forgelore.ports.progress import Watcher
from forgelore.store.candidates import drop_cards
from forgelore.store.database import Store
from forgelore.store.documents import load_sources, next_items, save_documents
from forgelore.store.item_lists import count_items
from forgelore.store.jobs import Job, count_jobs, drop_jobs, fail_job, finish_job, queue_documents, ready_jobs
from forgelore.store.sqlite.fulltext import refresh_common_words
from forgelore.store.stats import count_document_types, count_project_documents
from forgelore.text.dates import machine_ms
from forgelore.text.documents import build_documents
from forgelore.words import JobKind

BATCH = 500  # items in a transaction: bounds the log, and how long a reader's view lags


class Indexed(Struct):
    """What a run did, in documents; `failed` counts items."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: int = 0

    def add(self, new: int, changed: int, unchanged: int, removed: int) -> None:
        self.new += new
        self.changed += changed
        self.unchanged += unchanged
        self.removed += removed

    def add_earlier(self, other: "Indexed") -> None:
        """Add what an earlier run did. What failed then was tried again, or waits for its turn."""
        self.new += other.new
        self.changed += other.changed
        self.unchanged += other.unchanged
        self.removed += other.removed

    @property
    def total_written(self) -> int:
        return self.new + self.changed + self.removed


def index_items(
    store: Store, project_ids: Iterable[int], *, watcher: Watcher | None = None,
    should_stop: Callable[[], bool] = lambda: False, now_ms: Callable[[], int] = machine_ms,
) -> Indexed:  # fmt: skip
    """Bring the documents of changed items up to date."""
    watcher = watcher or Watcher()
    result = Indexed()
    waiting = {project_id: count_jobs(store, project_id).get(JobKind.DOCUMENT, (0, 0))[0] for project_id in project_ids}
    if not any(waiting.values()):
        return result
    watcher.begin("documents", "items indexed", sum(waiting.values()))
    for project_id in waiting:
        while jobs := ready_jobs(store, project_id, JobKind.DOCUMENT, now_ms(), BATCH):
            _index_batch(store, project_id, jobs, result, now_ms)
            watcher.saved("documents", len(jobs))
            if should_stop():
                raise Stopped
    watcher.done("documents")
    refresh_common_words(store)
    return result


def _index_batch(store: Store, project_id: int, jobs: list[Job], result: Indexed, now_ms: Callable[[], int]) -> None:
    try:
        with store.transaction():
            written = _write(store, project_id, [int(job.key) for job in jobs])
            for job in jobs:
                finish_job(store, project_id, job)
    except LoreError:
        raise  # the store itself: no item is to blame
    except Exception as error:  # noqa: BLE001 - recorded with the item, whatever it is
        if len(jobs) == 1:
            # One item that we cannot make a document of must not stop the others; it waits with its reason.
            with store.transaction():
                fail_job(store, project_id, jobs[0], f"{type(error).__name__}: {error}", now_ms())
            result.failed += 1
            return
        for job in jobs:
            _index_batch(store, project_id, [job], result, now_ms)
        return
    for one in written:
        result.add(*one)


def _write(
    store: Store, project_id: int, item_ids: list[int], *, is_full: bool = False
) -> list[tuple[int, int, int, int]]:
    sources = load_sources(store, item_ids)
    written = []
    for item_id in item_ids:
        source = sources.get(item_id)
        documents = build_documents(*source) if source else []
        if source is None:
            drop_cards(store, [item_id])  # of what is deleted nothing stays
        written.append(save_documents(store, item_id, project_id, documents, is_full=is_full))
    return written


def reindex_items(
    store: Store, project_ids: Iterable[int], *, without: Collection[int] = (), watcher: Watcher | None = None,
    should_stop: Callable[[], bool] = lambda: False, now_ms: Callable[[], int] = machine_ms,
) -> Indexed:  # fmt: skip
    """Build every document again, in bounded transactions, but not those of the items in `without`; equal ones are left
    alone.
    """
    watcher = watcher or Watcher()
    result = Indexed()
    totals = {project_id: count_items(store, project_id) for project_id in project_ids}
    watcher.begin("documents", "items indexed", sum(totals.values()))
    for project_id in totals:
        last = 0
        while ids := next_items(store, project_id, last, BATCH):
            last = ids[-1]
            _reindex_batch(store, project_id, [one for one in ids if one not in without], result, now_ms)
            watcher.saved("documents", len(ids))
            if should_stop():
                raise Stopped
    watcher.done("documents")
    refresh_common_words(store)
    return result


def _reindex_batch(store: Store, project_id: int, ids: list[int], result: Indexed, now_ms: Callable[[], int]) -> None:
    try:
        with store.transaction():
            written = _write(store, project_id, ids, is_full=True)
            drop_jobs(store, project_id, JobKind.DOCUMENT, map(str, ids))
    except LoreError:
        raise
    except Exception:  # noqa: BLE001 - the item that is to blame is found, and waits with its reason
        with store.transaction():
            queue_documents(store, project_id, ids)
        wanted = {str(item_id) for item_id in ids}
        waiting = ready_jobs(store, project_id, JobKind.DOCUMENT, now_ms(), -1)
        _index_batch(store, project_id, [job for job in waiting if job.key in wanted], result, now_ms)
        return
    for one in written:
        result.add(*one)


def count_indexed(store: Store, project_ids: Iterable[int]) -> tuple[int, int]:
    """Return how many documents these projects have, and how many of them were cut for length."""
    counts = [count_project_documents(store, project_id) for project_id in project_ids]
    return sum(total for total, _ in counts), sum(truncated for _, truncated in counts)


def count_types(store: Store, project_ids: Iterable[int]) -> dict[str, int]:
    """Return how many documents of each type these projects have: kinds of items, threads, intent cards."""
    found: Counter[str] = Counter()
    for project_id in project_ids:
        found.update(count_document_types(store, project_id))
    return dict(sorted(found.items()))


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
