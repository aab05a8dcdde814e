"""Closing on GitLab: issues by the quick action `/duplicate #N`, merge requests by `state_event=close`.

`/duplicate` closes the issue, marks it and links it to the other (https://docs.gitlab.com/user/project/quick_actions/);
a note of nothing but quick actions answers 202 and leaves no note. Reopening takes the mark off by itself, the link
stays and is removed by its own request.

What we write on GitLab: plain notes and labels of issues and merge requests, and what a refusal means to people.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from forgelore.errors import AuthError, ForgeError, LoreError
from forgelore.forges.gitlab import wire
from forgelore.forges.gitlab.payloads import own_link
from forgelore.forges.gitlab.rest import PART_OF, GitLabRest, item_path, message_of
from forgelore.forges.rest import as_refused_write, read_closing_events
from forgelore.model import Item, ItemKey, Project
from forgelore.net.client import HttpAnswer
from forgelore.net.pages import Int64, read, split_rows, walk_links
from forgelore.ports.closing import ClosingFacts
from forgelore.ports.forge import Comment, ConversationLocked, WriteRefused
from forgelore.text.dates import parse_ms
from forgelore.text.fence import storable


class _User(Struct):
    username: str | None = None


class _Note(Struct):
    id: Int64
    body: str | None = None
    author: _User | None = None
    type: str | None = None
    system: bool = False
    created_at: str | None = None


_note = msgspec.json.Decoder(_Note)


class GitLabWrites:
    """The part of GitLab that is written: comments, labels, closings."""

    _rest: GitLabRest

    def list_comments(self, project: Project, key: ItemKey) -> Iterator[Comment]:
        """A note that somebody answered is a thread from then on, and still ours: only notes on lines are left out."""
        params = {"sort": "asc", "order_by": "created_at", "activity_filter": "only_comments"}
        for answer in walk_links(self._rest.client, f"{item_path(project, key)}/notes", params):
            for raw in split_rows(self._rest.checked(answer, f"notes of {key.kind} {key.number}").body):
                note, _ = read(raw, _note)
                if not note.system and note.type != "DiffNote":
                    yield _comment(note, project, key)

    def create_comment(self, project: Project, key: ItemKey, body: str) -> Comment:
        answer = self._write("POST", f"{item_path(project, key)}/notes", {"body": body}, project, key)
        if answer.status == 202:  # nothing but quick actions: they ran, and no note was made
            raise ForgeError(f"{self._rest.host} read the text as quick actions and posted nothing", hint="report this")
        return self._parse_comment(answer, project, key)

    def update_comment(self, project: Project, key: ItemKey, comment_id: int, body: str) -> Comment | None:
        path = f"{item_path(project, key)}/notes/{comment_id}"
        answer = self._write("PUT", path, {"body": body}, project, key, may_be_gone=True)
        return None if answer.status in (404, 410) else self._parse_comment(answer, project, key)

    def delete_comment(self, project: Project, key: ItemKey, comment_id: int) -> bool:
        path = f"{item_path(project, key)}/notes/{comment_id}"
        return self._write("DELETE", path, None, project, key, may_be_gone=True).status not in (404, 410)

    def add_labels(self, project: Project, key: ItemKey, labels: Sequence[str]) -> None:
        self._write("PUT", item_path(project, key), {"add_labels": list(labels)}, project, key)

    def _write(
        self, method: str, path: str, payload: object, project: Project, key: ItemKey, *, may_be_gone: bool = False
    ) -> HttpAnswer:
        """Send something, to this project and to no other; raises what a refusal means to a person."""
        answer = self._rest.client.write(method, path, payload, home=f"/projects/{project.forge_id}/")
        is_gone = may_be_gone and answer.status in (404, 410)
        if answer.status not in (200, 201, 202, 204) and not is_gone:
            raise self._refusal(answer, project, key)
        return answer

    def _parse_comment(self, answer: HttpAnswer, project: Project, key: ItemKey) -> Comment:
        return _comment(read(answer.body, _note)[0], project, key)

    def _refusal(self, answer: HttpAnswer, project: Project, key: ItemKey) -> LoreError:
        what = f"{key.kind} {key.number}"
        if answer.status != 403:
            return as_refused_write(self._rest.refusal(answer, what), answer.status)
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

    def fetch_closing_facts(self, project: Project, item: Item) -> ClosingFacts:
        events = self._closing_rows(f"{item_path(project, item.key)}/resource_state_events", "events", item.key)
        found = read_closing_events(
            events, kind="state", closed="closed", reopened="reopened", by="user", login="username"
        )
        links = [own_link(one, project) for one in item.links]
        marks = [one for one in links if one.relation == "duplicate_of" and not one.is_withdrawn and not one.project]
        return replace(
            found,
            duplicate_of=tuple(one.number for one in marks),
            linked_to=tuple(number for number, _ in self._links(project, item)),
            **self._review_facts(project, item.key),
        )

    def _review_facts(self, project: Project, key: ItemKey) -> dict[str, bool]:
        """Say whether somebody approved a change, and whether it merges by itself; nothing of an issue."""
        if key.kind != "change":
            return {}
        path = item_path(project, key)
        change = wire.loose(self._rest.checked(self._rest.client.get(path), f"change {key.number}").body)
        answer = self._rest.client.get(f"{path}/approvals")
        approvals = wire.loose(answer.body) if answer.status == 200 else {}  # a project may have them switched off
        is_merging = bool(change.get("merge_when_pipeline_succeeds"))
        return {"is_approved": bool(approvals.get("approved_by")), "is_merging": is_merging}

    def _closing_rows(self, path: str, what: str, key: ItemKey) -> Iterator[dict[str, Any]]:
        for answer in walk_links(self._rest.client, path, {}):
            body = self._rest.checked(answer, f"{what} of {key.kind} {key.number}").body
            yield from map(wire.loose, split_rows(body))

    def _links(self, project: Project, item: Item) -> list[tuple[int, int]]:
        """Return (number, id of the link) of the issues of this project that an issue is linked to."""
        if item.key.kind != "issue":
            return []
        rows = self._closing_rows(f"{item_path(project, item.key)}/links", "links", item.key)
        return [
            (row["iid"], row["issue_link_id"])
            for row in rows
            if row.get("project_id") == project.forge_id and isinstance(row.get("issue_link_id"), int)
        ]

    def close_as_duplicate(self, project: Project, item: Item, target: Item) -> None:
        if item.key.kind != "issue":
            self._write("PUT", item_path(project, item.key), {"state_event": "close"}, project, item.key)
            return
        payload = {"body": f"/duplicate #{target.key.number}"}
        answer = self._write("POST", f"{item_path(project, item.key)}/notes", payload, project, item.key)
        if answer.status != 202:
            raise WriteRefused(
                f"{self._rest.host} treated /duplicate as text and did not close {item.key.number}",
                hint="the token's account needs the role Reporter or more",
            )

    def reopen(self, project: Project, key: ItemKey) -> None:
        self._write("PUT", item_path(project, key), {"state_event": "reopen"}, project, key)

    def unmark_duplicate(self, project: Project, item: Item, target: Item) -> None:
        """Reopening has taken it off."""

    def remove_link(self, project: Project, item: Item, target: Item) -> None:
        for number, link_id in self._links(project, item):
            if number == target.key.number:
                path = f"{item_path(project, item.key)}/links/{link_id}"
                self._write("DELETE", path, None, project, item.key, may_be_gone=True)

    def remove_labels(self, project: Project, key: ItemKey, labels: Sequence[str]) -> None:
        self._write("PUT", item_path(project, key), {"remove_labels": list(labels)}, project, key)

    def react(self, project: Project, key: ItemKey, comment_id: int, *, is_good: bool) -> None:
        path = f"{item_path(project, key)}/notes/{comment_id}/award_emoji"
        self._write("POST", path, {"name": "thumbsup" if is_good else "confused"}, project, key, may_be_gone=True)

    def count_reactions(
        self, project: Project, key: ItemKey, comment_id: int, *, only: Literal["down"] | None = None
    ) -> int:
        path = f"{item_path(project, key)}/notes/{comment_id}/award_emoji"
        answer = self._rest.client.get(path)
        if answer.status in (404, 410):
            return 0
        rows = [wire.loose(raw) for raw in split_rows(self._rest.checked(answer, "reactions").body)]
        return sum(not only or row.get("name") == "thumbsdown" for row in rows)


def _comment(note: _Note, project: Project, key: ItemKey) -> Comment:
    page = f"{project.url}/-/{PART_OF[key.kind]}/{key.number}#note_{note.id}" if project.url else None
    author = note.author.username if note.author else None
    return Comment(note.id, storable(note.body or ""), author, page, parse_ms(note.created_at))
