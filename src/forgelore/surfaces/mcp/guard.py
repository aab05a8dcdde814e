"""What stands before the HTTP server: requests from this machine's own programs, with the token where one is wanted.

A page in a browser can send requests to this machine, under a name of its own that it lets point here (DNS rebinding).
Such a request has that name as its Host, or the page's address as its Origin. Both are refused with 403, a missing or
wrong token with 401.
"""

import hashlib
import hmac
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_NAMES = ("127.0.0.1", "localhost", "[::1]")


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
