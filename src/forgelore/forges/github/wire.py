"""GitHub's JSON as types, and those types as ours. Payload in, `Item` or `Project` out; no network here.

Every field that GitHub may leave out or null has a default: ghost users, deleted forks, both API versions (2026-03-10
drops `assignee` and a change's `merge_commit_sha`).
"""

from typing import Any

import msgspec
from msgspec import Struct

from forgelore.forges.rest import Account, ChangedFile, Named, Release, Repository, Titled
from forgelore.model import (
    Access,
    File,
    FileStatus,
    Involvement,
    Item,
    ItemKey,
    Link,
    Note,
    Project,
    ProjectName,
    State,
)
from forgelore.net.pages import Int64, read, read_last_number, read_ms
from forgelore.text.fence import storable
from forgelore.text.links import VERDICTS
from forgelore.text.patches import read_patch


class _Team(Struct):
    slug: str | None = None
    html_url: str | None = None  # https://github.com/orgs/acme/teams/web


class _PullPart(Struct):
    merged_at: str | None = None


class _Branch(Struct):
    ref: str | None = None
    sha: str | None = None


class _Issue(Struct):
    id: Int64
    number: Int64
    title: str | None = None
    body: str | None = None
    state: str | None = None
    state_reason: str | None = None
    user: Account | None = None
    author_association: str | None = None
    assignees: list[Account] | None = None
    labels: list[Named | str] | None = None
    created_at: str | None = None
    updated_at: str | None = None
    closed_at: str | None = None
    merged_at: str | None = None
    html_url: str | None = None
    node_id: str | None = None
    comments: Int64 | None = None
    review_comments: Int64 | None = None
    locked: bool | None = False
    draft: bool | None = False
    milestone: Titled | None = None
    pull_request: _PullPart | None = None
    head: _Branch | None = None
    base: _Branch | None = None
    requested_reviewers: list[Account] | None = None
    requested_teams: list[_Team] | None = None


class _Comment(Struct):
    id: Int64
    body: str | None = None
    user: Account | None = None
    author_association: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    html_url: str | None = None
    issue_url: str | None = None
    pull_request_url: str | None = None
    path: str | None = None
    line: Int64 | None = None
    original_line: Int64 | None = None
    side: str | None = None
    subject_type: str | None = None
    in_reply_to_id: Int64 | None = None
    state: str | None = None
    submitted_at: str | None = None


_issue = msgspec.json.Decoder(_Issue)
_comment = msgspec.json.Decoder(_Comment)
_release = msgspec.json.Decoder(Release)
_file = msgspec.json.Decoder(ChangedFile)
_FILE_STATUS: dict[str, FileStatus] = {
    "added": "added", "removed": "deleted", "deleted": "deleted", "renamed": "renamed",
}  # fmt: skip


def parse_item(raw: bytes, *, is_change: bool | None = None) -> Item:
    """Return an issue or change, from the issues list, the pulls list or a single page of either."""
    issue, raw = read(raw, _issue)
    is_pull = is_change if is_change is not None else issue.pull_request is not None
    merged_at = issue.merged_at or (issue.pull_request.merged_at if issue.pull_request else None)
    return Item(
        ItemKey("change" if is_pull else "issue", issue.number),
        title=text(issue.title) or "", body=text(issue.body), state=state_of(issue.state, merged_at),
        state_reason=None if is_pull else issue.state_reason, author=login(issue.user),
        author_role=issue.author_association,
        assignees=sorted(user.login for user in issue.assignees or () if user.login),
        labels=_labels(issue.labels or []),
        created_at=read_ms(issue.created_at), updated_at=read_ms(issue.updated_at),
        closed_at=read_ms(issue.closed_at),
        merged_at=read_ms(merged_at), url=issue.html_url, forge_id=issue.id, node_id=issue.node_id,
        milestone=text(issue.milestone.title) if issue.milestone else None,
        source_branch=issue.head.ref if issue.head else None, target_branch=issue.base.ref if issue.base else None,
        head_sha=issue.head.sha if issue.head else None, is_draft=bool(issue.draft), is_locked=bool(issue.locked),
        comment_count=issue.comments, review_comment_count=issue.review_comments,
        people=_requested(issue), raw=raw,
    )  # fmt: skip


