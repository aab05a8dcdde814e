"""Closing duplicates: `dedupe canonicalize`, `plan`, `apply` and `rollback`, and `runs`, what each step did."""

import argparse
from typing import TYPE_CHECKING

from forgelore.errors import Refused
from forgelore.surfaces.cli.command import Command, Context, add_project_option, write_file
from forgelore.surfaces.cli.filtering import read_limit
from forgelore.surfaces.cli.progress import stopping_on_interrupt
from forgelore.surfaces.present.dedupe import describe_clusters, describe_reason, plan_file
from forgelore.surfaces.present.text import ago, clean, counted_noun, number, table

if TYPE_CHECKING:
    from forgelore.api import (
        Applied,
        AppliedLine,
        Canonicalized,
        ClosingPlan,
        DedupeRun,
        Linked,
        LinkLine,
        RolledBack,
        RolledBackItem,
    )

_SHOWN_CLUSTERS = 20
_MAX_RUNS = 1000


def add_canonicalize_arguments(parser: argparse.ArgumentParser) -> None:
    add_project_option(parser)
    parser.add_argument(
        "--bound", type=int, default=40, metavar="N", help="maximum size of a cluster (default %(default)s)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the clusters without saving them")


def run_canonicalize(context: Context, arguments: argparse.Namespace) -> "Canonicalized":
    found = context.history.dedupe.cluster(project=arguments.project, bound=arguments.bound, dry_run=arguments.dry_run)
    count = len(found.clusters)
    context.print(describe_clusters(found.edges, count))
    rows = [
        [f"#{one.canonical}", one.kind, number(len(one.numbers)), one.chosen_by, clean(one.title)]
        for one in found.clusters[:_SHOWN_CLUSTERS]
    ]
    context.print(*table(rows, grow=4, head=["stays", "kind", "items", "because of", "title"], style=context.style))
    if count > _SHOWN_CLUSTERS:
        context.print(context.style.dim(f"and {number(count - _SHOWN_CLUSTERS)} smaller ones"))
    for edge in found.left_out:
        context.warn(
            f"{edge.kind} {edge.number} → {edge.target} ({edge.confidence:.2f}) is left out: its cluster would have"
            f" more than {arguments.bound} items"
        )
    return found


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    add_project_option(parser)
    parser.add_argument("--type", action="append", metavar="KIND", help="issues or changes; default: both")
    parser.add_argument(
        "--target-policy", choices=("canonical-only", "direct-fallback"), default="canonical-only",
        help="close onto the item the cluster keeps, or else onto what the item itself repeats (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--min-close", type=float, default=0.9, metavar="N", help="the minimum confidence (default %(default)s)"
    )
    parser.add_argument("--out", metavar="FILE", help="write the plan to a file: .json, or Markdown")
    parser.add_argument("--dry-run", action="store_true", help="show the plan without saving it")


def run_plan(context: Context, arguments: argparse.Namespace) -> "ClosingPlan":
    plan = context.history.dedupe.plan(
        project=arguments.project, target_policy=arguments.target_policy, min_close=arguments.min_close,
        kinds=arguments.type or ("issue", "change"), dry_run=arguments.dry_run,
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
    write_file(path, text, hint="the plan itself is kept; name another file with --out")


def add_apply_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=int, metavar="RUN", help="the number of the plan")
    parser.add_argument("--yes", action="store_true", help="really close; without it nothing is changed")
    parser.add_argument(
        "--close-after", type=int, default=0, metavar="HOURS",
        help="label and comment now, close after that many hours unless somebody reacts",
    )  # fmt: skip
    parser.add_argument(
        "--unproven", action="store_true",
        help="apply although no audit has shown that at least 80%% of such closings are right",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="take over from a run elsewhere that stopped responding")


def run_apply(context: Context, arguments: argparse.Namespace) -> "Applied":
    if not arguments.yes:
        raise Refused("nothing was written", hint=f"read the plan, then: forgelore dedupe apply {arguments.run} --yes")
    if arguments.unproven:
        context.warn("no audit shows how often such closings are right: expect mistakes and objections")
    with stopping_on_interrupt(context):
        applied = context.history.dedupe.apply(
            arguments.run, unproven=arguments.unproven, close_after=arguments.close_after, force=arguments.force,
            on_line=lambda line: _print_applied_line(context, line),
        )  # fmt: skip
    context.warn(*applied.problems)
    done = ", ".join(f"{name} {number(count)}" for name, count in applied.counters.items()) or "nothing to close"
    context.print(f"run {applied.run}: {done}")
    if applied.counters.get("closed"):
        context.print(f"undo it with: forgelore dedupe rollback {applied.run} --yes")
    return applied


def _print_applied_line(context: Context, line: "AppliedLine") -> None:
    style = context.style
    if line.reason == "already_closed":
        context.print(style.dim(f"  ✓ #{line.number} was closed before, as a duplicate of #{line.target}"))
    elif line.action == "closed":
        context.print(f"  {style.green('✓')} #{line.number} closed as a duplicate of #{line.target}")
    else:
        context.print(style.dim(f"  · #{line.number} stays open: {describe_reason(line.reason)}"))


