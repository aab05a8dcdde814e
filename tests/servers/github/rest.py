"""Which handler answers a REST path, on which project, and with which permission?

A handler is a function of a `Call` and the numbers in the path; it returns JSON (200) or a Response, or
raises `RefusedError`. `/repos/{owner}/{name}/...` and `/repositories/{id}/...` are the same routes.
"""

import dataclasses
import functools
import re
import urllib.parse

from ..base import Request, Response  # noqa: TID252  works as servers.* and as tests.servers.*
from . import reads, writes
from .access import (
    RefusedError,
    Token,
    not_found,
    problem,
    redirect,
    require_permission,
    require_visible,
)
from .payloads import VERSIONS, Shapes

REPO = r"(?:/repos/(?P<owner>[^/]+)/(?P<name>[^/]+)|/repositories/(?P<repository>\d+))"
EITHER = "issues|pull_requests"
TEXT = ("login", "label", "path", "ref")  # path parts that are not numbers

# method, path, handler, permission of a fine-grained token (None: no project involved)
TABLE = [
    ("GET", "/user", reads.me, None),
    ("GET", "/rate_limit", reads.rate_limit, None),
    ("GET", "/meta", reads.meta, None),
    ("GET", "/orgs/{login}/repos", reads.org_repos, None),
    ("GET", "/users/{login}/repos", reads.user_repos, None),
    ("GET", "REPO", reads.repo, "metadata"),
    ("GET", "REPO/issues", reads.issues, "issues"),
    ("POST", "REPO/issues", writes.create_issue, "issues"),
    ("GET", "REPO/issues/comments", reads.issue_comments, EITHER),
    ("GET", "REPO/issues/comments/{comment_id}", reads.issue_comment, EITHER),
    ("POST", "REPO/issues/comments/{comment_id}/reactions", writes.react, EITHER),
    ("PATCH", "REPO/issues/comments/{comment_id}", writes.edit_issue_comment, EITHER),
    ("DELETE", "REPO/issues/comments/{comment_id}", writes.delete_issue_comment, EITHER),
    ("GET", "REPO/issues/{number}", reads.issue, EITHER),
    ("PATCH", "REPO/issues/{number}", writes.edit_issue, EITHER),
    ("GET", "REPO/issues/{number}/comments", reads.comments_of, EITHER),
    ("POST", "REPO/issues/{number}/comments", writes.create_comment, EITHER),
    ("GET", "REPO/issues/{number}/events", reads.events_of, EITHER),
    ("GET", "REPO/issues/{number}/timeline", reads.timeline_of, EITHER),
    ("GET", "REPO/issues/{number}/labels", reads.labels_of, EITHER),
    ("POST", "REPO/issues/{number}/labels", writes.add_labels, EITHER),
    ("DELETE", "REPO/issues/{number}/labels/{label}", writes.remove_label, EITHER),
    ("GET", "REPO/pulls", reads.pulls, "pull_requests"),
    ("GET", "REPO/pulls/comments", reads.review_comments, "pull_requests"),
    ("GET", "REPO/pulls/comments/{comment_id}", reads.review_comment, "pull_requests"),
    ("PATCH", "REPO/pulls/comments/{comment_id}", writes.edit_review_comment, "pull_requests"),
    ("DELETE", "REPO/pulls/comments/{comment_id}", writes.delete_review_comment, "pull_requests"),
    ("GET", "REPO/pulls/{number}", reads.pull, "pull_requests"),
    ("PATCH", "REPO/pulls/{number}", writes.edit_pull, "pull_requests"),
    ("GET", "REPO/pulls/{number}/files", reads.files_of, "pull_requests"),
    ("GET", "REPO/pulls/{number}/reviews", reads.reviews_of, "pull_requests"),
    ("GET", "REPO/pulls/{number}/comments", reads.review_comments_of, "pull_requests"),
    ("GET", "REPO/contents/{path}", reads.contents, "contents"),
    ("GET", "REPO/commits/{ref}", reads.commit, "contents"),
    ("GET", "REPO/releases", reads.releases, "contents"),
    ("GET", "REPO/releases/{release_id}", reads.release, "contents"),
    ("GET", "REPO/issues/{number}/suggestions", writes.suggestions_of, "issues"),
    ("POST", "REPO/issues/{number}/suggestions/{suggestion_id}/dismiss", writes.dismiss_suggestion, "issues"),
    ("GET", "REPO/labels", reads.labels, EITHER),
    ("GET", "REPO/collaborators", reads.collaborators, "metadata"),
    ("GET", "REPO/collaborators/{login}/permission", reads.collaborator_permission, "metadata"),
]


