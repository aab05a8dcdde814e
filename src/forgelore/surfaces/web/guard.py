"""What stands before every page: who asks, what they may, and what a browser may do with the answer.

    Host, Origin     a page of another site can send requests to this machine under a name of its own that points here
                     (DNS rebinding), or as a form: both are refused with 403
    who              without a file of tokens, whoever can reach the address; with one, whoever signed in (a cookie that
                     scripts cannot read) or sends `Authorization: Bearer …`
    role             read, review, apply: each address names the least it takes (app.Address); a missing one is 403
    POST             must carry the token of the session (CSRF), in the form or as X-Token, and 1 MB at most
    answer           a policy under which nothing but our own files is loaded (CSP), no frame, no sniffing, no copy kept

A file of tokens has a line for each person: `TOKEN ROLE NAME`.
"""

import base64
import hashlib
import hmac
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from forgelore.errors import ConfigError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

Role = Literal["read", "review", "apply"]
ROLES: tuple[Role, ...] = get_args(Role)
COOKIE = "forgelore"
SESSION_S = 12 * 3600
MAX_BODY = 1_000_000  # bytes
HOOKS, MAX_HOOK = "/hooks", 25_000_000  # where webhooks arrive; the largest that a forge sends
_NAMES = ("127.0.0.1", "localhost", "[::1]")
_MIN_TOKEN = 16  # characters
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Visitor(NamedTuple):
    """Who asks. `name` is "" where nobody had to say who they are; `token` is what their forms carry."""

    name: str
    role: Role
    token: str

    def may(self, role: Role) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)


class Access:
    """Who may do what: by their tokens, or everybody alike."""

    def __init__(self, role: Role, people: Mapping[str, tuple[Role, str]], now_ms: Callable[[], int]) -> None:
        self._role, self._people, self._now_ms = role, dict(people), now_ms
        # A session outlives a restart of the server, not a change of the tokens.
        known = "\n".join(sorted(f"{token} {role} {name}" for token, (role, name) in self._people.items()))
        self._key = hashlib.sha256(known.encode()).digest() if known else os.urandom(32)

    @property
    def asks_for_tokens(self) -> bool:
        return bool(self._people)

    def find_token(self, given: str) -> Visitor | None:
        """Return whose token this is, in a time that does not tell how near it comes to one."""
        found = None
        for token, (role, name) in self._people.items():
            if hmac.compare_digest(_digest(token), _digest(given)):
                found = Visitor(name, role, self._form_token(name))
        return found

    def open_session(self, visitor: Visitor) -> str:
        """Return the value of the cookie of somebody who has shown a token."""
        ends = self._now_ms() // 1000 + SESSION_S
        said = base64.urlsafe_b64encode(f"{ends} {visitor.name}".encode()).decode()
        return f"{said}.{self._sign('session', said)}"

    def find_session(self, cookie: str) -> Visitor | None:
        said, _, signature = cookie.partition(".")
        if not hmac.compare_digest(_digest(self._sign("session", said)), _digest(signature)):
            return None
        ends, _, name = base64.urlsafe_b64decode(said).decode().partition(" ")
        if int(ends) * 1000 < self._now_ms():
            return None
        role = next((role for role, known in self._people.values() if known == name), None)
        return Visitor(name, role, self._form_token(name)) if role else None

    def everybody(self) -> Visitor:
        return Visitor("", self._role, self._form_token(""))

    def _form_token(self, name: str) -> str:
        return self._sign("form", name)

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose} {text}".encode(), hashlib.sha256).hexdigest()


