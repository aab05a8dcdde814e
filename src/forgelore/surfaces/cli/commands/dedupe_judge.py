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
    "forgelore dedupe judge --judge llm --profile cheap --workers 4 --budget 500000",
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
        "--source", choices=("raw", "intent"), help="only candidates that texts chose, or cards; default: the latest",
    )  # fmt: skip
    parser.add_argument(
        "--statements", action="store_true", help='count what maintainers wrote ("duplicate of #5") and marks'
    )
    add_judge_arguments(parser)
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="questions at once, to a model (%(default)s)"
    )
    parser.add_argument(
        "--budget", type=int, metavar="TOKENS", help="ask a model no more than this; a later run goes on"
    )


def add_judge_arguments(parser: argparse.ArgumentParser) -> None:
    """Who judges: also for detect-new."""
    parser.add_argument("--judge", choices=("builtin", "llm"), default="builtin", help="rules, or the model of [llm]")
    parser.add_argument("--profile", choices=("default", "cheap", "strong"), help="of the model, in the settings")


def run(context: "Context", arguments: argparse.Namespace) -> "list[DecisionsMade]":
    project = arguments.project or context.history.name_project() or ""
    with stopping_on_interrupt(context), make_watcher(project, is_quiet=context.is_data) as watcher:
        found = context.history.judge_candidates(
            project=arguments.project, kind=arguments.kind, min_edge=arguments.min_edge, rejudge=arguments.rejudge,
            allow_stale=arguments.allow_stale, source=arguments.source, trust_statements=arguments.statements,
            judge=arguments.judge, profile=arguments.profile, workers=arguments.workers, budget=arguments.budget,
            watcher=watcher,
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
    if one.prompt_tokens or one.answer_tokens:
        cost = f", cost {one.cost:,.4f}" if one.cost else ""
        context.print(f"    {number(one.prompt_tokens)} tokens asked, {number(one.answer_tokens)} answered{cost}")
    for reason, count in sorted(one.reasons.items(), key=lambda each: -each[1]):
        context.print(f"    {reason} {number(count)}")
