"""Who is asking, and may they see or do this?"""

import dataclasses

from ..base import Response  # noqa: TID252  works as servers.* and as tests.servers.*


@dataclasses.dataclass
class Token:
    login: str
    name: str = ""
    scopes: tuple[str, ...] = ("write:issue", "write:repository")
    expired: bool = False
    private_access: bool = True

    def sees(self, project) -> bool:
        return project.visibility == "internal" or not project.private or self.private_access


class RefusedError(Exception):
    """Carries the answer out of a handler."""

    def __init__(self, status: int, message: str):
        super().__init__(status)
        self.response = Response(status, {"message": message, "url": "http://forgejo.local/api/swagger"})


def not_found() -> RefusedError:
    return RefusedError(404, "The target couldn't be found.")


def identify(tokens: dict[str, Token], authorization: str | None) -> Token | None:
    """The token behind `token x` or `Bearer x`; None for anonymous. Raises 401 for one that is no good."""
    if not authorization:
        return None
    token = tokens.get(authorization.partition(" ")[2].strip())
    if token is None or token.expired:
        raise RefusedError(401, "invalid username, password or token")
    return token
