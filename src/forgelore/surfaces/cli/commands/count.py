"""`forgelore count KIND`."""

import argparse
from typing import Any

from forgelore.surfaces.cli.filtering import add_filters, build_row_filters
from forgelore.surfaces.cli.terminal import number

EXAMPLES = (
    "forgelore count issues",
    "forgelore count issues --label bug --after 2026-01-01",
    "forgelore count notes --author @ana --project acme/web",
    "forgelore count items --json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="issues, changes, discussions, releases, items, threads or notes")
    add_filters(parser, with_type=False)


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from forgelore.flows.browse.items import COUNTABLE, count_rows, parse_kind

    what = (
        arguments.kind
        if arguments.kind in COUNTABLE
        else {"issue": "issues", "change": "changes"}.get(parse_kind(arguments.kind), arguments.kind)
    )
    kinds = () if what in ("items", "threads", "notes") else (parse_kind(what),)
    filters = build_row_filters(context, arguments, context.app.find_project(arguments.project), kinds)
    counts = count_rows(context.app.store(), what, filters)
    total = sum(counts.values())
    parts = ", ".join(f"{number(count)} {name}" for name, count in counts.items()) if len(counts) > 1 else ""
    context.print(f"{what.capitalize()}: {context.style.bold(number(total))}" + (f"  ({parts})" if parts else ""))
    return {"kind": what, "total": total, "by": counts}
