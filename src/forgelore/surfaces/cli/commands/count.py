"""`forgelore count KIND`."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.filtering import add_filters, filter_examples, read_filters
from forgelore.surfaces.cli.terminal import number

if TYPE_CHECKING:
    from forgelore.api import RowCount
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore count issues",
    "forgelore count issues --label bug --after 2026-01-01",
    "forgelore count notes --author @ana --project acme/web",
    "forgelore count items --json",
    *filter_examples("forgelore count issues"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="issues, changes, discussions, releases, items, threads or notes")
    add_filters(parser, with_type=False)


def run(context: "Context", arguments: argparse.Namespace) -> "RowCount":
    count = context.history.count(arguments.kind, **read_filters(context, arguments))
    parts = ", ".join(f"{number(rows)} {name}" for name, rows in count.by.items()) if len(count.by) > 1 else ""
    total = context.style.bold(number(count.total))
    context.print(f"{count.kind.capitalize()}: {total}" + (f"  ({parts})" if parts else ""))
    return count
