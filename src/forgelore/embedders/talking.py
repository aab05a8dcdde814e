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
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec

from forgelore.core.text import storable
from forgelore.errors import (
    AuthError,
    EmbedderUnreachable,
    EmbeddingFailed,
    ForgeError,
    LoreError,
    LostPage,
    ModelNotFound,
    RateLimited,
)
from forgelore.net.client import HttpAnswer, Tries
from forgelore.net.model_server import Manners as Manners  # noqa: PLC0414 - users of a line find it here
from forgelore.net.model_server import ModelClient, check_server_url, is_model_missing, is_too_long, said_in
from forgelore.net.policy import Fail, NextStep, Wait

T = TypeVar("T")
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


class Hints(NamedTuple):
    """What to try next, in the words of the kind of server."""

    unreachable: str
    model: str
    auth: str


class EmbeddingClient(ModelClient):
    """The client of a model's server, with the differences above."""

    def __init__(self, url: str, manners: Manners, *, patience: Patience, key: str) -> None:
        self._patience = patience
        max_wait_s = min(patience.limit_s, manners.max_wait_s)
        super().__init__(url, manners, answer_s=patience.answer_s, max_wait_s=max_wait_s, key=key)

    def _exchange(self, method: str, url: str, **request: Any) -> HttpAnswer:
        try:
            return super()._exchange(method, url, **request)
        except httpx.ReadTimeout as error:
            raise EmbeddingFailed(f"{self.host} took longer than {self._patience.answer_s:g} s") from error
        except httpx.ConnectError as error:
            if self.is_local:
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
    """A server at one address, for several threads. It connects on first use, once for each patience."""

    def __init__(self, url: str, model: str, hints: Hints, *, manners: Manners, key: str = "") -> None:
        self.url = check_url(url)
        self.host = urlsplit(self.url).netloc
        self._model, self._hints, self._manners, self._key = model, hints, manners, key
        self._clients: dict[Patience, EmbeddingClient] = {}
        self._guard = threading.Lock()

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
        with self._guard:
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
        if is_model_missing(answer):
            return ModelNotFound(f"{self.host} has no model {self._model!r}", hint=self._hints.model)
        if status == 404:
            return EmbedderUnreachable(f"there is no {path} at {self.url}", hint="check embedder_url")
        if status == 429:
            return RateLimited(f"{self.host}: {said}", hint="check the plan and the billing of the key")
        kind = TooLong if is_too_long(answer) else EmbeddingFailed
        return kind(f"{self.host} answered {status}: {said}", hint="see the server's log")


def read_as(kind: type[T], body: bytes, host: str) -> T:
    """Return the answer as a struct; what does not fit (NaN, null, another shape) is a failed embedding."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EmbeddingFailed(f"{host} sent something that is no embedding: {error}") from error


def check_url(url: str) -> str:
    """Return the address without a slash at its end."""
    return check_server_url(url, name="embedder_url", what="what is embedded")
