"""An item with its conversation, as it is stored: whatever shows, lists, exports, reads or indexes it uses these.

Fields that end in `_ms` are milliseconds; the property beside each is that moment as Python has it. `json_fields` names
what is written as JSON, properties included; the views at the end differ from an item in nothing else.

A comment of the bot is known by its first line, not by its author: the bot posts as an app, as a project's token or as
a person. Somebody who quotes a report writes `>` before it and keeps their words; somebody who begins a comment with
the marker hides it from search, and from nothing else.
"""

import datetime as dt
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from forgelore.text.dates import as_time
from forgelore.text.refs import commit_page, shown_ref
from forgelore.words import ProjectName

MARKER = "<!-- forgelore:triage:v1 -->"


def is_report(body: str | None) -> bool:
    """True for the text of a comment that the bot wrote. It is shown and exported, and belongs to no document."""
    return body is not None and MARKER in body and body.partition("\n")[0].strip() == MARKER


@lru_cache(maxsize=256)
def project_name(forge: str, host: str, path: str) -> str:
    """Return what people call a project, which is asked of every row of a list."""
    return str(ProjectName(forge, host, path))


class StoredFile(NamedTuple):
    """A file that a change or a commit touches."""

    new_path: str
    old_path: str
    status: str  # as `model.FileStatus`; of a commit: renamed or changed


class StoredLink(NamedTuple):
    """What an item points to. `project` is empty for its own; `forge` is that of the item."""

    relation: str
    project: str
    kind: str | None
    number: int
    source: str
    is_withdrawn: bool
    forge: str = ""

    @property
    def ref(self) -> str:
        return self.project + shown_ref(self.forge, self.kind or "", self.number)

    @staticmethod
    def json_fields() -> tuple[str, ...]:
        return ("relation", "project", "kind", "number", "source", "is_withdrawn", "ref")


class Backlink(NamedTuple):
    """An item of the same project that points here."""

    relation: str
    kind: str
    number: int
    title: str
    ref: str


class StoredNote(NamedTuple):
    """One note of a conversation, by a person or by the forge itself. `position_type`: of a note on a change: text,
    image, file. `is_resolved`: by itself, where the forge resolves notes one by one.
    """

    key: str = ""
    author: str | None = None
    body: str | None = None
    created_ms: int | None = None
    path: str | None = None
    line: int | None = None
    type: str | None = None
    url: str | None = None
    position_type: str | None = None
    is_system: bool = False
    is_internal: bool = False
    is_answer: bool = False
    is_resolved: bool = False

    @property
    def created_at(self) -> dt.datetime | None:
        return as_time(self.created_ms)

    @staticmethod
    def json_fields() -> tuple[str, ...]:
        return (
            "author", "body", "created_at", "path", "line", "is_system", "is_internal", "is_answer", "type", "url",
            "position_type", "is_resolved",
        )  # fmt: skip


class StoredThread(NamedTuple):
    """A conversation of an item; `path` and `line` where it is about a line of a change. Not every forge tells who
    resolved it, or when.
    """

    key: str
    notes: list[StoredNote]  # at least one
    path: str | None = None
    line: int | None = None
    resolved_by: str | None = None
    resolved_ms: int | None = None
    is_resolvable: bool = False
    is_resolved: bool = False

    @property
    def resolved_at(self) -> dt.datetime | None:
        return as_time(self.resolved_ms)

    @property
    def place(self) -> tuple[str | None, int | None]:
        """Which line of which file it is about: some forges say so of its notes."""
        first = self.notes[0]
        return first.path if self.path is None else self.path, first.line if self.line is None else self.line

    @staticmethod
    def json_fields() -> tuple[str, ...]:
        return ("key", "is_resolvable", "is_resolved", "path", "line", "notes", "resolved_by", "resolved_at")


class StoredReviewer(NamedTuple):
    """Somebody who is to review a change or did: what they said in the end, and whether a review is asked for and not
    given since.
    """

    login: str
    verdict: str | None
    reviewed_ms: int | None
    is_awaited: bool

    @property
    def reviewed_at(self) -> dt.datetime | None:
        return as_time(self.reviewed_ms)

    @staticmethod
    def json_fields() -> tuple[str, ...]:
        return ("login", "verdict", "reviewed_at", "is_awaited")


