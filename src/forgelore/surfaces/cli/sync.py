"""Fetching: `sync`, `ingest`, `sync-status` and `replay`, and how commands that fetch bring the index up to date."""

import argparse
from typing import TYPE_CHECKING, NamedTuple

from forgelore.errors import Incomplete, LoreError, RateLimited, format_error
from forgelore.surfaces.cli.command import Command, Context
from forgelore.surfaces.cli.progress import make_watcher, stopping_on_interrupt
from forgelore.surfaces.present.text import ago, clean, clock_time, describe_holder, duration, number

if TYPE_CHECKING:
    from forgelore.api import (
        IndexParts,
        ProjectName,
        ReplayedProject,
        SyncedProject,
        SyncEstimate,
        SyncRun,
        SyncStatus,
        UpdatedIndex,
    )
    from forgelore.surfaces.present.data import ErrorData

_KINDS = ("issue", "change", "discussion", "release", "note")


class FailedSyncData(NamedTuple):
    """One of several projects that could not be synced."""

    project: str
    error: "ErrorData"


def add_sync_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "projects",
        metavar="PROJECT",
        nargs="*",
        help="owner/repo, gitlab:group/project, forgejo:owner/repo, a URL, owner/*, gitlab:group/**",
    )
    parser.add_argument("--full", action="store_true", help="forget the positions and read everything again")
    parser.add_argument("--force", action="store_true", help="take over a lock whose owner has gone quiet")
    _add_wait(parser)
    parser.add_argument(
        "--plan", action="store_true", help="say how many requests, how long and how many MB; fetch nothing"
    )
    add_indexing_arguments(parser)


def _add_wait(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--wait", action=argparse.BooleanOptionalAction,
        help="wait when the forge's hourly quota is used up, and finish; default: on a terminal only",
    )  # fmt: skip


def run_sync(
    context: Context, arguments: argparse.Namespace
) -> "list[SyncedProject | FailedSyncData] | list[SyncEstimate]":
    names = _find_names(context, arguments.projects)
    if arguments.plan:
        return [_estimate(context, name) for name in names]
    return _sync_all(context, names, arguments)


def _find_names(context: Context, texts: list[str]) -> "list[ProjectName]":
    if not any(text.endswith("*") for text in texts):
        return context.history.sync.names(texts)
    with make_watcher(" ".join(texts), is_quiet=context.is_data) as watcher:  # a forge is asked: it may take a while
        return context.history.sync.names(texts, watcher=watcher)


def _sync_all(
    context: Context, names: "list[ProjectName]", arguments: argparse.Namespace, *, kinds: tuple[str, ...] = ()
) -> "list[SyncedProject | FailedSyncData]":
    """Sync one project after the other. One that fails does not stop the rest; its error ends the command."""
    from forgelore.surfaces.present.data import present_error

    results: list[SyncedProject | FailedSyncData] = []
    failures: list[LoreError] = []
    with stopping_on_interrupt(context):
        for name in names:
            try:
                synced = _sync_one(context, name, arguments, kinds)
                results.append(synced)
                failures += [error for error in (_describe_unread(synced),) if error is not None]
            except LoreError as error:
                for warning in getattr(error, "__notes__", ()):  # of the index: what came before is kept
                    context.warn(warning)
                if len(names) == 1 or error.exit_code == 8:
                    raise
                context.warn(f"{name}: {format_error(error)}")
                results.append(FailedSyncData(str(name), present_error(error)))
                failures.append(error)
    if failures and len(names) > 1:
        message = f"{len(failures)} of {len(names)} projects are incomplete; first: {failures[0].message}"
        context.fail(type(failures[0])(message, hint=failures[0].hint))
    return results


def _sync_one(
    context: Context, name: "ProjectName", arguments: argparse.Namespace, kinds: tuple[str, ...]
) -> "SyncedProject":
    wait = context.is_interactive if arguments.wait is None else arguments.wait
    with make_watcher(str(name), is_quiet=context.is_data) as watcher:
        try:
            synced = context.history.sync.run(
                name, full=arguments.full, force=arguments.force, wait=wait, kinds=kinds, index=index_parts(arguments),
                watcher=watcher,
            )  # fmt: skip
        except RateLimited as error:
            if error.exit_code == RateLimited.exit_code:
                error.hint += f"; or let it wait: {WAIT}"
            raise
    print_synced(context, synced)
    return synced


WAIT = "forgelore sync --wait"


