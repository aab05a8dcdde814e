"""`forgelore sync-status`."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.terminal import clean, number
from forgelore.surfaces.present.text import ago

if TYPE_CHECKING:
    from forgelore.api import SyncRun, SyncStatus
    from forgelore.surfaces.cli.command import Context

EXAMPLES = ("forgelore sync-status", "forgelore sync-status --project acme/web --json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", metavar="NAME", help="one project; default: all")


def run(context: "Context", arguments: argparse.Namespace) -> "list[SyncStatus]":
    found = context.history.status(arguments.project)
    if not found:
        context.print("no projects yet; fetch one with: forgelore sync owner/repo")
    for status in found:
        _print_status(context, status, context.history.now_ms())
    return found


def _print_status(context: "Context", status: "SyncStatus", now: int) -> None:
    style = context.style
    counts = ", ".join(f"{number(count)} {kind}s" for kind, count in status.items.items()) or "empty"
    context.print(f"{style.bold(status.project)}  {counts}, {number(status.notes)} notes")
    if holder := status.locked_by:
        context.print(f"  {style.yellow('a sync is running')} (process {holder.pid} on {holder.machine})")
    for one in status.runs:
        _print_run(context, one, now)
    for cursor in status.cursors:
        if cursor.updated_at:
            unfinished = style.yellow(" (unfinished)") if not cursor.is_complete else ""
            context.print(style.dim(f"    {cursor.resource:<16} up to {ago(cursor.updated_at, now)}") + unfinished)
    for kind, job in status.jobs.items():
        context.print(f"  {number(job.waiting)} {kind} waiting, {number(job.failing)} failing")
    for kind, what in (("document", "items wait to be indexed"), ("embed", "documents wait for vectors")):
        if kind in status.index:
            job = status.index[kind]
            failing = f", {number(job.failing)} failing" if job.failing else ""
            context.print(style.dim(f"  {number(job.waiting)} {what}") + failing)
    for error in status.errors:
        turn = error.next_attempt_at
        context.print(
            f"    {error.job}: {clean(error.error)} ({error.attempts} attempts, next"
            f" {'with the next sync' if turn is None else ago(turn, now)})"
        )


def _print_run(context: "Context", run: "SyncRun", now: int) -> None:
    style = context.style
    mark = {"succeeded": style.green("✓"), "failed": style.red("✗"), "running": style.yellow("…")}.get(
        run.status, style.yellow("!")
    )
    error = f"  {clean(run.error)}" if run.error else ""
    context.print(
        f"  {mark} {run.command:<12} {ago(run.started_at, now):<12} {number(run.rows_written)} rows,"
        f" {number(run.requests)} requests{error}"
    )
