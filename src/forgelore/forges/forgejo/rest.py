"""Forgejo's REST answers: good ones, and what the others mean to a person."""

from urllib.parse import quote

from forgelore.errors import AuthError, ForgeError, LoreError, NotFound
from forgelore.forges.answers import AnswerChecker
from forgelore.forges.forgejo import wire
from forgelore.model import ItemKey, Project
from forgelore.net.client import HttpAnswer


class ForgejoRest(AnswerChecker):
    """Forgejo's words for what went wrong."""

    def refusal(self, answer: HttpAnswer, what: str) -> LoreError:
        said = message_of(answer)
        if answer.status == 401:
            return self.rejected(f": {said}" if said else "")
        if answer.status == 403:
            return AuthError(
                f"{self.host} refuses to show {what} (HTTP 403: {said})",
                hint="the token needs the scopes read:repository and read:issue, and access to the project",
            )
        if answer.status in (404, 410):
            return NotFound(
                f"{what} not found on {self.host} (HTTP {answer.status})",
                hint="check the spelling, or the token's access",
            )
        return ForgeError(f"{self.host} answered {answer.status} to {what}: {said}", hint="run the same command again")


def repo_path(project: Project) -> str:
    return f"/repos/{quote(project.name.path, safe='/')}"


def item_path(project: Project, key: ItemKey) -> str:
    """Return where an issue or a change is shown as the lists show it: changes are issues too."""
    return f"{repo_path(project)}/issues/{key.number}"


def message_of(answer: HttpAnswer) -> str:
    try:
        return str(wire.loose(answer.body).get("message", ""))[:200]
    except LoreError:
        return answer.body[:100].decode("utf-8", "replace")
