"""Forgejo's and Gitea's JSON as types, and those types as ours. Payload in, `Item` out; no network here.

A row of `/issues` is an issue, or a change where it has a `pull_request`; both are numbered together. A deleted account
is shown as Ghost, number -1. What came from another forge names its `original_author`.
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
    Member,
    Note,
    Project,
    ProjectName,
    State,
)
from forgelore.net.pages import Int64, read, read_last_number, read_ms
from forgelore.text.fence import storable
from forgelore.text.links import VERDICTS

GHOST_ID = -1


class _PullPart(Struct):
    merged: bool | None = False
    merged_at: str | None = None
    draft: bool | None = False


class _Issue(Struct):
    id: Int64
    number: Int64
    title: str | None = None
    body: str | None = None
    state: str | None = None
    user: Account | None = None
    original_author: str | None = None
    assignees: list[Account] | None = None
    labels: list[Named] | None = None
    created_at: str | None = None
    updated_at: str | None = None
    closed_at: str | None = None
    html_url: str | None = None
    comments: Int64 | None = None
    is_locked: bool | None = False
    milestone: Titled | None = None
    pull_request: _PullPart | None = None


class _Comment(Struct):
    id: Int64
    body: str | None = None
    user: Account | None = None
    original_author: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    submitted_at: str | None = None
    html_url: str | None = None
    issue_url: str | None = None
    pull_request_url: str | None = None
    path: str | None = None
    position: Int64 | None = None
    original_position: Int64 | None = None
    pull_request_review_id: Int64 | None = None
    resolver: Account | None = None
    state: str | None = None
    dismissed: bool | None = False
    comments_count: Int64 | None = 0


_issue = msgspec.json.Decoder(_Issue)
_comment = msgspec.json.Decoder(_Comment)
_release = msgspec.json.Decoder(Release)
_user = msgspec.json.Decoder(Account)
_file = msgspec.json.Decoder(ChangedFile)
_repo = msgspec.json.Decoder(Repository)
_loose = msgspec.json.Decoder(dict[str, Any])
_FILE_STATUS: dict[str, FileStatus] = {
    "added": "added", "removed": "deleted", "deleted": "deleted", "renamed": "renamed",
}  # fmt: skip


class StreamedComment(Struct):
    """A plain comment with what it says of its item: the number, and whether that is a change."""

    number: int
    is_change: bool
    note: Note


class FoundReview(Struct):
    """A review: its own text, if it has one, else what it says, and how many comments on lines it holds."""

    id: int
    note: Note | None
    comments_count: int
    silent: Involvement | None = None


class FoundLineComment(Struct):
    """A comment on a line of a change. `place` is equal in one conversation: the API names no other bond. Line 5 of the
    old file is another place than line 5 of the new one.
    """

    place: tuple[int, str | None, int | None, bool]
    note: Note
    is_resolved: bool


def parse_project(raw: bytes, host: str) -> Project:
    repo, raw = read(raw, _repo)
    visibility = None if repo.private is None else "private" if repo.private else "public"
    if visibility == "public" and repo.internal:  # of an owner who is shown to people who are signed in
        visibility = "internal"
    return Project(
        ProjectName("forgejo", host, repo.full_name), repo.id, repo.html_url, repo.default_branch,
        text(repo.description),
        is_private=visibility in ("private", "internal"), is_archived=bool(repo.archived),
        has_issues=repo.has_issues is not False, has_changes=repo.has_pull_requests is not False,
        access=Access(
            visibility, "disabled" if repo.has_issues is False else "enabled",
            "disabled" if repo.has_pull_requests is False else "enabled", "enabled",
        ),
        raw=raw,
    )  # fmt: skip


def parse_item(raw: bytes) -> Item:
    """Return an issue or change. The count of a change's comments means something else from version to version: those
    on lines are in it, or are not.
    """
    issue, raw = read(raw, _issue)
    pull = issue.pull_request
    merged_at = pull.merged_at if pull and pull.merged is not False else None
    return Item(
        ItemKey("change" if pull else "issue", issue.number), title=text(issue.title) or "", body=text(issue.body),
        state=_state_of(issue.state, is_merged=bool(pull and (pull.merged or merged_at))),
        author=_author(issue.user, issue.original_author),
        assignees=sorted(user.login for user in issue.assignees or () if user.login),
        labels=sorted({storable(label.name) for label in issue.labels or () if label.name}),
        created_at=read_ms(issue.created_at), updated_at=read_ms(issue.updated_at),
        closed_at=read_ms(issue.closed_at or merged_at), merged_at=read_ms(merged_at), url=issue.html_url,
        forge_id=issue.id, milestone=text(issue.milestone.title) if issue.milestone else None,
        is_draft=bool(pull and pull.draft), is_locked=bool(issue.is_locked),
        comment_count=None if pull else issue.comments, raw=raw,
    )  # fmt: skip


def _state_of(state: str | None, *, is_merged: bool) -> State:
    if is_merged:
        return "merged"
    return "closed" if state == "closed" else "open"


def parse_comment(raw: bytes) -> StreamedComment:
    """Return a plain comment. Of the addresses of its issue and of its change one is empty."""
    comment, raw = read(raw, _comment)
    number = read_last_number(comment.pull_request_url or comment.issue_url)
    return StreamedComment(number, bool(comment.pull_request_url), _note(f"c{comment.id}", comment, raw))


def parse_review(raw: bytes) -> FoundReview:
    """Return a review; one that its author has not sent yet holds nothing for others."""
    review, raw = read(raw, _comment)
    if review.state == "PENDING":
        return FoundReview(review.id, None, 0)
    note = _note(f"v{review.id}", review, raw)
    note.created_at, note.type = read_ms(review.submitted_at), "DISMISSED" if review.dismissed else review.state
    if review.body:
        return FoundReview(review.id, note, review.comments_count or 0)
    verdict = VERDICTS.get(note.type or "")
    is_said = verdict is not None and note.author is not None
    silent = Involvement(note.author or "", "reviewed", verdict, "review", note.created_at) if is_said else None
    return FoundReview(review.id, None, review.comments_count or 0, silent)


def parse_line_comment(raw: bytes) -> FoundLineComment:
    """Return a comment on a line: of the new file, or of the old one where `position` is 0."""
    comment, raw = read(raw, _comment)
    note = _note(f"r{comment.id}", comment, raw)
    note.path, note.old_line = text(comment.path), comment.original_position or None
    note.line = comment.position or note.old_line
    note.position_type, note.is_resolvable, note.is_resolved = "text", True, comment.resolver is not None
    note.resolved_by = _author(comment.resolver)
    place = (comment.pull_request_review_id or 0, note.path, note.line, not comment.position)
    return FoundLineComment(place, note, note.is_resolved)


def _note(key: str, comment: _Comment, raw: bytes) -> Note:
    return Note(
        key, _author(comment.user, comment.original_author), text(comment.body), read_ms(comment.created_at),
        read_ms(comment.updated_at), url=comment.html_url, raw=raw,
    )  # fmt: skip


def parse_release(raw: bytes) -> Item:
    release, raw = read(raw, _release)
    tag = text(release.tag_name)
    return Item(
        ItemKey("release", release.id), title=text(release.name) or tag or "", body=text(release.body),
        author=_author(release.author), created_at=read_ms(release.published_at or release.created_at),
        url=release.html_url, forge_id=release.id, tag=tag, is_draft=bool(release.draft), raw=raw,
    )  # fmt: skip


def parse_member(raw: bytes) -> Member:
    """Return a collaborator; what they may do would be a request for each."""
    user, _ = read(raw, _user)
    return Member(user.login or "?", "collaborator")


def parse_file(raw: bytes) -> File:
    file, _ = read(raw, _file)
    path = text(file.filename) or ""
    return File(path, text(file.previous_filename) or path, _FILE_STATUS.get(file.status or "", "modified"))


def loose(raw: bytes) -> dict[str, Any]:
    """Return a JSON object as it is, for the few places that read one or two fields of it."""
    return read(raw, _loose)[0]


def text(value: str | None) -> str | None:
    return storable(value) if value is not None else None


def login_of(user: dict[str, Any] | None) -> str | None:
    """Return the login in a user that was read loosely; None for a deleted account."""
    login = (user or {}).get("login")
    return login if isinstance(login, str) and (user or {}).get("id") != GHOST_ID else None


def _author(user: Account | None, original: str | None = None) -> str | None:
    if user is None or user.id == GHOST_ID:
        return text(original) or None
    return user.login
