"""The one HTTP client: pace, retries, redirects that never carry a token elsewhere, bodies that are really JSON.

One client talks to one forge. The token is sent to the origin (scheme, host, port) it was made for; a redirect or a
`Link` to any other origin is refused. Threads may share a client. Proxies and certificates come from the environment
as httpx reads them (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE, SSL_CERT_DIR), and a wrong one is reported in our words.
"""

import contextlib
import random
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from forgelore.errors import ConfigError, EndpointDown, ForgeError, LostPage, RateLimited
from forgelore.net.policy import (
    ANYWHERE,
    BUDGETS,
    ONCE,
    OPTIONAL_TEXT,
    USUAL,
    Breaker,
    Budget,
    NextStep,
    Pace,
    Quota,
    RetryRule,
    Wait,
    after_failure,
    decide,
    decide_graphql,
    endpoint_of,
    is_final,
    looks_complete,
    may_have_happened,
    with_jitter,
)
from forgelore.net.policy import Tries as Tries  # noqa: PLC0414 - for clients that judge answers differently
from forgelore.ports.forge import LostWrite, WriteDelayed
from forgelore.records import QuotaLeft
from forgelore.text.dates import parse_http_date
from forgelore.text.refs import is_loopback
from forgelore.version import __version__

TIMEOUT = httpx.Timeout(28.0, connect=15.0)  # twice silent, and an endpoint is known to be down within a minute


def connect(headers: Mapping[str, str], ca_file: str | None, timeout: httpx.Timeout = TIMEOUT) -> httpx.Client:
    """Return the library's client; proxies and certificates come from the environment, in our words when they are
    wrong.
    """
    verify = verify_with(ca_file)
    try:
        return httpx.Client(headers=headers, timeout=timeout, follow_redirects=False, verify=verify)
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