def _describe_unread(synced: "SyncedProject") -> LoreError | None:
    """Return what is missing as the error that ends the command, None when nothing is."""
    result = synced.result
    if not result.unread:
        return None
    what = ", ".join(dict.fromkeys(one.title for one in result.unread))
    moments = [one.retry_at for one in result.unread if one.retry_at is not None]
    if not moments:
        hint = "run the same command again: it reads what is missing"
        return Incomplete(f"{result.project}: could not read all {what}", hint=hint)
    return RateLimited(
        f"{result.project}: the quota is used up; not finished: {what}",
        hint=f"run the same command again at {clock_time(max(moments))}, or let it wait: {WAIT}",
    )


def print_synced(context: Context, synced: "SyncedProject") -> None:
    """Print what was fetched, with warnings. What could not be read is the error that ends the command."""
    if error := _describe_unread(synced):
        context.fail(error)
    context.warn(*synced.index.warnings)
    for one in synced.result.unread:
        context.warn(f"{synced.result.project}: not all {one.title} could be read: {clean(one.reason)}")
    for warning in synced.result.warnings:
        context.warn(f"{synced.result.project}: {warning}")
    result, style = synced.result, context.style
    parts = [f"{number(result.written[kind])} {kind}s" for kind in _KINDS if result.written.get(kind)]
    what = ", ".join(parts) + " updated" if parts else "nothing new"
    gone = f", {number(result.deleted)} gone" if result.deleted else ""
    context.print(
        f"{style.yellow('!') if result.unread else style.green('✓')} {style.bold(result.project)}: {what}{gone} "
        f" {style.dim(f'{number(result.requests)} requests')}"
    )
    if result.replayed:
        context.print(f"  {number(result.replayed)} items corrected that an earlier version had misread")
    if indexed := describe_index(synced.index):
        context.print(f"  {indexed}")
    if plan := result.plan:
        size = f"; {plan.megabytes_taken:,} MB, {plan.megabytes:,} planned" if synced.index.vectors else ""
        context.print(f"  {number(plan.requests_taken)} requests, {number(plan.requests)} planned{size}")
    if result.pending_jobs:
        context.print(f"  {number(result.pending_jobs)} parts wait for the next attempt (forgelore sync-status)")


def _estimate(context: Context, name: "ProjectName") -> "SyncEstimate":
    found = context.history.sync.estimate(name)
    context.print(context.style.bold(found.project) + ("  (not synced yet)" if found.is_first else ""))
    for kind, total in found.on_forge.items():
        context.print(f"  {kind + 's':<12} {number(total):>9} on the forge, {number(found.missing[kind])} missing here")
    if not found.is_counted:
        context.print("  the forge does not show you its totals")
    if found.waiting_jobs:
        context.print(f"  {number(found.waiting_jobs)} parts wait from an earlier run")
    points = f", {number(found.points)} points of GraphQL" if found.points else ""
    context.print(f"  about {number(found.requests)} requests{points}, {duration(found.seconds)}, {found.megabytes} MB")
    return found


def add_ingest_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("projects", metavar="PROJECT", nargs="*", help="as for sync")
    parser.add_argument(
        "--type",
        metavar="KIND",
        required=True,
        help="issues, changes (prs, mrs, merge_requests), discussions or releases",
    )
    parser.add_argument("--full", action="store_true", help="forget the position and read everything again")
    parser.add_argument("--force", action="store_true", help="take over a lock whose owner has gone quiet")
    _add_wait(parser)
    add_indexing_arguments(parser)


def run_ingest(context: Context, arguments: argparse.Namespace) -> "list[SyncedProject | FailedSyncData]":
    from forgelore.api import parse_kind

    names, kinds = _find_names(context, arguments.projects), (parse_kind(arguments.type),)
    return _sync_all(context, names, arguments, kinds=kinds)


def add_sync_status_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", metavar="NAME", help="one project; default: all")


def run_sync_status(context: Context, arguments: argparse.Namespace) -> "list[SyncStatus]":
    found = context.history.sync.status(arguments.project)
    if not found:
        context.print("no projects yet; fetch one with: forgelore sync owner/repo")
    for status in found:
        _print_status(context, status, context.history.now_ms())
    return found


def _print_status(context: Context, status: "SyncStatus", now: int) -> None:
    style = context.style
    counts = ", ".join(f"{number(count)} {kind}s" for kind, count in status.items.items()) or "empty"
    context.print(f"{style.bold(status.project)}  {counts}, {number(status.notes)} notes")
    if holder := status.locked_by:
        lines = describe_holder(holder)
        first = f": {clean(lines[0])}" if lines else ""
        context.print(f"  {style.yellow('a sync is running')} (process {holder.pid} on {holder.machine}){first}")
        context.print(*(f"    {clean(line)}" for line in lines[1:]))
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


