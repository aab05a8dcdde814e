"""Ports: what the flows need from the outside, and nothing more.

A forge hands out *pages*: everything one answer said, plus where the next page begins. Sync saves it with its cursor.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from forgelore.errors import ForgeError
from forgelore.model import (
    Cursor,
    Detail,
    File,
    Identity,
    Involvement,
    Item,
    ItemKey,
    Kind,
    Label,
    Link,
    Member,
    PatchLines,
    Project,
    ProjectName,
    Thread,
)
from forgelore.ports.closing import ForgeClosings
from forgelore.records import KnownConversation, QuotaLeft
from forgelore.words import JobKind, NoteScope


class Resource(Struct, frozen=True):
    """One list of a project with a cursor of its own. A lower stage is complete before the next begins."""

    name: str
    title: str
    stage: int
    kinds: tuple[str, ...] = ()  # the words of `ingest --type` that include it
    lists: tuple[Kind, ...] = ()  # the kinds of items that it lists one by one


class MissingPart(Struct, frozen=True):
    """What a job could not bring, and why, in the forge's own words.

    It stays in the queue, or waits there as another `kind` when the rest came another way. `is_asked` is False for what
    nobody asked for, because nothing before it came. `is_gone`: the forge has no such item, which gets a second look.
    """

    kind: JobKind
    reason: str
    is_asked: bool = True
    is_gone: bool = False


class Page(Struct):
    """Everything one answer said. `cursor` is where reading goes on once this page is saved.

    `complete` names items of which this page holds every note of a scope: others are gone.
    `thread_states` carry resolution and place but no notes. `review_ids` are the review comments a change still has,
    `silent_reviews` all its reviews without words, where nothing that is stored tells them again.
    """

    cursor: Cursor | None = None
    items: list[Item] = []
    threads: list[Thread] = []
    thread_states: list[Thread] = []
    complete: dict[ItemKey, NoteScope] = {}
    review_ids: dict[ItemKey, set[str]] = {}
    silent_reviews: dict[ItemKey, list[Involvement]] = {}
    thread_etags: dict[ItemKey, str] = {}
    unchanged: list[ItemKey] = []  # items whose threads were asked for and are as before (304)
    details: list[Detail] = []
    lines: dict[ItemKey, PatchLines] = {}  # of whole diffs
    missing: dict[ItemKey, MissingPart] = {}  # items that were asked for, of which something is still missing
    labels: list[Label] | None = None
    members: list[Member] | None = None
    seen: set[ItemKey] | None = None  # every item of `seen_kinds` that the forge has
    seen_kinds: tuple[Kind, ...] = ()
    is_wide: bool = False  # read by the wider net: conversations are looked at again too
    server_ms: int | None = None  # the forge's clock
    warnings: list[str] = []


class Known(Protocol):
    """What the store already knows, for adapters that can save requests by asking."""

    def thread_etag(self, key: ItemKey) -> str | None: ...
    def node_ids(self, keys: list[ItemKey]) -> dict[ItemKey, str]: ...

    def kinds(self, numbers: list[int]) -> dict[int, Kind]:
        """Return whether each number is an issue's or a change's, where one is known: GitHub counts both together."""
        ...

    def files_sha(self, key: ItemKey) -> str | None: ...
    def head_sha(self, key: ItemKey) -> str | None: ...
    def has_review_notes(self, key: ItemKey) -> bool: ...
    def is_open(self, key: ItemKey) -> bool: ...
    def conversation(self, key: ItemKey) -> KnownConversation | None: ...
    def note_times(self, key: ItemKey) -> dict[str, tuple[int | None, bool]]:
        """Return when each note of an item was last changed, by its key, and whether it is the answer."""
        ...


class SecondLook(Struct, frozen=True):
    """A second look at an item that seems gone. `moved_to` is its new address."""

    key: ItemKey
    is_gone: bool
    moved_to: Link | None = None


class Comment(Struct, frozen=True):
    """One plain comment below an item, as far as who posts needs it. `author` is None for a deleted account."""

    id: int
    body: str
    author: str | None = None
    url: str | None = None
    created_at: int | None = None  # on the forge's clock


class Newest(Struct, frozen=True):
    """When an issue or change was last filed, and when one was last changed; None where there is none."""

    created_at: int | None = None
    updated_at: int | None = None


class LostWrite(ForgeError):
    """A write was sent and its answer never came: it may have happened. Look before doing it again."""


class WriteDelayed(ForgeError):
    """A write was not taken (a limit, no connection), and the wait for the next one is over. Meanwhile people may have
    acted: look again before sending it.
    """


class WriteRefused(ForgeError):
    """The forge refused one write for good, and wrote nothing; the next one may go through."""


class ConversationLocked(ForgeError):
    """Somebody locked the conversation: the forge takes no comment from this token."""


class ForgeReader(Protocol):
    """What is read of a forge, by one signed-in (or anonymous) reader."""

    name: str
    host: str

    def server_ms(self) -> int | None: ...
    def fetch_identity(self) -> Identity | None: ...
    def fetch_project(self, name: ProjectName) -> Project: ...
    def list_projects(self, owner: str, *, deep: bool) -> Iterator[ProjectName]: ...
    def resources(self, project: Project) -> list[Resource]: ...
    def pages(self, project: Project, resource: str, cursor: Cursor, known: Known, now_ms: int) -> Iterator[Page]: ...

    def jobs_for(self, item: Item, *, is_changed: bool, is_wide: bool, threads_fetched_at: int | None) -> list[JobKind]:
        """Return the kinds of jobs ("threads", "detail") that an item of a page needs now."""
        ...

    def required_jobs(self) -> dict[JobKind, tuple[Kind, ...]]:
        """Return the kinds of jobs that every item of some kinds must have had once, for this reader."""
        ...

    def batch_size(self, job_kind: JobKind) -> int: ...
    def batches(self, job_kind: JobKind, keys: Sequence[ItemKey], known: Known) -> Iterator[list[ItemKey]]:
        """Yield all of these keys in batches, each of what costs least to fetch together."""
        ...

    def fetch_jobs(self, project: Project, job_kind: JobKind, keys: list[ItemKey], known: Known) -> Page:
        """Return what these items' jobs bring. A job is done unless the page has its item in `missing`."""
        ...

    def fetch_item(self, project: Project, key: ItemKey) -> Item: ...
    def look(self, project: Project, key: ItemKey) -> SecondLook: ...
    def counts(self, project: Project) -> dict[Kind, int | None]:
        """Return how many items of each kind there are; None for a kind that must be swept because nobody counts it."""
        ...

    def counts_since(self, project: Project, kind: Kind, times: Sequence[int]) -> dict[int, int]:
        """Return how many items of a kind were last changed at each of these times or later: as many of them as one
        request tells, none where the forge does not count so.
        """
        ...

    def items_between(self, project: Project, kinds: Sequence[Kind], start_ms: int, end_ms: int) -> list[Item]:
        """Return the items of these kinds that were last changed in this span, both ends included."""
        ...

    def sweep(self, project: Project, kind: Kind) -> set[int]:
        """Return the numbers of every item of a kind."""
        ...

    def fetch_files(self, project: Project, key: ItemKey) -> list[File]:
        """Return the paths of a change; empty for an issue, cut off where the forge stops listing (GitHub: 3,000)."""
        ...

    def fetch_diff(self, project: Project, key: ItemKey, *, max_chars: int) -> str | None:
        """Return the first `max_chars` of a change's diff, reading no more of it than that takes.

        "" when there is no text in it (binary files, renames, an issue), None when the forge would not show it.
        """
        ...

    def fetch_text(self, project: Project, path: str, *, branch: str, max_chars: int) -> str | None:
        """Return the beginning of a file on a branch; None when there is no such branch or file."""
        ...

    @property
    def payloads(self) -> "PayloadReader":
        """What reads this forge's stored answers again."""
        ...

    def fetch_branch_time(self, project: Project, branch: str) -> int | None:
        """Return when the last commit of a branch was made; None when there is no such branch."""
        ...

    def fetch_newest(self, project: Project) -> Newest:
        """Return when something last happened among the issues and changes that this reader is shown."""
        ...