def _requested(issue: _Issue) -> list[Involvement]:
    """Return who is asked for a review, from a row of the pulls list; one of the issues list does not say."""
    names = [user.login for user in issue.requested_reviewers or () if user.login]
    for team in issue.requested_teams or ():
        owner = (team.html_url or "").partition("/orgs/")[2].partition("/")[0]
        if owner and team.slug:
            names.append(f"{owner}/{team.slug}")
    return [Involvement(storable(name), "requested") for name in names]


def _labels(labels: list[Named | str]) -> list[str]:
    names = (label if isinstance(label, str) else label.name for label in labels)
    return sorted({storable(name) for name in names if name})


class FoundNote(Struct):
    """A comment with the address of its item and, for review comments, the thread it belongs to."""

    number: int
    thread: str
    note: Note


def parse_comment(raw: bytes) -> FoundNote:
    """Return a plain comment and the number of its item. Whether that is an issue or a change is the item's to say: the
    address of the comment's page may be odd, or none.
    """
    comment, raw = read(raw, _comment)
    number = read_last_number(comment.issue_url)
    return FoundNote(number, "comments", _note(f"c{comment.id}", comment, raw))


def parse_review_comment(raw: bytes) -> FoundNote:
    comment, raw = read(raw, _comment)
    number = read_last_number(comment.pull_request_url)
    note = _note(f"r{comment.id}", comment, raw)
    note.path = text(comment.path)
    note.line = comment.line if comment.line is not None else comment.original_line
    note.reply_to = f"r{comment.in_reply_to_id}" if comment.in_reply_to_id else None
    note.position_type = "file" if comment.subject_type == "file" else "text"
    return FoundNote(number, note.reply_to or note.key, note)


def parse_review(raw: bytes) -> Note | None:
    """Return a review's own text; None for a review that only holds comments on lines."""
    review, raw = read(raw, _comment)
    if not review.body:
        return None
    note = _note(f"v{review.id}", review, raw)
    note.created_at = read_ms(review.submitted_at)
    note.type = review.state
    return note


def parse_graph_review(node: dict[str, Any]) -> Note | None:
    """The same from GraphQL: key and text are equal to what REST gives."""
    if not node.get("body"):
        return None
    return Note(
        f"v{node['fullDatabaseId']}", graph_login(node.get("author")), text(node["body"]),
        read_ms(node.get("submittedAt")),
        read_ms(node.get("updatedAt")), type=node.get("state"), url=node.get("url"), raw=dump(node),
    )  # fmt: skip


def silent_review(raw: bytes) -> dict[str, Any] | None:
    """Return a review without words as GraphQL tells it, from REST's row; None for one with words."""
    review, _ = read(raw, _comment)
    author = {"login": login(review.user)} if review.user else None
    return None if review.body else {"state": review.state, "author": author, "submittedAt": review.submitted_at}


def parse_graph_people(node: dict[str, Any]) -> list[Involvement]:
    """Return who is asked to review a change, and who did without a word: a review with words is a note."""
    requests = ((node.get("reviewRequests") or {}).get("nodes")) or ()
    asked = [graph_login((request or {}).get("requestedReviewer")) for request in requests]
    people = [Involvement(name, "requested", None, "detail") for name in asked if name]
    for review in (node.get("reviews") or {}).get("nodes") or ():
        name = graph_login((review or {}).get("author"))
        verdict = VERDICTS.get((review or {}).get("state") or "")
        if name and verdict and not review.get("body"):
            people.append(Involvement(name, "reviewed", verdict, "detail", read_ms(review.get("submittedAt"))))
    return people


def graph_login(actor: dict[str, Any] | None) -> str | None:
    """Return a login as REST spells it: GraphQL leaves out what marks a bot."""
    name = (actor or {}).get("login")
    if not isinstance(name, str):
        return None
    is_bot = (actor or {}).get("__typename") == "Bot" and not name.endswith("[bot]")
    return storable(f"{name}[bot]" if is_bot else name)


def _note(key: str, comment: _Comment, raw: bytes) -> Note:
    return Note(
        key, login(comment.user), text(comment.body), read_ms(comment.created_at), read_ms(comment.updated_at),
        author_role=comment.author_association, url=comment.html_url, raw=raw,
    )  # fmt: skip


