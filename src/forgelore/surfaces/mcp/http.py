"""The MCP server over HTTP, for this machine's own programs, with a token where one is wanted.

A page in a browser can send requests to this machine, under a name of its own that it lets point here (DNS rebinding).
Such a request has that name as its Host, or the page's address as its Origin. Both are refused with 403, a missing or
wrong token with 401. A request that arrives too slowly holds a connection for nothing: it is cut.
"""

import asyncio
import hashlib
import hmac
import os
import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from forgelore.errors import ConfigError, InvalidValue

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

_PATH = "/mcp"
_PATIENCE_S = 3  # for open streams when the server ends
IDLE_S = 1_800.0  # a session without requests and open streams
REQUEST_S = 20.0  # from the first byte of a request to its last
_NAMES = ("127.0.0.1", "localhost", "[::1]")


def serve_http(server: "Server[dict[str, object]]", port: int, token: str, *, on_ready: Callable[[str], None]) -> None:
    """Speak the protocol over HTTP on the loopback address until a signal ends it."""
    listener = listen(port)
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
) -> uvicorn.Config:
    """Return how HTTP is served: a session that nobody uses for `idle_s` seconds ends, and a connection whose request
    does not arrive within `request_s` is cut.
    """
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


def listen(port: int) -> socket.socket:
    if not 0 <= port <= 65_535:
        raise InvalidValue(f"{port} is not a valid port", hint="use 1 to 65535, or 0 for any that is free")
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # whoever is told the address may connect at once
    except OSError as error:
        listener.close()
        hint = "choose another one with --port, or 0 for any that is free"
        raise ConfigError(f"port {port} cannot be used: {error.strerror}", hint=hint) from error
    return listener


def _do_nothing(_signal: int, _frame: object) -> None:
    return


def make_protocol(request_s: float) -> type[H11Protocol]:
    """Return how connections are read: one whose request is not there in time is closed. The time begins with the
    connection, and again with the first byte of each further request.
    """

    class TimedProtocol(H11Protocol):
        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._late = self.loop.call_later(request_s, transport.close)

        def data_received(self, data: bytes) -> None:
            if self._late is None:
                self._late = self.loop.call_later(request_s, self.transport.close)
            super().data_received(data)
            if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):  # all of it is here
                self._stop_clock()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_clock()
            super().connection_lost(exc)

        def _stop_clock(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

    return TimedProtocol


class Guard:
    """An ASGI application around another one."""

    def __init__(self, inside: "ASGIApp", port: int, token: str = "") -> None:
        self._inside = inside
        self._hosts = {f"{name}:{port}" for name in _NAMES} | (set(_NAMES) if port == 80 else set())
        self._token = token

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] == "http":
            refusal = self._refuse(scope["headers"])
            if refusal is not None:
                await _answer(send, *refusal)
                return
        elif scope["type"] != "lifespan":
            return
        await self._inside(scope, receive, send)

    def _refuse(self, headers: list[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        """Return status and reason for a request that is not served."""
        hosts, origins, tokens = (_values(headers, name) for name in (b"host", b"origin", b"authorization"))
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 403, "this server only answers to its own address"
        if any(origin.lower() not in {f"http://{host}" for host in self._hosts} for origin in origins):
            return 403, "pages from other origins may not use this server"
        if self._token and not (len(tokens) == 1 and _is_same(tokens[0], self._token)):
            return 401, "send the token of this server: Authorization: Bearer …"
        return None


def _is_same(header: str, token: str) -> bool:
    """Compare in a time that says nothing about where two tokens differ, or how long they are."""
    kind, _, given = header.partition(" ")
    sent, wanted = (hashlib.sha256(text.strip().encode()).digest() for text in (given, token))
    return hmac.compare_digest(sent, wanted) and kind.lower() == "bearer"


def _values(headers: list[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key.lower() == name]


async def _answer(send: "Send", status: int, reason: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": reason.encode()})
