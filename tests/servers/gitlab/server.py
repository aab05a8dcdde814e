"""A GitLab on loopback: signs readers in, counts their requests and hands the rest to the routes.

The world is changed by Python verbs (`server.add_project(...)`, then the project's own) or over HTTP;
everything a client learns, it learns over HTTP. Times come from the server's clock alone.
"""

import contextlib
import dataclasses
import datetime as dt
import math
import traceback

from ..base import Clock, ForgeServer, Request, Response, conditional  # noqa: TID252  see records
from . import graph, rest, writes
from .call import ApiError, Call
from .populate import populate
from .project import Project
from .records import Token
from .routing import find_route
from .state import World
from .truth import truth

ROUTES = rest.ROUTES + writes.ROUTES
READ_SCOPES = {"api", "read_api"}
PLAIN = {"Content-Type": "text/plain"}


@dataclasses.dataclass
class Limit:
    """So many requests a window; the window opens anew when the clock passes its end."""

    limit: int
    remaining: int
    window_s: float
    reset_at: float


class GitLabServer(ForgeServer):
    kind = "gitlab"

    def __init__(self, clock: Clock | None = None, *, require_auth: bool = False):
        super().__init__(clock)
        self.require_auth = require_auth
        self.anonymous_threads = False  # True: strangers may read notes and members of public projects
        self.tokens: dict[str, Token] = {}
        self.graphql = True
        self.graphql_lacks: set[str] = set()  # fields that this version does not have: "Note.internal"
        self.total_cutoff = 10_000
        self.offset_cutoff = 50_000
        self.errors: list[str] = []  # tracebacks behind the 500s: a test that sees one has found our bug
        self.limit: Limit | None = None
        self._bare_refusals = 0
        self.world = World(self.clock, self.lock, self._web)

    def _web(self) -> str:
        return self.url if self._httpd else "http://gitlab.local"

    @property
    def api_url(self) -> str:
        return f"{self.url}/api/v4"

    def add_project(self, path: str, **settings) -> Project:
        """Settings: private, visibility, has_issues, has_merge_requests, default_branch, archived, personal."""
        with self.lock:
            return self.world.add_project(path, **settings)

    def project(self, path: str) -> Project:
        return self.world.find_project(path)

    def rename(self, old: str, new: str) -> None:
        with self.lock:
            self.world.rename(old, new)

    def remove_project(self, path: str) -> None:
        with self.lock:
            self.world.remove_project(path)

    def truth(self, path: str) -> list[dict]:
        with self.lock:
            return truth(self.project(path))

    def populate(self, path: str, **how_much) -> Project:
        """Fill a project, made when it is missing, with a deterministic history; see `populate.py`."""
        with self.lock:
            project = self.world.paths.get(path.lower()) or self.world.add_project(path)
            populate(project, **how_much)
        return project

    def set_limit(self, limit: int | None, remaining: int | None = None, *, window_s: float = 60) -> None:
        """`set_limit(None)` lifts it."""
        if limit is None:
            self.limit = None
            return
        left = limit if remaining is None else remaining
        self.limit = Limit(limit, left, window_s, self.clock.now().timestamp() + window_s)

    def limit_bare(self, times: int = 1) -> None:
        """Refuse the next requests with a 429 that carries nothing to go by."""
        self._bare_refusals = times

    def handle(self, request: Request) -> Response:
        if self._bare_refusals > 0:
            self._bare_refusals -= 1
            return Response(429, "Retry later\n", dict(PLAIN))
        headers = self._count()
        if "Retry-After" in headers:
            return Response(429, "Retry later\n", headers | PLAIN)
        try:
            response = self._answer(request)
        except ApiError as error:
            response = Response(error.status, error.body, error.headers)
        except Exception:
            self.errors.append(traceback.format_exc())
            response = Response(500, {"message": "500 Internal Server Error"})
        response.headers = headers | response.headers
        return response

    def _count(self) -> dict[str, str]:
        if self.limit is None:
            return {}
        rate, now = self.limit, self.clock.now().timestamp()
        if now >= rate.reset_at:
            rate.remaining, rate.reset_at = rate.limit, now + rate.window_s
        spent = rate.remaining <= 0
        rate.remaining = max(0, rate.remaining - 1)
        reset = dt.datetime.fromtimestamp(rate.reset_at, dt.UTC)
        headers = {
            "RateLimit-Limit": str(rate.limit),
            "RateLimit-Name": "throttle_authenticated_api",
            "RateLimit-Observed": str(rate.limit - rate.remaining),
            "RateLimit-Remaining": str(rate.remaining),
            "RateLimit-Reset": str(math.ceil(rate.reset_at)),
            "RateLimit-ResetTime": reset.strftime("%a, %d %b %Y %H:%M:%S GMT"),
        }
        return headers | {"Retry-After": str(math.ceil(rate.reset_at - now))} if spent else headers

    def _answer(self, request: Request) -> Response:
        if request.path == "/api/graphql" and self.graphql:
            if request.method != "POST":
                raise ApiError(404, {"error": "404 Not Found"})
            return graph.answer(self, request, self._sign_in(request, writing=False, scopes=set()))
        method = "GET" if request.method == "HEAD" else request.method
        path = request.path.removeprefix("/api/v4") if request.path.startswith("/api/v4/") else ""
        route, segments, exists = find_route(ROUTES, method, path)
        if route is None:
            raise (ApiError(405, {"error": "405 Not Allowed"}) if exists else ApiError(404, {"error": "404 Not Found"}))
        token = self._sign_in(request, writing=method != "GET", scopes={"read_user"} if path == "/user" else set())
        stranger_barred = route.signed_in or (route.thread and not self.anonymous_threads) or self.require_auth
        if token is None and stranger_barred:
            raise ApiError(401, {"message": "401 Unauthorized"})
        result = route.handler(Call(self, request, token), **segments)
        answer = result if isinstance(result, rest.Answer) else rest.Answer(result)
        response = Response(answer.status, answer.body, dict(answer.headers))
        return conditional(request, response) if route.etag else response

    def _sign_in(self, request: Request, *, writing: bool, scopes: set[str]) -> Token | None:
        secret = request.headers.get("private-token")
        bearer = request.headers.get("authorization", "")
        with contextlib.suppress(ValueError):
            scheme, value = bearer.split(None, 1)
            secret = secret or (value if scheme.lower() == "bearer" else None)
        if not secret:
            return None
        token = self.tokens.get(secret)
        if token is None:
            raise ApiError(401, {"message": "401 Unauthorized"})
        if token.expired:
            text = "Token is expired. You can either do re-authorization or token refresh."
            raise ApiError(401, {"error": "invalid_token", "error_description": text})
        if not ({"api"} if writing else READ_SCOPES | scopes) & set(token.scopes):
            text = "The request requires higher privileges than provided by the access token."
            scope = {"error": "insufficient_scope", "error_description": text, "scope": "api read_api"}
            raise ApiError(403, scope)
        return token
