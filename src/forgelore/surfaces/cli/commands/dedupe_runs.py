"""`forgelore dedupe runs`: what every step of deduplication did."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.filtering import read_limit
from forgelore.surfaces.cli.terminal import number, table
from forgelore.surfaces.present.text import ago

if TYPE_CHECKING:
    from forgelore.api import DedupeRun
    from forgelore.surfaces.cli.command import Context

_MOST = 1000
EXAMPLES = ("forgelore dedupe runs", "forgelore dedupe runs --step plan --limit 3")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", metavar="NAME", help="one project; default: the clone's, or the only one")
    parser.add_argument("--step", metavar="STEP", help="only the runs of one step: plan, apply, …")
    parser.add_argument(
        "--limit", type=int, default=20, metavar="N", help=f"how many, 1 to {_MOST} (default %(default)s)"
    )


def run(context: "Context", arguments: argparse.Namespace) -> "list[DedupeRun]":
    limit = read_limit(context, arguments, most=_MOST)
    found = context.history.list_dedupe_runs(project=arguments.project, step=arguments.step, limit=limit)
    if not found:
        context.print("no runs yet")
    now = context.history.now_ms()
    rows = [[str(one.id), one.step, one.status, ago(one.began_at, now), counted(one.counters)] for one in found]
    context.print(*table(rows, grow=4, head=["run", "step", "status", "began", "did"], style=context.style))
    return found


def counted(counters: dict[str, int]) -> str:
    """Return counters in words: `planned 12, skipped 3`."""
    return ", ".join(f"{name} {number(count)}" for name, count in counters.items())