class ForgeComments(Protocol):
    """What is written on a forge: comments and labels of an item."""

    name: str

    def fetch_identity(self) -> Identity | None: ...
    def list_comments(self, project: Project, key: ItemKey) -> Iterator[Comment]:
        """Yield the plain comments of an issue or change, oldest first; no system notes, no comments on lines.

        Raises NotFound for an item that was deleted or moved to another project.
        """
        ...

    def create_comment(self, project: Project, key: ItemKey, body: str) -> Comment:
        """Post a comment. Sent once: raises LostWrite when nobody can know whether it arrived.

        ConversationLocked when the conversation is locked, AuthError (with the permission's name) when the token may
        not write, NotFound when the item is gone or lives in another project now.
        """
        ...

    def update_comment(self, project: Project, key: ItemKey, comment_id: int, body: str) -> Comment | None:
        """Replace a comment's text; None when it is gone."""
        ...

    def delete_comment(self, project: Project, key: ItemKey, comment_id: int) -> bool:
        """Delete a comment; False when it was gone already."""
        ...

    def add_labels(self, project: Project, key: ItemKey, labels: Sequence[str]) -> None:
        """Give an item labels on top of those it has; none is taken away. The forge makes those it does not know."""
        ...


class FetchCost(Struct, frozen=True):
    """What fetching takes, estimated: requests, points of GraphQL among them where it has a price, how many notes come,
    and how many characters of text there are in all.
    """

    requests: int
    notes: int = 0
    chars: int = 0
    points: int = 0


