"""`forgelore count KIND`."""

import argparse
from typing import Any

from forgelore.surfaces.cli.terminal import number

EXAMPLES = ("forgelore count issues", "forgelore count notes --project acme/web", "forgelore count items --json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="issues, changes, discussions, releases, items, threads or notes")
    parser.add_argument("--project", metavar="NAME", help="one project; default: the clone's, or all")


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from forgelore.flows.read import COUNTABLE, count_rows, parse_kind

    what = (
        arguments.kind
        if arguments.kind in COUNTABLE
        else {"issue": "issues", "change": "changes"}.get(parse_kind(arguments.kind), arguments.kind)
    )
    counts = count_rows(context.app.store(), what, context.app.find_project(arguments.project))
    total = sum(counts.values())
    parts = ", ".join(f"{number(count)} {name}" for name, count in counts.items()) if len(counts) > 1 else ""
    context.print(f"{what.capitalize()}: {context.style.bold(number(total))}" + (f"  ({parts})" if parts else ""))
    return {"kind": what, "total": total, "by": counts}