def _print_run(context: Context, run: "SyncRun", now: int) -> None:
    style = context.style
    mark = {"succeeded": style.green("✓"), "failed": style.red("✗"), "running": style.yellow("…")}.get(
        run.status, style.yellow("!")
    )
    # Of one that goes on, the line above says more; one that was killed counted nothing.
    parts = [f"{number(run.rows_written)} rows, {number(run.requests)} requests"] if run.finished_at else []
    parts += [clean(run.error)] if run.error else []
    context.print(f"  {mark} {run.command:<12} {ago(run.started_at, now):<12} {'  '.join(parts) or 'not finished yet'}")
    for line in run.unread:
        context.print(f"    not read: {clean(line)}")


def add_replay_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("projects", metavar="PROJECT", nargs="*", help="projects of this database; default: all")
    parser.add_argument(
        "--type", metavar="KIND", action="append", default=[],
        help="only issues, changes (prs, mrs), discussions or releases; may be repeated",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="take over a lock whose owner has gone quiet")
    add_indexing_arguments(parser)


def run_replay(context: Context, arguments: argparse.Namespace) -> "list[ReplayedProject]":
    from forgelore.api import parse_kind

    history = context.history
    kinds = tuple(parse_kind(word) for word in arguments.type)
    names = history.projects.list(arguments.projects)
    with stopping_on_interrupt(context):
        return [_replay_one(context, name, kinds, arguments) for name in names]


def _replay_one(
    context: Context, name: str, kinds: tuple[str, ...], arguments: argparse.Namespace
) -> "ReplayedProject":  # fmt: skip
    with make_watcher(name, is_quiet=context.is_data) as watcher:
        done = context.history.sync.replay(
            name, kinds=kinds, force=arguments.force, index=index_parts(arguments), watcher=watcher
        )
    context.warn(*done.index.warnings)
    _print_replayed(context, done)
    return done


def _print_replayed(context: Context, done: "ReplayedProject") -> None:
    style = context.style
    mended = f"{number(done.restored)} corrected" if done.restored else "nothing to correct"
    context.print(f"{style.green('✓')} {style.bold(done.project)}: {number(done.read)} items read again, {mended}")
    if indexed := describe_index(done.index):
        context.print(f"  {indexed}")
    if done.incomplete:
        context.warn(
            f"{done.project}: {number(done.incomplete)} items have no complete answer of the forge in the database"
            " (imported, or lost); of these, only the links in the text were read again"
        )


def add_indexing_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-docs", action="store_true", help="do not build search documents (and no vectors)")
    parser.add_argument("--no-embed", action="store_true", help="do not compute vectors")


def index_parts(arguments: argparse.Namespace) -> "IndexParts":
    """Return which parts of the index are to be brought up to date."""
    if arguments.no_docs:
        return "none"
    return "documents" if arguments.no_embed else "all"


def describe_index(index: "UpdatedIndex") -> str:
    """Return what was done as half a sentence, empty when it was nothing: "3 documents indexed, 3 embedded"."""
    documents, vectors = index.documents, index.vectors
    counts = (
        (documents.new + documents.changed if documents else 0, "documents indexed"),
        (documents.removed if documents else 0, "removed"),
        (vectors.embedded if vectors else 0, "embedded"),
    )
    return ", ".join(f"{number(count)} {word}" for count, word in counts if count)


COMMANDS = {
    "sync": Command(
        add_sync_arguments,
        run_sync,
        (
            "forgelore sync                       the clone's project, the configured ones, or all known ones",
            "forgelore sync acme/web gitlab:group/app",
            "forgelore sync 'acme/*' 'gitlab:group/**'   everything of an organisation, of a group and its subgroups",
            "forgelore sync https://gitlab.example.com/team/app",
            "forgelore sync acme/web --plan       what it would cost, without spending it",
            "forgelore sync acme/web --full       read everything again; unchanged rows are not rewritten",
            "forgelore sync acme/web --wait       finish, however often the hourly quota is used up",
        ),
    ),
    "ingest": Command(
        add_ingest_arguments,
        run_ingest,
        (
            "forgelore ingest --type issues acme/web",
            "forgelore ingest --type merge_requests gitlab:group/app",
            "forgelore ingest --type discussions     where these are threads, with what they are below",
            "forgelore ingest --type releases",
        ),
    ),
    "sync-status": Command(
        add_sync_status_arguments,
        run_sync_status,
        ("forgelore sync-status", "forgelore sync-status --project acme/web --json"),
    ),
    "replay": Command(
        add_replay_arguments,
        run_replay,
        (
            "forgelore replay                     every project; rows that are as they should be are not written",
            "forgelore replay acme/web",
            "forgelore replay acme/web --type issues --type prs",
        ),
    ),
}
