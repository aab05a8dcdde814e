"""`forgelore sync [PROJECT…]`."""

import argparse
from typing import TYPE_CHECKING

from forgelore.errors import LoreError, in_words
from forgelore.surfaces.cli.indexing import add_indexing_arguments, describe, read_parts, stopping_on_interrupt
from forgelore.surfaces.cli.terminal import number

if TYPE_CHECKING:
    from forgelore.api import ProjectName, SyncedProject, SyncEstimate
    from forgelore.surfaces.cli.command import Context
    from forgelore.surfaces.present.fetch import FailedSyncData, SyncData

EXAMPLES = (
    "forgelore sync                       the clone's project, the configured ones, or all known ones",
    "forgelore sync acme/web gitlab:group/app",
    "forgelore sync 'acme/*' 'gitlab:group/**'   everything of an organisation, of a group and its subgroups",
    "forgelore sync https://gitlab.example.com/team/app",
    "forgelore sync acme/web --plan       what it would cost, without spending it",
    "forgelore sync acme/web --full       read everything again; unchanged rows are not rewritten",
)
_PLURAL = {"issue": "issues", "change": "changes", "discussion": "discussions", "release": "releases", "note": "notes"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "projects",
        metavar="PROJECT",
        nargs="*",
        help="owner/repo, gitlab:group/project, forgejo:owner/repo, a URL, owner/*, gitlab:group/**",
    )
    parser.add_argument("--full", action="store_true", help="forget the positions and read everything again")
    parser.add_argument("--force", action="store_true", help="take over a lock whose owner has gone quiet")
    parser.add_argument(
        "--plan", action="store_true", help="say how many requests, how long and how many MB; fetch nothing"
    )
    add_indexing_arguments(parser)


def run(context: "Context", arguments: argparse.Namespace) -> "list[SyncData | FailedSyncData] | list[SyncEstimate]":
    names = context.history.names_to_sync(arguments.projects)
    if arguments.plan:
        return [_estimate(context, name) for name in names]
    return sync_all(context, names, arguments)


def sync_all(
    context: "Context", names: "list[ProjectName]", arguments: argparse.Namespace, *, kinds: tuple[str, ...] = ()
) -> "list[SyncData | FailedSyncData]":
    """Sync one project after the other. One that fails does not stop the rest; its error ends the command."""
    from forgelore.surfaces.present.fetch import present_failed_sync, present_sync

    results: list[SyncData | FailedSyncData] = []
    failures: list[LoreError] = []
    with stopping_on_interrupt(context):
        for name in names:
            try:
                results.append(present_sync(_sync_one(context, name, arguments, kinds)))
            except LoreError as error:
                for warning in getattr(error, "__notes__", ()):  # of the index: what came before is kept
                    context.warn(warning)
                if len(names) == 1 or error.exit_code in (7, 8):
                    raise
                context.warn(f"{name}: {in_words(error)}")
                results.append(present_failed_sync(str(name), error))
                failures.append(error)
    if failures:
        message = f"{len(failures)} of {len(names)} projects failed; first: {failures[0].message}"
        context.fail(type(failures[0])(message, hint=failures[0].hint))
    return results


def _sync_one(
    context: "Context", name: "ProjectName", arguments: argparse.Namespace, kinds: tuple[str, ...]
) -> "SyncedProject":
    from forgelore.surfaces.cli.progress import make_watcher

    with make_watcher(str(name), is_quiet=context.is_data) as watcher:
        synced = context.history.sync(
            name, full=arguments.full, force=arguments.force, kinds=kinds, index=read_parts(arguments), watcher=watcher
        )
    print_synced(context, synced)
    return synced


def print_synced(context: "Context", synced: "SyncedProject") -> None:
    """Tell what came, with warnings."""
    for warning in synced.index.warnings:
        context.warn(warning)
    for warning in synced.result.warnings:
        context.warn(f"{synced.result.project}: {warning}")
    result, style = synced.result, context.style
    parts = [f"{number(result.written[kind])} {_PLURAL[kind]}" for kind in _PLURAL if result.written.get(kind)]
    what = ", ".join(parts) + " updated" if parts else "nothing new"
    gone = f", {number(result.deleted)} gone" if result.deleted else ""
    context.print(
        f"{style.green('✓')} {style.bold(result.project)}: {what}{gone} "
        f" {style.dim(f'{number(result.requests)} requests')}"
    )
    if result.replayed:
        context.print(f"  {number(result.replayed)} items mended from what an earlier version had stored")
    if indexed := describe(synced.index):
        context.print(f"  {indexed}")
    if result.pending_jobs:
        context.print(f"  {number(result.pending_jobs)} parts wait for their next turn (forgelore sync-status)")


def _estimate(context: "Context", name: "ProjectName") -> "SyncEstimate":
    found = context.history.estimate_sync(name)
    context.print(context.style.bold(found.project) + ("  (not synced yet)" if found.is_first else ""))
    for kind, total in found.on_forge.items():
        context.print(f"  {kind + 's':<12} {number(total):>9} on the forge, {number(found.missing[kind])} missing here")
    if not found.is_counted:
        context.print("  the forge does not tell its totals to this reader")
    if found.waiting_jobs:
        context.print(f"  {number(found.waiting_jobs)} parts wait from an earlier run")
    context.print(f"  about {number(found.requests)} requests, {_duration(found.seconds)}, {found.megabytes} MB")
    return found


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
