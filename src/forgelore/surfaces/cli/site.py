"""`forgelore site`: a project as static pages, for GitHub Pages, GitLab Pages or any web server."""

import argparse
import os
from typing import NamedTuple

from forgelore.errors import Refused
from forgelore.surfaces.cli.command import Command, Context, write_file

_MARK = "minisearch-LICENSE.txt"  # a folder that has it is one of ours
_LARGE_MB = 8


class WrittenSite(NamedTuple):
    """The folder that was written. `items` of `total` are searched; `bytes`: of all its files, before compression."""

    path: str
    project: str
    items: int
    total: int
    clusters: int
    month: str
    bytes: int
    warnings: tuple[str, ...]

    @staticmethod
    def json_key(name: str) -> str:
        return "" if name == "warnings" else name


def add_site_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="a new or empty folder, or one that this command wrote before")
    parser.add_argument("--project", metavar="PROJECT", help="default: the clone's project, or the only one")
    parser.add_argument("--month", metavar="MONTH", help="of the report, such as 2026-03; default: the last one")
    parser.add_argument(
        "--limit", type=int, default=20_000, metavar="N", help="items to search at most, newest first (%(default)s)"
    )
    parser.add_argument(
        "--members", action="store_true",
        help="write it although not everybody may read the project; publish it where only members can open it",
    )  # fmt: skip


def run_site(context: Context, arguments: argparse.Namespace) -> WrittenSite:
    from forgelore.surfaces.present.site import build_site

    _check_folder(arguments.folder)
    copy = context.history.sync.load_public(
        arguments.project, month=arguments.month, limit=arguments.limit, for_members=arguments.members
    )
    size = 0
    try:
        os.makedirs(arguments.folder, exist_ok=True)
    except OSError as error:
        message = f"the folder {arguments.folder} cannot be made: {error.strerror}"
        raise Refused(message, hint="name another folder") from error
    for name, text in build_site(copy):
        path = os.path.join(arguments.folder, name)
        write_file(f"{path}.part", text, hint="name another folder")
        os.replace(f"{path}.part", path)
        size += len(text.encode())
    style = context.style
    context.print(
        f"{style.green('✓')} {copy.project}: {len(copy.items):,} of {copy.total:,} items,"
        f" {len(copy.clusters):,} clusters, {size / 1e6:.1f} MB in {arguments.folder}",
        style.dim(f"Look at it: python3 -m http.server --directory {arguments.folder}"),
    )
    warnings = copy.warnings
    for warning in warnings:
        context.warn(warning)
    month = copy.report.month if copy.report else ""
    return WrittenSite(
        arguments.folder, copy.project, len(copy.items), copy.total, len(copy.clusters), month, size, warnings
    )


def _check_folder(folder: str) -> None:
    """Refuse to write among files that are not ours."""
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise Refused(f"{folder} is not a folder", hint="name a new folder")
    if os.path.isdir(folder) and os.listdir(folder) and not os.path.exists(os.path.join(folder, _MARK)):
        raise Refused(f"{folder} has other files in it", hint="name a new or empty folder")


COMMANDS = {
    "site": Command(
        add_site_arguments,
        run_site,
        (
            "forgelore site public                             search, clusters and report of the only project",
            "forgelore site public --project acme/web --month 2026-03",
        ),
    ),
}
