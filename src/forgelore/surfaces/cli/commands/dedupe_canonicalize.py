"""`forgelore dedupe canonicalize`: clusters of duplicates, and what stays of each."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.terminal import clean, number, table

if TYPE_CHECKING:
    from forgelore.api import Canonicalized
    from forgelore.surfaces.cli.command import Context

EXAMPLES = ("forgelore dedupe canonicalize", "forgelore dedupe canonicalize --dry-run    show them, and keep nothing")
_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", metavar="NAME", help="one project; default: the clone's, or the only one")
    parser.add_argument("--bound", type=int, default=40, metavar="N", help="the largest cluster (default %(default)s)")
    parser.add_argument("--dry-run", action="store_true", help="show the clusters; keep nothing")


def run(context: "Context", arguments: argparse.Namespace) -> "Canonicalized":
    found = context.history.canonicalize(project=arguments.project, bound=arguments.bound, is_dry=arguments.dry_run)
    count = len(found.clusters)
    context.print(f"{number(found.edges)} accepted edges make {number(count)} clusters")
    rows = [
        [f"#{one.canonical}", one.kind, number(len(one.numbers)), one.chosen_by, clean(one.title)]
        for one in found.clusters[:_SHOWN]
    ]
    context.print(*table(rows, grow=4, head=["stays", "kind", "items", "because of", "title"], style=context.style))
    if count > _SHOWN:
        context.print(context.style.dim(f"and {number(count - _SHOWN)} smaller ones"))
    for edge in found.left_out:
        context.warn(
            f"{edge.kind} {edge.number} → {edge.target} ({edge.confidence:.2f}) is left out: its cluster would have"
            f" more than {arguments.bound} items"
        )
    return found
