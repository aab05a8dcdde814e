"""`forgelore list KIND`."""

import argparse
from typing import Any

from forgelore.errors import InvalidValue
from forgelore.surfaces.cli.filtering import add_filters, build_row_filters
from forgelore.surfaces.cli.terminal import clean, day, fit, number, table

EXAMPLES = (
    "forgelore list issues --state open",
    "forgelore list prs --author @ana --limit 10",
    "forgelore list issues --label bug --label regression --json",
    "forgelore list prs --path src/ --state open --state merged --after '3 months ago'",
    "forgelore list releases --project acme/web",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="issues, changes (prs, mrs), discussions or releases")
    parser.add_argument(
        "--sort",
        choices=("updated", "created", "number"),
        default="updated",
        help="newest first by this (default: updated)",
    )
    parser.add_argument("--limit", metavar="N", type=int, default=30, help="how many (default: 30)")
    add_filters(parser, with_type=False)


def run(context: Any, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    from forgelore.flows.browse.items import list_items, parse_kind

    if not 1 <= arguments.limit <= 1_000_000:
        raise InvalidValue(f"--limit {arguments.limit} is out of range", hint="use 1 to 1,000,000")
    kind = parse_kind(arguments.kind)
    project = context.app.find_project(arguments.project)
    filters = build_row_filters(context, arguments, project, (kind,))
    items = list_items(context.app.store(), filters, sort=arguments.sort, limit=arguments.limit)
    if not items:
        context.print("nothing matches" if project is None else f"nothing in {project.name} matches")
    many = len({item["project"] for item in items}) > 1
    for line in table([_row(context, item, with_project=many) for item in items], grow=1):
        context.print(line)
    if len(items) == arguments.limit:
        context.print(context.style.dim(f"the first {number(len(items))}; more with --limit"))
    return items


def _row(context: Any, item: dict[str, Any], *, with_project: bool) -> list[str]:
    style = context.style
    labels = fit(", ".join(clean(label) for label in item["labels"]), 24)
    author = f"@{clean(item['author'])}" if item["author"] else ""
    row = [
        style.bold(clean(item["ref"])),
        clean(item["title"]),
        style.state(item["state"]),
        style.cyan(author),
        day(item["updated_at"] or item["created_at"]),
        style.dim(labels),
    ]
    return [*row, style.dim(item["project"])] if with_project else row
