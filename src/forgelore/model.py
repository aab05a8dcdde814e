"""The nouns: what a forge says, in one shape for every forge and imported trackers.

Times are integer milliseconds since 1970 in UTC. A missing text is None, never "". Nothing here does I/O. `gc=False`
where thousands are made: none of these can be part of a cycle.
"""

from typing import Literal

from msgspec import Struct

from forgelore.words import ItemKey as ItemKey  # noqa: PLC0414 - the nouns are imported from one place
from forgelore.words import Kind as Kind  # noqa: PLC0414
from forgelore.words import ProjectName as ProjectName  # noqa: PLC0414

State = Literal["open", "closed", "merged"]
Relation = Literal["closes", "mentions", "duplicate_of", "relates", "moved_to"]
# forge: a field of the item's own payload; detail: of a second look; event: a system note; text: what people wrote
LinkSource = Literal["forge", "detail", "event", "text"]
FileStatus = Literal["added", "deleted", "renamed", "modified"]
InvolvedAs = Literal["requested", "reviewed", "mentioned"]
ReviewVerdict = Literal["approved", "changes_requested", "commented", "dismissed"]
# the same as of a link; review: one without words, which no stored payload tells again
PeopleSource = Literal["forge", "detail", "review", "event", "text"]


class Access(Struct, frozen=True):
    """Who may read what of a project, in the forge's own words, for `triage/readers`. None: it did not say."""

    visibility: str | None = None  # public, internal, private
    issues: str | None = None  # a feature's level: disabled, private, enabled, public
    changes: str | None = None
    repository: str | None = None


class Project(Struct):
    name: ProjectName
    forge_id: int | None = None
    url: str | None = None
    default_branch: str | None = None
    description: str | None = None
    is_private: bool = False
    is_archived: bool = False
    has_issues: bool = True
    has_changes: bool = True
    has_discussions: bool = False
    access: Access = Access()
    raw: bytes = b""


class PatchLines(Struct, frozen=True, gc=False):
    """Which lines a patch removes and which it adds, as hashes, lowest first (text/patches)."""

    removed: tuple[int, ...] = ()
    added: tuple[int, ...] = ()


class File(Struct, frozen=True, gc=False):
    """One path of a change. `old_path` differs from `new_path` only for renames. `lines`: of its patch, where the
    forge listed that with the path.
    """

    new_path: str
    old_path: str
    status: FileStatus = "modified"
    lines: PatchLines | None = None


class Link(Struct, frozen=True, gc=False):
    """A relation from the item that holds it. `project` is empty for the same project, `kind` when unknown."""

    relation: Relation
    number: int
    kind: Kind | None = None
    project: str = ""
    source: LinkSource = "forge"
    is_withdrawn: bool = False


class Involvement(Struct, frozen=True, gc=False):
    """Somebody's part in the item that holds it: asked for a review, gave one, is mentioned. A team has a `/`."""

    login: str
    role: InvolvedAs
    verdict: ReviewVerdict | None = None
    source: PeopleSource = "forge"
    created_at: int | None = None


class Item(Struct, gc=False):
    key: ItemKey
    title: str
    body: str | None = None
    state: State | None = None
    state_reason: str | None = None
    author: str | None = None
    author_role: str | None = None
    assignees: list[str] = []
    labels: list[str] = []
    created_at: int | None = None
    updated_at: int | None = None
    closed_at: int | None = None
    merged_at: int | None = None
    url: str | None = None
    forge_id: int | None = None
    node_id: str | None = None
    tag: str | None = None
    category: str | None = None
    milestone: str | None = None
    source_branch: str | None = None
    target_branch: str | None = None
    head_sha: str | None = None
    is_draft: bool = False
    is_locked: bool = False
    is_confidential: bool = False
    comment_count: int | None = None
    review_comment_count: int | None = None
    links: list[Link] = []
    people: list[Involvement] = []
    raw: bytes = b""


class Note(Struct, gc=False):
    """One comment. `key` is unique in its item and the same each time the forge shows it."""

    key: str
    author: str | None = None
    body: str | None = None
    created_at: int | None = None
    updated_at: int | None = None
    author_role: str | None = None
    type: str | None = None
    path: str | None = None
    line: int | None = None
    old_path: str | None = None
    old_line: int | None = None
    is_system: bool = False
    is_internal: bool = False
    is_answer: bool = False
    reply_to: str | None = None
    url: str | None = None
    position_type: str | None = None
    is_resolvable: bool = False
    is_resolved: bool = False
    resolved_by: str | None = None
    resolved_at: int | None = None
    links: list[Link] = []
    raw: bytes = b""


class Thread(Struct, gc=False):
    """A conversation of an item. `key` is "comments" for the plain stream below it."""

    item: ItemKey
    key: str
    notes: list[Note]
    is_resolvable: bool = False
    is_resolved: bool = False
    path: str | None = None
    line: int | None = None
    resolved_by: str | None = None
    resolved_at: int | None = None


class Detail(Struct, frozen=True):
    """What a second look at one item adds."""

    key: ItemKey
    raw: bytes
    files: list[File] | None = None
    links: list[Link] | None = None
    people: list[Involvement] | None = None
    source_branch: str | None = None
    target_branch: str | None = None
    head_sha: str | None = None
    review_comment_count: int | None = None
    file_count: int | None = None  # as the forge counts them; it may list fewer. None: it did not say


class Label(Struct, frozen=True):
    name: str
    color: str | None = None
    description: str | None = None


class Member(Struct, frozen=True):
    login: str
    role: str


class Identity(Struct, frozen=True):
    login: str
    name: str | None = None
    scopes: tuple[str, ...] = ()
    expires_at: str | None = None


class Cursor(Struct, frozen=True):
    """Where a resource's next page begins.

    `updated_at` and `tie_id` name the last row that was saved; `token` is the forge's own opaque position, used only
    to resume an unfinished walk; `etag` lets an unchanged list cost nothing; `swept_at` is when the whole of it was
    last looked at. `is_complete` says that a walk has reached the end at least once.
    """

    updated_at: int | None = None
    tie_id: int | None = None
    token: str | None = None
    etag: str | None = None
    swept_at: int | None = None
    is_complete: bool = False
