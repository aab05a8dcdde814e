"""What to do with an answer: pure decisions, no clock and no socket.

    answer                                             decision
    2xx, 304                                           Done
    GitHub: 403/429 with x-ratelimit-remaining: 0      Wait until x-ratelimit-reset
    403/429 with Retry-After                           Wait that long
    403/429 that talks of a secondary limit            Wait 60 s, then 120 s, 240 s …
    429 with nothing at all (GitLab)                   Wait 2 s, 4 s, 8 s … at most 60
    408, 425, 5xx, a broken or unreadable body         Wait 1 s, 2 s, 4 s …, give up after `ATTEMPTS`
    5xx with Retry-After (maintenance)                 Wait that long
    GraphQL 200 with RATE_LIMITED                      Wait until reset, else 60 s
    GraphQL 200 with `data: null` and no typed error   as a 5xx: it broke down on the way
    anything else                                      failed: the adapter says what it means
    a write that was refused for now (a limit)         Wait, and then nothing: only who looks first may send it again
    a write that may have happened (408, 5xx, silence) nothing: the same

A wait is never cut short: a forge that says 20 minutes gets 20 minutes, or the caller stops and says when to come
back. Each is a little longer, by chance (`with_jitter`). https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api

How fast requests may leave, how often one may be tried, how many the forge said are left, and which endpoints are down:

    working   every failure in a row is counted, over all threads; an answer starts the count anew
    down      after FAILURES in a row that lasted DECIDED_S, or two that lasted SLOWLY_S: nobody asks for PAUSE_S, then
              one request tries. It works again, or is down for another PAUSE_S

An endpoint is a path with its numbers taken out, or GraphQL; ANYWHERE is a server that cannot be reached at all. One
item that always fails is not taken for all of them: where a path had a number, two such paths must have failed.
"""

import math
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from forgelore.records import QuotaLeft
from forgelore.text.dates import parse_http_date

ATTEMPTS = 6
SECONDARY_S = 60.0
MAX_JITTER_S = 10.0
QUOTA = "rate limit"
BUDGETS = {"core": "REST", "graphql": "GraphQL"}  # as GitHub calls them -> as people do
_TROUBLE = re.compile(rb'"errors"|"data"\s*:\s*null')


class Wait(NamedTuple):
    seconds: float
    reason: str
    is_limit: bool = False  # a limit is the forge's wish and does not count as a failed attempt

    @property
    def is_quota(self) -> bool:
        """True when the requests of an hour are used up, of REST or of GraphQL; other limits hold for everything."""
        return self.reason == QUOTA


NextStep = Wait | Literal["accepted", "failed"]


def decide(
    status: int, headers: Mapping[str, str], body: bytes, *, attempt: int, now_s: float, attempts: int = ATTEMPTS
) -> NextStep:
    """Return what to do with an answer on the `attempt`th try (from 1). `headers` has lower-case names."""
    if status in (200, 201, 202, 204, 304):
        return "accepted"
    if status in (403, 429):
        limit = limit_wait(status, headers, body, attempt=attempt, now_s=now_s)
        return limit or "failed"
    if status in (408, 425) or status >= 500:
        asked = _retry_after(headers, now_s)
        if asked is not None and status >= 500:
            return Wait(max(asked, 1.0), f"HTTP {status}, asked to wait", is_limit=True)
        return after_failure(attempt, f"HTTP {status}", attempts=attempts)
    return "failed"


def may_have_happened(status: int) -> bool:
    """True for an answer that leaves open whether a write was done: a gateway speaks, or the forge broke half-way."""
    return status == 408 or status >= 500


