"""What we write on GitLab: plain notes and labels of issues and merge requests, and what a refusal means to people."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from forgelore.core.text import storable
from forgelore.errors import AuthError, ForgeError, LoreError
from forgelore.forges.gitlab import wire
from forgelore.forges.gitlab.rest import PART_OF, GitLabRest, item_path, message_of
from forgelore.model import ItemKey, Project
from forgelore.net.client import HttpAnswer
from forgelore.net.jsontext import Int64, read, split_rows
from forgelore.net.walk import walk_links
from forgelore.ports import Comment, ConversationLocked


class _User(Struct):
    username: str | None = None


class _Note(Struct):
    id: Int64
    body: str | None = None
    author: _User | None = None
    type: str | None = None
    system: bool = False


_note = msgspec.json.Decoder(_Note)


class Notes:
    """Notes and labels on one server."""

    def __init__(self, rest: GitLabRest) -> None:
        self._rest = rest

    def list(self, project: Project, key: ItemKey) -> Iterator[Comment]:
        """A note that somebody answered is a thread from then on, and still ours: only notes on lines are left out."""
        params = {"sort": "asc", "order_by": "created_at", "activity_filter": "only_comments"}
        for answer in walk_links(self._rest.client, f"{item_path(project, key)}/notes", params):
            for raw in split_rows(self._rest.checked(answer, f"notes of {key.kind} {key.number}").body):
                note, _ = read(raw, _note)
                if not note.system and note.type != "DiffNote":
                    yield _comment(note, project, key)

    def create(self, project: Project, key: ItemKey, body: str) -> Comment:
        answer = self.write("POST", f"{item_path(project, key)}/notes", {"body": body}, project, key)
        if answer.status == 202:  # nothing but quick actions: they ran, and no note was made
            raise ForgeError(
                f"{self._rest.host} took the text for quick actions and posted nothing", hint="report this"
            )
        return self._parse(answer, project, key)

    def update(self, project: Project, key: ItemKey, comment_id: int, body: str) -> Comment | None:
        path = f"{item_path(project, key)}/notes/{comment_id}"
        answer = self.write("PUT", path, {"body": body}, project, key, may_be_gone=True)
        return None if answer.status in (404, 410) else self._parse(answer, project, key)

    def delete(self, project: Project, key: ItemKey, comment_id: int) -> bool:
        path = f"{item_path(project, key)}/notes/{comment_id}"
        return self.write("DELETE", path, None, project, key, may_be_gone=True).status not in (404, 410)

    def add_labels(self, project: Project, key: ItemKey, labels: Sequence[str]) -> None:
        self.write("PUT", item_path(project, key), {"add_labels": list(labels)}, project, key)

    def write(
        self, method: str, path: str, payload: object, project: Project, key: ItemKey, *, may_be_gone: bool = False
    ) -> HttpAnswer:
        """Send something, to this project and to no other; raises what a refusal means to a person."""
        answer = self._rest.client.write(method, path, payload, home=f"/projects/{project.forge_id}/")
        is_gone = may_be_gone and answer.status in (404, 410)
        if answer.status not in (200, 201, 202, 204) and not is_gone:
            raise self._refusal(answer, project, key)
        return answer

    def _parse(self, answer: HttpAnswer, project: Project, key: ItemKey) -> Comment:
        return _comment(read(answer.body, _note)[0], project, key)

    def _refusal(self, answer: HttpAnswer, project: Project, key: ItemKey) -> LoreError:
        what = f"{key.kind} {key.number}"
        if answer.status != 403:
            return self._rest.refusal(answer, what)
        if self._is_locked(project, key):
            hint = "unlock it, or post with a member of the project"
            return ConversationLocked(f"the conversation of {what} is locked", hint=hint)
        return AuthError(
            f"the token may not write to {what} on {self._rest.host} (HTTP 403: {message_of(answer)})",
            hint="give it the scope api, and its account the role Reporter or more",
        )

    def _is_locked(self, project: Project, key: ItemKey) -> bool:
        """GitLab's refusal does not say why: the item does."""
        answer = self._rest.client.get(item_path(project, key))
        return answer.status == 200 and bool(wire.loose(answer.body).get("discussion_locked"))


def _comment(note: _Note, project: Project, key: ItemKey) -> Comment:
    page = f"{project.url}/-/{PART_OF[key.kind]}/{key.number}#note_{note.id}" if project.url else None
    return Comment(note.id, storable(note.body or ""), note.author.username if note.author else None, page)
