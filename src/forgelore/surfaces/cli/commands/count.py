"""`forgelore count KIND`."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.filtering import add_filters, add_query, filter_examples, print_warnings, read_filters
from forgelore.surfaces.cli.terminal import number

if TYPE_CHECKING:
    from forgelore.surfaces.cli.command import Context
    from forgelore.surfaces.present.counts import CountData

EXAMPLES = (
    "forgelore count issues",
    "forgelore count issues --label bug --after 2026-01-01",
    "forgelore count issues 'label:bug no:assignee is:open'",
    "forgelore count notes --author @ana --project acme/web",
    "forgelore count discussions              of either kind: items, or threads below items",
    "forgelore count items --json",
    *filter_examples("forgelore count issues"),
)
_WORDS = {"people": "user notes", "system": "system notes"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="issues, changes, discussions, releases, items, threads or notes")
    add_query(parser)
    add_filters(parser, with_type=False)


def run(context: "Context", arguments: argparse.Namespace) -> "CountData":
    from forgelore.surfaces.present.counts import CountData

    count = context.history.count(arguments.kind, " ".join(arguments.query), **read_filters(context, arguments))
    print_warnings(context, count.warnings)
    with_parts = len(count.by) > 1 or "threads" in count.by  # which of the two kinds of discussions they are
    parts = (
        ", ".join(f"{number(rows)} {_WORDS.get(name, name)}" for name, rows in count.by.items()) if with_parts else ""
    )
    total = context.style.bold(number(count.total))
    context.print(f"{count.kind.capitalize()}: {total}" + (f"  ({parts})" if parts else ""))
    return CountData(count.kind, count.total, count.by)
