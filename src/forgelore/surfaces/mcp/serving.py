"""How the MCP server runs: over standard input and output, or over HTTP on this machine; and how it ends.

It ends at the end of its input, or with SIGTERM or Ctrl-C: what is being written is finished first.
"""

import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Self

from forgelore.errors import ConfigError, InvalidValue

if TYPE_CHECKING:
    import anyio
    import uvicorn
    from mcp.server.lowlevel.server import Server
    from mcp.shared._context_streams import ContextReceiveStream, ContextSendStream
    from mcp.shared.message import SessionMessage

_PATH = "/mcp"
_PATIENCE_S = 3  # for open streams when the server ends
IDLE_S = 1_800.0  # a session without requests and open streams
REQUEST_S = 20.0  # from the first byte of a request to its last


def check_installed() -> None:
    """Refuse to go on without the SDK, which is an extra."""
    from importlib.util import find_spec

    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise ConfigError("the MCP server is an extra that is not installed", hint="pip install '.[mcp]' in a clone")


def serve_stdio(server: "Server[dict[str, object]]", close: Callable[[], None]) -> None:
    """Speak the protocol over standard input and output until the input ends."""
    import anyio
    from mcp.server.stdio import stdio_server

    def leave(*_: object) -> None:
        close()
        sys.stderr.flush()
        os._exit(0)  # a thread still waits for a line of input that nobody will send

    async def leave_on_signals() -> None:
        try:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async for _ in signals:
                    await anyio.to_thread.run_sync(leave)
        except NotImplementedError:  # event loops on Windows take no signals
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, leave)

    async def serve() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leave_on_signals)
            async with stdio_server(stdin=take_standard_input()) as (incoming, outgoing):  # type: ignore[arg-type]
                checked = CheckedLines(incoming, outgoing)
                await server.run(checked, outgoing, server.create_initialization_options())  # type: ignore[arg-type]
            tasks.cancel_scope.cancel()

    anyio.run(serve)


def take_standard_input() -> "RequestLines":
    """Return the lines of standard input, which nobody else in this process can read from now on."""
    import anyio

    own = os.dup(sys.stdin.fileno())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    return RequestLines(anyio.wrap_file(os.fdopen(own, encoding="utf-8", errors="replace", closefd=False)))


class RequestLines:
    """Lines as a client sent them. A request whose id is neither a string nor a whole number is replaced by a line that
    is refused for its id: the SDK would take the request for a notification, and not answer.
    """

    def __init__(self, lines: "anyio.AsyncFile[str]") -> None:
        self._lines = lines

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            yield '{"jsonrpc": "2.0", "id": null}' if has_unusable_id(line) else line


def has_unusable_id(line: str) -> bool:
    """Return whether a line is a request that could not be answered by its id, such as `{"id": null, "method": …}`."""
    import json

    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return False
    if not isinstance(message, dict) or "id" not in message or "method" not in message:
        return False
    return not is_request_id(message["id"])


def is_request_id(number: object) -> bool:
    return isinstance(number, str | int) and not isinstance(number, bool)


class CheckedLines:
    """The messages that came in, as the SDK reads them. A line that cannot be read as a message is answered here with
    an error, which the SDK does not do; it has the request's id where that can be read.
    """

    def __init__(
        self,
        incoming: "ContextReceiveStream[SessionMessage | Exception]",
        outgoing: "ContextSendStream[SessionMessage]",
    ) -> None:
        self._incoming, self._outgoing = incoming, outgoing

    def __getattr__(self, name: str) -> object:
        found: object = getattr(self._incoming, name)
        return found

    def __aiter__(self) -> "CheckedLines":
        return self

    async def __anext__(self) -> object:
        async for found in self._incoming:
            if not isinstance(found, Exception):
                return found
            if refusal := refuse_line(found):
                await self._outgoing.send(refusal)
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._incoming.aclose()


