"""What stands before the HTTP server: requests from this machine's own programs, with the token where one is wanted.

A page in a browser can send requests to this machine, under a name of its own that it lets point here (DNS rebinding).
Such a request has that name as its Host, or the page's address as its Origin. Both are refused with 403, a missing or
wrong token with 401. A request that arrives too slowly holds a connection for nothing: it is cut.
"""

import asyncio
import hashlib
import hmac
from typing import TYPE_CHECKING

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_NAMES = ("127.0.0.1", "localhost", "[::1]")


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
            return 403, "this server answers to its own address alone"
        if any(origin.lower() not in {f"http://{host}" for host in self._hosts} for origin in origins):
            return 403, "pages of other origins may not ask this server"
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