class ForgeMeter(Protocol):
    """What reading costs: requests made, left and still needed; and what cannot be asked at the moment."""

    host: str

    def estimate(self, project: Project, missing: dict[Kind, int]) -> FetchCost:
        """Return about what it takes to fetch that many items of each kind, from a page of each list."""
        ...

    def requests(self) -> int: ...

    def requests_left(self) -> int | None:
        """Return how many requests the forge said are left in this window (the scarcest kind); None when unknown."""
        ...

    def let_wait(self, on_wait: Callable[[float, str], None] | None, max_wait_s: float) -> None:
        """Say who is told of waits, and how long a limit may be waited for."""
        ...

    def begin_run(self, down: Mapping[str, str], on_wait: Callable[[float, str], None]) -> None:
        """Begin with the endpoints that were down when somebody last asked: each is tried once before it counts. Who is
        told of waits is another one from now on.
        """
        ...

    def quotas(self) -> list[QuotaLeft]:
        """Return what the forge last said is left of each quota."""
        ...

    def down_endpoints(self) -> dict[str, str]:
        """Return endpoint -> reason of what keeps failing now."""
        ...


class Forge(ForgeReader, ForgeComments, ForgeClosings, ForgeMeter, Protocol):
    """A forge as its adapter makes it. Flows ask for the part that they use."""

    def close(self) -> None: ...


class PayloadReader(Protocol):
    """Reads a forge's stored answers again: bytes in, what they say out. No request, no token.

    `project` is the project as it is now: a page that was stored under a former name gets its present address. Raises
    LostPage for bytes that make no sense.
    """

    def project(self, raw: bytes, name: ProjectName) -> Project: ...
    def item(self, raw: bytes, key: ItemKey, project: Project) -> Item: ...

    def detail(self, raw: bytes, key: ItemKey, project: Project) -> Page:
        """Return the second look at an item, and the states of review threads that it tells; `missing` says what an
        older version did not ask for.
        """
        ...

    def thread(self, notes: Sequence[tuple[str, bytes]], key: ItemKey, thread: str, project: Project) -> Page:
        """Return the notes of a thread, given as (key, payload) in their order, and its state where they tell it."""
        ...


class PulledIndex(Protocol):
    """What a branch held: its commit, name -> path of each file, and the parts of one that is too large for a file."""

    @property
    def commit(self) -> str: ...
    @property
    def files(self) -> dict[str, str]: ...
    def each_part(self) -> Iterator[bytes]: ...


class IndexBranch(Protocol):
    """A branch that holds the bot's index between runs, one commit without history."""

    name: str

    def pull(self) -> PulledIndex | None:
        """Fetch the branch's files; None when there is no such branch."""
        ...

    def push(
        self, files: Mapping[str, str], *, expected: str | None, message: str, parts: Sequence[str | None] = ()
    ) -> str:
        """Replace the branch if it is still at `expected` (None: not there). Raises StateMoved when it is not. `parts`
        of a large file are paths, None for each that is as it was pulled.
        """
        ...

    def drop_copies(self) -> list[str]:
        """Delete the branches under which older versions kept damaged indexes; returns their names."""
        ...