def limit_wait(status: int, headers: Mapping[str, str], body: bytes, *, attempt: int, now_s: float) -> Wait | None:
    """Return how long a limited request must wait; None when a 403 is a plain refusal."""
    retry_after = _retry_after(headers, now_s)
    if retry_after is not None:
        return Wait(max(retry_after, 1.0), "asked to wait", is_limit=True)
    if headers.get("x-ratelimit-remaining") == "0" or headers.get("ratelimit-remaining") == "0":
        reset = _seconds(headers.get("x-ratelimit-reset") or headers.get("ratelimit-reset"))
        if reset is not None:
            return Wait(max(reset - now_s, 0.0) + 1.0, QUOTA, is_limit=True)
    if b"secondary rate limit" in body or b"abuse detection" in body or b"rate limit exceeded" in body:
        return Wait(SECONDARY_S * 2 ** min(attempt - 1, 4), "secondary rate limit", is_limit=True)
    if status == 429:
        return Wait(min(60.0, 2.0**attempt), "too many requests", is_limit=True)
    return None


def after_failure(attempt: int, reason: str, *, attempts: int = ATTEMPTS) -> NextStep:
    """Return the wait before another try at something that broke, or "failed" when that was the last."""
    if attempt >= attempts:
        return "failed"
    return Wait(min(30.0, 2.0 ** (attempt - 1)), reason)


def looks_complete(body: bytes) -> bool:
    """True when the body begins and ends as JSON does. A proxy's page does not, nor does an answer that was cut off."""
    ends = body.lstrip()[:1] + body.rstrip()[-1:]
    return ends in (b"{}", b"[]")


def is_final(error: BaseException | None) -> bool:
    """True where trying again brings the same: a certificate that nobody trusts, a server that speaks no TLS."""
    import ssl

    seen = 0
    while error is not None and seen < 10:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        if isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
            return True
        error, seen = error.__cause__ or error.__context__, seen + 1
    return False


def with_jitter(wait: Wait, share: float) -> Wait:
    """Return a wait that is up to a quarter longer, or 10 s, by a share from 0 to 1: those that failed together come
    back apart. It is never shorter: what a server asks for is the least.

    with_jitter(Wait(4, "HTTP 502"), 0.5) -> Wait(4.5, "HTTP 502")
    """
    return wait._replace(seconds=wait.seconds + min(wait.seconds / 4, MAX_JITTER_S) * share)


def decide_graphql(headers: Mapping[str, str], body: bytes, *, limits: int, failures: int, now_s: float) -> NextStep:
    """Return what to do with a 200 of GraphQL, after so many limits and failures of the same query.

    An answer without trouble begins with its data: it is read once, by who asked.
    """
    if not _TROUBLE.search(body[:400]) and b'"RATE_LIMITED"' not in body[-2000:]:
        return "accepted"
    document = _object_in(body)
    types = {error.get("type", "") for error in _errors_in(document)}
    limit = graphql_wait(types, headers, attempt=limits + 1, now_s=now_s)
    if limit is None and is_graphql_failure(document):
        return after_failure(failures + 1, "GraphQL without data")
    return limit or "accepted"


def graphql_wait(error_types: set[str], headers: Mapping[str, str], *, attempt: int, now_s: float) -> Wait | None:
    """Return the wait for a limit that GitHub's GraphQL reports inside a 200; None when there is none."""
    if "RATE_LIMITED" not in error_types:
        return None
    reset = _seconds(headers.get("x-ratelimit-reset"))
    if headers.get("x-ratelimit-remaining") == "0" and reset is not None:
        return Wait(max(reset - now_s, 0.0) + 1.0, QUOTA, is_limit=True)
    return Wait(SECONDARY_S * 2 ** min(attempt - 1, 4), "secondary rate limit", is_limit=True)


def is_graphql_failure(document: Mapping[str, Any]) -> bool:
    """True when GraphQL broke down on the way: no data, and no error that says by its type or code what it means.

    `{"data": null, "errors": [{"message": "Something went wrong while executing your query. …"}]}`
    """
    errors = _errors_in(document)
    if any(error.get("type") or (error.get("extensions") or {}).get("code") for error in errors):
        return False
    data = document.get("data")
    if data is None and "data" in document:  # a query that is refused for its text has no `data` at all
        return True
    is_empty = not isinstance(data, dict) or all(value is None for value in data.values())
    return is_empty and any("something went wrong" in str(error.get("message")).lower() for error in errors)


