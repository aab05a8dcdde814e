"""The words everything else is named by: kinds of items, what people type for them, how items are named.

Plain tuples and no libraries: a command that only reads pays for nothing more.
"""

from collections.abc import Iterable
from datetime import date
from enum import StrEnum
from typing import Literal, NamedTuple, TypedDict

from forgelore.profiles import ProjectName as ProjectName  # noqa: PLC0414

Kind = Literal["issue", "change", "discussion", "release"]
Representation = Literal["item", "thread", "intent"]  # the part of an item that a document holds; intent: its card
Source = Literal["raw", "intent"]  # what is searched: what people wrote, or intent cards

KINDS: tuple[Kind, ...] = ("issue", "change", "discussion", "release")

# What people type -> what we mean. A discussion is a thread on forges that call threads so (profiles).
KIND_WORDS: dict[str, Kind] = {
    "issue": "issue", "issues": "issue",
    "change": "change", "changes": "change", "pr": "change", "prs": "change", "pull": "change", "pulls": "change",
    "pull_request": "change", "pull_requests": "change", "mr": "change", "mrs": "change",
    "merge_request": "change", "merge_requests": "change",
    "discussion": "discussion", "discussions": "discussion",
    "release": "release", "releases": "release",
}  # fmt: skip


STATE_WORDS = {"open": "open", "opened": "open", "closed": "closed", "merged": "merged"}

Words = str | Iterable[str] | None  # one value or several; None: no filter
Numbers = str | int | Iterable[str | int] | None
Moment = str | date | None  # a datetime is a date; one without a zone is in UTC


class FilterWords(TypedDict, total=False):
    """The filters as people write them, on the command line, in Python and in files of queries. What several of one
    mean: store/filters.
    """

    project: str | None
    type: Words  # issue, change (pr, mr), discussion, release, thread
    state: Words
    author: Words
    label: Words  # of several all; of a list in one text, "bug,crash", one
    path: Words
    after: Moment  # 2026-03-01, 7d, 3 months ago …; from Python also a date or a datetime
    before: Moment
    updated_after: Moment
    milestone: Words
    assignee: Words
    commenter: Words  # wrote a comment
    mentions: Words  # are mentioned, in the item or a comment
    involves: Words  # wrote it, commented, reviewed, are assigned or are mentioned
    created: Words | Moment  # >2026-01-31, <=7d, 2026-01..2026-03, 2026-03 (all of it); several must all hold
    updated: Words | Moment
    comments: Numbers  # how many: 0, >10, 5..20
    no: Words  # label, milestone, assignee: has none of any of these
    without: "FilterWords"  # each value of these is left out


class JobKind(StrEnum):
    """What waits to be done. Those up to `look` are fetched from the forge, by item; the others need no request."""

    ITEM = "item"  # an item that something else names and that no list brought
    THREADS = "threads"
    DETAIL = "detail"  # files, reviews, closing references, duplicate marks
    LINKS = "links"  # of a change whose files and reviews came another way
    FILES = "files"  # of a change, and nothing else: what the bot reads of its history
    LINES = "lines"  # of an open change: which lines its diff removes and adds
    LOOK = "look"  # a second look at an item that seems gone
    DOCUMENT = "document"
    EMBED = "embed"
    REPLAY = "replay"


class NoteScope(StrEnum):
    """Which notes of an item are complete, so that others are gone. Two of them are the key of the thread they mean."""

    ALL = "all"
    COMMENTS = "comments"  # the plain stream below an item
    REVIEW_SUMMARIES = "reviews"  # what reviewers wrote above their remarks
    LINE_COMMENTS = "line_comments"  # their remarks at lines of the change


class ItemKey(NamedTuple):
    kind: Kind
    number: int


class Passage(NamedTuple):
    """A span of a document as an embedder gets it: `text` is clean and does not repeat the title."""

    title: str
    text: str
