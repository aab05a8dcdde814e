"""`forgelore replay [PROJECT…]`: what the forges said, read again from the database."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.indexing import add_indexing_arguments, describe, read_parts, stopping_on_interrupt
from forgelore.surfaces.cli.terminal import number

if TYPE_CHECKING:
    from forgelore.api import ReplayedProject
    from forgelore.surfaces.cli.command import Context
    from forgelore.surfaces.present.fetch import ReplayData

EXAMPLES = (
    "forgelore replay                     every project; rows that are as they should be are not written",
    "forgelore replay acme/web",
    "forgelore replay acme/web --type issues --type prs",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("projects", metavar="PROJECT", nargs="*", help="projects of this database; default: all")
    parser.add_argument(
        "--type", metavar="KIND", action="append", default=[],
        help="only issues, changes (prs, mrs), discussions or releases; may be repeated",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="take over a lock whose owner has gone quiet")
    add_indexing_arguments(parser)


def run(context: "Context", arguments: argparse.Namespace) -> "list[ReplayData]":
    from forgelore.api import parse_kind
    from forgelore.surfaces.present.fetch import present_replay

    history = context.history
    kinds = tuple(parse_kind(word) for word in arguments.type)
    names = history.list_projects(arguments.projects)
    with stopping_on_interrupt(context):
        return [present_replay(_replay_one(context, name, kinds, arguments)) for name in names]


def _replay_one(
    context: "Context", name: str, kinds: tuple[str, ...], arguments: argparse.Namespace
) -> "ReplayedProject":  # fmt: skip
    from forgelore.surfaces.cli.progress import make_watcher

    with make_watcher(name, is_quiet=context.is_data) as watcher:
        done = context.history.replay(
            name, kinds=kinds, force=arguments.force, index=read_parts(arguments), watcher=watcher
        )
    for warning in done.index.warnings:
        context.warn(warning)
    _print(context, done)
    return done


def _print(context: "Context", done: "ReplayedProject") -> None:
    style = context.style
    mended = f"{number(done.restored)} mended" if done.restored else "all as they should be"
    context.print(f"{style.green('✓')} {style.bold(done.project)}: {number(done.read)} items read again, {mended}")
    if indexed := describe(done.index):
        context.print(f"  {indexed}")
    if done.incomplete:
        context.warn(
            f"{done.project}: of {number(done.incomplete)} items something is not stored as the forge said it"
            " (imported, or lost); of that, only the links in the text were read again"
        )