class StoredCommit(NamedTuple):
    """A commit of a project's clone. `login`: the author's, where something tells it; else there is `git_name`.
    `parents`: their names, with blanks between. `change`: the number of the one that brought it. `folder`: of the
    clone, maybe gone.
    """

    id: int
    project_id: int
    forge: str
    host: str
    path: str
    sha: str
    message: str
    git_name: str | None
    login: str | None
    authored_ms: int | None
    committed_ms: int | None
    parents: str
    change: int | None
    folder: str

    @property
    def ref(self) -> str:
        return self.sha[:12]

    @property
    def title(self) -> str:
        return self.message.partition("\n")[0]

    @property
    def author(self) -> str | None:
        return self.login or self.git_name

    @property
    def authored_at(self) -> dt.datetime | None:
        return as_time(self.authored_ms)

    @property
    def project(self) -> str:
        return project_name(self.forge, self.host, self.path)

    @property
    def url(self) -> str | None:
        return commit_page(self.forge, self.host, self.path, self.sha)

    @staticmethod
    def json_fields() -> tuple[str, ...]:
        return ("ref", "sha", "title", "author", "authored_at")


class StoredItem(NamedTuple):
    """An item. Its parts, from `labels` on, are there where they were asked for. A commit and a file are shown the same
    way: number 0, and a commit links to its change. `name`: what it is called, where that is more than a number;
    `deleted_at`: when its forge was seen without it.
    """

    id: int
    project_id: int
    forge: str
    host: str
    path: str
    kind: str
    number: int
    title: str
    body: str | None = None
    state: str | None = None
    state_reason: str | None = None
    author: str | None = None
    author_role: str | None = None
    created_ms: int | None = None
    updated_ms: int | None = None
    closed_ms: int | None = None
    merged_ms: int | None = None
    deleted_ms: int | None = None
    url: str | None = None
    tag: str | None = None
    category: str | None = None
    milestone: str | None = None
    source_branch: str | None = None
    target_branch: str | None = None
    head_sha: str | None = None
    content_hash: str = ""
    assignees: tuple[str, ...] = ()
    is_draft: bool = False
    is_confidential: bool = False
    name: str = ""
    labels: tuple[str, ...] = ()
    files: tuple[StoredFile, ...] = ()
    links: tuple[StoredLink, ...] = ()
    linked_from: tuple[Backlink, ...] = ()
    threads: tuple[StoredThread, ...] = ()
    reviewers: tuple[StoredReviewer, ...] = ()
    document: str | None = None  # the reading text, for agents
    commits: tuple[StoredCommit, ...] = ()  # of a change, oldest first

    @property
    def ref(self) -> str:
        return self.name or shown_ref(self.forge, self.kind, self.number, self.tag)

    @property
    def project(self) -> str:
        return project_name(self.forge, self.host, self.path)

    @property
    def ended_ms(self) -> int | None:
        """When it was merged or closed; of an open one, when it was last."""
        return self.merged_ms or self.closed_ms

    @property
    def reading_id(self) -> str:
        """What its reading text is asked for by."""
        return f"{self.kind if self.kind in ('commit', 'file') else 'item'}:{self.id}"

    @property
    def created_at(self) -> dt.datetime | None:
        return as_time(self.created_ms)

    @property
    def updated_at(self) -> dt.datetime | None:
        return as_time(self.updated_ms)

    @property
    def closed_at(self) -> dt.datetime | None:
        return as_time(self.closed_ms)

    @property
    def merged_at(self) -> dt.datetime | None:
        return as_time(self.merged_ms)

    @property
    def deleted_at(self) -> dt.datetime | None:
        return as_time(self.deleted_ms)

    def with_parts(
        self, labels: Iterable[str], files: Iterable[StoredFile], threads: Iterable[StoredThread],
        links: Iterable[StoredLink] = (),
    ) -> "StoredItem":  # fmt: skip
        """Return the item with these parts, in a fifth of the time that `_replace` takes: an export has thousands."""
        parts = (tuple(labels), tuple(files), tuple(links), (), tuple(threads))
        return StoredItem._make(self[:_PARTS] + parts + self[_PARTS + len(parts) :])

    @staticmethod
    def json_fields() -> tuple[str, ...]:
        return (
            "reading_id", "ref", "project", "project_id", "kind", "number", "title", "body", "state", "state_reason",
            "author", "author_role", "assignees", "created_at", "updated_at", "closed_at", "merged_at", "url", "tag",
            "category", "milestone", "source_branch", "target_branch", "is_draft", "is_confidential", "deleted_at",
            "labels", "files", "links", "linked_from", "threads", "reviewers", "document", "commits",
        )  # fmt: skip


_PARTS = StoredItem._fields.index("labels")


class ListedItem(StoredItem):
    """An item without its body; `ref` names the project where the store has several. `kind` "thread", in a list of
    discussions: one below an item of GitLab, which calls it so. It has the item's ref, number and labels, its own state
    (resolved, unresolved), and for a title its first line.
    """

    __slots__ = ()

    @staticmethod
    def json_fields() -> tuple[str, ...]:
        return (
            "ref", "kind", "number", "title", "state", "state_reason", "author", "created_at", "updated_at", "url",
            "source_branch", "target_branch", "tag", "labels", "project",
        )  # fmt: skip