def add_link_arguments(parser: argparse.ArgumentParser) -> None:
    add_project_option(parser)
    parser.add_argument("--yes", action="store_true", help="really comment; without it the links are only listed")
    parser.add_argument("--force", action="store_true", help="take over from a run elsewhere that stopped responding")


def run_link(context: Context, arguments: argparse.Namespace) -> "Linked":
    dedupe, project = context.history.dedupe, arguments.project
    if not arguments.yes:
        found = dedupe.link(project=project)
        for line in found.lines:
            context.print(f"#{line.number} is related to {_describe_targets(line)}: {clean(line.title)}")
        if found.lines:
            context.print(f"{counted_noun(len(found.lines), 'comment')}; post them: forgelore dedupe link --yes")
        else:
            context.print("Nothing to link: no pair that people called related is left.")
        return found
    with stopping_on_interrupt(context):
        done = dedupe.link(
            project=project, dry_run=False, force=arguments.force, on_line=lambda line: _print_link(context, line)
        )
    context.warn(*done.problems)
    linked = sum(line.action == "linked" for line in done.lines)
    context.print(f"run {done.run}: {counted_noun(linked, 'comment')} posted")
    if linked:
        context.print(f"undo it with: forgelore dedupe rollback {done.run} --yes")
    return done


def _describe_targets(line: "LinkLine") -> str:
    return " and ".join(f"#{target}" for target in line.targets)


def _print_link(context: Context, line: "LinkLine") -> None:
    if line.action == "linked":
        context.print(f"  {context.style.green('✓')} #{line.number} names {_describe_targets(line)}")
    else:
        context.print(context.style.dim(f"  · #{line.number}: {describe_reason(line.reason)}"))


def add_rollback_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=int, metavar="RUN", help="the number of the apply, of its plan, or of a link run")
    parser.add_argument("--yes", action="store_true", help="really reopen; without it nothing is changed")
    parser.add_argument("--force", action="store_true", help="take over from a run elsewhere that stopped responding")


def run_rollback(context: Context, arguments: argparse.Namespace) -> "RolledBack":
    if not arguments.yes:
        raise Refused("nothing was written", hint=f"run: forgelore dedupe rollback {arguments.run} --yes")
    with stopping_on_interrupt(context):
        done = context.history.dedupe.roll_back(
            arguments.run, force=arguments.force, on_item=lambda item: _print_restored_item(context, item)
        )
    remains = sorted({event for item in done.items for event in item.remains})
    context.print(f"run {done.run}: {number(done.counters['restored'])} items restored")
    if remains:
        context.print(context.style.dim(f"in their timelines remain: {', '.join(remains)}"))
    return done


def _print_restored_item(context: Context, item: "RolledBackItem") -> None:
    if item.problem:
        context.warn(f"{item.kind} {item.number}: {item.problem}")
    if item.restored or not item.problem:
        context.print(f"  {context.style.green('✓')} #{item.number}: {', '.join(item.restored) or 'as it was'}")


def add_runs_arguments(parser: argparse.ArgumentParser) -> None:
    add_project_option(parser)
    parser.add_argument("--step", metavar="STEP", help="only the runs of one step: plan, apply, …")
    parser.add_argument(
        "--limit", type=int, default=20, metavar="N", help=f"how many, 1 to {_MAX_RUNS} (default %(default)s)"
    )


def run_runs(context: Context, arguments: argparse.Namespace) -> "list[DedupeRun]":
    limit = read_limit(context, arguments, most=_MAX_RUNS)
    found = context.history.dedupe.list_runs(project=arguments.project, step=arguments.step, limit=limit)
    if not found:
        context.print("no runs yet")
    now = context.history.now_ms()
    rows = [
        [str(one.id), one.step, one.status, ago(one.began_at, now), _describe_counters(one.counters)] for one in found
    ]
    context.print(*table(rows, grow=4, head=["run", "step", "status", "began", "did"], style=context.style))
    return found


def _describe_counters(counters: dict[str, int]) -> str:
    """Return counters in words: `planned 12, skipped 3`."""
    return ", ".join(f"{name} {number(count)}" for name, count in counters.items())


COMMANDS = {
    "dedupe canonicalize": Command(
        add_canonicalize_arguments,
        run_canonicalize,
        ("forgelore dedupe canonicalize", "forgelore dedupe canonicalize --dry-run    show them, and keep nothing"),
    ),
    "dedupe plan": Command(
        add_plan_arguments,
        run_plan,
        (
            "forgelore dedupe plan --out plan.md           to be read, by people",
            "forgelore dedupe plan --dry-run --min-close 0.95",
        ),
    ),
    "dedupe apply": Command(
        add_apply_arguments,
        run_apply,
        (
            "forgelore dedupe apply 12 --yes",
            "forgelore dedupe apply 12 --yes --close-after 72    label and comment first; run it again after 72 hours",
        ),
    ),
    "dedupe link": Command(
        add_link_arguments,
        run_link,
        ("forgelore dedupe link              what would be linked", "forgelore dedupe link --yes"),
    ),
    "dedupe rollback": Command(add_rollback_arguments, run_rollback, ("forgelore dedupe rollback 13 --yes",)),
    "dedupe runs": Command(
        add_runs_arguments,
        run_runs,
        ("forgelore dedupe runs", "forgelore dedupe runs --step plan --limit 3"),
    ),
}
