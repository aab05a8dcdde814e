"""`forgelore dedupe run`: candidates, judge, clusters and a plan, in one go."""

import argparse
import os
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.commands.dedupe_judge import add_judge_arguments
from forgelore.surfaces.cli.commands.dedupe_plan import write_plan
from forgelore.surfaces.cli.indexing import stopping_on_interrupt
from forgelore.surfaces.cli.progress import make_watcher
from forgelore.surfaces.cli.terminal import clean, number, table
from forgelore.surfaces.present.dedupe import describe_reason

if TYPE_CHECKING:
    from forgelore.api import DedupeChain
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore dedupe run acme/web",
    "forgelore dedupe run acme/web --kind issue --out plan.md     and the plan as a page to be read",
)
_SHOWN = 10
_KINDS = {"issue": "issues", "change": "changes"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="PROJECT", nargs="?", help="default: the clone's project, or the only one")
    parser.add_argument("--project", metavar="NAME", help="the same, as other commands have it")
    parser.add_argument("--kind", choices=("issue", "change"), help="only these items; default: both")
    parser.add_argument(
        "--workers", type=int, default=min(2, os.cpu_count() or 1), metavar="N", help="processes (default: up to 2)"
    )
    parser.add_argument(
        "--min-edge", type=float, default=0.85, metavar="C", help="least confidence of a decision (default %(default)s)"
    )
    parser.add_argument(
        "--min-close", type=float, default=0.9, metavar="C", help="... of a closing (default %(default)s)"
    )
    parser.add_argument(
        "--target-policy", choices=("canonical-only", "direct-fallback"), default="canonical-only",
        help="close onto what stays of the cluster, or else onto what the item itself repeats (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--statements", action="store_true", help='count what maintainers wrote ("duplicate of #5") and marks'
    )
    add_judge_arguments(parser)
    parser.add_argument("--budget", type=int, metavar="TOKENS", help="ask a model no more than this")
    parser.add_argument("--out", metavar="FILE", help="write the plan to a file: .json, or Markdown")


def run(context: "Context", arguments: argparse.Namespace) -> "DedupeChain":
    project = context.history.name_project(arguments.name or arguments.project)
    with stopping_on_interrupt(context), make_watcher(project or "", is_quiet=context.is_data) as watcher:
        chain = context.history.run_dedupe(
            project=project, kind=arguments.kind, min_edge=arguments.min_edge, min_close=arguments.min_close,
            target_policy=arguments.target_policy, trust_statements=arguments.statements, workers=arguments.workers,
            judge=arguments.judge, profile=arguments.profile, budget=arguments.budget, watcher=watcher,
        )  # fmt: skip
    if arguments.out:
        write_plan(arguments.out, chain.plan)
    _print_steps(context, chain)
    _print_clusters(context, chain)
    _print_plan(context, chain)
    _print_next(context, chain, arguments.out)
    return chain


def _print_steps(context: "Context", chain: "DedupeChain") -> None:
    for made, decided in zip(chain.candidates, chain.decisions, strict=True):
        name = _KINDS[made.kind]
        if not made.sources:
            continue
        compared = f"{number(made.made)} compared now" if made.made else "none has changed"
        context.print(
            f"{context.style.bold(name)}: {number(made.sources)} open, {compared};"
            f" {number(decided.accepted)} newly accepted as duplicates ({decided.judge} {decided.model})"
        )
        if made.missing_embeddings:
            context.warn(f"{number(made.missing_embeddings)} {name} have no vector of their own; run: forgelore embed")


def _print_clusters(context: "Context", chain: "DedupeChain") -> None:
    clusters, style = chain.clusters.clusters, context.style
    context.print("", f"{number(chain.clusters.edges)} accepted edges make {number(len(clusters))} clusters")
    rows = [[f"#{one.canonical}", one.kind, number(len(one.numbers)), clean(one.title)] for one in clusters[:_SHOWN]]
    context.print(*table(rows, grow=3, head=["stays", "kind", "items", "title"], style=style))
    _print_rest(context, len(clusters), "clusters")


def _print_plan(context: "Context", chain: "DedupeChain") -> None:
    plan, style = chain.plan, context.style
    closing = [line for line in plan.lines if not line.reason]
    kept = len(plan.lines) - len(closing)
    context.print("", f"plan {plan.run}: {number(len(closing))} would be closed, {number(kept)} stay open")
    rows = [
        [f"#{one.number}", f"#{one.target}", f"{one.confidence or 0:.2f}", clean(one.title)] for one in closing[:_SHOWN]
    ]
    context.print(*table(rows, grow=3, head=["close", "onto", "confidence", "title"], style=style))
    _print_rest(context, len(closing), "closings")
    for reason, count in plan.counters.items():
        if reason != "close":
            context.print(style.dim(f"  {number(count):>5}  {reason}: {describe_reason(reason)}"))


def _print_rest(context: "Context", count: int, what: str) -> None:
    if count > _SHOWN:
        context.print(context.style.dim(f"and {number(count - _SHOWN)} more {what}"))


def _print_next(context: "Context", chain: "DedupeChain", out: str | None) -> None:
    """Say what a maintainer does next: read, measure, apply."""
    plan = chain.plan
    if not plan.counters.get("close"):
        context.print(
            "", "there is nothing to close; see why above, or look at: forgelore dedupe report --html page.html"
        )
        return
    context.print("", context.style.bold("next"))
    read = f"read {out}" if out else "read the plan: forgelore dedupe report --html page.html"
    context.print(f"  1. {read}; forgelore dedupe reject '#12' '#7' takes a pair out (then run this again)")
    if chain.unproven:
        context.print(f"  2. measure the judge ({clean(chain.unproven.partition(': ')[2])}):")
        context.print("     forgelore dedupe audit --against history, or --against human")
    else:
        context.print("  2. the judge is measured, and was right often enough")
    context.print(f"  3. forgelore dedupe apply {plan.run} --yes --close-after 72")
    context.print(f"  4. should it be wrong: forgelore dedupe rollback {plan.run} --yes")
