"""`forgelore mcp`: the MCP server, and its entry in the settings of a client."""

import argparse
import os
import sys
from typing import TYPE_CHECKING, Literal, NamedTuple

from forgelore.errors import ConfigError, UsageError
from forgelore.surfaces.cli.command import Command, Context
from forgelore.surfaces.mcp.clients import CLIENTS
from forgelore.viewer import EVERYTHING, PUBLIC

if TYPE_CHECKING:
    from forgelore.api import History


class McpAnswer(NamedTuple):
    """What was done. Of `install`: the file, whether it was written, the copy of what was there before, and the lines
    that belong there. Of `http`: the address that was served.
    """

    mode: Literal["stdio", "http", "install"]
    client: str | None = None
    path: str | None = None
    is_written: bool = False
    backup: str | None = None
    lines: str | None = None
    url: str | None = None


def add_mcp_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--http", action="store_true", help="serve HTTP on 127.0.0.1 instead of standard input")
    parser.add_argument("--port", type=int, metavar="N", help="port for --http (default: 8765; 0: any free one)")
    parser.add_argument(
        "--token-file",
        metavar="PATH",
        help="clients of --http must send the token in this file (or FORGELORE_MCP_TOKEN)",
    )
    parser.add_argument("--allow-write", action="store_true", help="offer `sync`; without it the database is only read")
    parser.add_argument(
        "--include-internal", action="store_true", help="show confidential items and internal notes to agents"
    )
    parser.add_argument(
        "--structured", action="store_true", help="also send answers as data with a schema, for programs"
    )
    parser.add_argument("--install", metavar="CLIENT", choices=tuple(CLIENTS), help=f"one of {', '.join(CLIENTS)}")
    parser.add_argument("--yes", action="store_true", help="with --install: do not ask")


def run_mcp(context: Context, arguments: argparse.Namespace) -> McpAnswer:
    context.need_file("the server for agents")
    if arguments.install:
        return _install(context, arguments)
    if arguments.yes:
        raise UsageError("--yes belongs to --install", hint="name a client: --install CLIENT")
    if not arguments.http and (arguments.port is not None or arguments.token_file):
        raise UsageError("--port and --token-file belong to --http", hint="add --http")
    if not arguments.http and context.is_data:
        raise UsageError("standard output belongs to the protocol", hint="leave --json out, or use --http or --install")
    return _serve(context, arguments)


def _serve(context: Context, arguments: argparse.Namespace) -> McpAnswer:
    _check_installed()
    token = ""
    if arguments.http:
        from forgelore.surfaces.mcp.http import read_token, serve_http

        token = read_token(arguments.token_file)
    import gc

    gc.disable()  # the SDK builds thousands of classes that stay: looking for garbage among them takes a fifth of it
    from forgelore.api import HistoryPool
    from forgelore.surfaces.mcp.server import build_server, serve_stdio
    from forgelore.surfaces.mcp.tools import ServerOptions

    histories, talking = (HistoryPool(lambda: _open(context, arguments)) for _ in range(2))

    def close() -> None:
        talking.close()
        histories.close()

    options = ServerOptions(
        arguments.allow_write, arguments.include_internal, context.history.has_model, arguments.structured
    )
    server = build_server(histories, talking, options)
    gc.freeze()
    gc.enable()
    address: list[str] = []
    try:
        if arguments.http:
            port = 8765 if arguments.port is None else arguments.port
            serve_http(
                server, port, token, on_ready=lambda url: _print_address(context, url, address, is_open=not token)
            )
        else:
            serve_stdio(server, close)
    finally:
        close()
    return McpAnswer("http" if arguments.http else "stdio", url=address[0] if address else None)


def _open(context: Context, arguments: argparse.Namespace) -> "History":
    """Return a history for a thread of the server."""
    from forgelore.api import make_history

    viewer = EVERYTHING if arguments.include_internal else PUBLIC
    return make_history(
        os.environ, cwd=os.getcwd(), db=context.history.path, viewer=viewer, for_reading=not arguments.allow_write,
    )  # fmt: skip


def _print_address(context: Context, url: str, address: list[str], *, is_open: bool) -> None:
    address.append(url)
    print(f"{context.error_style.green('✓')} MCP at {url}", file=sys.stderr)
    if is_open:
        context.warn("every program on this machine may connect; --token-file or FORGELORE_MCP_TOKEN requires a token")
    sys.stderr.flush()


def _install(context: Context, arguments: argparse.Namespace) -> McpAnswer:
    from forgelore.surfaces.mcp.clients import (
        apply_change,
        check_server,
        find_file,
        own_command,
        plan_change,
        write_lines,
    )

    client = CLIENTS[arguments.install]
    flags = [
        f"--{name.replace('_', '-')}"
        for name in ("allow_write", "include_internal", "structured")
        if getattr(arguments, name)
    ]
    command = own_command(["mcp", "--db", os.path.abspath(context.history.path), *flags])
    path = find_file(client, os.environ, cwd=os.getcwd(), platform=sys.platform)
    lines = write_lines(client, command)
    context.print(f"{client.title} keeps its servers in {path}; this belongs there:", "", *lines.split("\n"), "")
    answer = McpAnswer("install", client.name, path, lines=lines)
    change = plan_change(client, path, command)
    if change.before == change.after:
        context.print(f"{context.style.green('✓')} already there")
        return answer
    if not arguments.yes and not (context.is_interactive and _is_wanted(change.path)):
        context.print("nothing was written; --yes writes it")
        return answer
    _check_installed()
    if problem := check_server(command):
        context.warn(f"the server runs, but: {problem}")
    backup = apply_change(change)
    kept = f"; the previous file is saved as {backup}" if backup else ""
    context.print(f"{context.style.green('✓')} written{kept}", f"restart {client.title} to see it")
    return answer._replace(path=change.path, is_written=True, backup=backup)


def _is_wanted(path: str) -> bool:
    return input(f"Write it to {path}? [y/N] ").strip().lower() in ("y", "yes")


def _check_installed() -> None:
    """Refuse to go on without the SDK, which is an extra."""
    from importlib.util import find_spec

    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise ConfigError("the MCP server is an extra that is not installed", hint="pip install '.[mcp]' in a clone")


COMMANDS = {
    "mcp": Command(
        add_mcp_arguments,
        run_mcp,
        (
            "forgelore mcp                          speak MCP over stdin and stdout, for a client that starts it",
            "forgelore mcp --install claude-code    write that into the client's settings, after asking",
            "forgelore mcp --install codex --yes --db history.db",
            "forgelore mcp --http --port 8765       over HTTP, for programs on this machine",
            "forgelore mcp --http --port 0 --token-file token.txt --json",
            "forgelore mcp --allow-write            agents may bring projects up to date",
            "forgelore mcp --include-internal       agents see confidential items and internal notes",
            "forgelore mcp --structured             answers also as data with a schema, for programs",
            "forgelore mcp --install cursor --color never --no-pager",
        ),
    ),
}
