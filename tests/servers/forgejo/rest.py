"""Which handler answers a path, and on which project?"""

import dataclasses
import re
import urllib.parse

from ..base import Request, Response  # noqa: TID252  works as servers.* and as tests.servers.*
from . import reads, writes
from .access import Token, not_found

REPO = r"/repos/(?P<owner>[^/]+)/(?P<repo>[^/]+)"
TABLE = [
    ("GET", "/version", reads.version),
    ("GET", "/user", reads.me),
    ("GET", "/orgs/{login}/repos", reads.org_repos),
    ("GET", "/users/{login}/repos", reads.user_repos),
    ("GET", "REPO", reads.repo),
    ("GET", "REPO/issues", reads.issues),
    ("GET", "REPO/issues/comments", reads.all_comments),
    ("PATCH", "REPO/issues/comments/{comment_id}", writes.edit_comment),
    ("DELETE", "REPO/issues/comments/{comment_id}", writes.delete_comment),
    ("GET", "REPO/issues/{index}", reads.issue),
    ("PATCH", "REPO/issues/{index}", writes.edit_issue),
    ("GET", "REPO/issues/{index}/timeline", reads.timeline_of),
    ("DELETE", "REPO/issues/{index}/labels/{label_id}", writes.remove_label),
    ("GET", "REPO/issues/comments/{comment_id}/reactions", reads.reactions_of),
    ("GET", "REPO/issues/{index}/comments", reads.comments_of),
    ("POST", "REPO/issues/{index}/comments", writes.create_comment),
    ("POST", "REPO/issues/{index}/labels", writes.add_labels),
    ("GET", "REPO/pulls/{index}", reads.pull),
    ("GET", r"REPO/pulls/{index}\.diff", reads.diff),
    ("GET", "REPO/pulls/{index}/files", reads.files_of),
    ("GET", "REPO/pulls/{index}/reviews", reads.reviews_of),
    ("GET", "REPO/pulls/{index}/reviews/{review_id}/comments", reads.line_comments_of),
    ("GET", "REPO/releases", reads.releases),
    ("GET", "REPO/releases/{release_id}", reads.release),
    ("GET", "REPO/labels", reads.labels),
    ("POST", "REPO/labels", writes.create_label),
    ("GET", "REPO/collaborators", reads.collaborators),
    ("GET", "REPO/branches/{name}", reads.branch),
    ("GET", "REPO/raw/{path}", reads.raw_file),
]
TEXT = ("login", "name", "path")  # path parts that are not numbers


def compile_route(method: str, path: str, handler):
    pattern = re.sub(r"\{(\w+)\}", lambda m: f"(?P<{m[1]}>{'[^/]+' if m[1] in TEXT else '[0-9]+'})", path)
    return method, re.compile(pattern.replace("REPO", REPO) + r"\Z"), handler


ROUTES = [compile_route(*row) for row in TABLE]


@dataclasses.dataclass
class Call:
    """One request on its way through a handler."""

    server: object
    request: Request
    token: Token | None
    project: object = None

    @property
    def world(self):
        return self.server.world

    @property
    def login(self) -> str | None:
        return self.token.login if self.token else None

    def may_see(self, project) -> bool:
        return not project.private or (self.token is not None and self.token.sees(project))

    def is_on(self, kind: str) -> bool:
        return self.project.has_issues if kind == "issue" else self.project.told.get("has_pull_requests", True)


def answer(call: Call, path: str) -> Response:
    for wanted, pattern, handler in ROUTES:
        match = pattern.match(path) if wanted == call.request.method else None
        if match:
            return dispatch(call, handler, match.groupdict())
    raise not_found()


def dispatch(call: Call, handler, found: dict[str, str]) -> Response:
    owner, repo = found.pop("owner", None), found.pop("repo", None)
    if repo is not None:
        moved = find_project(call, urllib.parse.unquote(f"{owner}/{repo}"))
        if moved is not None:
            return moved
        if call.request.method != "GET":
            writes.require_writer(call)
    given = {name: urllib.parse.unquote(text) if name in TEXT else int(text) for name, text in found.items()}
    result = handler(call, **given)
    return result if isinstance(result, Response) else Response(200, result)


def find_project(call: Call, path: str) -> Response | None:
    """Set `call.project`, or return the redirect of a renamed one; what may not be seen is 404."""
    call.project = call.world.names.get(path.lower())
    moved = call.world.moved.get(path.lower())
    if call.project is None and moved is not None and call.may_see(moved):
        target = call.request.base + call.request.path.replace(f"/repos/{path}", f"/repos/{moved.path}", 1)
        query = urllib.parse.urlencode(call.request.query, doseq=True)
        return Response(307, None, {"Location": f"{target}?{query}" if query else target})
    if call.project is None or not call.may_see(call.project):
        raise not_found()
    return None
