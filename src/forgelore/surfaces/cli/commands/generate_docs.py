"""`forgelore generate-docs`: items into the documents that are searched."""

import argparse
from typing import Any

from forgelore.surfaces.cli.indexing import chosen_projects, stopping_on_interrupt
from forgelore.surfaces.cli.terminal import number

EXAMPLES = (
    "forgelore generate-docs                 what a sync left to do",
    "forgelore generate-docs --full          look at every item again; equal documents are not rewritten",
    "forgelore generate-docs --project acme/web --json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--full", action="store_true", help="every item, not only what changed")
    parser.add_argument("--project", metavar="NAME", help="one project; default: all")


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from msgspec import to_builtins

    from forgelore.flows.index.documents import count_indexed, index_items, reindex_items
    from forgelore.surfaces.cli.progress import make_watcher

    store = context.app.store()
    projects = chosen_projects(context, arguments.project)
    index = reindex_items if arguments.full else index_items
    with (
        stopping_on_interrupt(context),
        make_watcher(arguments.project or "index", is_json=context.is_json) as watcher,
    ):
        done = index(store, projects, watcher=watcher, should_stop=context.app.stop.is_set)
    total, truncated = count_indexed(store, projects)
    data: dict[str, Any] = {**to_builtins(done), "total": total, "truncated": truncated}
    _print(context, data)
    return data


def _print(context: Any, data: dict[str, Any]) -> None:
    parts = [f"{number(data[name])} {name}" for name in ("new", "changed", "unchanged", "removed") if data[name]]
    cut = f" ({number(data['truncated'])} cut for length)" if data["truncated"] else ""
    what = ", ".join(parts) if parts else "nothing to do"
    context.print(f"{context.style.green('✓')} {number(data['total'])} documents{cut}: {what}")
    if data["failed"]:
        context.warn(f"{number(data['failed'])} items could not be indexed; why: forgelore stats")
