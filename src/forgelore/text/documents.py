"""From an item and its notes to the documents that are searched, and to the form in which a document is shown.

The text of a document is plain: body and notes. Labels, state, author, paths and address are columns, so that a new
label costs no new vector and "open" does not match everything. A change has no other parts than an issue: with paths
and diff in the text, one that an event brought was farther from its copy in the history (92 to 97 of 100) than from
another event's (99). The structured header is how a document is *shown*:

    [[Issue]] #234: Authentication redesign
    Project: group/project-one
    URL: https://gitlab.example.com/group/project-one/-/issues/234
    Labels: ["bug", "auth"]
    State: open
    Author: @johndoe

    --- Description ---

A thread is cut at note boundaries when it is longer than MAX_CHARS:

    case                                    what stays                                  reason
    all notes fit                           everything                                  none
    one note, too long                      its beginning and "[truncated]"             single_note_oversized
    the first and the last do not fit       the first (cut if it must be)               first_last_oversized
    otherwise                               first and last, then inwards from both      token_limit_middle_drop
                                            ends; a marker says how many are missing
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from forgelore.text.items import StoredItem, StoredThread
from forgelore.words import Representation

MAX_CHARS = 32_000  # about 8,000 tokens: what a model can still read whole
_BETWEEN = "\n\n"
_CUT = "\n[truncated]"

Reason = Literal["token_limit_middle_drop", "single_note_oversized", "first_last_oversized"]


class Facts(NamedTuple):
    """The columns of a document that are compared and written together. Those of a thread's document are its item's,
    which is what filters ask for; the last three are its own.
    """

    kind: str
    state: str | None
    author: str | None
    created_at: int | None
    updated_at: int | None
    url: str | None
    is_confidential: int
    is_truncated: int
    truncated_reason: Reason | None
    content_hash: bytes
    labels_hash: bytes
    paths_hash: bytes
    thread_author: str | None = None  # of the first note
    thread_created_at: int | None = None
    thread_updated_at: int | None = None


class Document(NamedTuple):
    representation: Representation
    thread_key: str
    title: str
    text: str
    labels: tuple[str, ...]
    paths: tuple[str, ...]
    facts: Facts


def build_documents(item: StoredItem, card: str = "") -> list[Document]:
    """Return the item's document, one per thread that says anything, and that of its card where it has one. `card`: its
    text, which a program wrote, never a person.
    """
    paths = sorted({path for file in item.files for path in (file.new_path, file.old_path) if path})
    cards = [_own_document(item, "intent", card, paths)] if card else []
    threads = [_thread_document(item, thread) for thread in item.threads]
    return [_own_document(item, "item", item.body or "", paths), *threads, *cards]


def _own_document(item: StoredItem, representation: Representation, text: str, paths: Sequence[str]) -> Document:
    facts = Facts(
        item.kind, item.state, item.author, item.created_ms, item.updated_ms, item.url, int(item.is_confidential), 0,
        None, content_hash(item.title, text), _list_hash(item.labels), _list_hash(paths),
    )  # fmt: skip
    return Document(representation, "", item.title, text, item.labels, tuple(paths), facts)


def _thread_document(item: StoredItem, thread: StoredThread) -> Document:
    notes, first = thread.notes, thread.notes[0]
    kept, reason = keep_notes([note.body or "" for note in notes])
    text = _BETWEEN.join(kept)
    named = (thread.path if note.path is None else note.path for note in notes)
    paths = tuple(dict.fromkeys(path for path in named if path))
    times = [note.created_ms for note in notes if note.created_ms is not None]
    facts = Facts(
        item.kind, item.state, item.author, item.created_ms, item.updated_ms, first.url or item.url,
        int(item.is_confidential), int(reason is not None), reason, content_hash(item.title, text),
        _list_hash(item.labels), _list_hash(paths), first.author, times[0] if times else item.created_ms,
        max(times) if times else item.updated_ms,
    )  # fmt: skip
    return Document("thread", thread.key, item.title, text, item.labels, paths, facts)


def keep_notes(bodies: Sequence[str], limit: int = MAX_CHARS) -> tuple[list[str], Reason | None]:
    """Return the notes that fit into `limit` characters, with a marker where some are missing, and why."""
    if sum(map(len, bodies)) + len(_BETWEEN) * (len(bodies) - 1) <= limit:
        return list(bodies), None
    if len(bodies) == 1:
        return [_cut(bodies[0], limit)], "single_note_oversized"
    reserve = len(_omitted(len(bodies))) + 2 * len(_BETWEEN)
    if len(bodies[0]) + len(bodies[-1]) + reserve > limit:
        return [_cut(bodies[0], limit - reserve), _omitted(len(bodies) - 1)], "first_last_oversized"
    head, tail = _spread(bodies, limit - reserve)
    omitted = len(bodies) - head - tail
    return [*bodies[:head], _omitted(omitted), *bodies[len(bodies) - tail :]], "token_limit_middle_drop"


def _spread(bodies: Sequence[str], room: int) -> tuple[int, int]:
    """Return how many notes stay at the beginning and at the end: one by one from both, until the next does not fit."""
    head = tail = 1
    room -= len(bodies[0]) + len(bodies[-1])
    while head + tail < len(bodies):
        is_heads_turn = head <= tail
        body = bodies[head] if is_heads_turn else bodies[-1 - tail]
        room -= len(body) + len(_BETWEEN)
        if room < 0:
            break
        head, tail = head + is_heads_turn, tail + (not is_heads_turn)
    return head, tail


def _cut(body: str, limit: int) -> str:
    return body if len(body) <= limit else body[: max(0, limit - len(_CUT))] + _CUT


def _omitted(count: int) -> str:
    return f"[... {count} notes omitted for length ...]"


def content_hash(title: str, text: str) -> bytes:
    return hashlib.sha256(f"{title}\0{text}".encode()).digest()


def _list_hash(names: Iterable[str]) -> bytes:
    return hashlib.sha256("\n".join(sorted(names)).encode()).digest()


_PARTS = {"thread": "Thread", "intent": "Card"}  # a card is of an item, and not by its author
_NAMES = {"issue": "Issue", "change": "Change", "discussion": "Discussion", "release": "Release"}


class ShownHeader(NamedTuple):
    """What the header of a document says."""

    representation: str
    kind: str
    ref: str
    title: str
    project: str
    url: str | None
    labels: Sequence[str]
    state: str | None
    author: str | None
    branches: tuple[str, str] | None = None
    files: Sequence[str] = ()


def build_header(shown: ShownHeader) -> str:
    name = _NAMES.get(shown.kind, shown.kind)
    part = _PARTS.get(shown.representation)
    lines = [f"[[{part}]] {name} {shown.ref}: {shown.title}" if part else f"[[{name}]] {shown.ref}: {shown.title}"]
    lines += [f"Project: {shown.project}"]
    lines += [f"URL: {shown.url}"] if shown.url else []
    lines += [f"Labels: {json.dumps(list(shown.labels), ensure_ascii=False)}"] if shown.labels else []
    lines += [f"Files: {json.dumps(list(shown.files), ensure_ascii=False)}"] if shown.files else []
    lines += [f"State: {shown.state}"] if shown.state else []
    lines += [f"Author: @{shown.author}"] if shown.author and not part else []
    lines += [f"Source: {shown.branches[0]} -> {shown.branches[1]}"] if shown.branches else []
    return "\n".join(lines)
