"""`forgelore export PROJECT`."""

import argparse
import sys
from typing import TYPE_CHECKING

from forgelore.errors import UsageError
from forgelore.surfaces.cli.filtering import add_project, project_in
from forgelore.surfaces.cli.streams import output_errors

if TYPE_CHECKING:
    from forgelore.api import Exported
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore export acme/web --output web.jsonl",
    "forgelore export acme/web | gzip > web.jsonl.gz",
    "forgelore export gitlab:group/app --include-internal --output app.jsonl",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_project(parser, "which project; default: the clone's, or the only one")
    parser.add_argument("--output", metavar="FILE", help="write here (whole or not at all) instead of standard output")
    parser.add_argument(
        "--include-internal", action="store_true", help="also write internal notes and confidential items"
    )


def run(context: "Context", arguments: argparse.Namespace) -> "Exported":
    if context.is_data and not arguments.output:
        message = f"{context.output} needs --output: standard output cannot hold both"
        raise UsageError(message, hint="add --output FILE")
    project = context.history.name_project(project_in(arguments))
    if project is None:
        raise UsageError(
            "which project?", hint="name one, as in: forgelore export acme/web (forgelore sync-status lists them)"
        )
    done = _export(context, project, arguments)
    if done.left_out:
        context.warn(
            f"{done.left_out} internal notes or confidential items were left out (--include-internal writes them)"
        )
    if arguments.output:
        context.print(
            f"{context.style.green('✓')} {done.items:,} items of {done.project} written to {arguments.output}"
        )
    return done


def _export(context: "Context", project: str, arguments: argparse.Namespace) -> "Exported":
    history, with_internal = context.history, bool(arguments.include_internal)
    if arguments.output:
        return history.export_file(arguments.output, project=project, include_internal=with_internal)
    with output_errors():
        return history.export_to(sys.stdout.buffer, project=project, include_internal=with_internal)
