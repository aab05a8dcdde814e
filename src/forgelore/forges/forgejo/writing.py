"""Closing on Forgejo: plainly, since it knows no duplicates; the comment names the other item.

Who closed and reopened an item stands in its timeline.

What we write on Forgejo: comments and labels of issues and changes, and what a refusal means to a person.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from forgelore.errors import AuthError, ForgeError, LoreError
from forgelore.forges.forgejo import wire
from forgelore.forges.forgejo.rest import ForgejoRest, item_path, message_of, repo_path, walk_pages
from forgelore.forges.rest import as_refused_write, is_last_word_approval, read_closing_events
from forgelore.model import Item, ItemKey, Project
from forgelore.net.client import HttpAnswer
from forgelore.net.pages import OddValueError, split_rows
from forgelore.ports.closing import ClosingFacts
from forgelore.ports.forge import Comment, ConversationLocked
from forgelore.text.dates import parse_ms

_NEW_LABEL_COLOR = "#ededed"


class ForgejoWrites:
    """The part of Forgejo that is written: comments, labels, closings."""

    _rest: ForgejoRest

    def list_comments(self, project: Project, key: ItemKey) -> Iterator[Comment]:
        """One answer holds all of them. The item is asked for first: of the comments of a deleted one some versions
        say 500, which would be tried again.
        """
        self._rest.checked(self._rest.client.get(item_path(project, key)), f"{key.kind} {key.number}")
        answer = self._rest.client.get(f"{item_path(project, key)}/comments")
        body = self._rest.checked(answer, f"comments of {key.kind} {key.number}").body
        yield from map(_parse, split_rows(body))

    def create_comment(self, project: Project, key: ItemKey, body: str) -> Comment:
        return _parse(self._write("POST", f"{item_path(project, key)}/comments", {"body": body}, project, key).body)

    def update_comment(self, project: Project, key: ItemKey, comment_id: int, body: str) -> Comment | None:
        path = f"{repo_path(project)}/issues/comments/{comment_id}"
        answer = self._write("PATCH", path, {"body": body}, project, key, may_be_gone=True)
        return None if answer.status in (204, 404) else _parse(answer.body)  # 204: no comment any more, but an event

    def delete_comment(self, project: Project, key: ItemKey, comment_id: int) -> bool:
        path = f"{repo_path(project)}/issues/comments/{comment_id}"
        return self._write("DELETE", path, None, project, key, may_be_gone=True).status != 404

    def add_labels(self, project: Project, key: ItemKey, labels: Sequence[str]) -> None:
        """Labels have numbers here, and an unknown one is made first. Adding twice is adding once."""
        known = self._label_ids(project)
        for name in dict.fromkeys(labels):
            if name.lower() not in known:
                made = {"name": name, "color": _NEW_LABEL_COLOR}
                answer = self._write("POST", f"{repo_path(project)}/labels", made, project, key)
                known[name.lower()] = _id_of(wire.loose(answer.body))
        payload = {"labels": [known[name.lower()] for name in labels]}
        self._write("POST", f"{item_path(project, key)}/labels", payload, project, key)

    def _label_ids(self, project: Project) -> dict[str, int]:
        """Return the number of each label of a project by its name in lower case."""
        known: dict[str, int] = {}
        for answer in walk_pages(self._rest.client, f"{repo_path(project)}/labels"):
            rows = map(wire.loose, split_rows(self._rest.checked(answer, "labels").body))
            known |= {str(row.get("name")).lower(): _id_of(row) for row in rows}
        return known

    def _write(
        self, method: str, path: str, payload: object, project: Project, key: ItemKey, *, may_be_gone: bool = False
    ) -> HttpAnswer:
        """Send something, to this project and to no other; raises what a refusal means to a person."""
        home = f"{repo_path(project)}/"
        answer = self._rest.client.write(method, path, payload, home=home)
        if answer.status not in (200, 201, 204) and not (may_be_gone and answer.status == 404):
            raise self._refusal(answer, project, key)
        return answer

    def _refusal(self, answer: HttpAnswer, project: Project, key: ItemKey) -> LoreError:
        what = f"{key.kind} {key.number}"
        if 300 <= answer.status < 400:  # what is written follows no redirect: nobody looked at the new place yet
            return ForgeError(f"{project.name.path} has been renamed", hint="run the same command again")
        if answer.status == 423:
            return ForgeError(f"the project is archived: nothing can be posted on {what}", hint="leave it as it is")
        if answer.status != 403:
            return as_refused_write(self._rest.refusal(answer, what), answer.status)
        if self._is_locked(project, key):
            hint = "unlock it, or post with an account that may write to the project"
            return ConversationLocked(f"the conversation of {what} is locked", hint=hint)
        return AuthError(
            f"the token may not write to {what} on {self._rest.host} (HTTP 403: {message_of(answer)})",
            hint="give it the scope write:issue",
        )

    def _is_locked(self, project: Project, key: ItemKey) -> bool:
        """The refusal says why in the server's language: the item says it in JSON."""
        answer = self._rest.client.get(item_path(project, key))
        return answer.status == 200 and bool(wire.loose(answer.body).get("is_locked"))

    def fetch_closing_facts(self, project: Project, item: Item) -> ClosingFacts:
        answers = walk_pages(self._rest.client, f"{item_path(project, item.key)}/timeline")
        events = [
            wire.loose(raw) for answer in answers for raw in split_rows(self._rest.checked(answer, "timeline").body)
        ]
        found = read_closing_events(events, kind="type", closed="close", reopened="reopen", by="user", login="login")
        planned = [event.get("type") for event in events if "scheduled_merge" in str(event.get("type"))]
        return replace(
            found, head_sha=self._head(project, item.key), is_approved=self._is_approved(project, item.key),
            is_merging=planned[-1:] == ["pull_scheduled_merge"],
        )  # fmt: skip

    def _is_approved(self, project: Project, key: ItemKey) -> bool:
        if key.kind != "change":
            return False
        answers = walk_pages(self._rest.client, f"{repo_path(project)}/pulls/{key.number}/reviews")
        bodies = (self._rest.checked(answer, f"reviews of {key.number}").body for answer in answers)
        return is_last_word_approval(wire.loose(raw) for body in bodies for raw in split_rows(body))

    def _head(self, project: Project, key: ItemKey) -> str | None:
        """Return the newest commit of a change: what shows it as an issue does not say it."""
        if key.kind != "change":
            return None
        answer = self._rest.client.get(f"{repo_path(project)}/pulls/{key.number}")
        head = wire.loose(self._rest.checked(answer, f"change {key.number}").body).get("head")
        sha = head.get("sha") if isinstance(head, dict) else None
        return sha if isinstance(sha, str) else None

    def close_as_duplicate(self, project: Project, item: Item, target: Item) -> None:
        del target
        self._write("PATCH", item_path(project, item.key), {"state": "closed"}, project, item.key)

    def reopen(self, project: Project, key: ItemKey) -> None:
        self._write("PATCH", item_path(project, key), {"state": "open"}, project, key)

    def unmark_duplicate(self, project: Project, item: Item, target: Item) -> None:
        """There are no marks."""

    def remove_link(self, project: Project, item: Item, target: Item) -> None:
        """There are no links."""

    def remove_labels(self, project: Project, key: ItemKey, labels: Sequence[str]) -> None:
        known = self._label_ids(project)
        for number in filter(None, (known.get(label.lower()) for label in labels)):
            path = f"{item_path(project, key)}/labels/{number}"
            self._write("DELETE", path, None, project, key, may_be_gone=True)

    def react(self, project: Project, key: ItemKey, comment_id: int, *, is_good: bool) -> None:
        path = f"{repo_path(project)}/issues/comments/{comment_id}/reactions"
        self._write("POST", path, {"content": "+1" if is_good else "confused"}, project, key, may_be_gone=True)

    def count_reactions(
        self, project: Project, key: ItemKey, comment_id: int, *, only: Literal["down"] | None = None
    ) -> int:
        del key
        answer = self._rest.client.get(f"{repo_path(project)}/issues/comments/{comment_id}/reactions")
        if answer.status in (204, 404) or answer.body.strip() == b"null":
            return 0
        rows = [wire.loose(raw) for raw in split_rows(self._rest.checked(answer, "reactions").body)]
        return sum(not only or row.get("content") == "-1" for row in rows)


def _parse(raw: bytes) -> Comment:
    row = wire.loose(raw)
    body, url, user = row.get("body"), row.get("html_url"), row.get("user")
    return Comment(
        _id_of(row), wire.text(body) or "" if isinstance(body, str) else "",
        wire.login_of(user if isinstance(user, dict) else None), url if isinstance(url, str) else None,
        parse_ms(row.get("created_at")),
    )  # fmt: skip


def _id_of(row: dict[str, Any]) -> int:
    found = row.get("id")
    if not isinstance(found, int):
        raise OddValueError("the forge's answer has no ID", hint="please report this to the forge")
    return found
