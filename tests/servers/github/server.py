"""The local GitHub itself: what happens to each request before and after a handler sees it."""

import json
import traceback

from ..base import Clock, ForgeServer, Request, Response, conditional  # noqa: TID252  works as servers.* and as tests.servers.*
from . import apps, graph, history, rest
from .access import RefusedError, Token, identify, not_found, problem
from .limits import Limits
from .state import Project, World
from .truth import truth

NO_AGENT = "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.\n"


class GitHubServer(ForgeServer):
    """github.com, or with `ghes=True` an Enterprise Server whose API lives below /api."""

    kind = "github"

    def __init__(self, clock: Clock | None = None, *, ghes: bool = False, require_auth: bool = False):
        super().__init__(clock)
        self.ghes = ghes
        self.require_auth = require_auth
        self.tokens: dict[str, Token] = {}
        self.apps: list[apps.App] = []
        self.errors: list[str] = []  # tracebacks of this server's own mistakes; a test may insist on none
        self.limits = Limits(self.clock)
        self.world = World(self.clock, self.lock, lambda: self.url if ghes else "https://github.com")

    @property
    def api_url(self) -> str:
        return self.url + ("/api/v3" if self.ghes else "")

    @property
    def graphql_url(self) -> str:
        return self.url + ("/api/graphql" if self.ghes else "/graphql")

    def add_project(self, path: str, *, owner_type: str = "Organization", **settings) -> Project:
        owner, name = path.split("/")
        with self.lock:
            self.world.user(owner, owner_type)
            project = self.world.add(Project, self.world, owner, name, **settings)
            self.world.projects[project.id] = project
            self.world.names[path.lower()] = project
            self.world.moved.pop(path.lower(), None)
            return project

    def project(self, path: str) -> Project:
        return self.world.names[path.lower()]

    def rename(self, path: str, new_path: str) -> None:
        """The old name goes on answering, with 301 to the repository's number, until somebody takes it."""
        with self.lock:
            project = self.world.names.pop(path.lower())
            project.owner, project.name = new_path.split("/")
            self.world.user(project.owner, "Organization")
            self.world.names[new_path.lower()] = project
            self.world.moved.pop(new_path.lower(), None)
            self.world.moved[path.lower()] = project

    def remove_project(self, path: str) -> None:
        with self.lock:
            project = self.world.names.pop(path.lower())
            del self.world.projects[project.id], self.world.by_id[project.id]
            self.world.moved = {old: p for old, p in self.world.moved.items() if p is not project}
            for item in project.items.values():
                project._forget(item)

    def truth(self, path: str, *, drafts: bool = False) -> list[dict]:
        with self.lock:
            return truth(self.project(path), drafts=drafts)

    def populate(self, path: str, **wanted) -> Project:
        with self.lock:
            project = self.world.names.get(path.lower()) or self.add_project(path)
            history.populate(project, **wanted)
            return project

    @property
    def limit_status(self) -> int:
        return self.limits.status

    @limit_status.setter
    def limit_status(self, status: int) -> None:
        self.limits.status = status

    def set_limit(self, limit: int = 5000, remaining: int | None = None) -> None:
        self.limits.set(limit, remaining)

    def secondary(self, times: int = 1, retry_after: int | None = 2, status: int = 403) -> None:
        self.limits.secondary(times, retry_after, status)

    def graphql_limited(self, times: int = 1) -> None:
        self.limits.graphql_troubles += ["limited"] * times

    def graphql_partial(self, times: int = 1) -> None:
        self.limits.graphql_troubles += ["partial"] * times

    def graphql_timeout(self, times: int = 1) -> None:
        self.limits.graphql_troubles += ["timeout"] * times

    def graphql_broken(self, times: int = 1) -> None:
        self.limits.graphql_troubles += ["broken"] * times

    def handle(self, request: Request) -> Response:
        if not request.headers.get("user-agent"):
            return Response(403, NO_AGENT, {"Content-Type": "text/plain"})
        resource = "graphql" if request.path == self.graphql_url.removeprefix(self.url) else "core"
        try:
            if asked := apps.answer(self, request, request.path.removeprefix(self.api_url.removeprefix(self.url))):
                return asked
            token = identify(self.tokens, request.headers.get("authorization"))
            if self.require_auth and token is None:
                raise problem(401, "Must authenticate to access this API.")
            response = self.refusal(request, resource, token) or self.respond(request, resource, token)
        except RefusedError as refused:
            response = refused.response
        except Exception:
            self.errors.append(traceback.format_exc())
            response = Response(500, {"message": "Server Error"})
        made = {"X-GitHub-Request-Id": f"{len(self.requests):04X}:LOCAL", **self.limits.headers(resource)}
        response.headers = {**made, **response.headers}
        return response

    def refusal(self, request: Request, resource: str, token: Token | None) -> Response | None:
        who = f"user ID {self.world.user(token.login).id}" if token else "127.0.0.1"
        if request.path.endswith("/rate_limit"):
            return None  # looking at the limit is free
        return self.limits.refuse_secondary() or self.limits.refuse_primary(resource, who)

    def respond(self, request: Request, resource: str, token: Token | None) -> Response:
        if resource == "graphql":
            return graph.answer(self, request, token)
        prefix = self.api_url.removeprefix(self.url)
        if not request.path.startswith(prefix + "/"):
            return not_found().response
        response = rest.answer(self, request, request.path.removeprefix(prefix), token, request.base + prefix)
        if response.status == 200 and request.method in ("GET", "HEAD"):
            if not isinstance(response.body, str):
                response.body = json.dumps(response.body).encode()  # once, for the tag and for the wire
            response = conditional(request, response)
        is_free = (response.status == 304 and token) or request.path.endswith("/rate_limit")
        if not is_free:
            self.limits.spend("core")
        return response
