"""`forgelore list KIND`."""

import argparse
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from forgelore.surfaces.cli.filtering import (
    add_filters,
    add_output,
    add_query,
    filter_examples,
    print_warnings,
    read_filters,
    read_limit,
)
from forgelore.surfaces.cli.terminal import cells, clean, fit, number, table, width
from forgelore.surfaces.present.text import day

if TYPE_CHECKING:
    from forgelore.api import ListedItem, ListedItems
    from forgelore.surfaces.cli.command import Context

_LABELS = 24
_MOST = 1_000_000
_UNBOUNDED = 100_000  # columns where nobody said how wide: programs read, and want titles as they are
EXAMPLES = (
    "forgelore list issues --state open",
    "forgelore list issues 'label:bug -author:ana no:milestone created:>2026-01 sort:comments'",
    "forgelore list prs --author @ana --limit 10",
    "forgelore list prs -L 10 -s all author:ana       the same, as in gh",
    "forgelore list issues --label bug --label regression --json",
    "forgelore list prs --path src/ --state open --state merged --after '3 months ago'",
    "forgelore list discussions --sort comments      of either kind: items, or threads below items",
    "forgelore list releases --project acme/web --sort created",
    "forgelore list issues --limit 1000 --format tsv | cut -f 1,4",
    *filter_examples("forgelore list issues"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="issues, changes (prs, mrs), discussions, releases or items")
    add_query(parser)
    parser.add_argument(
        "--sort",
        choices=("updated", "created", "number", "comments"),
        default="updated",
        help="newest or most first by this (default: updated)",
    )
    parser.add_argument("--limit", "-L", metavar="N", type=int, default=30, help="how many (default: 30)")
    add_output(parser, with_marks=False)
    add_filters(parser, with_type=False)


def run(context: "Context", arguments: argparse.Namespace) -> "list[ListedItem]":
    filters = read_filters(context, arguments)
    query = " ".join(arguments.query)
    limit = read_limit(context, arguments, most=_MOST)
    ask = context.history.items if arguments.kind == "items" else partial(context.history.list_items, arguments.kind)
    items = ask(query, sort=arguments.sort, limit=limit, **filters)
    print_warnings(context, items.warnings)
    if arguments.rows:
        context.print_rows(arguments.rows, items)
        return items
    _print(context, items, filters.get("project"))
    if len(items) == limit:
        context.print(context.style.dim(f"the first {number(len(items))}; more with --limit"))
    return items


def _print(context: "Context", items: "ListedItems", project: str | None) -> None:
    if not items:
        context.print("nothing matches" if project is None else f"nothing in {project} matches")
    given = _Columns(
        kind=len({item.kind for item in items}) > 1,
        branches=any(item.source_branch or item.target_branch for item in items),
        created=items.order == "created",
    )
    rows = [_row(context, item, given) for item in items]
    spare = (3 + given.kind, 5 + given.kind + given.branches)  # authors and labels
    for line in table(rows, grow=1 + given.kind, spare=spare, columns=None if context.is_fitted else _UNBOUNDED):
        context.print(line)


class _Columns(NamedTuple):
    """Columns that some lists have: where they would tell rows apart, or where there is something in them."""

    kind: bool
    branches: bool
    created: bool  # the date that the list is sorted by; else that of the last update


def _row(context: "Context", item: "ListedItem", given: _Columns) -> list[str]:
    style = context.style
    labels = ", ".join(clean(label) for label in item.labels)
    author = f"@{clean(item.author)}" if item.author else ""
    return [
        style.bold(clean(item.ref)),
        *([item.kind] if given.kind else []),
        clean(item.title),
        style.state(item.state),
        style.cyan(author),
        day(item.created_at if given.created else item.updated_at or item.created_at),
        *([_branches(item, width() // 4 if context.is_fitted else _UNBOUNDED)] if given.branches else []),
        style.dim(fit(labels, _LABELS) if context.is_fitted else labels),
    ]


def _branches(item: "ListedItem", columns: int) -> str:
    """Return `feature → main`: of both names the first is the one that may be cut."""
    source, target = clean(item.source_branch), clean(item.target_branch)
    if not source or not target:
        return fit(source or target, columns)
    target = fit(target, columns // 2)
    return f"{fit(source, max(4, columns - cells(target) - 3))} → {target}"
