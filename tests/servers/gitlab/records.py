"""What is a GitLab made of? Plain records; the rules that change them live in `project.py` and `threads.py`.

Times are strings such as "2026-03-01T12:00:00.123Z": fixed width, so they sort and compare as they stand.
"""

import dataclasses
import datetime as dt

from ..base import parse_time  # noqa: TID252  works as servers.* and as tests.servers.*

GHOST = "ghost"  # GitLab hands the work of a deleted user to this account
STATUSES = ("added", "deleted", "renamed", "modified")


def stamp(when: dt.datetime) -> str:
    """`when` is UTC: the offset is cut off."""
    return when.isoformat(timespec="milliseconds")[:23] + "Z"


def seconds_between(earlier: str, later: str) -> float:
    return (parse_time(later) - parse_time(earlier)).total_seconds()


@dataclasses.dataclass
class Token:
    username: str
    name: str = ""  # the person's display name
    scopes: tuple[str, ...] = ("read_api",)
    expired: bool = False
    private_access: bool = True
    access_level: int = 40


@dataclasses.dataclass(slots=True)
class User:
    id: int
    username: str
    name: str


@dataclasses.dataclass(slots=True)
class Label:
    id: int
    name: str
    color: str = "#ededed"
    description: str | None = None


@dataclasses.dataclass(slots=True)
class File:
    status: str
    old_path: str
    new_path: str
    collapsed: bool = False
    too_large: bool = False
    patch: str | None = None

    @classmethod
    def read(cls, spec) -> "File":
        """`("renamed", "a.py", "b.py")` or `("modified", "a.py", {"too_large": True})` -> File."""
        if isinstance(spec, File):
            return spec
        flags = spec[-1] if isinstance(spec[-1], dict) else {}
        paths = [part for part in spec[1:] if isinstance(part, str)]
        if spec[0] not in STATUSES:
            raise ValueError(f"unknown file status {spec[0]!r}")
        return cls(spec[0], paths[0], paths[-1], **flags)


@dataclasses.dataclass(slots=True, eq=False)
class Note:
    id: int
    body: str
    author: str | None
    created_at: str
    updated_at: str
    discussion: "Discussion"
    type: str | None = None  # None, DiscussionNote or DiffNote
    system: bool = False
    internal: bool = False
    position: dict | None = None
    resolved_by: str | None = None
    resolved_at: str | None = None
    likes: list[str] = dataclasses.field(default_factory=list)  # who gave a thumb up
    mentioner: "Item | None" = None  # of a "mentioned in …" note: who may read that item may read the note

    @property
    def resolvable(self) -> bool:
        return self.discussion.item.kind == "change" and not self.system and self.type is not None


@dataclasses.dataclass(slots=True, eq=False)
class Discussion:
    id: str
    item: "Item"
    individual: bool
    notes: list[Note] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True)
class Event:
    """A resource event: `what` is a state ('closed', 'reopened', 'merged') or a label with '+' or '-'."""

    id: int
    user: str | None
    created_at: str
    what: str
    source_change_id: int | None = None


@dataclasses.dataclass(slots=True)
class Link:
    id: int
    source: "Item"
    target: "Item"
    created_at: str


@dataclasses.dataclass(slots=True, eq=False)
class Item:
    """An issue or a change (merge request)."""

    kind: str
    id: int
    iid: int
    project: object
    title: str
    body: str | None
    author: str | None
    created_at: str
    updated_at: str
    state: str = "opened"
    labels: set[str] = dataclasses.field(default_factory=set)
    assignees: list[str] = dataclasses.field(default_factory=list)
    reviewers: list[str] = dataclasses.field(default_factory=list)
    approved_by: list[str] = dataclasses.field(default_factory=list)
    closed_at: str | None = None
    closed_by: str | None = None
    confidential: bool = False
    moved_to: "Item | None" = None
    duplicate_of: "Item | None" = None
    discussions: list[Discussion] = dataclasses.field(default_factory=list)
    state_events: list[Event] = dataclasses.field(default_factory=list)
    label_events: list[Event] = dataclasses.field(default_factory=list)
    mentioned_by: set["Item"] = dataclasses.field(default_factory=set)
    extra: dict = dataclasses.field(default_factory=dict)  # laid over the payload as it is
    files: list[File] = dataclasses.field(default_factory=list)
    head: str = ""
    base: str = ""
    sha: str | None = None
    base_sha: str | None = None
    merged_at: str | None = None
    merged_by: str | None = None
    merge_commit_sha: str | None = None

    @property
    def type_name(self) -> str:
        return "Issue" if self.kind == "issue" else "MergeRequest"

    @property
    def noun(self) -> str:
        return "issue" if self.kind == "issue" else "merge request"

    @property
    def sigil(self) -> str:
        return "#" if self.kind == "issue" else "!"

    def reference(self, seen_from) -> str:
        """As GitLab shortens it: `#3` at home, `app#3` among siblings, `group/app#3` elsewhere."""
        if seen_from is self.project:
            return f"{self.sigil}{self.iid}"
        sibling = seen_from.namespace == self.project.namespace
        return f"{self.project.name if sibling else self.project.path}{self.sigil}{self.iid}"

    def notes(self):
        return (note for discussion in self.discussions for note in discussion.notes)


@dataclasses.dataclass(slots=True)
class Release:
    tag: str
    name: str | None
    body: str | None
    author: str | None
    created_at: str
    released_at: str
