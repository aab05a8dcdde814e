"""`forgelore sync [PROJECT…]`."""

import argparse
from functools import partial
from typing import Any

from forgelore.errors import AuthError, ForgeError, NotFound, RateLimited
from forgelore.surfaces.cli.indexing import add_indexing_arguments, bring_up_to_date, describe, stopping_on_interrupt
from forgelore.surfaces.cli.terminal import number

EXAMPLES = (
    "forgelore sync                       the clone's project, the configured ones, or all known ones",
    "forgelore sync acme/web gitlab:group/app",
    "forgelore sync 'acme/*' 'gitlab:group/**'   everything of an organisation, of a group and its subgroups",
    "forgelore sync https://gitlab.example.com/team/app",
    "forgelore sync acme/web --plan       what it would cost, without spending it",
    "forgelore sync acme/web --full       read everything again; unchanged rows are not rewritten",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "projects",
        metavar="PROJECT",
        nargs="*",
        help="owner/repo, gitlab:group/project, a URL, owner/*, gitlab:group/**",
    )
    parser.add_argument("--full", action="store_true", help="forget the positions and read everything again")
    parser.add_argument("--force", action="store_true", help="take over a lock whose owner has gone quiet")
    parser.add_argument(
        "--plan", action="store_true", help="say how many requests, how long and how many MB; fetch nothing"
    )
    add_indexing_arguments(parser)


def run(context: Any, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    names = list(context.app.names_to_sync(arguments.projects))
    if arguments.plan:
        return [_plan(context, name) for name in names]
    return sync_all(context, names, arguments, command="sync --full" if arguments.full else "sync")


def sync_all(
    context: Any, names: list[Any], arguments: argparse.Namespace, *, command: str, kinds: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    """Sync one project after the other. One that fails does not stop the rest; its error ends the command."""
    from forgelore.errors import LoreError
    from forgelore.flows.sync.run import SyncOptions
    from forgelore.surfaces.cli.main import as_data

    options = SyncOptions(
        full=arguments.full, force=arguments.force, kinds=kinds, workers=context.app.config.workers, command=command
    )
    results: list[dict[str, Any]] = []
    failures: list[LoreError] = []
    with stopping_on_interrupt(context):
        for name in names:
            try:
                results.append(_sync_one(context, name, options, arguments))
            except LoreError as error:
                if len(names) == 1 or error.exit_code in (7, 8):
                    raise
                context.warn(f"{name}: {error.message}" + (f" ({error.hint})" if error.hint else ""))
                results.append({"project": str(name), "error": as_data(error)})
                failures.append(error)
    if failures:
        message = f"{len(failures)} of {len(names)} projects failed; first: {failures[0].message}"
        context.fail(type(failures[0])(message, hint=failures[0].hint))
    return results


def _sync_one(context: Any, name: Any, options: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from msgspec import to_builtins

    from forgelore.flows.sync.run import sync_project
    from forgelore.surfaces.cli.progress import make_watcher

    app = context.app
    with make_watcher(str(name), is_json=context.is_json) as watcher:
        forge = app.forge(name, on_wait=watcher.waiting)
        store = app.store(create=True) if app.has_store else partial(app.store, create=True)
        try:
            result = sync_project(store, forge, name, options, watcher=watcher, now_ms=app.now_ms, stop=app.stop)
        except (ForgeError, AuthError, NotFound, RateLimited):
            if app.has_store:
                _index(context, name, arguments, watcher)  # what came before is kept, and can be found
            raise
        indexed = _index(context, name, arguments, watcher)
    for warning in result.warnings:
        context.warn(f"{result.project}: {warning}")
    _print_result(context, result, describe(indexed))
    data: dict[str, Any] = {**to_builtins(result), **indexed}
    return data


def _index(context: Any, name: Any, arguments: argparse.Namespace, watcher: Any) -> dict[str, Any]:
    from forgelore.store.projects import find_project

    project = find_project(context.app.store(), name)
    return bring_up_to_date(
        context, [project.id] if project else [], watcher=watcher,
        with_docs=not arguments.no_docs, with_vectors=not arguments.no_embed,
    )  # fmt: skip


def _print_result(context: Any, result: Any, indexed: str) -> None:
    plural = {
        "issue": "issues",
        "change": "changes",
        "discussion": "discussions",
        "release": "releases",
        "note": "notes",
    }
    parts = [f"{number(result.written[kind])} {plural[kind]}" for kind in plural if result.written.get(kind)]
    what = ", ".join(parts) + " updated" if parts else "nothing new"
    gone = f", {number(result.deleted)} gone" if result.deleted else ""
    context.print(
        f"{context.style.green('✓')} {context.style.bold(result.project)}: {what}{gone} "
        f" {context.style.dim(f'{number(result.requests)} requests')}"
    )
    if result.replayed:
        context.print(f"  {number(result.replayed)} items mended from what an earlier version had stored")
    if indexed:
        context.print(f"  {indexed}")
    if result.pending_jobs:
        context.print(f"  {number(result.pending_jobs)} parts wait for their next turn (forgelore sync-status)")


def _plan(context: Any, name: Any) -> dict[str, Any]:
    import os

    from forgelore.flows.sync.estimate import plan_sync

    app = context.app
    store = app.store() if os.path.exists(app.config.db) else None
    plan: dict[str, Any] = plan_sync(store, app.forge(name), name, app.config.requests_per_second)
    style = context.style
    context.print(style.bold(plan["project"]) + ("  (not synced yet)" if plan["is_first"] else ""))
    for kind, total in plan["on_forge"].items():
        context.print(
            f"  {kind + 's':<12} {number(total):>9} on the forge, {number(plan['missing'][kind])} missing here"
        )
    if not plan["is_counted"]:
        context.print("  the forge does not tell its totals to this reader")
    if plan["waiting_jobs"]:
        context.print(f"  {number(plan['waiting_jobs'])} parts wait from an earlier run")
    context.print(f"  about {number(plan['requests'])} requests, {_duration(plan['seconds'])}, {plan['megabytes']} MB")
    return plan


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 90
        else f"{seconds / 60:.0f} min"
        if seconds < 5400
        else f"{seconds / 3600:.1f} h"
    )