def compile_route(method: str, path: str, handler, permission):
    kinds = {"path": ".+"} | dict.fromkeys(("login", "label", "ref"), "[^/]+")  # a file's path has slashes of its own
    pattern = re.sub(r"\{(\w+)\}", lambda m: f"(?P<{m[1]}>{kinds.get(m[1], '[0-9]+')})", path)
    return method, re.compile(pattern.replace("REPO", REPO) + r"\Z"), handler, permission


ROUTES = [compile_route(*row) for row in TABLE]


@dataclasses.dataclass
class Call:
    """One REST request on its way through a handler."""

    server: object
    request: Request
    token: Token | None
    api: str  # where the API starts, as the client spelled it
    tail: str  # the path below the repository, for links and redirects
    project: object = None
    headers: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def version(self) -> str:
        return self.request.headers.get("x-github-api-version", VERSIONS[0])

    @functools.cached_property
    def shapes(self) -> Shapes:
        return Shapes(self.api, self.version, self.token)

    @property
    def login(self) -> str | None:
        return self.token.login if self.token else None

    @property
    def numbered_url(self) -> str:
        base = f"{self.api}/repositories/{self.project.id}" if self.project else self.api
        return base + self.tail


def answer(server, request: Request, path: str, token: Token | None, api: str) -> Response:
    method = "GET" if request.method == "HEAD" else request.method
    for wanted, pattern, handler, permission in ROUTES:
        match = pattern.match(path) if wanted == method else None
        if match:
            call = Call(server, request, token, api, path)
            try:
                return dispatch(call, handler, permission, match)
            except RefusedError as refused:
                return refused.response
    return not_found().response


def dispatch(call: Call, handler, permission: str | None, match: re.Match) -> Response:
    if call.version not in VERSIONS:
        raise problem(400, f"'{call.version}' is not a valid version. Valid versions are: {', '.join(VERSIONS)}")
    found = match.groupdict()
    place = {name: found.pop(name, None) for name in ("owner", "name", "repository")}
    level = "read" if call.request.method in ("GET", "HEAD") else "write"
    if permission:
        call.tail = match.string[match.end("name") if place["name"] else match.end("repository") :]
        moved = find_project(call, **place)
        if moved:
            return moved
        require_permission(call.token, permission, level)
        if level == "write":
            writes.require_writer(call)
    if call.token:
        call.headers.update(call.token.headers(permission, level))
    given = {name: urllib.parse.unquote(v) if name in TEXT else int(v) for name, v in found.items()}
    result = handler(call, **given)
    if not isinstance(result, Response):
        result = Response(200, result)
    result.headers = {**call.headers, **result.headers}
    return result


def find_project(call: Call, owner, name, repository) -> Response | None:
    """Set `call.project`, or return the redirect of a renamed one; what may not be seen is 404."""
    world = call.server.world
    if repository:
        call.project = world.projects.get(int(repository))
    else:
        path = urllib.parse.unquote(f"{owner}/{name}").lower()
        call.project = world.names.get(path)
        moved = world.moved.get(path)
        if call.project is None and moved is not None:
            require_visible(moved, call.token)
            call.project = moved
            return redirect(call, call.numbered_url)
    require_visible(call.project, call.token)
    return None
