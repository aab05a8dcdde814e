"""The one HTTP client: pace, retries, redirects that never carry a token elsewhere, bodies that are really JSON.

One client talks to one forge. The token is sent to the origin (scheme, host, port) it was made for; a redirect or a
`Link` to any other origin is refused. Threads may share a client. Proxies and certificates come from the environment
as httpx reads them: HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE, SSL_CERT_DIR.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from forgelore.core.names import is_loopback
from forgelore.core.times import parse_http_date
from forgelore.errors import ConfigError, ForgeError, LostPage, RateLimited
from forgelore.net.policy import Decision, Done, Wait, after_failure, decide, graphql_wait
from forgelore.version import __version__

MAX_REDIRECTS = 5
MAX_LIMITS = 40
MIN_TOKEN = 8  # shorter ones are words, and words may be said
TIMEOUT = httpx.Timeout(60.0, connect=15.0)


class Answer:
    """A finished exchange: status, lower-case headers, whole body, and the forge's clock."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes, url: str) -> None:
        self.status, self.headers, self.body, self.url = status, headers, body, url

    @property
    def next_url(self) -> str | None:
        """The `rel="next"` of the Link header, as given."""
        for part in self.headers.get("link", "").split(","):
            target, _, rest = part.partition(";")
            if 'rel="next"' in rest:
                return target.strip().strip("<>")
        return None

    @property
    def date_ms(self) -> int | None:
        return parse_http_date(self.headers.get("date"))


