"""The index through the facade: documents, then vectors; and what a check of them may use."""

from functools import partial
from typing import Literal, NamedTuple

from forgelore.app import App
from forgelore.errors import ConfigError, LoreError
from forgelore.flows.index.check import SAMPLE, CheckRequest
from forgelore.flows.index.documents import Indexed, count_indexed, index_items, reindex_items
from forgelore.flows.index.update import IndexUpdate
from forgelore.flows.index.update import update_index as update_flow
from forgelore.flows.index.vectors import Embedded, embed_documents
from forgelore.flows.progress import Watcher
from forgelore.ports import Embedder

IndexParts = Literal["all", "documents", "none"]  # vectors are made from documents: none without them


class UpdatedIndex(NamedTuple):
    """What an update of the index did; None for what was left out. `warnings`: what still waits, and why."""

    documents: Indexed | None = None
    vectors: Embedded | None = None
    warnings: tuple[str, ...] = ()


class BuiltDocuments(NamedTuple):
    """What building did, in documents (`failed` counts items); and how many there are now, and how many of these were
    cut for length.
    """

    new: int
    changed: int
    unchanged: int
    removed: int
    failed: int
    total: int
    truncated: int


def update_index(app: App, projects: list[int], parts: IndexParts, watcher: Watcher | None) -> UpdatedIndex:
    """Build what waits. An embedder that is missing or fails is a warning: words find everything without it. What an
    earlier version of the ranking has learned of the projects is learned anew.
    """
    from forgelore.api.find import make_retriever
    from forgelore.flows.compare.recalibrate import recalibrate

    if parts == "none":
        return UpdatedIndex()
    done = update_flow(
        app.store(), projects, partial(_wanted_embedder, app, parts, watcher), watcher=watcher,
        should_stop=app.stop.is_set, now_ms=app.now_ms,
    )  # fmt: skip
    recalibrated = recalibrate(
        app.store(), projects, partial(make_retriever, app, app.config.embedder), watcher=watcher,
        should_stop=app.stop.is_set, now_ms=app.now_ms,
    )  # fmt: skip
    return UpdatedIndex(done.documents, done.vectors, (*_warnings(done), *recalibrated))


def _wanted_embedder(app: App, parts: IndexParts, watcher: Watcher | None) -> Embedder | None:
    return app.embedder(on_wait=watcher.waiting if watcher else None) if parts == "all" else None


def _warnings(done: IndexUpdate) -> tuple[str, ...]:
    found = []
    if done.documents.failed:
        found.append(f"{done.documents.failed:,} items could not be indexed; they are tried again (forgelore stats)")
    if done.failure and done.waiting:
        found.append(f"{done.waiting:,} vectors wait: {done.failure.message}; run: forgelore embed")
    if done.vectors and done.vectors.failed:
        found.append(f"{done.vectors.failed:,} documents got no vector; they are tried again (forgelore stats)")
    return tuple(found)


def build_documents(app: App, projects: list[int], *, full: bool, watcher: Watcher | None) -> BuiltDocuments:
    """Build the documents of changed items, or of all."""
    store, build = app.store(), reindex_items if full else index_items
    done = build(store, projects, watcher=watcher, should_stop=app.stop.is_set, now_ms=app.now_ms)
    total, truncated = count_indexed(store, projects)
    return BuiltDocuments(done.new, done.changed, done.unchanged, done.removed, done.failed, total, truncated)


def embed(
    app: App, projects: list[int], *, full: bool, retry: bool, embedder: str | None, watcher: Watcher | None
) -> Embedded:
    """Make the vectors that are missing, those that failed before, or all. Raises ConfigError without an embedder."""
    store = app.store()
    chosen = app.embedder(embedder, on_wait=watcher.waiting if watcher else None)
    if chosen is None:
        hint = "choose one: forgelore embed --embedder lore"
        raise ConfigError("embedding is switched off (embedder = none)", hint=hint)
    return embed_documents(
        store, chosen, projects, is_retry=retry, is_full=full, watcher=watcher, should_stop=app.stop.is_set,
        now_ms=app.now_ms,
    )  # fmt: skip


def make_check(app: App, sample: int | None, watcher: Watcher | None) -> CheckRequest:
    """Return what a check may use. That there is no embedder is no reason not to check the rest."""
    sample = SAMPLE if sample is None else sample
    embedder, reason = _find_embedder(app, sample)
    return CheckRequest(embedder, reason, app.payload_reader, sample, watcher or Watcher(), app.now_ms)


def _find_embedder(app: App, sample: int) -> tuple[Embedder | None, str]:
    """Return the embedder, or None and why there is none."""
    try:
        embedder = app.embedder() if sample else None
    except LoreError as error:
        return None, error.message
    return embedder, "" if embedder else "no embedder is configured" if sample else "--sample 0"
