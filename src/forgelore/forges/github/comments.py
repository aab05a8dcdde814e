"""What we write on GitHub: comments and labels of issues and changes, and what a refusal means to a person.

A change's plain comments live below `/issues`. A repository that was renamed redirects, and that is followed; an issue
that was transferred redirects too, to another repository, where nobody asked for our comment.
"""

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from forgelore.errors import AuthError, ForgeError, LoreError, NotFound
from forgelore.forges.github import wire
from forgelore.forges.github.rest import GitHubRest, message_of, repo_path
from forgelore.model import ItemKey, Project
from forgelore.net.client import HttpAnswer
from forgelore.net.jsontext import Int64, read, split_rows
from forgelore.net.walk import walk_links
from forgelore.ports import Comment, ConversationLocked

_PERMISSIONS = {"issue": "issues: write", "change": "pull-requests: write"}


class _User(Struct):
    login: str | None = None


class _Comment(Struct):
    id: Int64
    body: str | None = None
    user: _User | None = None
    html_url: str | None = None


_comment = msgspec.json.Decoder(_Comment)


class Comments:
    """Comments and labels on one server."""

    def __init__(self, rest: GitHubRest) -> None:
        self._rest = rest

    def list(self, project: Project, key: ItemKey) -> Iterator[Comment]:
        path = f"{repo_path(project)}/issues/{key.number}/comments"
        for answer in walk_links(self._rest.client, path, {}):
            if _is_elsewhere(project, answer.url):
                raise _moved(key)
            body = self._rest.checked(answer, f"comments of {key.kind} {key.number}").body
            yield from map(_parse, split_rows(body))

    def create(self, project: Project, key: ItemKey, body: str) -> Comment:
        path = f"{repo_path(project)}/issues/{key.number}/comments"
        answer = self.write("POST", path, {"body": body}, project)
        return _parse(self.check_written(answer, key).body)

    def update(self, project: Project, key: ItemKey, comment_id: int, body: str) -> Comment | None:
        path = f"{repo_path(project)}/issues/comments/{comment_id}"
        answer = self.write("PATCH", path, {"body": body}, project)
        return None if answer.status in (404, 410) else _parse(self.check_written(answer, key).body)

    def delete(self, project: Project, key: ItemKey, comment_id: int) -> bool:
        answer = self.write("DELETE", f"{repo_path(project)}/issues/comments/{comment_id}", None, project)
        if answer.status in (404, 410):
            return False
        self.check_written(answer, key)
        return True

    def add_labels(self, project: Project, key: ItemKey, labels: Sequence[str]) -> None:
        """Adding a label twice is adding it once: this POST may be repeated."""
        path = f"{repo_path(project)}/issues/{key.number}/labels"
        payload = {"labels": list(labels)}
        self.check_written(self._rest.client.write("POST", path, payload, home=_home(project), is_repeatable=True), key)

    def write(self, method: str, path: str, payload: object, project: Project) -> HttpAnswer:
        """Send something, to this project and to no other."""
        return self._rest.client.write(method, path, payload, home=_home(project))

    def check_written(self, answer: HttpAnswer, key: ItemKey) -> HttpAnswer:
        """Return a good answer, or raise what a refusal to write means to a person."""
        if answer.status in (200, 201, 204):
            return answer
        raise self._refusal(answer, key)

    def _refusal(self, answer: HttpAnswer, key: ItemKey) -> LoreError:
        said, what = message_of(answer), f"{key.kind} {key.number}"
        if 300 <= answer.status < 400:
            return _moved(key)
        if answer.status != 403:
            return self._rest.refusal(answer, what)
        if "locked" in said.lower():
            hint = "unlock it, or post with an account that may write to the project"
            return ConversationLocked(f"the conversation of {what} is locked", hint=hint)
        if "archived" in said.lower():
            return ForgeError(f"the project is archived: nothing can be posted on {what}", hint="leave it as it is")
        permission = _PERMISSIONS.get(key.kind, "issues: write")
        hint = f"give it the permission {permission} (in a workflow, below `permissions:`)"
        return AuthError(f"the token may not write to {what} on {self._rest.host} (HTTP 403: {said})", hint=hint)


def _parse(raw: bytes) -> Comment:
    comment, _ = read(raw, _comment)
    login = comment.user.login if comment.user else None
    return Comment(comment.id, wire.text(comment.body) or "", login, comment.html_url)


def _home(project: Project) -> str:
    return f"/repositories/{project.forge_id}/"


def _is_elsewhere(project: Project, url: str) -> bool:
    path = urlsplit(url).path.lower()
    return f"{repo_path(project).lower()}/" not in path and _home(project) not in path


def _moved(key: ItemKey) -> NotFound:
    return NotFound(f"{key.kind} {key.number} was moved to another project", hint="triage it there")