class Pace:
    """At most `rate` requests a second over all threads, and a pause for everybody when the forge asks for one."""

    def __init__(self, rate: float, *, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._gap = 1.0 / rate
        self._clock, self._sleep = clock, sleep
        self._next = 0.0
        self._guard = threading.Lock()

    def wait_turn(self) -> None:
        with self._guard:
            turn = max(self._next, self._clock())
            self._next = turn + self._gap
        delay = turn - self._clock()
        if delay > 0:
            self._sleep(delay)

    def pause(self, seconds: float) -> None:
        with self._guard:
            self._next = max(self._next, self._clock() + seconds)


class Tries:
    """How often one request failed, and how often it met a limit: a limit is no failure and uses up no attempt."""

    def __init__(self) -> None:
        self.failures = self.limits = 0

    def count(self, decision: Wait) -> None:
        self.limits += decision.is_limit
        self.failures += not decision.is_limit


class Client:
    """An HTTP client for one forge. `on_wait(seconds, reason)` is told before every wait of a second or more."""

    def __init__(
        self, base_url: str, headers: Mapping[str, str], *, secret_headers: Mapping[str, str] | None = None,
        rate: float = 10.0, max_wait_s: float = 900.0, ca_file: str | None = None,
        sleep: Callable[[float], None] = time.sleep, clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time, on_wait: Callable[[float, str], None] | None = None,
    ) -> None:  # fmt: skip
        split = urlsplit(base_url)
        if split.scheme != "https" and not is_loopback(split.netloc):
            raise ConfigError(
                f"refusing plain http:// to {split.netloc}", hint="use https://; http:// is for loopback only"
            )
        for value in (secret_headers or {}).values():
            if not (value.isascii() and value.isprintable()):  # httpx would quote it in its error
                raise ConfigError(
                    f"the token for {split.netloc} holds characters that no token has", hint="copy it again"
                )
        self.origin = (split.scheme, split.netloc)
        self.requests = 0
        self.on_wait = on_wait
        self._base = base_url.rstrip("/")
        self._secrets = dict(secret_headers or {})
        self._max_wait_s = max_wait_s
        self._sleep, self._wall_clock = sleep, wall_clock
        self._pace = Pace(rate, clock=clock, sleep=sleep)
        self._clock_skew_s: float | None = None
        self._http = _connect({"User-Agent": f"forgelore/{__version__}", **headers}, ca_file)

    def close(self) -> None:
        self._http.close()

    @property
    def host(self) -> str:
        return self.origin[1]

    @property
    def server_ms(self) -> int | None:
        """The forge's clock now, from its last `Date`; ours may be wrong by a day. None before the first answer."""
        if self._clock_skew_s is None:
            return None
        return int((self._wall_clock() + self._clock_skew_s) * 1000)

    def get(self, path: str, params: Mapping[str, Any] | None = None, *, etag: str | None = None) -> Answer:
        """GET a path below the base, or an absolute URL of the same origin (a `Link`). Returns any final answer."""
        headers = {"If-None-Match": etag} if etag else {}
        return self._send("GET", path, params=params, headers=headers)

    def post_json(self, url: str, payload: object) -> Answer:
        import msgspec

        body = msgspec.json.encode(payload)
        return self._send("POST", url, content=body, headers={"Content-Type": "application/json"})

    def _send(self, method: str, path: str, **request: Any) -> Answer:
        """Send until the policy says that the answer is final."""
        url = path if path.startswith("http") else self._base + path
        tries = Tries()
        while True:
            try:
                answer = self._exchange(method, url, **request)
            except httpx.HTTPError as error:
                decision = after_failure(tries.failures + 1, _describe(error))
                if not isinstance(decision, Wait):
                    raise ForgeError(
                        f"{self.host} cannot be reached: {_describe(error)}",
                        hint="check the network, proxy and certificate settings; run the same command to go on",
                    ) from error
            else:
                decision = self._judge(answer, tries)
                if not isinstance(decision, Wait):
                    return answer
            tries.count(decision)
            if tries.limits > MAX_LIMITS:
                raise RateLimited(f"{self.host} keeps answering with limits", hint="try again later; nothing was lost")
            self._wait(decision)

    def _judge(self, answer: Answer, tries: "Tries") -> Decision:
        now_s = self._wall_clock() + (self._clock_skew_s or 0.0)
        is_limit = answer.status in (403, 429)
        attempt = (tries.limits if is_limit else tries.failures) + 1
        decision = decide(answer.status, answer.headers, answer.body, attempt=attempt, now_s=now_s)
        if not isinstance(decision, Done) or answer.status in (204, 304):
            return decision
        if not _looks_whole(answer.body):
            broken = after_failure(attempt, "not JSON")
            if isinstance(broken, Wait):
                return broken
            raise LostPage(
                f"{self.host} answered {answer.status} with something that is not JSON",
                hint="is the URL a forge's API?",
            )
        if answer.body[:400].find(b'"errors"') >= 0 or b'"RATE_LIMITED"' in answer.body[-2000:]:
            types = _error_types(answer.body)
            return graphql_wait(types, answer.headers, attempt=tries.limits + 1, now_s=now_s) or decision
        return decision

    def _exchange(self, method: str, url: str, **request: Any) -> Answer:
        """One round trip, redirects followed with method and body, on the same origin only."""
        for _ in range(MAX_REDIRECTS):
            self._check_origin(url)
            self._pace.wait_turn()
            answer = self._round_trip(method, url, request)
            location = answer.headers.get("location")
            if answer.status not in (301, 302, 307, 308) or not location:
                return answer
            try:
                url = urljoin(url, location)
            except ValueError as error:
                raise self._no_address() from error
            if urlsplit(url).query:
                request["params"] = None  # the new address carries its own query
        raise ForgeError(f"{self.host} redirects in a circle", hint="try the project's current address")

    def _round_trip(self, method: str, url: str, request: Mapping[str, Any]) -> Answer:
        headers = {**request.get("headers", {}), **self._secrets}
        try:
            response = self._http.request(
                method, url, params=request.get("params"), content=request.get("content"), headers=headers
            )
        except httpx.InvalidURL as error:
            raise self._no_address() from error
        self.requests += 1
        answer = Answer(
            response.status_code,
            {k.lower(): v for k, v in response.headers.items()},
            self._without_secrets(response.content),
            url,
        )
        date_ms = answer.date_ms
        if date_ms is not None:
            self._clock_skew_s = date_ms / 1000 - self._wall_clock()
        return answer

    def _without_secrets(self, body: bytes) -> bytes:
        """A forge (or a proxy in between) that says our token back: it reaches no message and no row."""
        for header in self._secrets.values():
            token = header.rpartition(" ")[2].encode()
            if len(token) >= MIN_TOKEN and token in body:
                body = body.replace(token, b"***")
        return body

    def _check_origin(self, url: str) -> None:
        try:
            split = urlsplit(url)
        except ValueError as error:
            raise self._no_address() from error
        if (split.scheme, split.netloc) != self.origin:
            raise ForgeError(
                f"{self.host} points to another server ({split.netloc}); not followed, so that no token leaves"
                f" {self.host}",
                hint="sync the project by its new address",
            )

    def _no_address(self) -> ForgeError:
        return ForgeError(f"{self.host} points to an address that is none", hint="run the same command again")

    def _wait(self, decision: Wait) -> None:
        if decision.is_limit and decision.seconds > self._max_wait_s:
            minutes = round(decision.seconds / 60)
            raise RateLimited(
                f"{self.host}: {decision.reason}, {minutes} min to go",
                hint=f"nothing is lost: run the same command again in {minutes} min (a token raises the limit)",
                wait_s=decision.seconds,
            )
        if decision.is_limit:
            self._pace.pause(decision.seconds)
        if self.on_wait and decision.seconds >= 1:
            self.on_wait(decision.seconds, decision.reason)
        self._sleep(decision.seconds)


def _connect(headers: Mapping[str, str], ca_file: str | None) -> httpx.Client:
    """Return the library's client; proxies and certificates come from the environment, in our words when they are
    wrong.
    """
    verify = verify_with(ca_file)
    try:
        return httpx.Client(headers=headers, timeout=TIMEOUT, follow_redirects=False, verify=verify)
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        raise ConfigError(
            "the proxy in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is not usable", hint="write http://HOST:PORT"
        ) from error
    except OSError as error:
        raise ConfigError(
            "cannot read the certificates of SSL_CERT_FILE or SSL_CERT_DIR", hint="check the path"
        ) from error


def verify_with(ca_file: str | None) -> Any:
    """Return what httpx takes as `verify`: a context with the given authority, or True."""
    if not ca_file:
        return True
    import ssl

    with contextlib.suppress(OSError):
        return ssl.create_default_context(cafile=ca_file)
    raise ConfigError(f"cannot read the certificate file {ca_file}", hint="check ca_file in the settings")


def _looks_whole(body: bytes) -> bool:
    """True when the body begins and ends as JSON does. A proxy's page does not, nor does an answer that was cut off."""
    ends = body.lstrip()[:1] + body.rstrip()[-1:]
    return ends in (b"{}", b"[]")


def _describe(error: httpx.HTTPError) -> str:
    """Return the kind of failure and the library's words; httpx puts no header and no body into them."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _error_types(body: bytes) -> set[str]:
    import msgspec

    try:
        errors = msgspec.json.decode(body).get("errors") or []
        return {error.get("type", "") for error in errors if isinstance(error, dict)}
    except (msgspec.DecodeError, AttributeError, UnicodeDecodeError):
        return set()
