"""`forgelore dedupe judge`: decide of every open item whether it repeats one of its candidates."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.indexing import stopping_on_interrupt
from forgelore.surfaces.cli.progress import make_watcher
from forgelore.surfaces.cli.terminal import number

if TYPE_CHECKING:
    from forgelore.api import DecisionsMade
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore dedupe judge",
    "forgelore dedupe judge --min-edge 0.9 --rejudge   decide anew, and accept less",
    "forgelore dedupe judge --statements               count what maintainers wrote, too",
)
_NAMES = {"issue": "issues", "change": "changes"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", metavar="NAME", help="one project; default: the clone's, or the only one")
    parser.add_argument("--kind", choices=("issue", "change"), help="only these items; default: both")
    parser.add_argument(
        "--min-edge", type=float, default=0.85, metavar="C", help="least confidence (default %(default)s)"
    )
    parser.add_argument("--rejudge", action="store_true", help="decide anew, also where an edge was accepted")
    parser.add_argument("--allow-stale", action="store_true", help="use candidates of items that were edited since")
    parser.add_argument(
        "--statements", action="store_true", help='count what maintainers wrote ("duplicate of #5") and marks'
    )


def run(context: "Context", arguments: argparse.Namespace) -> "list[DecisionsMade]":
    project = arguments.project or context.history.name_project() or ""
    with stopping_on_interrupt(context), make_watcher(project, is_quiet=context.is_data) as watcher:
        found = context.history.judge_candidates(
            project=arguments.project, kind=arguments.kind, min_edge=arguments.min_edge, rejudge=arguments.rejudge,
            allow_stale=arguments.allow_stale, trust_statements=arguments.statements, watcher=watcher,
        )  # fmt: skip
    for one in found:
        _print(context, one)
    return found


def _print(context: "Context", one: "DecisionsMade") -> None:
    style, name = context.style, _NAMES[one.kind]
    if not one.sets:
        context.print(f"no open {name} have candidates; run: forgelore dedupe candidates")
        return
    counts = (
        (one.accepted, "accepted"), (one.rejected, "rejected"), (one.skipped, "skipped"),
        (one.decided_before, "decided before"),
    )  # fmt: skip
    mark = style.yellow("!") if one.is_stopped else style.green("✓")
    parts = ", ".join(f"{number(count)} {what}" for count, what in counts if count)
    context.print(f"{mark} {number(one.sets)} {name} with candidates: {parts}")
    for reason, count in sorted(one.reasons.items(), key=lambda each: -each[1]):
        context.print(f"    {reason} {number(count)}")