def read_people(path: str) -> dict[str, tuple[Role, str]]:
    """Return token -> (role, name) of a file with a line for each person. Raises ConfigError."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.split() for line in file.read(100_000).splitlines() if line.strip() and line[0] != "#"]
    except (OSError, UnicodeDecodeError) as error:
        hint = "write a line for each person: TOKEN ROLE NAME"
        raise ConfigError(f"cannot read the file of tokens: {path}", hint=hint) from error
    found: dict[str, tuple[Role, str]] = {}
    for at, words in enumerate(lines, 1):
        role = next((role for role in ROLES if words[1:2] == [role]), None)
        if len(words) != 3 or role is None or len(words[0]) < _MIN_TOKEN:
            raise ConfigError(
                f"{path}: person {at} is not written as TOKEN ROLE NAME",
                hint=f"a token of at least {_MIN_TOKEN} characters, then {', '.join(ROLES)}, then a name",
            )
        found[words[0]] = (role, words[2])
    if not found:
        raise ConfigError(f"{path} names nobody", hint="write a line for each person: TOKEN ROLE NAME")
    return found


class Guard:
    """An ASGI application around the pages. `origins`: under which addresses browsers reach them."""

    def __init__(self, inside: "ASGIApp", access: Access, origins: Sequence[str]) -> None:
        self._inside, self._access = inside, access
        self._origins = frozenset(origin.lower() for origin in origins)
        self._hosts = frozenset(origin.partition("://")[2] for origin in self._origins)
        self._is_secure = all(origin.startswith("https://") for origin in self._origins)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] == "lifespan":
            await self._inside(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        answer = _with_headers(send, is_static=scope["path"].startswith("/static/"))
        headers = _Headers(scope["headers"])
        most = MAX_HOOK if scope["path"] == HOOKS else MAX_BODY
        refusal = self._refuse(scope["method"], headers, most)
        if refusal:
            await send_text(answer, *refusal)
            return
        visitor = self._find_visitor(headers)
        scope["state"] = {**scope.get("state", {}), "visitor": visitor, "access": self._access}
        scope["state"]["is_secure"] = self._is_secure
        await self._inside(scope, _limited(receive, most), answer)

    def _refuse(self, method: str, headers: "_Headers", most: int) -> tuple[int, str] | None:
        """Return status and reason for a request that is not served to anybody."""
        hosts, origins = headers.all("host"), headers.all("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 403, "This server answers only to its own address."
        if any(origin.lower() not in self._origins for origin in origins):
            return 403, "Pages of other sites may not ask this server."
        if method not in ("GET", "HEAD", "POST"):
            return 405, f"This server does not know {method[:20]}."
        length = headers.first("content-length")
        if length and (not length.isdecimal() or int(length) > most):
            return 413, f"This is too large: at most {most // 1_000_000} MB."
        return None

    def _find_visitor(self, headers: "_Headers") -> Visitor | None:
        if not self._access.asks_for_tokens:
            return self._access.everybody()
        scheme, _, token = headers.first("authorization").partition(" ")
        if scheme.lower() == "bearer":
            return self._access.find_token(token.strip())
        cookies: SimpleCookie = SimpleCookie()
        cookies.load(headers.first("cookie"))
        return self._access.find_session(cookies[COOKIE].value) if COOKIE in cookies else None


def local_origins(port: int, address: str = "") -> list[str]:
    """Return under which addresses browsers reach a server on this port of this machine; `address`: the one that a
    reverse proxy has, https://lore.example.org.
    """
    if address:
        return [address.rstrip("/")]
    return [f"http://{name}:{port}" for name in _NAMES] + ([f"http://{name}" for name in _NAMES] if port == 80 else [])


class _Headers:
    def __init__(self, raw: Sequence[tuple[bytes, bytes]]) -> None:
        self._raw = raw

    def all(self, name: str) -> list[str]:
        return [value.decode("latin-1") for key, value in self._raw if key.decode("latin-1").lower() == name]

    def first(self, name: str) -> str:
        return next(iter(self.all(name)), "")


class BodyTooLarge(Exception):
    """A request that goes on after its megabyte."""


def _limited(receive: "Receive", most: int) -> "Receive":
    """Count what arrives: a request without a length may have no end."""
    seen = 0

    async def limited() -> "Message":
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise BodyTooLarge
        return message

    return limited


def _with_headers(send: "Send", *, is_static: bool) -> "Send":
    async def answer(message: "Message") -> None:
        if message["type"] == "http.response.start":
            kept = "public, max-age=31536000, immutable" if is_static else "no-store"
            more = {**_HEADERS, "cache-control": kept}
            message["headers"] = [
                *(
                    (key, value)
                    for key, value in message.get("headers", ())
                    if key.decode("latin-1").lower() not in more
                ),
                *((key.encode(), value.encode()) for key, value in more.items()),
            ]
        await send(message)

    return answer


async def send_text(send: Callable[["Message"], Awaitable[None]], status: int, text: str) -> None:
    body = text.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="replace")).digest()
