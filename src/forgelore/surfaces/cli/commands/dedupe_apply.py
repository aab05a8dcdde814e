"""`forgelore dedupe apply RUN --yes`: carry out a plan."""

import argparse
from typing import TYPE_CHECKING

from forgelore.errors import Refused
from forgelore.surfaces.cli.indexing import stopping_on_interrupt
from forgelore.surfaces.cli.terminal import number
from forgelore.surfaces.present.dedupe import describe_reason

if TYPE_CHECKING:
    from forgelore.api import Applied, AppliedLine
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore dedupe apply 12 --yes",
    "forgelore dedupe apply 12 --yes --close-after 72    label and tell first; run it again after 72 hours",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=int, metavar="RUN", help="the number of the plan")
    parser.add_argument("--yes", action="store_true", help="really close; without it nothing is written")
    parser.add_argument(
        "--close-after", type=int, default=0, metavar="HOURS",
        help="label and comment now, close after that many hours unless somebody reacts",
    )  # fmt: skip
    parser.add_argument(
        "--unproven", action="store_true",
        help="apply although no audit has shown that at least 90%% of such closings are right",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="take over from a run that has gone quiet elsewhere")


def run(context: "Context", arguments: argparse.Namespace) -> "Applied":
    if not arguments.yes:
        raise Refused("nothing was written", hint=f"read the plan, then: forgelore dedupe apply {arguments.run} --yes")
    if arguments.unproven:
        context.warn("nobody has measured how often such closings are right: expect wrong ones, and people who object")
    with stopping_on_interrupt(context):
        applied = context.history.apply_closings(
            arguments.run, is_unproven=arguments.unproven, close_after=arguments.close_after, force=arguments.force,
            on_line=lambda line: _print_line(context, line),
        )  # fmt: skip
    for problem in applied.problems:
        context.warn(problem)
    done = ", ".join(f"{name} {number(count)}" for name, count in applied.counters.items()) or "nothing to close"
    context.print(f"run {applied.run}: {done}")
    if applied.counters.get("closed"):
        context.print(f"take it back with: forgelore dedupe rollback {applied.run} --yes")
    return applied


def _print_line(context: "Context", line: "AppliedLine") -> None:
    style = context.style
    if line.action == "closed":
        context.print(f"  {style.green('✓')} #{line.number} closed as a duplicate of #{line.target}")
    else:
        context.print(style.dim(f"  · #{line.number} stays open: {describe_reason(line.reason)}"))
