"""Closing on GitLab: issues by the quick action `/duplicate #N`, merge requests by `state_event=close`.

`/duplicate` closes the issue, marks it and links it to the other (https://docs.gitlab.com/user/project/quick_actions/);
a note of nothing but quick actions answers 202 and leaves no note. Reopening takes the mark off by itself, the link
stays and is removed by its own request.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from forgelore.closing_port import ClosingFacts
from forgelore.core.times import parse_ms
from forgelore.errors import ForgeError
from forgelore.forges.gitlab import wire
from forgelore.forges.gitlab.notes import Notes
from forgelore.forges.gitlab.payloads import own_link
from forgelore.forges.gitlab.rest import GitLabRest, item_path
from forgelore.model import Item, ItemKey, Project
from forgelore.net.jsontext import split_rows
from forgelore.net.walk import walk_links


class GitLabClosings:
    """The part of GitLab that closes and opens again."""

    _rest: GitLabRest
    _notes: Notes

    def fetch_closing_facts(self, project: Project, item: Item) -> ClosingFacts:
        closed: dict[str, Any] = {}
        reopened: dict[str, Any] = {}
        for event in self._rows(f"{item_path(project, item.key)}/resource_state_events", "events", item.key):
            closed = event if event.get("state") == "closed" else closed
            reopened = event if event.get("state") == "reopened" else reopened
        user = closed.get("user")
        links = [own_link(one, project) for one in item.links]
        marks = [one for one in links if one.relation == "duplicate_of" and not one.is_withdrawn and not one.project]
        return ClosingFacts(
            closed_by=user.get("username") if isinstance(user, dict) else None,
            closed_at=parse_ms(closed.get("created_at")), reopened_at=parse_ms(reopened.get("created_at")),
            duplicate_of=tuple(one.number for one in marks),
            linked_to=tuple(number for number, _ in self._links(project, item)),
        )  # fmt: skip

    def _rows(self, path: str, what: str, key: ItemKey) -> Iterator[dict[str, Any]]:
        for answer in walk_links(self._rest.client, path, {}):
            body = self._rest.checked(answer, f"{what} of {key.kind} {key.number}").body
            yield from map(wire.loose, split_rows(body))

    def _links(self, project: Project, item: Item) -> list[tuple[int, int]]:
        """Return (number, id of the link) of the issues of this project that an issue is linked to."""
        if item.key.kind != "issue":
            return []
        rows = self._rows(f"{item_path(project, item.key)}/links", "links", item.key)
        return [
            (row["iid"], row["issue_link_id"])
            for row in rows
            if row.get("project_id") == project.forge_id and isinstance(row.get("issue_link_id"), int)
        ]

    def close_as_duplicate(self, project: Project, item: Item, target: Item) -> None:
        if item.key.kind != "issue":
            self._notes.write("PUT", item_path(project, item.key), {"state_event": "close"}, project, item.key)
            return
        payload = {"body": f"/duplicate #{target.key.number}"}
        answer = self._notes.write("POST", f"{item_path(project, item.key)}/notes", payload, project, item.key)
        if answer.status != 202:
            raise ForgeError(
                f"{self._rest.host} took /duplicate for text, and did not close {item.key.number}",
                hint="the token's account needs the role Reporter or more",
            )

    def reopen(self, project: Project, key: ItemKey) -> None:
        self._notes.write("PUT", item_path(project, key), {"state_event": "reopen"}, project, key)

    def unmark_duplicate(self, project: Project, item: Item, target: Item) -> None:
        """Reopening has taken it off."""

    def remove_link(self, project: Project, item: Item, target: Item) -> None:
        for number, link_id in self._links(project, item):
            if number == target.key.number:
                path = f"{item_path(project, item.key)}/links/{link_id}"
                self._notes.write("DELETE", path, None, project, item.key, may_be_gone=True)

    def remove_labels(self, project: Project, key: ItemKey, labels: Sequence[str]) -> None:
        self._notes.write("PUT", item_path(project, key), {"remove_labels": list(labels)}, project, key)

    def count_reactions(self, project: Project, key: ItemKey, comment_id: int) -> int:
        path = f"{item_path(project, key)}/notes/{comment_id}/award_emoji"
        answer = self._rest.client.get(path)
        return 0 if answer.status in (404, 410) else len(split_rows(self._rest.checked(answer, "reactions").body))
