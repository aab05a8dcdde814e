"""Talking to a server that embeds: waits, what its answers mean, and our words for what goes wrong.

Retries come from the one HTTP client. What is different from a forge:

    nobody listens on this machine       at once EmbedderUnreachable: waiting starts no server
    an answer takes too long             at once EmbeddingFailed: the same request would take as long again
    a refusal that stays one             at once an answer, although it is a 5xx or a 429
    requests on loopback                 no pace, and no proxy on the way
    a person waits for a query           three attempts in three seconds, and no long limits
"""

import math
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec

from forgelore.core.names import is_loopback
from forgelore.core.text import printable, storable
from forgelore.errors import (
    AuthError,
    ConfigError,
    EmbedderUnreachable,
    EmbeddingFailed,
    ForgeError,
    LoreError,
    LostPage,
    ModelNotFound,
    RateLimited,
)
from forgelore.net.client import Client, HttpAnswer, Tries, verify_with
from forgelore.net.policy import Fail, NextStep, Wait

T = TypeVar("T")
CONNECT_S = 10.0
NO_PACE = 1e6

# Servers say so with 400, 413, 422 and 500 alike, each in other words.
TOO_LONG = re.compile(
    rb"(context|input|prompt|sequence|tokens?)\b[^\"]{0,60}(too (long|large|many)|length|exceed|less than)"
    rb"|(too (long|large|many)|exceed|maximum)[^\"]{0,60}(context|token|input)",
    re.IGNORECASE,
)
NO_MODEL = re.compile(rb"model_not_found|model\b.{0,200}(not found|not exist)", re.IGNORECASE | re.DOTALL)
FINAL = re.compile(rb"insufficient_quota|unsupported value: NaN", re.IGNORECASE)


class TooLong(EmbeddingFailed):
    """More text than the model's context holds."""


class Patience(NamedTuple):
    """How long one request may take, and the longest pause after a failure and for a limit."""

    answer_s: float
    failure_s: float = math.inf
    limit_s: float = math.inf


BATCH = Patience(300.0)  # a model that is loaded first, and a full batch on a slow processor
ALONE = Patience(120.0, failure_s=2.0)  # the batch had its retries
QUERY = Patience(60.0, failure_s=2.0, limit_s=2.0)  # a person waits, and search goes on with words alone


class Manners(NamedTuple):
    """How to wait and whose certificates to trust: what the application decides for every server."""

    max_wait_s: float = 900.0
    ca_file: str | None = None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    wall_clock: Callable[[], float] = time.time
    on_wait: Callable[[float, str], None] | None = None


class Hints(NamedTuple):
    """What to try next, in the words of the kind of server."""

    unreachable: str
    model: str
    auth: str


class EmbeddingClient(Client):
    """The one HTTP client, with the differences above."""

    def __init__(self, url: str, manners: Manners, *, patience: Patience, key: str) -> None:
        self._is_local = is_loopback(urlsplit(url).netloc)
        self._patience = patience
        super().__init__(
            url, {"Accept": "application/json"}, secret_headers={"Authorization": f"Bearer {key}"} if key else None,
            rate=NO_PACE if self._is_local else 10.0, max_wait_s=min(patience.limit_s, manners.max_wait_s),
            ca_file=manners.ca_file, sleep=manners.sleep, clock=manners.clock, wall_clock=manners.wall_clock,
            on_wait=manners.on_wait,
        )  # fmt: skip
        self._http.timeout = httpx.Timeout(patience.answer_s, connect=CONNECT_S)
        if self._is_local:
            self._leave_proxies_out(manners.ca_file)

    def _leave_proxies_out(self, ca_file: str | None) -> None:
        """Text for this machine never goes to the proxy that the environment names for the others."""
        old = self._http
        self._http = httpx.Client(
            headers=old.headers, timeout=old.timeout, trust_env=False, verify=verify_with(ca_file)
        )
        old.close()

    def _exchange(self, method: str, url: str, **request: Any) -> HttpAnswer:
        try:
            return super()._exchange(method, url, **request)
        except httpx.ReadTimeout as error:
            raise EmbeddingFailed(f"{self.host} took longer than {self._patience.answer_s:g} s") from error
        except httpx.ConnectError as error:
            if self._is_local:
                raise EmbedderUnreachable(f"nothing answers at {self.host}") from error
            raise

    def _judge(self, answer: HttpAnswer, tries: Tries) -> NextStep:
        if is_too_long(answer) or (answer.status >= 400 and FINAL.search(answer.body)):
            return Fail()
        decision = super()._judge(answer, tries)
        is_enough = answer.status >= 500 and isinstance(decision, Wait) and self._is_beyond_patience(decision)
        return Fail() if is_enough else decision

    def _wait(self, decision: Wait) -> None:
        if self._is_beyond_patience(decision):
            raise EmbedderUnreachable(f"{self.host} does not answer: {decision.reason}")
        super()._wait(decision)

    def _is_beyond_patience(self, decision: Wait) -> bool:
        return not decision.is_limit and decision.seconds > self._patience.failure_s