# Of a server that has never answered people hear within ten seconds: a wrong name, a wrong address, a network that
# wants somebody to sign in. Whoever has answered once gets more patience.
FIRST_ATTEMPTS, FIRST_CONNECTS = 3, 2
FIRST_TIMEOUT = httpx.Timeout(TIMEOUT.read, connect=4.0)
FIRST_SILENCE = httpx.Timeout(9.0, connect=4.0)
MAX_REDIRECTS = 5
MAX_LIMITS = 40
MIN_TOKEN = 8  # shorter ones are words, and words may be said
WRITES_PER_SECOND = 1.0  # https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class HttpAnswer:
    """A finished exchange: status, lower-case headers, whole body, how long it took, and the forge's clock."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes, url: str, *, took_s: float = 0.0) -> None:
        self.status, self.headers, self.body, self.url, self.took_s = status, headers, body, url, took_s

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


class Client:
    """An HTTP client for one forge. `on_wait(seconds, reason)` is told before every wait of a second or more; `jitter`
    draws from 0 to 1 how much longer each is. With `one_try_s` a request is tried once, for so many seconds.
    `secret_headers` that are made anew from time to time are a function, asked before each request.
    """

    max_limits = MAX_LIMITS  # of one request
    remembers_trouble = True  # what keeps failing, or has no quota left, is not asked for a while

    def __init__(
        self, base_url: str, headers: Mapping[str, str], *,
        secret_headers: Mapping[str, str] | Callable[[], Mapping[str, str]] | None = None,
        rate: float = 10.0, max_wait_s: float = 900.0, ca_file: str | None = None,
        sleep: Callable[[float], None] = time.sleep, clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time, jitter: Callable[[], float] = random.random,
        on_wait: Callable[[float, str], None] | None = None, one_try_s: float | None = None,
    ) -> None:  # fmt: skip
        split = urlsplit(base_url)
        if split.scheme != "https" and not is_loopback(split.netloc):
            raise ConfigError(
                f"refusing plain http:// to {split.netloc}", hint="use https://; http:// is for loopback only"
            )
        self._make_secrets = secret_headers if callable(secret_headers) else None
        self._secrets = {} if callable(secret_headers) else dict(secret_headers or {})
        for value in self._secrets.values():
            if not (value.isascii() and value.isprintable()):  # httpx would quote it in its error
                raise ConfigError(f"the token for {split.netloc} contains invalid characters", hint="copy it again")
        self.origin = (split.scheme, split.netloc)
        self.requests = 0
        self.on_wait, self.max_wait_s = on_wait, max_wait_s if one_try_s is None else 0.0
        self.breaker = Breaker(clock)
        self._base = base_url.rstrip("/")
        self._is_tried_once, self._has_answered = one_try_s is not None, False
        self._sleep, self._clock, self._wall_clock, self._jitter = sleep, clock, wall_clock, jitter
        self._pace = Pace(rate, clock=clock, sleep=sleep)
        self._write_pace = Pace(WRITES_PER_SECOND, clock=clock, sleep=sleep)
        self._quota = Quota()
        self._budgets = {kind: Budget(name, clock=clock, sleep=sleep) for kind, name in BUDGETS.items()}
        self._write_tries = self._first_try()
        self._clock_skew_s: float | None = None
        timeout = TIMEOUT if one_try_s is None else httpx.Timeout(one_try_s)
        self._http = connect({"User-Agent": f"forgelore/{__version__}", **headers}, ca_file, timeout)

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

    @property
    def requests_left(self) -> int | None:
        """What the forge last said is left of the primary limit; None when it has not said or the window is over."""
        return self._quota.smallest(self._forge_s())

    def open_quotas(self) -> list[QuotaLeft]:
        """Return what the forge last said of each quota whose hour is not over."""
        return self._quota.open_windows(self._forge_s())

    def _forge_s(self) -> float:
        return self._wall_clock() + (self._clock_skew_s or 0.0)

    def get(self, path: str, params: Mapping[str, Any] | None = None, *, etag: str | None = None) -> HttpAnswer:
        """GET a path below the base, or an absolute URL of the same origin (a `Link`). Returns any final answer."""
        headers = {"If-None-Match": etag} if etag else {}
        return self._send("GET", path, params=params, headers=headers)

    def post_json(self, url: str, payload: object, manner: RetryRule = USUAL) -> HttpAnswer:
        """POST a question, which may be repeated as a GET is."""
        import msgspec

        body = msgspec.json.encode(payload)
        return self._send("POST", url, manner, content=body, headers={"Content-Type": "application/json"})

    def get_start(
        self, path: str, params: Mapping[str, Any] | None = None, *, accept: str, max_bytes: int
    ) -> HttpAnswer:
        """GET the beginning of a text, about `max_bytes` of it; the rest stays in the socket, which is closed."""
        headers = {"Accept": accept, "Accept-Encoding": "identity"}
        return self._send("GET", path, OPTIONAL_TEXT, params=params, headers=headers, max_bytes=max_bytes)

    def write(self, method: str, path: str, payload: object = None, *, home: str) -> HttpAnswer:
        """POST, PATCH, PUT or DELETE, once, a second or more after the last write. Returns any final answer.

        It is never sent again from here: while a forge makes us wait, people act, and only the caller can look at what
        they did. WriteDelayed: it was not taken, and the wait is over. LostWrite: it may have arrived, and nobody said
        so. A redirect is followed only to an address that holds `home`: what was moved elsewhere must not be written to
        unseen.
        """
        import msgspec

        body = msgspec.json.encode(payload) if payload is not None else None
        headers = {"Content-Type": "application/json"} if body is not None else {}
        tries = self._write_tries
        try:
            answer = self._exchange(method, self._base + path, content=body, headers=headers, home=home, is_write=True)
        except httpx.HTTPError as error:
            if not isinstance(error, NEVER_SENT):
                raise self._lost(_describe(error)) from error
            decision = after_failure(tries.failures + 1, _describe(error), attempts=tries.manner.attempts)
            if not isinstance(decision, Wait):
                self._write_tries = self._first_try()
                raise self._unreachable(error) from error
        else:
            decision = self._judge(answer, tries)
            if not isinstance(decision, Wait):
                self._write_tries = self._first_try()
                return answer
        self._count(tries, decision)
        self._wait(decision)
        raise WriteDelayed(
            f"{self.host} did not take what was sent ({decision.reason})", hint="run the same command again"
        )

    def _first_try(self) -> "Tries":
        """Return the count of tries in a row at writes that the forge did not take."""
        return Tries(ONCE._replace(attempts=1) if self._is_tried_once else ONCE)

    def _count(self, tries: "Tries", decision: Wait) -> None:
        tries.count(decision)
        if tries.limits > self.max_limits:
            raise RateLimited(f"{self.host} keeps limiting requests", hint="try again later; nothing was lost")

    def _unreachable(self, error: httpx.HTTPError) -> ForgeError:
        return ForgeError(
            f"{self.host} cannot be reached: {_describe(error)}",
            hint="check the network, proxy and certificate settings; run the same command to go on",
        )

    def _send(self, method: str, path: str, manner: RetryRule = USUAL, **request: Any) -> HttpAnswer:
        """Send until the policy says that the answer is final."""
        url = path if path.startswith("http") else self._base + path
        manner = manner._replace(attempts=1) if self._is_tried_once else manner
        tries = Tries(manner)
        endpoint = endpoint_of(url.removeprefix(self._base), is_graphql=manner.is_graphql)
        while True:
            self._await_quota(manner)
            self._check_endpoint(endpoint, manner)
            try:
                decision = self._try_once(method, url, endpoint, tries, request)
            finally:
                for name in (ANYWHERE, endpoint):
                    self.breaker.end_try(name)
            if isinstance(decision, HttpAnswer):
                return decision
            self._count(tries, decision)
            self._wait(decision, manner)

    def _try_once(
        self, method: str, url: str, endpoint: str, tries: Tries, request: dict[str, Any]
    ) -> HttpAnswer | Wait:
        """Return the final answer, or how long to wait before the next try."""
        began_at, manner = self._clock(), tries.manner
        try:
            answer = self._exchange(method, url, **request, timeout=self._first_timeout(tries))
        except httpx.HTTPError as error:
            attempts = self._attempts(manner) if isinstance(error, NEVER_SENT) else manner.attempts
            attempts = 1 if is_final(error) else attempts
            if isinstance(error, httpx.ConnectTimeout) and not self._has_answered:
                attempts = min(attempts, FIRST_CONNECTS)
            decision = after_failure(tries.failures + 1, _describe(error), attempts=attempts)
            if isinstance(error, httpx.ReadTimeout) and self._is_first(tries) and self.on_wait:
                self.on_wait(float(TIMEOUT.read or 0), f"{self.host} has not answered yet")
            place = ANYWHERE if isinstance(error, NEVER_SENT) else endpoint
            is_down = self._note_failure(place, _describe(error), began_at, manner, url)
            if is_down or not isinstance(decision, Wait):
                raise self._unreachable(error) from error
            return decision
        decision = self._judge(answer, tries)
        if isinstance(decision, Wait) and not decision.is_limit:
            if not self._note_failure(endpoint, decision.reason, began_at, manner, url):
                return decision
            tries.failures = manner.attempts
            decision = self._judge(answer, tries)  # which fails, in the words of a last try
        elif answer.status < 500:
            self.breaker.note_answer(endpoint)
            self._has_answered = True
        return decision if isinstance(decision, Wait) else answer

    def _attempts(self, manner: RetryRule) -> int:
        is_known = self._has_answered or not self.remembers_trouble
        return manner.attempts if is_known else min(manner.attempts, FIRST_ATTEMPTS)

    def _is_first(self, tries: Tries) -> bool:
        """Whether nobody has ever heard of the server, and this is the first try."""
        return self.remembers_trouble and not (self._has_answered or self._is_tried_once or tries.failures)

    def _first_timeout(self, tries: Tries) -> httpx.Timeout | None:
        """Return how long to wait for a server that has never answered, None for the usual time."""
        if self._has_answered or self._is_tried_once or not self.remembers_trouble:
            return None
        return FIRST_TIMEOUT if tries.failures else FIRST_SILENCE

    def _check_endpoint(self, endpoint: str, manner: RetryRule) -> None:
        """Refuse to ask what failed again and again just now: the wait would be in vain."""
        if not self.remembers_trouble or manner.is_text:
            return
        for name in (ANYWHERE, endpoint):
            if reason := self.breaker.why_not(name):
                what = f"{self.host} cannot be reached" if name == ANYWHERE else f"{self.host}: {name} keeps failing"
                raise EndpointDown(f"{what} ({reason})", hint="run the same command again later; nothing was lost")

    def _note_failure(self, endpoint: str, reason: str, began_at: float, manner: RetryRule, url: str) -> bool:
        """Count a failure; returns whether to give up now, because the endpoint is down or the question too heavy."""
        if not self.remembers_trouble or manner.is_text:
            return False
        path = "" if endpoint == ANYWHERE else url.removeprefix(self._base).partition("?")[0]
        if not self.breaker.note_failure(endpoint, path, reason, began_at):
            return False
        if manner.is_graphql and endpoint != ANYWHERE and self._answers_lightly(url):
            self.breaker.note_answer(endpoint)
        return True

    def _answers_lightly(self, url: str) -> bool:
        """Whether GraphQL answers the lightest question there is: then the one before was too heavy for it."""
        headers = {"Content-Type": "application/json"}
        try:
            answer = self._exchange("POST", url, content=b'{"query":"{__typename}"}', headers=headers)
        except httpx.HTTPError:
            return False
        return answer.status < 500 and looks_complete(answer.body)

    def _await_quota(self, manner: RetryRule) -> None:
        """Wait until this request's quota is full again; raise RateLimited where that takes longer than allowed."""
        budget = self._budget_of(manner)
        if budget.left_s() > self.max_wait_s:
            raise self._limited(budget.reason, budget.left_s())
        budget.wait(lambda left: self.on_wait(left, budget.reason) if self.on_wait else None)

    def _budget_of(self, manner: RetryRule) -> Budget:
        return self._budgets["graphql" if manner.is_graphql else "core"]

    def _limited(self, reason: str, seconds: float) -> RateLimited:
        minutes = max(1, round(seconds / 60))
        more = "" if self._secrets else " (a token raises the limit)"
        return RateLimited(
            f"{self.host}: {reason}, {minutes} min to go",
            hint=f"nothing is lost: run the same command again in {minutes} min{more}", wait_s=seconds,
        )  # fmt: skip

    def _judge(self, answer: HttpAnswer, tries: "Tries") -> NextStep:
        now_s, manner = self._forge_s(), tries.manner
        if manner.is_once and may_have_happened(answer.status):
            self._pause_before_looking(answer)
            raise self._lost(f"HTTP {answer.status}")
        is_limit = answer.status in (403, 429)
        attempt = (tries.limits if is_limit else tries.failures) + 1
        decision = decide(
            answer.status, answer.headers, answer.body, attempt=attempt, now_s=now_s, attempts=manner.attempts
        )
        if decision != "accepted" or answer.status in (204, 304) or manner.is_text:
            return decision
        if not looks_complete(answer.body):
            if manner.is_once:
                raise self._lost("an answer that is not JSON")
            broken = after_failure(attempt, "not JSON", attempts=self._attempts(manner))
            if isinstance(broken, Wait):
                return broken
            raise LostPage(
                f"{self.host} answered {answer.status} with something that is not JSON",
                hint="check that the URL is a forge's API, or sign in to the network if it wants that",
            )
        if manner.is_graphql:
            return decide_graphql(
                answer.headers, answer.body, limits=tries.limits, failures=tries.failures, now_s=now_s
            )
        return decision

    def _pause_before_looking(self, answer: HttpAnswer) -> None:
        """A forge that asked for a pause gets it before anybody looks what became of a write."""
        asked = decide(answer.status, answer.headers, answer.body, attempt=1, now_s=self._forge_s())
        if isinstance(asked, Wait) and asked.is_limit:
            self._pace.pause(min(asked.seconds, self.max_wait_s))

    def _exchange(self, method: str, url: str, **request: Any) -> HttpAnswer:
        """One round trip, redirects followed with method and body, on the same origin only."""
        for _ in range(MAX_REDIRECTS):
            self._check_origin(url)
            if request.get("is_write"):
                self._write_pace.wait_turn()
            self._pace.wait_turn()
            answer = self._round_trip(method, url, request)
            location = answer.headers.get("location")
            if answer.status not in (301, 302, 307, 308) or not location or request.get("home", "") not in location:
                return answer
            try:
                url = urljoin(url, location)
            except ValueError as error:
                raise self._no_address() from error
            if urlsplit(url).query:
                request["params"] = None  # the new address carries its own query
        raise ForgeError(f"{self.host} redirects in a loop", hint="try the project's current address")

    def _round_trip(self, method: str, url: str, request: Mapping[str, Any]) -> HttpAnswer:
        if self._make_secrets is not None:
            self._secrets = dict(self._make_secrets())
        headers = {**request.get("headers", {}), **self._secrets}
        timeout = request.get("timeout") or self._http.timeout
        started = self._clock()
        try:
            with self._http.stream(
                method, url, params=request.get("params"), content=request.get("content"), headers=headers,
                extensions=request.get("extensions"), timeout=timeout,
            ) as response:  # fmt: skip
                body = self._read_body(response, max_bytes=request.get("max_bytes"))
        except httpx.InvalidURL as error:
            raise self._no_address() from error
        self.requests += 1
        answer = HttpAnswer(
            response.status_code,
            {k.lower(): v for k, v in response.headers.items()},
            self._without_secrets(body),
            url,
            took_s=self._clock() - started,
        )
        self._quota.note(answer.headers)
        date_ms = answer.date_ms
        if date_ms is not None:
            self._clock_skew_s = date_ms / 1000 - self._wall_clock()
        return answer

    def _read_body(self, response: httpx.Response, *, max_bytes: int | None) -> bytes:
        return _body(response, max_bytes)

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

    def _lost(self, reason: str) -> LostWrite:
        return LostWrite(
            f"{self.host} did not confirm whether it accepted the request ({reason})",
            hint="run the same command again: it checks first",
        )

    def _no_address(self) -> ForgeError:
        return ForgeError(f"{self.host} redirects to an invalid address", hint="run the same command again")

    def _wait(self, decision: Wait, manner: RetryRule | None = None) -> None:
        """Sit a wait out; for a used-up quota, and for what takes longer than allowed, the next request of its kind
        does. `manner` None: it was a write, which nobody repeats.
        """
        is_too_long = decision.is_limit and decision.seconds > self.max_wait_s
        if manner is not None and self.remembers_trouble and (decision.is_quota or is_too_long):
            for budget in [self._budget_of(manner)] if decision.is_quota else self._budgets.values():
                words = f"the quota for {budget.name} is used up" if decision.is_quota else decision.reason
                budget.close_for(with_jitter(decision, self._jitter()).seconds, words)
            return
        if is_too_long:
            raise self._limited(decision.reason, decision.seconds)
        if decision.is_limit:
            self._pace.pause(decision.seconds)
        decision = with_jitter(decision, self._jitter())
        if self.on_wait and decision.seconds >= 1:
            self.on_wait(decision.seconds, decision.reason)
        self._sleep(decision.seconds)


def _body(response: httpx.Response, max_bytes: int | None) -> bytes:
    """Return the body, or at least `max_bytes` of its beginning: leaving early closes the connection."""
    if max_bytes is None:
        return response.read()
    body = bytearray()
    for part in response.iter_bytes():
        body += part
        if len(body) >= max_bytes:
            break
    return bytes(body)


def _describe(error: httpx.HTTPError) -> str:
    """Return the kind of failure and the library's words; httpx puts no header and no body into them."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