def parse_release(raw: bytes) -> Item:
    release, raw = read(raw, _release)
    return Item(
        ItemKey("release", release.id), title=text(release.name) or text(release.tag_name) or "",
        body=text(release.body),
        author=login(release.author), created_at=read_ms(release.published_at or release.created_at),
        updated_at=read_ms(release.updated_at), url=release.html_url, forge_id=release.id, node_id=release.node_id,
        tag=text(release.tag_name), is_draft=bool(release.draft), raw=raw,
    )  # fmt: skip


def parse_file(raw: bytes) -> File:
    file, _ = read(raw, _file)
    path = text(file.filename) or ""
    old = text(file.previous_filename) or path
    lines = None if file.patch is None else read_patch(old, path, file.patch)
    return File(path, old, _FILE_STATUS.get(file.status or "", "modified"), lines)


def parse_graph_issue(node: dict[str, Any], project_path: str) -> list[Link]:
    """Return the duplicate history that only GraphQL tells: `duplicateOf`, and marks that were set or taken back."""
    canonical = node.get("duplicateOf")
    links = [_graph_link("duplicate_of", canonical, project_path)] if canonical else []
    known = {(link.project, link.number) for link in links}
    links += [mark for mark in _duplicate_marks(node, project_path) if (mark.project, mark.number) not in known]
    for change in (node.get("closedByPullRequestsReferences") or {}).get("nodes") or ():
        if change:
            links.append(_graph_link("relates", change, project_path, kind="change"))
    return links


def parse_graph_change_links(node: dict[str, Any], project_path: str) -> list[Link]:
    """Return what a change closes, and its duplicate history."""
    found = (node.get("closingIssuesReferences") or {}).get("nodes") or ()
    closed = [_graph_link("closes", issue, project_path) for issue in found if issue]
    return [*closed, *_duplicate_marks(node, project_path)]


def _duplicate_marks(node: dict[str, Any], project_path: str) -> list[Link]:
    """Return the last word on each original that an item was said to repeat."""
    marks: dict[tuple[str, int], Link] = {}
    for event in (node.get("timelineItems") or {}).get("nodes") or ():
        target = (event or {}).get("canonical") or {}
        if target.get("number"):
            kind = "change" if target.get("__typename") == "PullRequest" else "issue"
            is_withdrawn = event.get("__typename") == "UnmarkedAsDuplicateEvent"
            link = _graph_link("duplicate_of", target, project_path, kind=kind, is_withdrawn=is_withdrawn)
            marks[link.project, link.number] = link
    return list(marks.values())


def _graph_link(
    relation: Any, target: dict[str, Any], project_path: str, *, kind: Any = "issue", is_withdrawn: bool = False
) -> Link:
    place = (target.get("repository") or {}).get("nameWithOwner") or ""
    same = place.lower() in ("", project_path.lower())
    return Link(relation, int(target["number"]), kind, "" if same else place, "detail", is_withdrawn)


_loose = msgspec.json.Decoder(dict[str, Any])


def loose(raw: bytes) -> dict[str, Any]:
    """Return a JSON object as it is, for the few places that read one or two fields of it."""
    return read(raw, _loose)[0]


def dump(value: object) -> bytes:
    return msgspec.json.encode(value)


def text(value: str | None) -> str | None:
    return storable(value) if value is not None else None


def login(user: Account | None) -> str | None:
    return user.login if user else None


def state_of(state: str | None, merged_at: str | None) -> State:
    if merged_at:
        return "merged"
    return "closed" if state == "closed" else "open"


_repo = msgspec.json.Decoder(Repository)


def parse_project(raw: bytes, host: str) -> Project:
    repo, raw = read(raw, _repo)
    return Project(
        ProjectName("github", host, repo.full_name), repo.id, repo.html_url, repo.default_branch,
        text(repo.description),
        is_private=bool(repo.private), is_archived=bool(repo.archived),
        has_issues=repo.has_issues is not False,
        has_changes=repo.has_pull_requests is not False, has_discussions=bool(repo.has_discussions),
        access=_access(repo), raw=raw,
    )  # fmt: skip


def _access(repo: Repository) -> Access:
    """Features can be switched off and have no readers of their own. Older servers say `private` alone."""
    visibility = repo.visibility
    if repo.private is not None and visibility in (None, "public"):
        visibility = "private" if repo.private else "public"
    return Access(
        visibility, "disabled" if repo.has_issues is False else "enabled",
        "disabled" if repo.has_pull_requests is False else "enabled", "enabled",
    )  # fmt: skip
