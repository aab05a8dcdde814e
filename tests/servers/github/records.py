"""What the local GitHub stores: plain records, the global ids made from them, and their web addresses.

Times are the strings the API shows ("2026-03-01T12:00:00Z"): they sort as text, so no record converts them.
Authors are logins; None is an account that no longer exists. One counter numbers every record of a world,
so a global id needs only a kind prefix and that number: Issue 1000003 -> "I_kwDOAAAAAAAPQkM".
"""

import base64
import dataclasses
import struct
import zlib

record = dataclasses.dataclass(slots=True, eq=False)


@record
class User:
    id: int
    login: str
    kind: str = "User"  # User, Bot or Organization
    created_at: str = "2020-01-01T00:00:00Z"


@record
class Label:
    id: int
    project: object
    name: str
    color: str = "ededed"
    description: str | None = None
    default: bool = False
    created_at: str = ""


@record
class Category:
    id: int
    project: object
    name: str
    is_answerable: bool
    created_at: str = ""


@record
class Event:
    id: int
    item: object
    event: str
    actor: str
    created_at: str
    extra: dict = dataclasses.field(default_factory=dict)


@record
class Comment:
    """A comment below an issue or a change."""

    id: int
    item: object
    body: str
    author: str | None
    created_at: str
    updated_at: str
    likes: int = 0  # thumbs up
    dislikes: int = 0


@record
class ReviewComment(Comment):
    path: str = ""
    line: int | None = None
    reply_to: object = None
    review: object = None
    thread: object = None
    commit: str = ""
    outdated: bool = False


@record
class DiscussionComment(Comment):
    reply_to: object = None
    replies: list = dataclasses.field(default_factory=list)


@record
class Review:
    id: int
    item: object
    body: str
    author: str | None
    created_at: str
    updated_at: str
    state: str = "COMMENTED"
    commit: str = ""


@record
class Thread:
    id: int
    item: object
    comments: list = dataclasses.field(default_factory=list)
    resolved_by: str | None = None
    is_resolved: bool = False


@record
class File:
    status: str  # added, deleted, renamed or modified; REST says "removed", GraphQL upper-case
    old_path: str
    new_path: str
    text: str | None = None  # its patch, where a test says one

    # Counts come from the path, so that the same file looks the same in every list and in the diff.
    @property
    def additions(self) -> int:
        return 0 if self.status == "deleted" or self.is_binary else 1 + zlib.crc32(self.new_path.encode()) % 5

    @property
    def deletions(self) -> int:
        return 0 if self.status == "added" or self.is_binary else 1 + zlib.crc32(self.old_path.encode()) % 3

    @property
    def is_binary(self) -> bool:
        return self.new_path.endswith((".png", ".gif", ".zip", ".bin"))

    @property
    def patch(self) -> str | None:
        """None for binary files, for which GitHub leaves the key out."""
        if self.is_binary or self.text is not None:
            return self.text
        gone = [f"-old line {n} of {self.old_path}" for n in range(self.deletions)]
        new = [f"+new line {n} of {self.new_path}" for n in range(self.additions)]
        return "\n".join([f"@@ -1,{len(gone)} +1,{len(new)} @@", *gone, *new])


@record
class Item:
    id: int
    project: object
    number: int
    title: str
    body: str | None
    author: str | None
    created_at: str
    updated_at: str
    labels: list = dataclasses.field(default_factory=list)
    state: str = "open"
    state_reason: str | None = None
    closed_at: str | None = None
    closed_by: str | None = None
    assignees: list = dataclasses.field(default_factory=list)
    locked: bool = False
    milestone: str | None = None
    is_merging: bool = False  # of a change: auto-merge is on
    comments: list = dataclasses.field(default_factory=list)
    events: list = dataclasses.field(default_factory=list)
    duplicate_of: object = None

    @property
    def is_closed(self) -> bool:
        return self.state == "closed"


@record
class Issue(Item):
    kind = "issue"


@record
class Change(Item):
    kind = "change"
    files: list = dataclasses.field(default_factory=list)
    head: str = "branch"
    base: str = "main"
    head_sha: str = ""
    draft: bool = False
    fork_gone: bool = False  # the head's repository was deleted: head.repo is null
    merged_at: str | None = None
    merged_by: str | None = None
    requested: list = dataclasses.field(default_factory=list)  # who is asked for a review and has not given it
    reviews: list = dataclasses.field(default_factory=list)
    threads: list = dataclasses.field(default_factory=list)
    review_comments: list = dataclasses.field(default_factory=list)


@record
class Discussion(Item):
    kind = "discussion"
    category: object = None
    answer: object = None
    answered_at: str | None = None


@record
class Release:
    kind = "release"
    id: int
    project: object
    tag: str
    name: str | None
    body: str | None
    author: str
    created_at: str
    updated_at: str
    published_at: str | None
    draft: bool = False
    prerelease: bool = False


_PREFIXES = {
    "Issue": "I", "Change": "PR", "Discussion": "D", "Comment": "IC", "ReviewComment": "PRRC", "Review": "PRR",
    "DiscussionComment": "DC", "Thread": "PRRT", "Release": "RE", "Label": "LA", "Category": "DIC",
    "User": "U", "Project": "R", "Event": "EVE",
}  # fmt: skip


def node_id(thing) -> str:
    packed = base64.urlsafe_b64encode(struct.pack(">Q", thing.id)).decode().rstrip("=")
    return f"{_PREFIXES[type(thing).__name__]}_kwDO{packed}"


def database_id(node: str) -> int | None:
    """The number inside a global id; None when the text is no global id at all."""
    _, found, packed = node.partition("_kwDO")
    try:
        return struct.unpack(">Q", base64.urlsafe_b64decode(packed + "="))[0] if found else None
    except (ValueError, struct.error):
        return None


_SECTIONS = {"issue": "issues", "change": "pull", "discussion": "discussions"}
_ANCHORS = {
    "Comment": "#issuecomment-{}", "ReviewComment": "#discussion_r{}", "Review": "#pullrequestreview-{}",
    "DiscussionComment": "#discussioncomment-{}", "Event": "#event-{}",
}  # fmt: skip


def html_url(thing) -> str:
    """The address a person opens; the host is github.com, or the server itself when it plays GHES."""
    name = type(thing).__name__
    if isinstance(thing, Item):
        return f"{thing.project.web}/{_SECTIONS[thing.kind]}/{thing.number}"
    if name in _ANCHORS:
        return html_url(thing.item) + _ANCHORS[name].format(thing.id)
    if name == "Release":
        return f"{thing.project.web}/releases/tag/{thing.tag}"
    if name == "Label":
        return f"{thing.project.web}/labels/{thing.name.replace(' ', '%20')}"
    return thing.web
