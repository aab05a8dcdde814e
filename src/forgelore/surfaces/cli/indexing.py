"""What sync, ingest and import do once the items are there: documents for full text, then vectors for meaning.

Vectors may wait: an embedder that is missing or fails is a warning of the command and never its failure.
"""

import contextlib
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from forgelore.errors import LoreError, StoreError
from forgelore.surfaces.cli.terminal import number

if TYPE_CHECKING:
    import argparse

    from forgelore.flows.progress import Watcher


def add_indexing_arguments(parser: "argparse.ArgumentParser") -> None:
    parser.add_argument("--no-docs", action="store_true", help="do not build search documents (and no vectors)")
    parser.add_argument("--no-embed", action="store_true", help="do not compute vectors")


def bring_up_to_date(
    context: Any, project_ids: list[int], *, with_docs: bool, with_vectors: bool, watcher: "Watcher | None" = None
) -> dict[str, Any]:
    """Build what waits and return what was done: `documents` and `vectors`, None for what was left out."""
    found: dict[str, Any] = {"documents": None, "vectors": None}
    if not with_docs:
        return found
    from msgspec import to_builtins

    from forgelore.flows.index.documents import index_items

    app = context.app
    done = index_items(app.store(), project_ids, watcher=watcher, should_stop=app.stop.is_set)
    found["documents"] = to_builtins(done)
    if done.failed:
        context.warn(f"{number(done.failed)} items could not be indexed; they are tried again (forgelore stats)")
    if with_vectors:
        found["vectors"] = _embed(context, project_ids, watcher)
    return found


def _embed(context: Any, project_ids: list[int], watcher: "Watcher | None") -> dict[str, Any] | None:
    from msgspec import to_builtins

    from forgelore.flows.index.vectors import embed_documents
    from forgelore.store.jobs import count_jobs

    app = context.app
    try:
        embedder = app.embedder(on_wait=getattr(watcher, "waiting", None))
        if embedder is None:
            return None
        done = embed_documents(app.store(), embedder, project_ids, watcher=watcher, should_stop=app.stop.is_set)
    except StoreError:
        raise
    except LoreError as error:
        waiting = sum(count_jobs(app.store(), project_id).get("embed", (0, 0))[0] for project_id in project_ids)
        if waiting:
            context.warn(f"{number(waiting)} vectors wait: {error.message}; run: forgelore embed")
        return None
    if done.failed:
        context.warn(f"{number(done.failed)} documents got no vector; they are tried again (forgelore stats)")
    result: dict[str, Any] = to_builtins(done)
    return result


def describe(found: dict[str, Any]) -> str:
    """Return what was done as half a sentence, empty when it was nothing.

    {"documents": {"new": 3, …}, "vectors": {"embedded": 3, …}} -> "3 documents indexed, 3 embedded"
    """
    documents, vectors = found["documents"] or {}, found["vectors"] or {}
    indexed = documents.get("new", 0) + documents.get("changed", 0)
    parts = [
        f"{number(count)} {word}"
        for count, word in (
            (indexed, "documents indexed"), (documents.get("removed", 0), "removed"),
            (vectors.get("embedded", 0), "embedded"),
        )
        if count
    ]  # fmt: skip
    return ", ".join(parts)


def chosen_projects(context: Any, text: str | None) -> list[int]:
    """Return the ids of the named project, or of all."""
    from forgelore.store.projects import list_projects

    if text:
        return [context.app.find_project(text).id]
    return [project.id for project in list_projects(context.app.store())]


@contextlib.contextmanager
def stopping_on_interrupt(context: Any) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the command at once, a request that hangs included.

    Only a transaction is finished first, which takes a moment; a second Ctrl-C does not wait for that either.
    """

    def stop(_signal: int, _frame: object) -> None:
        is_second = context.app.stop.is_set()
        context.app.stop.set()
        if is_second or not context.app.is_writing:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