def _object_in(body: bytes) -> dict[str, Any]:
    import msgspec

    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def _errors_in(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    errors = document.get("errors")
    return [error for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []


def _retry_after(headers: Mapping[str, str], now_s: float) -> float | None:
    """Return the seconds of a `Retry-After`, which may be a number or a date."""
    text = headers.get("retry-after")
    seconds = _seconds(text)
    if seconds is not None:
        return seconds
    date_ms = parse_http_date(text)
    return None if date_ms is None else max(date_ms / 1000 - now_s, 0.0)


def _seconds(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and math.isfinite(value) else None


PRIMARY = ("", "core", "graphql")  # GitLab names no resource; searches and the like have small limits of their own


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
        self._sleep(max(0.0, turn - self._clock()))  # also for no time at all: a command that was stopped ends here

    def pause(self, seconds: float) -> None:
        with self._guard:
            self._next = max(self._next, self._clock() + seconds)


class RetryRule(NamedTuple):
    """How one request is to be treated: how many failures are too many, and what may not be assumed of it."""

    attempts: int = ATTEMPTS
    is_once: bool = False  # sent again only when it surely never arrived
    is_text: bool = False  # the body need not be JSON
    is_graphql: bool = False  # a 200 may hold errors


USUAL = RetryRule()
ONCE = RetryRule(is_once=True)
GRAPHQL = RetryRule(is_graphql=True)
OPTIONAL_TEXT = RetryRule(attempts=2, is_text=True)  # nice to have: not worth half a minute of waiting


class Tries:
    """How often one request failed, and how often it met a limit: a limit is no failure and uses up no attempt."""

    def __init__(self, manner: RetryRule = USUAL) -> None:
        self.failures = self.limits = 0
        self.manner = manner

    def count(self, decision: Wait) -> None:
        self.limits += decision.is_limit
        self.failures += not decision.is_limit


class Quota:
    """What the forge last said is left, by resource. Answers of one window overtake each other: the least counts."""

    def __init__(self) -> None:
        self._left: dict[str, QuotaLeft] = {}

    def note(self, headers: Mapping[str, str]) -> None:
        left = _number(headers.get("x-ratelimit-remaining") or headers.get("ratelimit-remaining"))
        reset_s = _number(headers.get("x-ratelimit-reset") or headers.get("ratelimit-reset")) or 0
        name = headers.get("x-ratelimit-resource", "")
        if left is None or name not in PRIMARY:
            return
        limit = _number(headers.get("x-ratelimit-limit") or headers.get("ratelimit-limit"))
        known = self._left.get(name)
        least = min(left, known.left) if known and known.reset_s == reset_s else left
        self._left[name] = QuotaLeft(BUDGETS.get(name, "requests"), least, limit, reset_s)

    def open_windows(self, now_s: float) -> list[QuotaLeft]:
        """Return the quotas whose hour is not over."""
        return [one for one in self._left.values() if not 0 < one.reset_s <= now_s]

    def smallest(self, now_s: float) -> int | None:
        """Return the least of what is left in the windows that are still open; None when nothing is known."""
        return min((one.left for one in self.open_windows(now_s)), default=None)


class Budget:
    """A quota that may be used up: until it is full again nobody asks. One thread waits for all, and says so once."""

    def __init__(self, name: str, *, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self.name, self.reason = name, ""
        self._clock, self._sleep = clock, sleep
        self._until = -math.inf
        self._guard = threading.Lock()

    def left_s(self) -> float:
        return max(0.0, self._until - self._clock())

    def close_for(self, seconds: float, reason: str) -> None:
        self.reason = reason
        self._until = max(self._until, self._clock() + seconds)

    def wait(self, tell: Callable[[float], None]) -> None:
        with self._guard:
            while (left := self.left_s()) > 0:
                tell(left)
                self._sleep(left)


ANYWHERE = ""
FAILURES = 4
DECIDED_S, SLOWLY_S, UNREACHABLE_S = (
    10.0,
    40.0,
    30.0,
)  # the last: a network that is away for half a minute may come back
PAUSE_S = 60.0
_NUMBERS = re.compile(r"(?<=/)\d+(?=/|$)")


def endpoint_of(path: str, *, is_graphql: bool) -> str:
    """`/repos/acme/web/issues/12/comments?page=2` -> `/repos/acme/web/issues/N/comments`."""
    return "GraphQL" if is_graphql else _NUMBERS.sub("N", path.partition("?")[0])


class _Row(NamedTuple):
    """Failures in a row. `has_trier`: the pause is over, and one request tries for all."""

    failures: int
    began_at: float
    reason: str
    paths: frozenset[str] = frozenset()
    is_down: bool = False
    pause_ends_at: float = -math.inf
    has_trier: bool = False


class Breaker:
    """Which endpoints of a server are down. Threads share it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rows: dict[str, _Row] = {}
        self._changed = threading.Condition()

    def why_not(self, endpoint: str) -> str:
        """Return why this endpoint must not be asked now, "" when it may. When its pause is over, one may try, and says
        so with `end_try`; the others wait here for what comes of it.
        """
        with self._changed:
            while (row := self._rows.get(endpoint)) is not None and row.is_down:
                if row.has_trier:
                    self._changed.wait()
                elif self._clock() < row.pause_ends_at:
                    return row.reason
                else:
                    self._rows[endpoint] = row._replace(has_trier=True)
                    return ""
            return ""

    def end_try(self, endpoint: str) -> None:
        """Give the turn back, whatever came of it."""
        if self._rows:
            with self._changed:
                if row := self._rows.get(endpoint):
                    self._rows[endpoint] = row._replace(has_trier=False)
                self._changed.notify_all()

    def note_failure(self, endpoint: str, path: str, reason: str, began_at: float) -> bool:
        """Count a failure of a request that began then; returns whether the endpoint now counts as down."""
        with self._changed:
            now = self._clock()
            row = self._rows.get(endpoint) or _Row(0, began_at, reason)
            failures, lasted = row.failures + 1, now - row.began_at
            patience = UNREACHABLE_S if endpoint == ANYWHERE else DECIDED_S
            paths = frozenset([*row.paths, path][-2:])
            is_many = len(paths) > 1 or not _NUMBERS.search(path)
            is_over = is_many and (
                (failures >= FAILURES and lasted >= patience) or (failures > 1 and lasted >= SLOWLY_S)
            )
            is_down = row.is_down or is_over
            self._rows[endpoint] = _Row(
                failures, row.began_at, reason, paths, is_down, now + PAUSE_S, row.has_trier
            )  # fmt: skip
            return is_down

    def note_answer(self, endpoint: str) -> None:
        if self._rows:
            with self._changed:
                self._rows.pop(endpoint, None)
                self._rows.pop(ANYWHERE, None)
                self._changed.notify_all()

    def down(self) -> dict[str, str]:
        """Return endpoint -> reason of those that are down."""
        with self._changed:
            return {endpoint: row.reason for endpoint, row in self._rows.items() if row.is_down}

    def begin_run(self, down: Mapping[str, str]) -> None:
        """Begin with what an earlier run found: one request tries each of these endpoints, once."""
        now = self._clock()
        with self._changed:
            known = {**down, **{endpoint: row.reason for endpoint, row in self._rows.items() if row.is_down}}
            self._rows = {endpoint: _Row(FAILURES, now, reason, is_down=True) for endpoint, reason in known.items()}
            self._changed.notify_all()


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() else None
