"""GitLab's JSON as types, and those types as ours. Payload in, `Item` out; no network here.

`iid` is the number people see, `id` the database's. Labels are strings, or objects when details were asked for.

A note comes from REST or from GraphQL, and must be the same row either way: GraphQL tells times to the second
(app/graphql/types/time_type.rb) and leaves out some fields, so what is kept of a note is what both of them say.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from forgelore.forges.rest import Named, Titled
from forgelore.model import (
    Access,
    File,
    FileStatus,
    Involvement,
    Item,
    ItemKey,
    Kind,
    Link,
    Member,
    Note,
    Project,
    ProjectName,
    ReviewVerdict,
    State,
    Thread,
)
from forgelore.net.pages import Int64, OddValueError, read, read_ms
from forgelore.text.dates import format_ms
from forgelore.text.fence import storable
from forgelore.text.patches import read_patch
from forgelore.text.refs import key_in_url


class UserRow(Struct, omit_defaults=True):
    username: str | None = None
    access_level: Int64 = 0
    state: str | None = None  # of the account; of a reviewer where the server tells it


class _Links(Struct):
    closed_as_duplicate_of: str | None = None


class _Item(Struct):
    id: Int64
    iid: Int64
    title: str | None = None
    description: str | None = None
    state: str | None = None
    author: UserRow | None = None
    assignees: list[UserRow] | None = None
    reviewers: list[UserRow] | None = None
    labels: list[Named | str] | None = None
    created_at: str | None = None
    updated_at: str | None = None
    closed_at: str | None = None
    merged_at: str | None = None
    web_url: str | None = None
    milestone: Titled | None = None
    source_branch: str | None = None
    target_branch: str | None = None
    sha: str | None = None
    draft: bool | None = None
    work_in_progress: bool | None = None
    discussion_locked: bool | None = None
    confidential: bool | None = False
    user_notes_count: Int64 | None = None
    moved_to_id: Int64 | None = None
    links: _Links | None = msgspec.field(default=None, name="_links")


class PositionRow(Struct, omit_defaults=True):
    old_path: str | None = None
    new_path: str | None = None
    old_line: Int64 | None = None
    new_line: Int64 | None = None
    position_type: str | None = None


class NoteRow(Struct, omit_defaults=True):
    id: Int64 | str  # GraphQL's is global: gid://gitlab/DiffNote/12
    type: str | None = None
    body: str | None = None
    author: UserRow | None = None
    created_at: str | None = None
    updated_at: str | None = None
    system: bool = False
    internal: bool | None = False
    confidential: bool | None = False
    resolvable: bool = False
    resolved: bool | None = False
    resolved_by: UserRow | None = None
    resolved_at: str | None = None
    position: PositionRow | None = None


class _Discussion(Struct):
    id: str
    notes: list[msgspec.Raw] = []


class _Release(Struct):
    tag_name: str
    name: str | None = None
    description: str | None = None
    author: UserRow | None = None
    created_at: str | None = None
    released_at: str | None = None
    links: dict[str, Any] | None = msgspec.field(default=None, name="_links")


class _Project(Struct):
    id: Int64
    path_with_namespace: str
    web_url: str | None = None
    default_branch: str | None = None
    description: str | None = None
    visibility: str | None = None
    archived: bool | None = False
    issues_enabled: bool | None = True
    merge_requests_enabled: bool | None = True
    issues_access_level: str | None = None
    merge_requests_access_level: str | None = None
    repository_access_level: str | None = None


class DiffRow(Struct):
    old_path: str
    new_path: str
    new_file: bool | str | None = False  # GraphQL's flags are strings
    renamed_file: bool | str | None = False
    deleted_file: bool | str | None = False
    diff: str | None = None  # empty where it is collapsed or too large


_item = msgspec.json.Decoder(_Item)
_note = msgspec.json.Decoder(NoteRow)
_discussion = msgspec.json.Decoder(_Discussion)
_release = msgspec.json.Decoder(_Release)
_project = msgspec.json.Decoder(_Project)
_user = msgspec.json.Decoder(UserRow)
_diff = msgspec.json.Decoder(DiffRow)
_SET = (True, "true")
_loose = msgspec.json.Decoder(dict[str, Any])
_note_encoder = msgspec.json.Encoder()
# What a reviewer's own state says; any other ("active") is that of the account.
_REVIEWED: dict[str, ReviewVerdict] = {
    "approved": "approved", "requested_changes": "changes_requested", "reviewed": "commented",
}  # fmt: skip
_STATES: dict[str, State] = {"opened": "open", "closed": "closed", "merged": "merged", "locked": "closed"}
_ROLES = {
    60: "admin",
    50: "owner",
    40: "maintainer",
    30: "developer",
    25: "security manager",
    20: "reporter",
    15: "planner",
    10: "guest",
}


def parse_project(raw: bytes, host: str) -> Project:
    project, raw = read(raw, _project)
    # The older switches say "off" where the levels are missing; they do not say for whom it is on.
    issues = "disabled" if project.issues_enabled is False else project.issues_access_level
    changes = "disabled" if project.merge_requests_enabled is False else project.merge_requests_access_level
    return Project(
        ProjectName("gitlab", host, project.path_with_namespace), project.id, project.web_url, project.default_branch,
        _text(project.description), is_private=project.visibility not in (None, "public"),
        is_archived=bool(project.archived),
        has_issues=issues != "disabled", has_changes=changes != "disabled",
        access=Access(project.visibility, issues, changes, project.repository_access_level), raw=raw,
    )  # fmt: skip


def parse_item(raw: bytes, kind: Kind) -> Item:
    row, raw = read(raw, _item)
    links, reason = _forge_links(row)
    return Item(
        ItemKey(kind, row.iid), title=_text(row.title) or "", body=_text(row.description),
        state=_STATES.get(row.state or "", "open"),
        state_reason=reason if row.state == "closed" else None, author=_name(row.author),
        assignees=sorted(user.username for user in row.assignees or () if user.username),
        labels=_labels(row.labels or []),
        created_at=read_ms(row.created_at), updated_at=read_ms(row.updated_at),
        closed_at=read_ms(row.closed_at or row.merged_at),
        merged_at=read_ms(row.merged_at), url=row.web_url, forge_id=row.id,
        milestone=_text(row.milestone.title) if row.milestone else None, source_branch=row.source_branch,
        target_branch=row.target_branch, head_sha=row.sha, is_draft=bool(row.draft or row.work_in_progress),
        is_locked=bool(row.discussion_locked), is_confidential=bool(row.confidential),
        comment_count=row.user_notes_count,
        links=links, people=_reviewers(row), raw=raw,
    )  # fmt: skip


def _reviewers(row: _Item) -> list[Involvement]:
    """Return who is asked for a review. Whoever gave it stays a reviewer, so the request has a time to compare with:
    that of the change, until a note tells a later one.
    """
    found = []
    for user in row.reviewers or ():
        if user.username:
            found.append(Involvement(user.username, "requested", None, "forge", read_ms(row.created_at)))
            verdict = _REVIEWED.get(user.state or "")
            if verdict:
                found.append(Involvement(user.username, "reviewed", verdict, "forge", read_ms(row.updated_at)))
    return found


def _labels(labels: list[Named | str]) -> list[str]:
    names = (label if isinstance(label, str) else label.name for label in labels)
    return sorted({storable(name) for name in names if name})


def _forge_links(row: _Item) -> tuple[list[Link], str | None]:
    target = row.links.closed_as_duplicate_of if row.links else None
    found = _key_in_api_url(target) if target else None
    if found:
        return [Link("duplicate_of", found[1], "issue", found[0])], "duplicate"
    return [], "moved" if row.moved_to_id else None


def _key_in_api_url(url: str) -> tuple[str, int] | None:
    """`https://host/api/v4/projects/1/issues/75` -> ("projects/1", 75); the caller knows its own project."""
    page = key_in_url(url)
    if page is None:
        return None
    place = page[0].partition("/api/v4/")[2]
    return place or page[0], page[1].number


def parse_discussion(raw: bytes, key: ItemKey) -> Thread:
    """Return a thread. A standalone comment joins the plain stream; a thread that can be answered keeps its own id."""
    discussion, _ = read(raw, _discussion)
    return as_discussion([read(bytes(note), _note)[0] for note in discussion.notes], key, discussion.id)


def as_discussion(rows: Sequence[NoteRow], key: ItemKey, thread_id: str) -> Thread:
    thread = _as_thread(rows, key, thread_id)
    is_single = len(thread.notes) == 1 and thread.notes[0].type is None
    thread.key = "comments" if is_single else thread_id
    return thread


def parse_notes(raws: Sequence[bytes], key: ItemKey, thread: str) -> Thread:
    """Return a thread from its notes, which tell its place and whether it is resolved."""
    return _as_thread([read(raw, _note)[0] for raw in raws], key, thread)


def _as_thread(rows: Sequence[NoteRow], key: ItemKey, thread: str) -> Thread:
    notes = [_as_note(row) for row in rows]
    first = notes[0] if notes else None
    resolvable = [note for note in notes if note.is_resolvable]
    is_resolved = bool(resolvable) and all(note.is_resolved for note in resolvable)
    last = max(resolvable, key=lambda note: note.resolved_at or 0) if is_resolved else Note("")
    return Thread(
        key, thread, notes, is_resolvable=bool(resolvable), is_resolved=is_resolved,
        path=first.path if first else None, line=first.line if first else None, resolved_by=last.resolved_by,
        resolved_at=last.resolved_at,
    )  # fmt: skip


def _as_note(row: NoteRow) -> Note:
    row = _as_both_say(row)
    place = row.position or PositionRow()
    return Note(
        str(row.id), _name(row.author), _text(row.body), read_ms(row.created_at), read_ms(row.updated_at),
        type=row.type,
        path=_text(place.new_path or place.old_path),
        line=place.new_line if place.new_line is not None else place.old_line,
        old_path=_text(place.old_path), old_line=place.old_line, is_system=row.system,
        is_internal=bool(row.internal), position_type=_text(place.position_type),
        is_resolvable=row.resolvable, is_resolved=bool(row.resolved),
        resolved_by=_name(row.resolved_by), resolved_at=read_ms(row.resolved_at), raw=_note_encoder.encode(row),
    )  # fmt: skip


def _as_both_say(row: NoteRow) -> NoteRow:
    """Return a note without what only one of the two APIs says. The class in a global id is what REST calls `type`,
    which is null for a plain comment.
    """
    number, kind = row.id, row.type
    if isinstance(number, str):
        class_name, number = number.split("/")[-2], int(tail(number))
        kind = None if class_name == "Note" else class_name
    place, is_resolved = row.position, bool(row.resolved)
    has_place = place is not None and (place.old_path is not None or place.new_path is not None)
    return NoteRow(
        number, kind, _text(row.body), _only_name(row.author), _to_the_second(row.created_at),
        _to_the_second(row.updated_at), row.system, bool(row.internal or row.confidential), False, row.resolvable,
        is_resolved, _only_name(row.resolved_by) if is_resolved else None,
        _to_the_second(row.resolved_at) if is_resolved else None, place if has_place else None,
    )  # fmt: skip


def tail(global_id: str) -> str:
    """`gid://gitlab/DiffNote/12` -> `12`"""
    return global_id.rpartition("/")[2]


def _only_name(user: UserRow | None) -> UserRow | None:
    return UserRow(user.username) if user else None


def _to_the_second(text: str | None) -> str | None:
    """`2026-03-01T12:00:00.123Z` -> `2026-03-01T12:00:00Z`; what cannot be read stays, for whoever reads it to say."""
    if text is None or (len(text) == 20 and text[-1] == "Z"):
        return text
    if len(text) == 24 and text[19] == "." and text[-1] == "Z":
        return f"{text[:19]}Z"
    try:
        moment = read_ms(text)
    except OddValueError:
        return text
    return format_ms(moment // 1000 * 1000) if moment is not None else None


def parse_release(raw: bytes) -> Item:
    release, raw = read(raw, _release)
    tag = _text(release.tag_name) or ""
    url = (release.links or {}).get("self")
    return Item(
        ItemKey("release", tag_number(tag)), title=_text(release.name) or tag, body=_text(release.description),
        author=_name(release.author), created_at=read_ms(release.released_at or release.created_at),
        url=url if isinstance(url, str) else None, tag=tag, raw=raw,
    )  # fmt: skip


def release_number(raw: bytes) -> int:
    """Return only the number of a release, of whatever else its row is made."""
    return tag_number(_text(str(loose(raw).get("tag_name") or "")) or "")


def tag_number(tag: str) -> int:
    """GitLab numbers no releases: this one is made from the tag, the same every time, below 2^53 so that JSON keeps
    it.
    """
    return int.from_bytes(hashlib.sha256(tag.encode()).digest()[:6], "big")


def parse_member(raw: bytes) -> Member:
    user, _ = read(raw, _user)
    return Member(user.username or "?", _ROLES.get(user.access_level, str(user.access_level)))


def parse_diff(raw: bytes) -> File:
    return as_file(read(raw, _diff)[0])


def as_file(diff: DiffRow) -> File:
    status: FileStatus = "modified"
    if diff.new_file in _SET:
        status = "added"
    elif diff.deleted_file in _SET:
        status = "deleted"
    elif diff.renamed_file in _SET:
        status = "renamed"
    old = diff.old_path if status == "renamed" else diff.new_path
    new, old = _text(diff.new_path) or "", _text(old) or ""
    return File(new, old, status, read_patch(old, new, diff.diff) if diff.diff else None)


def loose(raw: bytes) -> dict[str, Any]:
    return read(raw, _loose)[0]


def _text(value: str | None) -> str | None:
    return storable(value) if value is not None else None


def _name(user: UserRow | None) -> str | None:
    return user.username if user else None