def refuse_line(error: Exception) -> "SessionMessage | None":
    """Return the answer to a line that cannot be read as a message; None for an empty one."""
    import json

    import mcp_types as protocol
    from mcp.shared.message import SessionMessage
    from pydantic import ValidationError

    errors = error.errors() if isinstance(error, ValidationError) else []
    # Each error has the value it is about. The whole message is that of a field that it lacks, which every message
    # does of one kind or another.
    whole = (one["input"] for one in errors if one["type"] == "missing" and len(one["loc"]) == 2)
    line = next(whole, errors[0]["input"] if errors else "?")
    is_json = not errors or errors[0]["type"] != "json_invalid"
    if isinstance(line, str) and not line.strip():
        return None
    if not is_json:  # also JSON with half a surrogate pair, of which Python can read the id
        try:
            line = json.loads(line)
        except (ValueError, RecursionError):
            line = None
    number = line.get("id") if isinstance(line, dict) else None
    has_bad_id = isinstance(line, dict) and "id" in line and not is_request_id(number)
    number = number if is_request_id(number) else None
    if isinstance(number, str):
        number = number.encode(errors="replace").decode()
    if isinstance(line, list):
        code, said = protocol.INVALID_REQUEST, "batches are not supported: send one message per line"
    elif is_json and has_bad_id:
        code, said = protocol.INVALID_REQUEST, "the id of a request must be a string or a whole number"
    elif is_json:
        code, said = protocol.INVALID_REQUEST, "this is not a JSON-RPC 2.0 message"
    elif line is None:
        code, said = protocol.PARSE_ERROR, "this line is not JSON: send one message per line"
    else:
        code, said = protocol.PARSE_ERROR, "a string holds half of a surrogate pair: send whole characters"
    answer = protocol.JSONRPCError(jsonrpc="2.0", id=number, error=protocol.ErrorData(code=code, message=said))
    return SessionMessage(answer)


def serve_http(server: "Server[dict[str, object]]", port: int, token: str, *, on_ready: Callable[[str], None]) -> None:
    """Speak the protocol over HTTP on the loopback address until a signal ends it."""
    import uvicorn

    listener = _listen(port)
    port = int(listener.getsockname()[1])
    config = configure_http(server, port, token)
    # uvicorn raises the signal again when it is done; it has done its work by then.
    before = {number: signal.signal(number, _do_nothing) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        on_ready(f"http://127.0.0.1:{port}{_PATH}")
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def configure_http(
    server: "Server[dict[str, object]]", port: int, token: str, *, idle_s: float = IDLE_S, request_s: float = REQUEST_S
) -> "uvicorn.Config":
    """Return how HTTP is served: a session that nobody uses for `idle_s` seconds ends, and a connection whose request
    does not arrive within `request_s` is cut.
    """
    import uvicorn

    from forgelore.surfaces.mcp.guard import Guard, make_protocol

    app = Guard(server.streamable_http_app(streamable_http_path=_PATH, session_idle_timeout=idle_s), port, token)
    return uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, ws="none", http=make_protocol(request_s),
        timeout_graceful_shutdown=_PATIENCE_S,
    )  # fmt: skip


def read_token(path: str | None) -> str:
    """Return the token that clients must send: of a file, or of FORGELORE_MCP_TOKEN; "" for none. Never an option's
    value, which every process on the machine can see.
    """
    if path is None:
        return os.environ.get("FORGELORE_MCP_TOKEN", "").strip()
    try:
        with open(path, encoding="utf-8") as file:
            token = file.read(10_000).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the token file {path} cannot be read", hint="write the token into it") from error
    if not token:
        raise ConfigError(f"the token file {path} is empty", hint="write the token into it")
    return token


def _listen(port: int) -> socket.socket:
    if not 0 <= port <= 65_535:
        raise InvalidValue(f"{port} is no port", hint="use 1 to 65535, or 0 for any that is free")
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        hint = "choose another one with --port, or 0 for any that is free"
        raise ConfigError(f"port {port} cannot be used: {error.strerror}", hint=hint) from error
    return listener


def _do_nothing(_signal: int, _frame: object) -> None:
    return
