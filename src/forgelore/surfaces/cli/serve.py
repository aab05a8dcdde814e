"""`forgelore serve`: the web page, for a team or for whoever sits at this machine."""

import argparse
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from forgelore.errors import InvalidValue
from forgelore.surfaces.cli.command import Command, Context
from forgelore.viewer import EVERYTHING, PUBLIC

if TYPE_CHECKING:
    from forgelore.api import History


class ServeAnswer(NamedTuple):
    """The address that was served, once it is over."""

    url: str


def add_serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, metavar="N", help="the port on 127.0.0.1 (default: 8788; 0: any free one)")
    parser.add_argument(
        "--tokens", metavar="PATH", help="a file with a line for each person: TOKEN ROLE NAME (read, review, apply)"
    )
    parser.add_argument(
        "--role", choices=("read", "review", "apply"), default="review",
        help="what everybody may do without a file of tokens (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--address",
        metavar="URL",
        help="address of the reverse proxy in front of it: https://lore.example.org",
    )
    parser.add_argument(
        "--sync-every", type=float, default=10.0, metavar="MINUTES",
        help="bring projects that were synced before up to date this often; 0: never (%(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--include-internal", action="store_true", help="show confidential items and internal notes to everybody"
    )


def run_serve(context: Context, arguments: argparse.Namespace) -> ServeAnswer:
    from forgelore.surfaces.web.serving import PORT, check_installed, serve

    check_installed()
    context.need_file("the web page")
    from forgelore.api import HistoryPool
    from forgelore.surfaces.web.app import Pools
    from forgelore.surfaces.web.guard import Access, read_people

    if not 0 <= arguments.sync_every <= 10_000:
        raise InvalidValue(f"--sync-every {arguments.sync_every:g} is out of range", hint="use 0 to 10,000 minutes")
    if arguments.address and not arguments.address.startswith(("https://", "http://")):
        raise InvalidValue(f"{arguments.address} is not an address", hint="write it whole: https://lore.example.org")
    if arguments.address and not arguments.tokens:
        raise InvalidValue(
            "a page that others can reach needs --tokens", hint="write a file with a line for each: TOKEN ROLE NAME"
        )
    people = read_people(arguments.tokens) if arguments.tokens else {}
    access = Access(arguments.role, people, context.history.now_ms)
    context.history.projects.list()  # a missing or damaged file is reported before anybody looks
    pools = Pools(
        HistoryPool(lambda: _open(context, arguments, for_reading=True)),
        HistoryPool(lambda: _open(context, arguments, for_reading=False), threads=1),
        HistoryPool(lambda: _open(context, arguments, for_reading=False), threads=1),
        HistoryPool(lambda: _open(context, arguments, for_reading=False), threads=2),
    )
    served: list[str] = []
    try:
        port = PORT if arguments.port is None else arguments.port
        serve(
            pools,
            access,
            port,
            db=context.history.path,
            address=arguments.address or "",
            sync_every_s=60 * arguments.sync_every,
            on_ready=lambda url: _print_address(context, url, served),
        )
    finally:
        for pool in pools:
            pool.close()
    return ServeAnswer(served[0])


def _open(context: Context, arguments: argparse.Namespace, *, for_reading: bool) -> "History":
    """Return a history for a thread of the server."""
    from forgelore.api import make_history

    viewer = EVERYTHING if arguments.include_internal else PUBLIC
    return make_history(os.environ, cwd=os.getcwd(), db=context.history.path, viewer=viewer, for_reading=for_reading)


def _print_address(context: Context, url: str, served: list[str]) -> None:
    served.append(url)
    print(f"{context.error_style.green('✓')} forgelore at {url} (Ctrl-C ends it)", file=sys.stderr)
    sys.stderr.flush()


COMMANDS = {
    "serve": Command(
        add_serve_arguments,
        run_serve,
        (
            "forgelore serve                                   for whoever sits at this machine",
            "forgelore serve --port 9000 --role read           to look, not to decide",
            "forgelore serve --tokens people.txt --address https://lore.example.org",
        ),
    ),
}
