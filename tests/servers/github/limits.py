"""How many requests are left, and what does GitHub answer when none are?

Primary limit: one bucket per resource ("core", "graphql") that refills an hour after its first request.
Anonymous and authorised clients share the buckets; the real service gives the former 60 per hour and address.
Secondary limits and GraphQL's own troubles are asked for by tests: the next `times` requests meet them.
"""

import dataclasses
import math

from ..base import Clock, Response  # noqa: TID252  works as servers.* and as tests.servers.*

DOCS = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api"
WINDOW_S = 3600


@dataclasses.dataclass
class Bucket:
    used: int = 0
    reset: int = 0


class Limits:
    def __init__(self, clock: Clock):
        self.clock = clock
        self.limit = 5000
        self.status = 403
        self.buckets = {name: Bucket() for name in ("core", "graphql", "search")}
        self._secondary = {"times": 0, "retry_after": None, "status": 403}
        self.graphql_troubles: list[str] = []

    def set(self, limit: int, remaining: int | None) -> None:
        self.limit = limit
        for bucket in self.buckets.values():
            bucket.used = 0 if remaining is None else limit - remaining
            bucket.reset = self._now() + WINDOW_S

    def secondary(self, times: int, retry_after: int | None, status: int) -> None:
        self._secondary = {"times": times, "retry_after": retry_after, "status": status}

    def _now(self) -> int:
        return math.floor(self.clock.now().timestamp())

    def bucket(self, resource: str) -> Bucket:
        bucket = self.buckets[resource]
        if self._now() >= bucket.reset:
            bucket.used, bucket.reset = 0, self._now() + WINDOW_S
        return bucket

    def remaining(self, resource: str) -> int:
        return max(0, self.limit - self.bucket(resource).used)

    def spend(self, resource: str, points: int = 1) -> None:
        self.bucket(resource).used += points

    def numbers(self, resource: str) -> dict:
        bucket = self.bucket(resource)
        left = self.remaining(resource)
        return {"limit": self.limit, "remaining": left, "used": self.limit - left, "reset": bucket.reset}

    def headers(self, resource: str) -> dict[str, str]:
        named = {f"X-RateLimit-{name.title()}": str(value) for name, value in self.numbers(resource).items()}
        return {**named, "X-RateLimit-Resource": resource}

    def refuse_secondary(self) -> Response | None:
        rule = self._secondary
        if not rule["times"]:
            return None
        rule["times"] -= 1
        text = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        headers = {} if rule["retry_after"] is None else {"Retry-After": str(rule["retry_after"])}
        about = f"{DOCS}#about-secondary-rate-limits"
        body = {"message": text, "documentation_url": about, "status": str(rule["status"])}
        return Response(rule["status"], body, headers)

    def refuse_primary(self, resource: str, who: str) -> Response | None:
        if self.remaining(resource):
            return None
        text = f"API rate limit exceeded for {who}."
        if resource == "graphql":  # GraphQL says so inside a 200
            return Response(200, {"errors": [{"type": "RATE_LIMITED", "message": text}]})
        return Response(self.status, {"message": text, "documentation_url": DOCS, "status": str(self.status)})
