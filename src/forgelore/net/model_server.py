"""A server with a model behind it, whether it embeds or answers: its address, its HTTP options, and its refusals.

Requests on loopback have no pace and no proxy. Any other address must be https://, because the text of private projects
goes there. A key is sent in one header, to that origin alone.
"""

import random
import re
import time
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx

from forgelore.errors import ConfigError
from forgelore.net.client import Client, HttpAnswer, verify_with
from forgelore.text.fence import printable
from forgelore.text.refs import is_loopback

CONNECT_S = 10.0
NO_PACE = 1e6

# Servers say so with 400, 413, 422 and 500 alike, each in other words.
TOO_LONG = re.compile(
    rb"(context|input|prompt|sequence|tokens?)\b[^\"]{0,60}(too (long|large|many)|length|exceed|less than)"
    rb"|(too (long|large|many)|exceed|maximum)[^\"]{0,60}(context|token|input)",
    re.IGNORECASE,
)
NO_MODEL = re.compile(rb"model_not_found|model\b.{0,200}(not found|not exist)", re.IGNORECASE | re.DOTALL)


class HttpOptions(NamedTuple):
    """How to wait and whose certificates to trust: what the application decides for every server."""

    max_wait_s: float = 900.0
    ca_file: str | None = None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    wall_clock: Callable[[], float] = time.time
    on_wait: Callable[[float, str], None] | None = None
    jitter: Callable[[], float] = random.random


class ModelClient(Client):
    """The one HTTP client, with the differences above. `answer_s`: how long it may be silent."""

    remembers_trouble = False  # who asks a model decides by itself how patient to be

    def __init__(self, url: str, options: HttpOptions, *, answer_s: float, max_wait_s: float, key: str) -> None:
        self.is_local = is_loopback(urlsplit(url).netloc)
        super().__init__(
            url, {"Accept": "application/json"}, secret_headers={"Authorization": f"Bearer {key}"} if key else None,
            rate=NO_PACE if self.is_local else 10.0, max_wait_s=max_wait_s,
            ca_file=options.ca_file, sleep=options.sleep, clock=options.clock, wall_clock=options.wall_clock,
            jitter=options.jitter, on_wait=options.on_wait,
        )  # fmt: skip
        self._http.timeout = httpx.Timeout(answer_s, connect=CONNECT_S)
        if self.is_local:
            self._leave_proxies_out(options.ca_file)

    def _leave_proxies_out(self, ca_file: str | None) -> None:
        """Text for this machine never goes to the proxy that the environment names for the others."""
        old = self._http
        self._http = httpx.Client(
            headers=old.headers, timeout=old.timeout, trust_env=False, verify=verify_with(ca_file)
        )
        old.close()


def is_too_long(answer: HttpAnswer) -> bool:
    return answer.status in (400, 413, 422, 500) and bool(TOO_LONG.search(answer.body[:4000]))


def is_model_missing(answer: HttpAnswer) -> bool:
    return answer.status in (400, 404) and bool(NO_MODEL.search(answer.body[:4000]))


def said_in(body: bytes) -> str:
    """Return a server's own words, one short line: `{"error": {"message": "too long"}}` -> too long."""
    text = body[:4000].decode("utf-8", "replace")
    found = re.search(r'"(?:message|error|detail)"\s*:\s*"((?:[^"\\]|\\.)*)"', text)
    words = found[1].replace('\\"', '"').replace("\\n", " ") if found else text
    return " ".join(printable(words).split())[:200]


def check_server_url(url: str, *, name: str, what: str) -> str:
    """Return the address without a slash at its end. `name` is the setting it stands in, `what` is sent there."""
    try:
        split = urlsplit(url)
        is_place = bool(split.hostname) and split.port != 0 and split.scheme in ("http", "https")
    except ValueError:
        is_place = False
    if not is_place or "@" in split.netloc or split.query or split.fragment:
        raise ConfigError(
            f"{name} is not a valid server address: {re.sub('//[^/]*@', '//', url)[:100]!r}",
            hint="write https://HOST/PATH, without a user, a password or a question mark",
        )
    if split.scheme == "http" and not is_loopback(split.netloc):
        port = split.port or 80
        raise ConfigError(
            f"refusing plain http:// to {split.netloc}: {what} could be read on the way",
            hint=f"use https://, or a tunnel: ssh -N -L {port}:127.0.0.1:{port} {split.hostname}"
            f" and http://127.0.0.1:{port}",
        )
    return url.rstrip("/")
