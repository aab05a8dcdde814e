"""Who is asking, and may they see or do this?

Unknown and expired tokens are 401 everywhere. A private project is 404 to those who may not see it. A
fine-grained token without the permission is 403 and is told which one would do, even on a public project
(the real service lets it read public data; being strict here makes the refusal easy to provoke).
"""

import base64
import binascii
import dataclasses
import urllib.parse

from ..base import Response  # noqa: TID252  works as servers.* and as tests.servers.*

DOCS = "https://docs.github.com/rest"
LEVELS = {"read": 1, "write": 2, "admin": 3}


@dataclasses.dataclass
class Token:
    login: str
    name: str | None = None
    scopes: tuple[str, ...] = ("repo",)
    permissions: dict[str, str] | None = None  # fine-grained: {"issues": "read"}; None means classic
    expired: bool = False
    private_access: bool = True
    is_colleague: bool = False  # of the enterprise: internal projects are shown
    kind: str = "personal access token"  # "integration" for the token of an Actions run

    def sees_private(self) -> bool:
        return self.private_access and (self.permissions is not None or "repo" in self.scopes)

    def sees(self, project) -> bool:
        return not project.private or self.sees_private() or (self.is_colleague and project.visibility == "internal")

    def may_write(self) -> bool:
        return self.permissions is not None or bool({"repo", "public_repo"} & set(self.scopes))

    def grants(self, permission: str, level: str) -> bool:
        """`permission` may name alternatives: "issues|pull_requests"."""
        if self.permissions is None or (permission == "metadata" and level == "read"):
            return True
        held = [LEVELS.get(self.permissions.get(name, ""), 0) for name in permission.split("|")]
        return max(held) >= LEVELS[level]

    def headers(self, permission: str | None = None, level: str = "read") -> dict[str, str]:
        if self.permissions is None:
            return {"X-OAuth-Scopes": ", ".join(self.scopes), "X-Accepted-OAuth-Scopes": ""}
        needed = [f"{name}={level}" for name in (permission or "metadata").split("|")]
        return {"X-Accepted-GitHub-Permissions": "; ".join(needed)}


class RefusedError(Exception):
    """Carries the answer out of a handler."""

    def __init__(self, response: Response):
        super().__init__(response.status)
        self.response = response


def problem(status: int, message: str, headers: dict[str, str] | None = None, **more) -> RefusedError:
    body = {"message": message, **more, "documentation_url": DOCS, "status": str(status)}
    return RefusedError(Response(status, body, headers or {}))


def not_found() -> RefusedError:
    return problem(404, "Not Found")


def invalid(resource: str, field: str, code: str = "invalid", **more) -> RefusedError:
    return problem(422, "Validation Failed", errors=[{"resource": resource, "field": field, "code": code, **more}])


def identify(tokens: dict[str, Token], authorization: str | None) -> Token | None:
    """The token behind `Bearer x`, `token x` or Basic; None for anonymous. Raises 401 for one that is no good."""
    if not authorization:
        return None
    scheme, _, secret = authorization.partition(" ")
    if scheme.lower() == "basic":
        secret = _basic_password(secret)
    token = tokens.get(secret.strip())
    if token is None or token.expired:
        raise problem(401, "Bad credentials")
    return token


def _basic_password(encoded: str) -> str:
    try:
        user, _, password = base64.b64decode(encoded).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return user if password in ("", "x-oauth-basic") else password


def require_permission(token: Token | None, permission: str, level: str) -> None:
    if token and not token.grants(permission, level):
        raise problem(403, f"Resource not accessible by {token.kind}", token.headers(permission, level))


def require_visible(project, token: Token | None) -> None:
    if project is None or (project.private and not (token and token.sees(project))):
        raise not_found()


def redirect(call, url: str) -> Response:
    """301 for reading; 307 for writing, which asks the client to repeat method and body."""
    query = urllib.parse.urlencode([(k, v) for k, vs in call.request.query.items() for v in vs])
    target = f"{url}?{query}" if query else url
    status, text = (301, "Moved Permanently") if call.request.method in ("GET", "HEAD") else (307, "Temporary Redirect")
    docs = "https://docs.github.com/rest/guides/best-practices-for-using-the-rest-api#follow-redirects"
    return Response(status, {"message": text, "url": target, "documentation_url": docs}, {"Location": target})
