"""Closing on Forgejo: plainly, since it knows no duplicates; the comment names the other item.

Who closed and reopened an item stands in its timeline.
"""

from collections.abc import Sequence
from typing import Any

from forgelore.closing_port import ClosingFacts
from forgelore.core.times import parse_ms
from forgelore.forges.forgejo import wire
from forgelore.forges.forgejo.comments import ForgejoComments
from forgelore.forges.forgejo.pages import walk_pages
from forgelore.forges.forgejo.rest import ForgejoRest, item_path, repo_path
from forgelore.model import Item, ItemKey, Project
from forgelore.net.jsontext import split_rows


class ForgejoClosings:
    """The part of Forgejo that closes and opens again."""

    _rest: ForgejoRest
    _comments: ForgejoComments

    def fetch_closing_facts(self, project: Project, item: Item) -> ClosingFacts:
        closed: dict[str, Any] = {}
        reopened: dict[str, Any] = {}
        for answer in walk_pages(self._rest.client, f"{item_path(project, item.key)}/timeline"):
            for event in map(wire.loose, split_rows(self._rest.checked(answer, "timeline").body)):
                closed = event if event.get("type") == "close" else closed
                reopened = event if event.get("type") == "reopen" else reopened
        user = closed.get("user")
        return ClosingFacts(
            closed_by=user.get("login") if isinstance(user, dict) else None,
            closed_at=parse_ms(closed.get("created_at")), reopened_at=parse_ms(reopened.get("created_at")),
            head_sha=self._head(project, item.key),
        )  # fmt: skip

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
        self._comments.write("PATCH", item_path(project, item.key), {"state": "closed"}, project, item.key)

    def reopen(self, project: Project, key: ItemKey) -> None:
        self._comments.write("PATCH", item_path(project, key), {"state": "open"}, project, key)

    def unmark_duplicate(self, project: Project, item: Item, target: Item) -> None:
        """There are no marks."""

    def remove_link(self, project: Project, item: Item, target: Item) -> None:
        """There are no links."""

    def remove_labels(self, project: Project, key: ItemKey, labels: Sequence[str]) -> None:
        known = self._comments.label_ids(project)
        for number in filter(None, (known.get(label.lower()) for label in labels)):
            path = f"{item_path(project, key)}/labels/{number}"
            self._comments.write("DELETE", path, None, project, key, may_be_gone=True)

    def count_reactions(self, project: Project, key: ItemKey, comment_id: int) -> int:
        del key
        answer = self._rest.client.get(f"{repo_path(project)}/issues/comments/{comment_id}/reactions")
        if answer.status in (204, 404) or answer.body.strip() == b"null":
            return 0
        return len(split_rows(self._rest.checked(answer, "reactions").body))
