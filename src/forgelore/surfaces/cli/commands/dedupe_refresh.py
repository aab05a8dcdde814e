"""`forgelore dedupe refresh`: the new issues and changes of a project that is here already."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.commands.sync import print_synced
from forgelore.surfaces.cli.indexing import add_indexing_arguments, read_parts, stopping_on_interrupt
from forgelore.surfaces.cli.progress import make_watcher

if TYPE_CHECKING:
    from forgelore.surfaces.cli.command import Context
    from forgelore.surfaces.present.fetch import SyncData

EXAMPLES = (
    "forgelore dedupe refresh acme/web              what was filed since the last sync",
    "forgelore dedupe refresh acme/web --known      and what has changed",
    "forgelore dedupe refresh --known --since 7d    what moved in the last week",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "project", metavar="PROJECT", nargs="?", help="a project that was synced; default: the only one"
    )
    parser.add_argument("--known", action="store_true", help="also items that are here already and have changed")
    parser.add_argument("--since", metavar="WHEN", help="only what moved since then: 2026-03-01, 7d, last week …")
    parser.add_argument("--force", action="store_true", help="take over a lock whose owner has gone quiet")
    add_indexing_arguments(parser)


def run(context: "Context", arguments: argparse.Namespace) -> "SyncData":
    from forgelore.surfaces.present.fetch import present_sync

    project = context.history.name_project(arguments.project)
    with stopping_on_interrupt(context), make_watcher(project or "", is_quiet=context.is_data) as watcher:
        synced = context.history.refresh(
            arguments.project, known=arguments.known, since=arguments.since, force=arguments.force,
            index=read_parts(arguments), watcher=watcher,
        )  # fmt: skip
    print_synced(context, synced)
    return present_sync(synced)
