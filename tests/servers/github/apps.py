"""GitHub Apps: a claim signed with the app's private key (JWT, RS256) becomes the token of one of its installations.

The signature is checked by PyJWT, which has nothing of ours. Claims of more than ten minutes, from the future, or over
are refused, as the real service does.
https://docs.github.com/rest/apps/apps
"""

import dataclasses
import datetime as dt
import re

import jwt

from ..base import Request, Response  # noqa: TID252  works as servers.* and as tests.servers.*
from .access import Token, problem
from .payloads import NEWEST, Shapes

_FIND = re.compile(r"/(?:repos/(?P<owner>[^/]+)/[^/]+|orgs/(?P<org>[^/]+)|users/(?P<user>[^/]+))/installation")
_MAKE = re.compile(r"/app/installations/(?P<id>\d+)/access_tokens")
_HOUR = dt.timedelta(hours=1)


@dataclasses.dataclass
class App:
    """An app with the public half of its key, and where it is installed: owner -> number."""

    id: int
    public_key: str
    installations: dict[str, int]
    permissions: dict[str, str] = dataclasses.field(
        default_factory=lambda: dict.fromkeys(("contents", "issues", "metadata", "pull_requests"), "read")
    )
    made: list[str] = dataclasses.field(default_factory=list)  # tokens, oldest first


def answer(server, request: Request, path: str) -> Response | None:
    """What apps ask; None for every other request."""
    found, made = _FIND.fullmatch(path), _MAKE.fullmatch(path)
    if not found and not made:
        return None
    app = _identify(server, request.headers.get("authorization", ""))
    if found:
        owner = next(value for value in found.groupdict().values() if value)
        number = app.installations.get(owner)
        return (
            Response(200, _describe(server, app, owner, number)) if number else Response(404, {"message": "Not Found"})
        )
    owner = next((owner for owner, number in app.installations.items() if number == int(made["id"])), None)
    if owner is None or request.method != "POST":
        return Response(404, {"message": "Not Found"})
    token = f"ghs_{len(app.made):04d}{'x' * 32}"
    app.made.append(token)
    server.tokens[token] = Token(f"app-{app.id}[bot]", permissions=dict(app.permissions), kind="integration")
    ends = server.clock.now() + _HOUR
    return Response(201, {"token": token, "expires_at": ends.strftime("%Y-%m-%dT%H:%M:%SZ")})


def _describe(server, app: App, owner: str, number: int) -> dict:
    user, web = server.world.user(owner), server.world.web()
    return {
        "id": number,
        "app_id": app.id,
        "app_slug": f"app-{app.id}",
        "account": Shapes(server.api_url, NEWEST, None).user(server.world, owner),
        "target_id": user.id,
        "target_type": user.kind,
        "repository_selection": "all",
        "permissions": dict(app.permissions),
        "events": [],
        "single_file_name": None,
        "access_tokens_url": f"{server.api_url}/app/installations/{number}/access_tokens",
        "repositories_url": f"{server.api_url}/installation/repositories",
        "html_url": f"{web}/settings/installations/{number}",
        "created_at": user.created_at,
        "updated_at": user.created_at,
        "suspended_by": None,
        "suspended_at": None,
    }


def _identify(server, authorization: str) -> App:
    claim = authorization.removeprefix("Bearer ")
    for app in server.apps:
        try:
            # Times are those of the server's own clock, which a test may set.
            said = jwt.decode(claim, app.public_key, ["RS256"], options={"verify_exp": False, "verify_iat": False})
        except jwt.PyJWTError:
            continue
        now = server.clock.now().timestamp()
        if said["iss"] == str(app.id) and said["iat"] <= now < said["exp"] <= now + 600:
            return app
    raise problem(401, "A JSON web token could not be decoded")
