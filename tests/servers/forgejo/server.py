"""The local Forgejo itself. What can happen in a project is what can happen on the local GitHub (`servers.github`):
issues and changes that are numbered together, comments, reviews. Only what is told of it, and how, is different.
"""

import traceback

from ..base import Clock, Request, Response  # noqa: TID252  works as servers.* and as tests.servers.*
from ..github import GitHubServer, truth  # noqa: TID252
from ..github.state import Project  # noqa: TID252
from . import payloads, rest
from .access import RefusedError, Token, identify

API = "/api/v1"


class ForgejoServer(GitHubServer):
    kind = "forgejo"

    def __init__(self, clock: Clock | None = None):
        super().__init__(clock, ghes=True)  # pages live where the API lives
        self.tokens: dict[str, Token] = {}
        self.most_rows = 50  # MAX_RESPONSE_ITEMS

    @property
    def api_url(self) -> str:
        return self.url + API

    def add_project(self, path: str, **settings) -> Project:
        return super().add_project(path, **{"has_discussions": False, **settings})

    def populate(self, path: str, **wanted) -> Project:
        return super().populate(path, **{**wanted, "discussions": 0})

    def truth(self, path: str, *, drafts: bool = False) -> list[dict]:
        with self.lock:
            project = self.project(path)
            known = truth.truth(project, drafts=drafts)
            return [one | told_of(project, one) for one in known]

    def handle(self, request: Request) -> Response:
        try:
            if not request.path.startswith(API):
                return Response(404, "<html>not found</html>", {"Content-Type": "text/html"})
            token = identify(self.tokens, request.headers.get("authorization"))
            return rest.answer(rest.Call(self, request, token), request.path.removeprefix(API))
        except RefusedError as refused:
            return refused.response
        except Exception:
            self.errors.append(traceback.format_exc())
            return Response(500, {"message": "", "url": ""})


def told_of(project, one: dict) -> dict:
    """What Forgejo says in another way: no reasons, no text where there is none, releases without a time of update."""
    if one["kind"] == "release":
        return {"body": one["body"] or "", "updated_at": None}
    page = payloads.page_of(project.items[one["number"]])
    return {"body": one["body"] or "", "state_reason": None, "url": page}
