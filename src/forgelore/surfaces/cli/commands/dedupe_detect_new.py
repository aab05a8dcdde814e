"""`forgelore dedupe detect-new REF`: is one item a duplicate, maybe one, or none? For workflows."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.commands.dedupe_judge import add_judge_arguments
from forgelore.surfaces.cli.terminal import clean, table

if TYPE_CHECKING:
    from forgelore.api import Detection
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore dedupe detect-new '#157'",
    "forgelore dedupe detect-new acme/web#12 --json    for a workflow: data.outcome",
    "forgelore dedupe detect-new '#157' --judge llm --profile strong",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="#12, !34, owner/repo#12 or a page's URL")
    parser.add_argument("--project", metavar="NAME", help="the project of a short REF")
    parser.add_argument("--k", type=int, default=8, metavar="N", help="candidates (default %(default)s)")
    for name, value, what in (
        ("--min-score", 0.75, "least similarity of a candidate"), ("--maybe", 0.85, "confidence of a maybe"),
        ("--duplicate", 0.92, "confidence of a duplicate"), ("--support", 0.9, "similarity of a duplicate"),
    ):  # fmt: skip
        parser.add_argument(name, type=float, default=value, metavar="N", help=f"{what} (default %(default)s)")
    parser.add_argument(
        "--source", choices=("raw", "intent"), default="raw",
        help="what chooses who it is compared with: its text, or its card (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--statements", action="store_true", help='count what maintainers wrote ("duplicate of #5") and marks'
    )
    add_judge_arguments(parser)


def run(context: "Context", arguments: argparse.Namespace) -> "Detection":
    found = context.history.detect_new(
        arguments.ref, project=arguments.project, k=arguments.k, min_score=arguments.min_score, maybe=arguments.maybe,
        duplicate=arguments.duplicate, support=arguments.support, source=arguments.source,
        trust_statements=arguments.statements, judge=arguments.judge, profile=arguments.profile,
    )  # fmt: skip
    for warning in found.warnings:
        context.warn(warning)
    _print(context, found)
    return found


def _print(context: "Context", found: "Detection") -> None:
    of = f" of #{found.target}" if found.target else ""
    sure = f", confidence {found.confidence:.2f}" if found.confidence and found.target else ""
    why = f" ({found.reason})" if found.reason else ""
    context.print(f"{context.style.bold(found.outcome)}{of}{sure}{why}")
    if found.reasoning:
        context.print(f"  {clean(found.reasoning)}")
    rows = [
        [f"#{one.number}", one.state, f"{one.similarity:.2f}", one.sameness.replace("_", " "), clean(one.title)]
        for one in found.candidates
    ]
    if rows:
        head = ["item", "state", "similarity", "", "title"]
        context.print("", *table(rows, grow=4, head=head, style=context.style))
