"""`forgelore embed`: vectors for documents that have none."""

import argparse
from typing import Any

from forgelore.surfaces.cli.indexing import chosen_projects, stopping_on_interrupt
from forgelore.surfaces.cli.terminal import number

EXAMPLES = (
    "forgelore embed                       documents that have no vectors yet",
    "forgelore embed --retry-failed        only those that failed before",
    "forgelore embed --full                all vectors anew; the old ones are used until then",
    "forgelore embed --embedder ollama     with another embedder than the settings name",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--retry-failed", action="store_true", help="only documents that failed before, all of them")
    which.add_argument(
        "--full",
        action="store_true",
        help="all documents, whether they have vectors or not; goes on where it was cut off",
    )
    parser.add_argument("--project", metavar="NAME", help="one project; default: all")
    parser.add_argument("--embedder", metavar="NAME", help="minilm, ollama or openai; default: as the settings say")


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from msgspec import to_builtins

    from forgelore.flows.index.vectors import embed_documents
    from forgelore.surfaces.cli.progress import make_watcher

    app = context.app
    store = app.store()
    projects = chosen_projects(context, arguments.project)
    _warn_of_waiting(context, projects)
    with (
        stopping_on_interrupt(context),
        make_watcher(arguments.project or "index", is_json=context.is_json) as watcher,
    ):
        done = embed_documents(
            store, _embedder(context, arguments.embedder, watcher), projects, is_retry=arguments.retry_failed,
            is_full=arguments.full, watcher=watcher, should_stop=app.stop.is_set,
        )  # fmt: skip
    data: dict[str, Any] = to_builtins(done)
    _print(context, data)
    return data


def _embedder(context: Any, name: str | None, watcher: Any) -> Any:
    from forgelore.errors import ConfigError

    embedder = context.app.embedder(name, on_wait=watcher.waiting)
    if embedder is None:
        raise ConfigError(
            "embedding is switched off (embedder = none)", hint="choose one: forgelore embed --embedder lore"
        )
    return embedder


def _warn_of_waiting(context: Any, projects: list[int]) -> None:
    """Vectors are made from documents: what has none yet gets none now, and that should be no surprise."""
    from forgelore.store.jobs import count_jobs

    waiting = sum(count_jobs(context.app.store(), project_id).get("document", (0, 0))[0] for project_id in projects)
    if waiting:
        context.warn(f"{number(waiting)} items wait to be indexed first; run: forgelore generate-docs")


def _print(context: Any, data: dict[str, Any]) -> None:
    from forgelore.errors import EmbeddingFailed

    mark = context.style.green("✓") if not data["failed"] else context.style.yellow("!")
    parts = [f"{number(data[name])} {name}" for name in ("embedded", "failed") if data[name]]
    waiting = f"; {number(data['waiting'])} wait for another attempt (forgelore stats)" if data["waiting"] else ""
    context.print(f"{mark} {', '.join(parts) or 'nothing to do'}{waiting}")
    if data["dropped"]:
        context.print(f"  {number(data['dropped'])} vectors of an embedder that is no longer used were dropped")
    if data["failed"] and not data["embedded"]:
        hint = "why: forgelore stats; again: forgelore embed --retry-failed"
        context.fail(EmbeddingFailed(f"none of {number(data['failed'])} documents could be embedded", hint=hint))
