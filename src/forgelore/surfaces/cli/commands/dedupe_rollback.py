"""`forgelore dedupe rollback RUN --yes`: take back what a plan closed."""

import argparse
from typing import TYPE_CHECKING

from forgelore.errors import Refused
from forgelore.surfaces.cli.indexing import stopping_on_interrupt
from forgelore.surfaces.cli.terminal import number

if TYPE_CHECKING:
    from forgelore.api import RolledBack, RolledBackItem
    from forgelore.surfaces.cli.command import Context

EXAMPLES = ("forgelore dedupe rollback 13 --yes",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=int, metavar="RUN", help="the number of the apply, or of its plan")
    parser.add_argument("--yes", action="store_true", help="really open again; without it nothing is written")
    parser.add_argument("--force", action="store_true", help="take over from a run that has gone quiet elsewhere")


def run(context: "Context", arguments: argparse.Namespace) -> "RolledBack":
    if not arguments.yes:
        raise Refused("nothing was written", hint=f"run: forgelore dedupe rollback {arguments.run} --yes")
    with stopping_on_interrupt(context):
        done = context.history.roll_back_closings(
            arguments.run, force=arguments.force, on_item=lambda item: _print_item(context, item)
        )
    remains = sorted({event for item in done.items for event in item.remains})
    context.print(f"run {done.run}: {number(done.counters['restored'])} items restored")
    if remains:
        context.print(context.style.dim(f"in their timelines remain: {', '.join(remains)}"))
    return done


def _print_item(context: "Context", item: "RolledBackItem") -> None:
    if item.problem:
        context.warn(f"{item.kind} {item.number}: {item.problem}")
    if item.restored or not item.problem:
        context.print(f"  {context.style.green('✓')} #{item.number}: {', '.join(item.restored) or 'as it was'}")
