"""Records that the store returns and the rules of a job read: nothing here but fields."""

from typing import Literal, NamedTuple

from forgelore.words import Passage


class Chunk(NamedTuple):
    start: int  # characters of the document's text
    end: int
    passage: Passage


class JudgedItem(NamedTuple):
    """An item as a judge reads it."""

    item_id: int
    number: int
    kind: str
    title: str
    body: str
    state: str
    is_marked: bool = False  # the forge says that it is a duplicate of something
    labels: tuple[str, ...] = ()
    url: str = ""
    files: tuple[str, ...] = ()  # paths of a change, the first of them
    patch: str = ""  # the beginning of a change's diff, where somebody has fetched it
    card: str = ""  # its intent card where cards chose the candidates; a program wrote it, no fact is looked up in it
    author: str | None = None
    created_at: int | None = None

    @property
    def text(self) -> str:
        return f"{self.title}\n{self.body}"

    @property
    def quotable(self) -> str:
        """All of which a judge may quote."""
        return "\n".join((self.title, self.body, *self.files, self.patch))


class ItemHistory(NamedTuple):
    """An item as it was at a time, in milliseconds; None: nobody knows."""

    item_id: int
    author: str | None = None
    is_open: bool | None = None
    ended_at: int | None = None  # when it was closed or merged; None also for an open one
    is_marked: bool | None = None  # somebody had called it a duplicate
    comments: int | None = None
    active_at: int | None = None  # the last comment, or the creation
    mentions: int | None = None  # other items that had named it, in their text or below it
    duplicates: int | None = None  # of them, those that were said to repeat it
    participants: frozenset[str] | None = None  # its author and everybody who had commented


class EdgeJudge(NamedTuple):
    """Who accepted edges of a kind, and the lowest thresholds that they had to pass; 0 where nobody kept them."""

    judge: str
    model: str
    kind: str
    min_edge: float
    min_gap: float

    @property
    def name(self) -> str:
        return f"{self.judge} {self.model}".strip()


class Edge(NamedTuple):
    """An accepted decision: `source` repeats `target`."""

    source: int
    target: int
    confidence: float


class HumanDecision(NamedTuple):
    """What a person decided about a pair, or about one item (`target_id` 0): accept, reject, split or canonical by
    command, same, related, twin, not or unsure in a review (`item_id` is the newer item there), duplicate, related,
    different or unsure in an audit. `chance`: that the pair is a duplicate, as it was estimated then. `is_outdated`:
    one of the texts was changed since.
    """

    item_id: int
    target_id: int
    decision: str
    said_by: str
    said_at: int
    chance: float | None = None
    is_outdated: bool = False


class CandidatePair(NamedTuple):
    """Two items that may repeat each other, and the numbers of the pair; in a review the newer one comes first. `model`
    is what compared them. `chance`: that they do. `order`: what a queue is sorted by.
    """

    item_id: int
    target_id: int
    strength: float
    cosine: float | None
    similarity: float
    sameness: str
    model: str = ""
    chance: float = 0.0
    order: float = 0.0

    @property
    def key(self) -> frozenset[int]:
        return frozenset((self.item_id, self.target_id))


class PlannedClosing(NamedTuple):
    """A closing as a plan sees it, or what became of it. `reason`: why the item stays open, "" for none. `action`: in a
    plan close or skip, in an apply closed, skip or wait (in its grace period). `seen`: JSON of what the item and its
    target looked like.
    """

    item_id: int
    target_id: int | None
    confidence: float | None
    reason: str = ""
    cluster_id: int | None = None
    action: str = ""
    seen: str = ""


class GracePeriod(NamedTuple):
    """Hours that a run gave an item and that did not end in its closing. `action` and `reason`: what that run says of
    it; wait while the hours run. `looked_at`: when it last said so, None while it works.
    """

    item_id: int
    run_id: int
    action: str
    reason: str
    looked_at: int | None


class CodeChunk(NamedTuple):
    """Lines of a file, both from 1 and both included; `symbol` is what it begins with, or is a part of."""

    start_line: int
    end_line: int
    symbol: str
    names: tuple[str, ...]  # all that is defined in it


class BestMatch(NamedTuple):
    """The strength of an item's best match, and whether that was open; None: nobody knows."""

    strength: float
    is_open: bool | None


class LaneAnswer(NamedTuple):
    """What one side says of a source. Numbers are those of items on the forge; `also`: further targets that would be
    right. Rank, similarity and gap are those of the target among the candidates.
    """

    outcome: str  # accepted, rejected, skipped
    reason: str = ""
    target: int | None = None
    confidence: float | None = None
    rank: int | None = None
    similarity: float | None = None
    gap: float | None = None  # None: there is nothing that it must stand out from
    also: tuple[int, ...] = ()


class Commit(NamedTuple):
    """A commit as git keeps it. Times are milliseconds; a merge has no paths: those it merges have them. `renames`: old
    and new path of files that were renamed, edited or not, and of parts that a file was split into.
    """

    sha: str
    author: str | None
    login: str | None  # where the address is one that a forge gives out
    authored_at: int | None
    committed_at: int | None
    message: str
    paths: tuple[str, ...]
    is_merge: bool
    renames: tuple[tuple[str, str], ...] = ()
    mail: str | None = None  # of the author
    parents: tuple[str, ...] = ()


class GitName(NamedTuple):
    """An author as a commit has it."""

    name: str
    mail: str


class CommitAuthor(NamedTuple):
    """Who that is: the name as .mailmap has it, the login where something tells it, and what does."""

    proper_name: str
    login: str | None = None
    source: Literal["address", "changes"] | None = None


class CheckedDecision(NamedTuple):
    """A decision whose quote stands in the text, with who wrote it and when. `replaces_line`: of the same text. `id`
    and `content_hash` (of the text that was read): of one that is kept.
    """

    summary: str
    quote: str
    first_line: int
    last_line: int
    author: str | None
    decided_at: int | None
    paths: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]  # relation, target
    replaces_line: int | None
    id: int = 0
    content_hash: str = ""


class HashedText(NamedTuple):
    """The text of a document, and the hash by which a vector of it is known. `terms`: what full text finds it by."""

    document_id: int
    content_hash: bytes
    title: str
    text: str
    terms: str = ""


class StoredEmbedder(NamedTuple):
    """An embedder whose vectors are stored. `dimension`: 0 until its first vector comes."""

    id: int
    name: str
    model: str
    fingerprint: str
    dimension: int


class KnownConversation(NamedTuple):
    """What the store has of an item's conversation. `comment_count` is the forge's own count, `sizes` ours."""

    updated_at: int | None
    comment_count: int | None
    sizes: dict[str, int]  # notes of each thread


class OutcomeTally(NamedTuple):
    """What came of the reports of one version of the program. `looked`: items; `commented`: of those, with a comment;
    `missed` are duplicates whose original it did not name, also where it said nothing.
    """

    version: str
    looked: int
    commented: int
    success: int
    assist: int
    noise: int
    missed: int
    open: int


class QuotaLeft(NamedTuple):
    """What the forge last said of a quota (REST, GraphQL): requests left of `limit` (None: it did not say), and when it
    is full again, in seconds since 1970.
    """

    name: str
    left: int
    limit: int | None
    reset_s: int
