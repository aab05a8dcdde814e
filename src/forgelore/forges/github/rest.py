"""GitHub's REST answers: good ones, and what the others mean to a person."""

from typing import Any
from urllib.parse import quote

from forgelore.errors import AuthError, ForgeError, LoreError, NotFound
from forgelore.forges.answers import AnswerChecker
from forgelore.forges.github import wire
from forgelore.forges.github.sso import sso_hint
from forgelore.model import Project
from forgelore.net.client import HttpAnswer


class GitHubRest(AnswerChecker):
    """GitHub's words for what went wrong."""

    def refusal(self, answer: HttpAnswer, what: str) -> LoreError:
        status, needs = answer.status, answer.headers.get("x-accepted-github-permissions")
        sign_on = sso_hint(answer.headers, self.host)
        if status == 401:
            return self.rejected()
        if status == 403 and sign_on:
            return AuthError(f"{self.host} shows {what} to authorised tokens only (HTTP 403)", hint=sign_on)
        if status == 403 and needs:
            return AuthError(f"the token may not read {what} on {self.host}", hint=f"give it the permission {needs}")
        if status == 403:
            return AuthError(
                f"{self.host} refuses to show {what} (HTTP 403: {message_of(answer)})", hint="check the token's access"
            )
        if status in (404, 410):
            access = f"the token's access (it needs the permission {needs})" if needs else "the token's access"
            hint = sign_on or f"check the spelling, or {access}"
            return NotFound(f"{what} not found on {self.host} (HTTP {status})", hint=hint)
        return ForgeError(
            f"{self.host} answered {status} to {what}: {message_of(answer)}", hint="run the same command again"
        )


def repo_path(project: Project) -> str:
    return f"/repos/{quoted(project.name.path)}"


def quoted(path: str) -> str:
    return quote(path, safe="/")


def object_in(answer: HttpAnswer) -> dict[str, Any]:
    return wire.loose(answer.body)


def message_of(answer: HttpAnswer) -> str:
    try:
        return str(object_in(answer).get("message", ""))[:200]
    except LoreError:
        return ""
