"""`forgelore list KIND`."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.filtering import (
    add_filters,
    add_output,
    add_query,
    filter_examples,
    print_warnings,
    read_filters,
    read_limit,
)
from forgelore.surfaces.cli.terminal import clean, fit, number, table
from forgelore.surfaces.present.text import day

if TYPE_CHECKING:
    from forgelore.api import ListedItem
    from forgelore.surfaces.cli.command import Context

_LABELS = 24
_MOST = 1_000_000
_UNBOUNDED = 100_000  # columns where nobody said how wide: programs read, and want titles as they are
EXAMPLES = (
    "forgelore list issues --state open",
    "forgelore list issues 'label:bug -author:ana no:milestone created:>2026-01 sort:comments'",
    "forgelore list prs --author @ana --limit 10",
    "forgelore list issues --label bug --label regression --json",
    "forgelore list prs --path src/ --state open --state merged --after '3 months ago'",
    "forgelore list releases --project acme/web --sort created",
    "forgelore list issues --limit 1000 --format tsv | cut -f 1,4",
    *filter_examples("forgelore list issues"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="issues, changes (prs, mrs), discussions or releases")
    add_query(parser)
    parser.add_argument(
        "--sort",
        choices=("updated", "created", "number", "comments"),
        default="updated",
        help="newest or most first by this (default: updated)",
    )
    parser.add_argument("--limit", metavar="N", type=int, default=30, help="how many (default: 30)")
    add_output(parser, with_marks=False)
    add_filters(parser, with_type=False)


def run(context: "Context", arguments: argparse.Namespace) -> "list[ListedItem]":
    filters = read_filters(context, arguments)
    query = " ".join(arguments.query)
    limit = read_limit(context, arguments, most=_MOST)
    items = context.history.list_items(arguments.kind, query, sort=arguments.sort, limit=limit, **filters)
    print_warnings(context, items.warnings)
    if arguments.rows:
        context.print_rows(arguments.rows, items)
        return items
    _print(context, items, filters.get("project"))
    if len(items) == limit:
        context.print(context.style.dim(f"the first {number(len(items))}; more with --limit"))
    return items


def _print(context: "Context", items: "list[ListedItem]", project: str | None) -> None:
    if not items:
        context.print("nothing matches" if project is None else f"nothing in {project} matches")
    many = len({item.project for item in items}) > 1
    rows = [_row(context, item, with_project=many) for item in items]
    for line in table(rows, grow=1, spare=(3, 5), columns=None if context.is_fitted else _UNBOUNDED):
        context.print(line)


def _row(context: "Context", item: "ListedItem", *, with_project: bool) -> list[str]:
    style = context.style
    labels = ", ".join(clean(label) for label in item.labels)
    author = f"@{clean(item.author)}" if item.author else ""
    row = [
        style.bold(clean(item.ref)),
        clean(item.title),
        style.state(item.state),
        style.cyan(author),
        day(item.updated_at or item.created_at),
        style.dim(fit(labels, _LABELS) if context.is_fitted else labels),
    ]
    return [*row, style.dim(item.project)] if with_project else row
