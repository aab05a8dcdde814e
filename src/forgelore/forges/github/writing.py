"""What is written on GitHub: comments, labels, closings, and what a refusal to write means to a person.

An issue is closed natively as a duplicate (PATCH state_reason=duplicate, duplicate_issue_id=<database id>,
https://docs.github.com/rest/issues/issues#update-an-issue), a change plainly. Marks are read and taken off by GraphQL
alone. A renamed repository redirects, and that is followed; a transferred issue redirects
to another repository, where nobody asked for our comment.
"""

from collections.abc import Iterator, Sequence
from typing import Literal
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from forgelore.errors import AuthError, ForgeError, LoreError, LostPage, NotFound
from forgelore.forges.github import wire
from forgelore.forges.github.graph import Graph
from forgelore.forges.github.rest import GitHubRest, message_of, object_in, repo_path
from forgelore.forges.rest import as_refused_write, is_last_word_approval, read_closing_events
from forgelore.model import Item, ItemKey, Project
from forgelore.net.client import HttpAnswer
from forgelore.net.pages import Int64, read, split_rows, walk_links
from forgelore.ports.closing import ClosingFacts, Suggestion
from forgelore.ports.forge import Comment, ConversationLocked
from forgelore.text.dates import parse_ms

_PERMISSIONS = {"issue": "issues: write", "change": "pull-requests: write"}


class _User(Struct):
    login: str | None = None


class _Comment(Struct):
    id: Int64
    body: str | None = None
    user: _User | None = None
    html_url: str | None = None
    created_at: str | None = None


class _Suggestion(Struct):
    id: Int64
    target_id: Int64 | None = None
    rationale: str | None = None
    state: str | None = None


_comment = msgspec.json.Decoder(_Comment)
_suggestion = msgspec.json.Decoder(_Suggestion)


