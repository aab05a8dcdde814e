"""`forgelore generate-docs`: items into the documents that are searched."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.indexing import stopping_on_interrupt
from forgelore.surfaces.cli.terminal import number

if TYPE_CHECKING:
    from forgelore.api import BuiltDocuments
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore generate-docs                 what a sync left to do",
    "forgelore generate-docs --full          look at every item again; equal documents are not rewritten",
    "forgelore generate-docs --project acme/web --json",
)
_TYPES = {"intent": "intent cards"}  # the others have a plain plural


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--full", action="store_true", help="every item, not only what changed")
    parser.add_argument("--project", metavar="NAME", help="one project; default: all")


def run(context: "Context", arguments: argparse.Namespace) -> "BuiltDocuments":
    from forgelore.surfaces.cli.progress import make_watcher

    with (
        stopping_on_interrupt(context),
        make_watcher(arguments.project or "index", is_quiet=context.is_data) as watcher,
    ):
        done = context.history.build_documents(arguments.project, full=arguments.full, watcher=watcher)
    _print(context, done)
    return done


def _print(context: "Context", done: "BuiltDocuments") -> None:
    counts = (
        (done.new, "new"), (done.changed, "changed"), (done.unchanged, "unchanged"), (done.removed, "removed")
    )  # fmt: skip
    what = ", ".join(f"{number(count)} {name}" for count, name in counts if count) or "nothing to do"
    cut = f" ({number(done.truncated)} cut for length)" if done.truncated else ""
    context.print(f"{context.style.green('✓')} {number(done.total)} documents{cut}: {what}")
    if types := ", ".join(f"{number(count)} {_TYPES.get(name, f'{name}s')}" for name, count in done.by_type.items()):
        context.print(f"  {types}")
    if done.failed:
        context.warn(f"{number(done.failed)} items could not be indexed; why: forgelore stats")
