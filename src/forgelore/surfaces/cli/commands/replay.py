"""`forgelore replay [PROJECT…]`: what the forges said, read again from the database."""

import argparse
from typing import Any

from forgelore.surfaces.cli.indexing import add_indexing_arguments, bring_up_to_date, describe, stopping_on_interrupt
from forgelore.surfaces.cli.terminal import number

EXAMPLES = (
    "forgelore replay                     every project; rows that are as they should be are not written",
    "forgelore replay acme/web",
    "forgelore replay acme/web --type issues --type prs",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("projects", metavar="PROJECT", nargs="*", help="projects of this database; default: all")
    parser.add_argument(
        "--type", metavar="KIND", action="append", default=[],
        help="only issues, changes (prs, mrs), discussions or releases; may be repeated",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="take over a lock whose owner has gone quiet")
    add_indexing_arguments(parser)


def run(context: Any, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    from forgelore.flows.browse.items import parse_kind
    from forgelore.store.projects import list_projects, resolve_project

    store, hosts = context.app.store(), context.app.hosts
    kinds = tuple(dict.fromkeys(parse_kind(word) for word in arguments.type))
    chosen = [resolve_project(store, text, hosts) for text in arguments.projects] or list_projects(store)
    with stopping_on_interrupt(context):
        return [_replay_one(context, project, kinds, arguments) for project in chosen]


def _replay_one(
    context: Any, project: Any, kinds: tuple[str, ...], arguments: argparse.Namespace
) -> dict[str, Any]:  # fmt: skip
    from forgelore.flows.sync.replay import replay_project
    from forgelore.surfaces.cli.progress import make_watcher

    app = context.app
    with make_watcher(str(project.name), is_json=context.is_json) as watcher:
        done = replay_project(
            app.store(), app.payload_reader(project.name), project, kinds=kinds, force=arguments.force,
            watcher=watcher, should_stop=app.stop.is_set, now=app.now_ms,
        )  # fmt: skip
        indexed = bring_up_to_date(
            context, [project.id], watcher=watcher,
            with_docs=not arguments.no_docs, with_vectors=not arguments.no_embed,
        )  # fmt: skip
    data = {
        "project": str(project.name), "read": done.read, "restored": len(done.restored),
        "incomplete": len(done.incomplete), "is_project_restored": done.is_project_restored, **indexed,
    }  # fmt: skip
    _print(context, data, describe(indexed))
    return data


def _print(context: Any, data: dict[str, Any], indexed: str) -> None:
    mended = f"{number(data['restored'])} mended" if data["restored"] else "all as they should be"
    context.print(
        f"{context.style.green('✓')} {context.style.bold(data['project'])}: {number(data['read'])} items read again,"
        f" {mended}"
    )
    if indexed:
        context.print(f"  {indexed}")
    if data["incomplete"]:
        context.warn(
            f"{data['project']}: of {number(data['incomplete'])} items something is not stored as the forge said it"
            " (imported, or lost); of that, only the links in the text were read again"
        )