class GitHubWrites:
    """The part of GitHub that is written: comments, labels, closings."""

    _rest: GitHubRest
    _graph: Graph

    def list_comments(self, project: Project, key: ItemKey) -> Iterator[Comment]:
        path = f"{repo_path(project)}/issues/{key.number}/comments"
        for answer in walk_links(self._rest.client, path, {}):
            if _is_elsewhere(project, answer.url):
                raise _moved(key)
            body = self._rest.checked(answer, f"comments of {key.kind} {key.number}").body
            yield from map(_parse, split_rows(body))

    def create_comment(self, project: Project, key: ItemKey, body: str) -> Comment:
        path = f"{repo_path(project)}/issues/{key.number}/comments"
        answer = self._write("POST", path, {"body": body}, project)
        return _parse(self._check_written(answer, key).body)

    def update_comment(self, project: Project, key: ItemKey, comment_id: int, body: str) -> Comment | None:
        path = f"{repo_path(project)}/issues/comments/{comment_id}"
        answer = self._write("PATCH", path, {"body": body}, project)
        return None if answer.status in (404, 410) else _parse(self._check_written(answer, key).body)

    def delete_comment(self, project: Project, key: ItemKey, comment_id: int) -> bool:
        answer = self._write("DELETE", f"{repo_path(project)}/issues/comments/{comment_id}", None, project)
        if answer.status in (404, 410):
            return False
        self._check_written(answer, key)
        return True

    def add_labels(self, project: Project, key: ItemKey, labels: Sequence[str]) -> None:
        path = f"{repo_path(project)}/issues/{key.number}/labels"
        payload = {"labels": list(labels)}
        self._check_written(self._write("POST", path, payload, project), key)

    def _write(self, method: str, path: str, payload: object, project: Project) -> HttpAnswer:
        """Send something, to this project and to no other."""
        return self._rest.client.write(method, path, payload, home=_home(project))

    def _check_written(self, answer: HttpAnswer, key: ItemKey) -> HttpAnswer:
        """Return a good answer, or raise what a refusal to write means to a person."""
        if answer.status in (200, 201, 204):
            return answer
        raise self._refusal(answer, key)

    def _refusal(self, answer: HttpAnswer, key: ItemKey) -> LoreError:
        said, what = message_of(answer), f"{key.kind} {key.number}"
        if 300 <= answer.status < 400:
            return _moved(key)
        if answer.status != 403:
            return as_refused_write(self._rest.refusal(answer, what), answer.status)
        if "locked" in said.lower():
            hint = "unlock it, or post with an account that may write to the project"
            return ConversationLocked(f"the conversation of {what} is locked", hint=hint)
        if "archived" in said.lower():
            return ForgeError(f"the project is archived: nothing can be posted on {what}", hint="leave it as it is")
        permission = _PERMISSIONS.get(key.kind, "issues: write")
        hint = f"give it the permission {permission} (in a workflow, below `permissions:`)"
        return AuthError(f"the token may not write to {what} on {self._rest.host} (HTTP 403: {said})", hint=hint)

    def fetch_closing_facts(self, project: Project, item: Item) -> ClosingFacts:
        answers = walk_links(self._rest.client, f"{repo_path(project)}/issues/{item.key.number}/events", {})
        what = f"events of {item.key.kind} {item.key.number}"
        events = (wire.loose(raw) for answer in answers for raw in split_rows(self._rest.checked(answer, what).body))
        found = read_closing_events(
            events, kind="event", closed="closed", reopened="reopened", by="actor", login="login"
        )
        is_approved, is_merging = self._review_facts(project, item.key)
        marks = self._marks(project, item)
        return replace(found, duplicate_of=marks, is_approved=is_approved, is_merging=is_merging)

    def _review_facts(self, project: Project, key: ItemKey) -> tuple[bool, bool]:
        """Return whether somebody's last word on a change is an approval, and whether it merges by itself."""
        if key.kind != "change":
            return False, False
        path = f"{repo_path(project)}/pulls/{key.number}"
        pull = object_in(self._rest.checked(self._rest.client.get(path), f"change {key.number}"))
        answers = walk_links(self._rest.client, f"{path}/reviews", {})
        bodies = (self._rest.checked(answer, f"reviews of {key.number}").body for answer in answers)
        rows = (wire.loose(raw) for body in bodies for raw in split_rows(body))
        return is_last_word_approval(rows), pull.get("auto_merge") is not None

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
        """A change is an issue too, and is closed as one."""
        path = f"{repo_path(project)}/issues/{key.number}"
        self._check_written(self._write("PATCH", path, payload, project), key)

    def may_write(self, project: Project, login: str) -> bool:
        """Read-only collaborators and members of an organisation have the same association as those who may write."""
        answer = self._rest.client.get(f"{repo_path(project)}/collaborators/{quote(login, safe='')}/permission")
        if answer.status == 404:
            return False
        said = object_in(self._rest.checked(answer, f"what {login} may do"))
        return said.get("permission") in ("admin", "maintain", "write")

    def list_closing_suggestions(
        self, project: Project, key: ItemKey, *, state: Literal["pending", "dismissed"] = "pending"
    ) -> list[Suggestion]:
        path = f"{repo_path(project)}/issues/{key.number}/suggestions"
        answers = walk_links(
            self._rest.client, path, {"state": "pending" if state == "pending" else "all", "action": "close_issue"}
        )
        bodies = (self._rest.checked(answer, f"suggestions of {key.number}").body for answer in answers)
        rows = (read(raw, _suggestion)[0] for body in bodies for raw in split_rows(body))
        return [Suggestion(row.id, row.target_id, row.rationale or "") for row in rows if row.state in (None, state)]

    def suggest_closing(self, project: Project, item: Item, target: Item, *, confidence: str, rationale: str) -> None:
        """By GraphQL: REST documents suggestions of labels, types and fields, and none of closings."""
        del project
        if item.node_id is None or target.node_id is None:
            raise ForgeError(f"GitHub gave no id of {item.key.kind} {item.key.number}", hint="nothing was suggested")
        self._graph.change(
            _SUGGEST, issue=item.node_id, original=target.node_id, confidence=confidence,
            rationale=rationale[:_RATIONALE_CHARS],
        )  # fmt: skip

    def dismiss_suggestion(self, project: Project, key: ItemKey, suggestion_id: int) -> None:
        path = f"{repo_path(project)}/issues/{key.number}/suggestions/{suggestion_id}/dismiss"
        self._check_written(self._write("POST", path, {}, project), key)

    def suggest_labels(self, project: Project, key: ItemKey, labels: Sequence[str]) -> None:
        path = f"{repo_path(project)}/issues/{key.number}/labels"
        payload = {"labels": [{"name": name, "suggest": True} for name in labels]}
        self._check_written(self._write("POST", path, payload, project), key)

    def unmark_duplicate(self, project: Project, item: Item, target: Item) -> None:
        del project
        if item.key.kind == "issue" and item.node_id and target.node_id:
            self._graph.query(_UNMARK, duplicate=item.node_id, canonical=target.node_id)

    def remove_link(self, project: Project, item: Item, target: Item) -> None:
        """A mark is not a link here."""

    def remove_labels(self, project: Project, key: ItemKey, labels: Sequence[str]) -> None:
        for label in labels:
            path = f"{repo_path(project)}/issues/{key.number}/labels/{quote(label, safe='')}"
            answer = self._write("DELETE", path, None, project)
            if answer.status != 404:
                self._check_written(answer, key)

    def react(self, project: Project, key: ItemKey, comment_id: int, *, is_good: bool) -> None:
        path = f"{repo_path(project)}/issues/comments/{comment_id}/reactions"
        answer = self._write("POST", path, {"content": "+1" if is_good else "confused"}, project)
        if answer.status not in (404, 410):  # whoever wrote it has taken it back
            self._check_written(answer, key)

    def count_reactions(
        self, project: Project, key: ItemKey, comment_id: int, *, only: Literal["down"] | None = None
    ) -> int:
        del key
        answer = self._rest.client.get(f"{repo_path(project)}/issues/comments/{comment_id}")
        if answer.status in (404, 410):
            return 0
        reactions = object_in(self._rest.checked(answer, f"comment {comment_id}")).get("reactions")
        total = reactions.get("-1" if only else "total_count") if isinstance(reactions, dict) else 0
        return total if isinstance(total, int) else 0


def _parse(raw: bytes) -> Comment:
    comment, _ = read(raw, _comment)
    login = comment.user.login if comment.user else None
    return Comment(comment.id, wire.text(comment.body) or "", login, comment.html_url, parse_ms(comment.created_at))


def _home(project: Project) -> str:
    return f"/repositories/{project.forge_id}/"


def _is_elsewhere(project: Project, url: str) -> bool:
    path = urlsplit(url).path.lower()
    return f"{repo_path(project).lower()}/" not in path and _home(project) not in path


def _moved(key: ItemKey) -> NotFound:
    return NotFound(f"{key.kind} {key.number} was moved to another project", hint="triage it there")


_SUGGEST = """mutation Suggest(
  $issue: ID!, $original: ID!, $confidence: IssueEventConfidenceLevel, $rationale: String
) {
  closeIssue(input: {issueId: $issue, isSuggestion: true, stateReason: DUPLICATE, duplicateIssueId: $original,
    confidence: $confidence, rationale: $rationale}) { issue { state } } }"""
_RATIONALE_CHARS = 280
_UNMARK = """mutation Unmark($duplicate: ID!, $canonical: ID!) {
  unmarkIssueAsDuplicate(input: {duplicateId: $duplicate, canonicalId: $canonical}) { clientMutationId } }"""
