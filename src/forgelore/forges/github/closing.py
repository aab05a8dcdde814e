"""Closing on GitHub: issues as duplicates of another, natively; changes plainly, since they know no such reason.

    PATCH /issues/N  state=closed, state_reason=duplicate, duplicate_issue_id=<database id>
                     https://docs.github.com/rest/issues/issues#update-an-issue

Who closed and reopened an item stands in its events. Which item a mark names is told by GraphQL alone, and so is a mark
taken off.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from forgelore.closing_port import ClosingFacts
from forgelore.core.times import parse_ms
from forgelore.errors import LostPage
from forgelore.forges.github import wire
from forgelore.forges.github.comments import Comments
from forgelore.forges.github.graph import Graph
from forgelore.forges.github.rest import GitHubRest, object_in, repo_path
from forgelore.model import Item, ItemKey, Project
from forgelore.net.jsontext import split_rows
from forgelore.net.walk import walk_links

_UNMARK = """mutation Unmark($duplicate: ID!, $canonical: ID!) {
  unmarkIssueAsDuplicate(input: {duplicateId: $duplicate, canonicalId: $canonical}) { clientMutationId } }"""


class GitHubClosings:
    """The part of GitHub that closes and opens again."""

    _rest: GitHubRest
    _graph: Graph
    _comments: Comments

    def fetch_closing_facts(self, project: Project, item: Item) -> ClosingFacts:
        closed: dict[str, Any] = {}
        reopened: dict[str, Any] = {}
        path = f"{repo_path(project)}/issues/{item.key.number}/events"
        for answer in walk_links(self._rest.client, path, {}):
            body = self._rest.checked(answer, f"events of {item.key.kind} {item.key.number}").body
            for event in map(wire.loose, split_rows(body)):
                closed = event if event.get("event") == "closed" else closed
                reopened = event if event.get("event") == "reopened" else reopened
        actor = closed.get("actor")
        return ClosingFacts(
            closed_by=actor.get("login") if isinstance(actor, dict) else None,
            closed_at=parse_ms(closed.get("created_at")), reopened_at=parse_ms(reopened.get("created_at")),
            duplicate_of=self._marks(project, item),
        )  # fmt: skip

    def _marks(self, project: Project, item: Item) -> tuple[int, ...]:
        """Return what an issue is marked as a duplicate of. The node is asked for now: a mark moves no other field."""
        if item.key.kind != "issue" or item.node_id is None:
            return ()
        node = self._graph.issues([item.node_id])[0]
        if not isinstance(node, dict):
            raise LostPage(f"GitHub does not show the marks of {item.key.number}", hint="run the same command again")
        links = wire.parse_graph_issue(node, project.name.path)
        marks = [one for one in links if one.relation == "duplicate_of" and not one.is_withdrawn and not one.project]
        return tuple(one.number for one in marks if one.number != item.key.number)

    def close_as_duplicate(self, project: Project, item: Item, target: Item) -> None:
        payload: dict[str, object] = {"state": "closed"}
        if item.key.kind == "issue":
            payload |= {"state_reason": "duplicate", "duplicate_issue_id": target.forge_id}
        self._patch(project, item.key, payload)

    def reopen(self, project: Project, key: ItemKey) -> None:
        reason = {"state_reason": "reopened"} if key.kind == "issue" else {}
        self._patch(project, key, {"state": "open", **reason})

    def _patch(self, project: Project, key: ItemKey, payload: dict[str, object]) -> None:
        """A change is an issue too, and is closed as one. The same PATCH twice means the same: it is repeated."""
        path = f"{repo_path(project)}/issues/{key.number}"
        self._comments.check_written(self._comments.write("PATCH", path, payload, project), key)

    def unmark_duplicate(self, project: Project, item: Item, target: Item) -> None:
        del project
        if item.key.kind == "issue" and item.node_id and target.node_id:
            self._graph.query(_UNMARK, duplicate=item.node_id, canonical=target.node_id)

    def remove_link(self, project: Project, item: Item, target: Item) -> None:
        """A mark is no link here."""

    def remove_labels(self, project: Project, key: ItemKey, labels: Sequence[str]) -> None:
        for label in labels:
            path = f"{repo_path(project)}/issues/{key.number}/labels/{quote(label, safe='')}"
            answer = self._comments.write("DELETE", path, None, project)
            if answer.status != 404:
                self._comments.check_written(answer, key)

    def count_reactions(self, project: Project, key: ItemKey, comment_id: int) -> int:
        del key
        answer = self._rest.client.get(f"{repo_path(project)}/issues/comments/{comment_id}")
        if answer.status in (404, 410):
            return 0
        reactions = object_in(self._rest.checked(answer, f"comment {comment_id}")).get("reactions")
        total = reactions.get("total_count") if isinstance(reactions, dict) else 0
        return total if isinstance(total, int) else 0
