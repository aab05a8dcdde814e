"""`forgelore ingest --type KIND`: a sync of one kind of item."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.indexing import add_indexing_arguments

if TYPE_CHECKING:
    from forgelore.surfaces.cli.command import Context
    from forgelore.surfaces.present.fetch import FailedSyncData, SyncData

EXAMPLES = (
    "forgelore ingest --type issues acme/web",
    "forgelore ingest --type merge_requests gitlab:group/app",
    "forgelore ingest --type discussions     where these are threads, with what they are below",
    "forgelore ingest --type releases",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("projects", metavar="PROJECT", nargs="*", help="as for sync")
    parser.add_argument(
        "--type",
        metavar="KIND",
        required=True,
        help="issues, changes (prs, mrs, merge_requests), discussions or releases",
    )
    parser.add_argument("--full", action="store_true", help="forget the position and read everything again")
    parser.add_argument("--force", action="store_true", help="take over a lock whose owner has gone quiet")
    add_indexing_arguments(parser)


def run(context: "Context", arguments: argparse.Namespace) -> "list[SyncData | FailedSyncData]":
    from forgelore.api import parse_kind
    from forgelore.surfaces.cli.commands.sync import sync_all

    kind = parse_kind(arguments.type)
    return sync_all(context, context.history.names_to_sync(arguments.projects), arguments, kinds=(kind,))
