"""`forgelore dedupe plan`: what would be closed, onto what, and why the rest stays open."""

import argparse
from typing import TYPE_CHECKING

from forgelore.errors import StoreError
from forgelore.surfaces.cli.terminal import clean, number, table
from forgelore.surfaces.present.dedupe import describe_reason, plan_file

if TYPE_CHECKING:
    from forgelore.api import ClosingPlan
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore dedupe plan --out plan.md           to be read, by people",
    "forgelore dedupe plan --dry-run --min-close 0.95",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", metavar="NAME", help="one project; default: the clone's, or the only one")
    parser.add_argument("--type", action="append", metavar="KIND", help="issues or changes; default: both")
    parser.add_argument(
        "--target-policy", choices=("canonical-only", "direct-fallback"), default="canonical-only",
        help="close onto what stays of the cluster, or else onto what the item itself repeats (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--min-close", type=float, default=0.9, metavar="N", help="the least confidence (default %(default)s)"
    )
    parser.add_argument("--out", metavar="FILE", help="write the plan to a file: .json, or Markdown")
    parser.add_argument("--dry-run", action="store_true", help="show the plan; keep nothing")


def run(context: "Context", arguments: argparse.Namespace) -> "ClosingPlan":
    plan = context.history.plan_closings(
        project=arguments.project, target_policy=arguments.target_policy, min_close=arguments.min_close,
        kinds=arguments.type or ("issue", "change"), is_dry=arguments.dry_run,
    )  # fmt: skip
    if arguments.out:
        write_plan(arguments.out, plan)
    closing = [line for line in plan.lines if not line.reason]
    rows = [[f"#{one.number}", f"#{one.target}", f"{one.confidence or 0:.2f}", clean(one.title)] for one in closing]
    context.print(*table(rows, grow=3, head=["close", "onto", "confidence", "title"], style=context.style))
    context.print(f"{number(len(closing))} would be closed, {number(len(plan.lines) - len(closing))} stay open")
    for reason, count in plan.counters.items():
        if reason != "close":
            context.print(context.style.dim(f"  {number(count):>5}  {reason}: {describe_reason(reason)}"))
    if plan.run is not None and closing:
        context.print(f"read it, then: forgelore dedupe apply {plan.run} --yes")
    return plan


def write_plan(path: str, plan: "ClosingPlan") -> None:
    """Write a plan to a file to be read: JSON, or Markdown."""
    text = plan_file(plan, is_json=path.endswith(".json"))
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        hint = "the plan itself is kept; name another file with --out"
        raise StoreError(f"{path} cannot be written: {error.strerror}", hint=hint) from error
