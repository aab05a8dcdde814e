"""GitLab's REST answers: good ones, and what the others mean to a person."""

from forgelore.errors import AuthError, ForgeError, LoreError, NotFound
from forgelore.forges.answers import AnswerChecker
from forgelore.forges.gitlab import wire
from forgelore.model import ItemKey, Project
from forgelore.net.client import HttpAnswer

PART_OF: dict[str, str] = {"issue": "issues", "change": "merge_requests"}


class GitLabRest(AnswerChecker):
    """GitLab's words for what went wrong."""

    def refusal(self, answer: HttpAnswer, what: str) -> LoreError:
        said = message_of(answer)
        if answer.status == 401:
            return self.rejected(f": {said}")
        if answer.status == 403:
            return AuthError(
                f"{self.host} refuses to show {what} (HTTP 403: {said})",
                hint="the token needs the scope read_api and access to the project",
            )
        if answer.status in (404, 410):
            return NotFound(
                f"{what} not found on {self.host} (HTTP {answer.status})",
                hint="check the spelling, or the token's access",
            )
        return ForgeError(f"{self.host} answered {answer.status} to {what}: {said}", hint="run the same command again")


def item_path(project: Project, key: ItemKey) -> str:
    return f"/projects/{project.forge_id}/{PART_OF[key.kind]}/{key.number}"


def message_of(answer: HttpAnswer) -> str:
    """GitLab says what is wrong in `message` (text, or lists by field) or in `error`, or in plain text."""
    try:
        body = wire.loose(answer.body)
    except LoreError:
        return answer.body[:100].decode("utf-8", "replace")
    found = body.get("message") or body.get("error_description") or body.get("error") or ""
    if isinstance(found, dict):
        found = "; ".join(
            f"{name}: {', '.join(map(str, values if isinstance(values, list) else [values]))}"
            for name, values in found.items()
        )
    return str(found)[:200]