class Line:
    """A server at one address. It connects on first use, once for each patience."""

    def __init__(self, url: str, model: str, hints: Hints, *, manners: Manners, key: str = "") -> None:
        self.url = check_url(url)
        self.host = urlsplit(self.url).netloc
        self._model, self._hints, self._manners, self._key = model, hints, manners, key
        self._clients: dict[Patience, EmbeddingClient] = {}

    def fetch(self, path: str, payload: Mapping[str, Any] | None = None, *, patience: Patience) -> bytes:
        """Return the body of a good answer: GET, or POST when there is a payload. Any other is one of our errors."""
        client = self._client(patience)
        try:
            answer = client.get(path) if payload is None else client.post_json(path, payload)
        except (ForgeError, RateLimited, EmbedderUnreachable) as error:
            raise self._in_our_words(error) from error
        if answer.status != 200:
            raise self._refusal(answer, path)
        return answer.body

    def fetch_vectors(
        self, path: str, payload: Mapping[str, Any], texts: list[str], *, kind: type[T], patience: Patience
    ) -> T:
        """Return the answer to a request for the vectors of some texts."""
        # A lone surrogate is no UTF-8, and one must not keep a whole batch from leaving.
        body = self.fetch(path, {**payload, "input": [storable(text) for text in texts]}, patience=patience)
        return read_as(kind, body, self.host)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _client(self, patience: Patience) -> EmbeddingClient:
        if patience not in self._clients:
            self._clients[patience] = EmbeddingClient(self.url, self._manners, patience=patience, key=self._key)
        return self._clients[patience]

    def _in_our_words(self, error: LoreError) -> LoreError:
        """The client speaks of forges: keep what happened, say what to do about an embedder."""
        if isinstance(error, RateLimited):
            return RateLimited(error.message, hint="nothing is lost: run the same command later", wait_s=error.wait_s)
        hint = "is embedder_url the address of an API?" if isinstance(error, LostPage) else self._hints.unreachable
        return EmbedderUnreachable(error.message, hint=hint)

    def _refusal(self, answer: HttpAnswer, path: str) -> LoreError:
        status, said = answer.status, said_in(answer.body)
        if status in (401, 403):
            return AuthError(f"{self.host} answered {status}", hint=self._hints.auth, is_rejected=status == 401)
        if status in (400, 404) and NO_MODEL.search(answer.body[:4000]):
            return ModelNotFound(f"{self.host} has no model {self._model!r}", hint=self._hints.model)
        if status == 404:
            return EmbedderUnreachable(f"there is no {path} at {self.url}", hint="check embedder_url")
        if status == 429:
            return RateLimited(f"{self.host}: {said}", hint="check the plan and the billing of the key")
        kind = TooLong if is_too_long(answer) else EmbeddingFailed
        return kind(f"{self.host} answered {status}: {said}", hint="see the server's log")


def is_too_long(answer: HttpAnswer) -> bool:
    return answer.status in (400, 413, 422, 500) and bool(TOO_LONG.search(answer.body[:4000]))


def said_in(body: bytes) -> str:
    """Return a server's own words, one short line: `{"error": {"message": "too long"}}` -> too long."""
    text = body[:4000].decode("utf-8", "replace")
    found = re.search(r'"(?:message|error|detail)"\s*:\s*"((?:[^"\\]|\\.)*)"', text)
    words = found[1].replace('\\"', '"').replace("\\n", " ") if found else text
    return " ".join(printable(words).split())[:200]


def read_as(kind: type[T], body: bytes, host: str) -> T:
    """Return the answer as a struct; what does not fit (NaN, null, another shape) is a failed embedding."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EmbeddingFailed(f"{host} sent something that is no embedding: {error}") from error


def check_url(url: str) -> str:
    """Return the address without a slash at its end.

    The text of private projects goes there: under TLS, or on this machine.
    """
    try:
        split = urlsplit(url)
        is_place = bool(split.hostname) and split.port != 0 and split.scheme in ("http", "https")
    except ValueError:
        is_place = False
    if not is_place or "@" in split.netloc or split.query or split.fragment:
        raise ConfigError(
            f"embedder_url {re.sub('//[^/]*@', '//', url)[:100]!r} is no address of a server",
            hint="write https://HOST/PATH, without a user, a password or a question mark",
        )
    if split.scheme == "http" and not is_loopback(split.netloc):
        port = split.port or 80
        raise ConfigError(
            f"refusing plain http:// to {split.netloc}: what is embedded could be read on the way",
            hint=f"use https://, or a tunnel: ssh -N -L {port}:127.0.0.1:{port} {split.hostname}"
            f" and http://127.0.0.1:{port}",
        )
    return url.rstrip("/")
