"""The line format of `import` and `export`: one item per line, as JSON.

    {"kind": "issue", "number": 12, "title": "…", "body": "…", "state": "open", "author": "ana", "labels": ["bug"],
     "created_at": "2026-03-01T12:00:00Z", "updated_at": …, "closed_at": null, "url": "…", "files": [],
     "notes": [{"author": "tom", "body": "…", "created_at": "…", "path": null, "line": null, "is_system": false}]}

- Only `kind` and `number` must be there. A written line has all of the above, in this order.
- A key that is none of ours is left out and named. docs/import.schema.json is made from the structs below.
- `merged_at`, `source_branch`, `target_branch`, `tag`, `category`, `assignees`, `links`, `is_draft`, `is_confidential`,
  and a note's `thread`, `is_internal` and `is_answer` are written when they say something.
- `files` holds paths, or {"new_path", "old_path", "status"} for what was not merely modified.
- A note without `thread` belongs to the plain stream, or to the place in the file that it names.
- What cannot be stored (NUL, lone surrogates) becomes U+FFFD; everything else survives the round trip.
"""

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, NoReturn, cast

import msgspec
from msgspec import Meta, Struct

from forgelore.errors import InvalidValue
from forgelore.model import File, FileStatus, Item, ItemKey, Link, Note, Relation, State, Thread
from forgelore.text.dates import TIME_PATTERN, format_ms, parse_ms
from forgelore.text.fence import storable
from forgelore.text.items import StoredFile, StoredItem, StoredLink, StoredNote, StoredThread
from forgelore.words import KIND_WORDS

_STATES: dict[str, State] = {
    "open": "open", "opened": "open", "reopened": "open", "closed": "closed", "merged": "merged",
}  # fmt: skip


# What the schema in docs/ says of a value beyond its type. The reader below checks the same, in its own words.
_Number = Annotated[int, Meta(extra_json_schema={"minimum": 0, "maximum": (1 << 63) - 1})]
_Time = Annotated[
    str,
    Meta(
        description="2026-03-01, or with a time of day; UTC where no zone is named",
        examples=["2026-03-01T12:00:00Z"],
        extra_json_schema={"pattern": rf"^\s*{TIME_PATTERN}\s*$"},
    ),
]
_Kind = Annotated[str, Meta(extra_json_schema={"enum": sorted(KIND_WORDS)})]
_State = Annotated[str, Meta(extra_json_schema={"enum": sorted(_STATES)})]


class FileLine(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A file of a change. One of the paths is enough; `old_path` matters for a rename."""

    new_path: str | None = None
    old_path: str | None = None
    status: FileStatus = "modified"


class LinkLine(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A relation to another item: of the same project unless `project` names one."""

    relation: Relation
    number: _Number
    kind: str | None = None
    project: str = ""
    is_withdrawn: bool = False


class NoteLine(Struct, gc=False, forbid_unknown_fields=True):
    """A comment, a review or a system note. Notes of one `thread` belong together."""

    author: str | None = None
    body: str | None = None
    created_at: _Time | None = None
    path: str | None = None
    line: _Number | None = None
    is_system: bool = False
    thread: str | None = None
    is_internal: bool = False
    is_answer: bool = False


class ItemLine(Struct, gc=False, forbid_unknown_fields=True):
    """An issue, change, discussion or release, with everything below it."""

    kind: _Kind
    number: _Number
    title: str | None = None
    body: str | None = None
    state: _State | None = None
    state_reason: str | None = None
    author: str | None = None
    labels: list[str] | None = None
    created_at: _Time | None = None
    updated_at: _Time | None = None
    closed_at: _Time | None = None
    url: str | None = None
    files: list[str | FileLine] | None = None
    notes: list[NoteLine] | None = None
    merged_at: _Time | None = None
    source_branch: str | None = None
    target_branch: str | None = None
    tag: str | None = None
    category: str | None = None
    assignees: list[str] | None = None
    links: list[LinkLine] | None = None
    is_draft: bool = False
    is_confidential: bool = False


class Parsed(Struct, gc=False):
    """A line as our nouns. `item.raw` holds its checksum: it tells whether anything changed since the last import.

    `unknown` are keys that mean nothing here: "color", "notes[].edited_at".
    """

    item: Item
    threads: list[Thread]
    files: list[File]
    unknown: list[str] = []


# A NUL can only come as its escape. A backslash that is itself escaped begins none.
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")

_decoder = msgspec.json.Decoder(ItemLine)
_encode = msgspec.json.Encoder().encode


def line_schema() -> dict[str, Any]:
    """Return the JSON Schema of a line: what the structs say, and that a file has a path."""
    schema = msgspec.json.schema(ItemLine)
    schema["$defs"]["FileLine"]["anyOf"] = [
        {"required": [name], "properties": {name: {"type": "string", "minLength": 1}}}
        for name in ("new_path", "old_path")
    ]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "One line of an import or an export"}
    return {**head, **schema}


def numbered_lines(source: Iterable[bytes], *, hint: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers; raises InvalidValue with the hint where it breaks off."""
    number = 0
    try:
        for number, line in enumerate(source, 1):
            yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line  # some editors sign their files
    except (OSError, EOFError) as error:
        raise InvalidValue(f"the file ends unexpectedly after line {number}: {error}", hint=hint) from error


def parse_line(line: bytes) -> Parsed:
    """Return what a line says; raises InvalidValue with the reason when it says nothing we understand."""
    row, unknown = _decode(line)
    kind = KIND_WORDS.get(row.kind)
    if kind is None:
        raise InvalidValue(f"unknown kind {row.kind!r}; use issue, change, discussion or release")
    _check_range(row.number)
    state = _STATES.get(row.state) if row.state is not None else None
    if row.state is not None and state is None:
        raise InvalidValue(f"unknown state {row.state!r}; use open, closed or merged")
    key = ItemKey(kind, row.number)
    item = Item(
        key, row.title or "", row.body, state or (None if kind == "release" else "open"), row.state_reason, row.author,
        assignees=row.assignees or [], labels=sorted(set(row.labels)) if row.labels else [],
        created_at=parse_ms(row.created_at), updated_at=parse_ms(row.updated_at), closed_at=parse_ms(row.closed_at),
        merged_at=parse_ms(row.merged_at), url=row.url, tag=row.tag, category=row.category,
        source_branch=row.source_branch, target_branch=row.target_branch, is_draft=row.is_draft,
        is_confidential=row.is_confidential, raw=_checksum(line),
    )  # fmt: skip
    if row.links:
        item.links = [_link(link) for link in row.links]
    threads = _threads(key, row.notes) if row.notes else []
    return Parsed(item, threads, [_file(file) for file in row.files] if row.files else [], unknown)


def _check_range(number: int | None) -> None:
    """SQLite holds 64 bits; more is the line's fault."""
    if number is not None and not 0 <= number < 1 << 63:
        raise InvalidValue(f"number {number} is out of range")


def _checksum(line: bytes) -> bytes:
    """Two plain checksums and the length: the file is the user's own, and SHA-256 costs 7 % of an import."""
    line = line.strip()
    return b"%08x%08x%x" % (zlib.crc32(line), zlib.adler32(line), len(line))


def _decode(line: bytes) -> tuple[ItemLine, list[str]]:
    """Return the line's fields, every text in them storable, and the keys that are none of ours.

    One look at the line, not one at each of its texts; what has odd text or unknown keys is looked at again.
    """
    if b"\\u0000" in line:
        line = _NUL.sub(rb"\1\\ufffd", line)
    try:
        return _decoder.decode(line), []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _decode_again(line, error)


def _decode_again(line: bytes, error: Exception) -> tuple[ItemLine, list[str]]:
    """Mend lone surrogates and broken UTF-8, and leave unknown keys out; anything else is the line's fault."""
    try:
        value = _load(line)
    except (ValueError, RecursionError):
        raise InvalidValue(str(error)) from error
    unknown = _take_out_unknown(value)
    try:
        return msgspec.convert(value, ItemLine), unknown
    except msgspec.ValidationError as still:
        raise InvalidValue(str(still)) from still


def _load(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Parsed first and mended then: an escape becomes a surrogate only by being read.
        value = json.loads(line.decode("utf-8", "replace"), parse_constant=_no_number)
        return msgspec.json.decode(storable(json.dumps(value, ensure_ascii=False)).encode())


def _no_number(name: str) -> NoReturn:
    """JSON has no NaN and no Infinity, whatever Python thinks."""
    raise ValueError(name)


def _take_out_unknown(value: Any) -> list[str]:
    """Remove the keys that no struct above has, and return their names."""
    found = _take_out(value, ItemLine, "")
    for name, kind in (("notes", NoteLine), ("files", FileLine), ("links", LinkLine)):
        rows = value.get(name) if isinstance(value, dict) else None
        for row in rows if isinstance(rows, list) else ():
            found += _take_out(row, kind, f"{name}[].")
    return found


def _take_out(row: Any, kind: type[Struct], place: str) -> list[str]:
    names = [name for name in row if name not in kind.__struct_fields__] if isinstance(row, dict) else []
    for name in names:
        del row[name]
    return [place + name for name in names]


def _threads(key: ItemKey, notes: list[NoteLine]) -> list[Thread]:
    threads: dict[str, Thread] = {}
    for position, line in enumerate(notes):
        _check_range(line.line)
        name = line.thread or _place(line.path, line.line)
        note = Note(
            str(position).zfill(6), line.author, line.body, parse_ms(line.created_at), path=line.path, line=line.line,
            is_system=line.is_system, is_internal=line.is_internal, is_answer=line.is_answer,
        )  # fmt: skip
        if name not in threads:
            threads[name] = Thread(key, name, [], path=note.path, line=note.line)
        threads[name].notes.append(note)
    return list(threads.values())


def _place(path: str | None, line: int | None) -> str:
    """Return the thread a note belongs to when it names none."""
    return "comments" if path is None else f"{path}:{line or ''}"


def _file(entry: str | FileLine) -> File:
    if isinstance(entry, str):
        return File(entry, entry)
    path = entry.new_path or entry.old_path
    if not path:
        raise InvalidValue("a file has neither old_path nor new_path")
    old = entry.old_path if entry.status == "renamed" else None
    return File(path, old or path, entry.status)


def _link(line: LinkLine) -> Link:
    _check_range(line.number)
    kind = KIND_WORDS.get(line.kind or "")
    return Link(line.relation, line.number, kind, line.project, "forge", line.is_withdrawn)


def write_line(item: StoredItem) -> bytes:
    """Return an item as a line, with all of its parts."""
    always = {
        "kind": item.kind,
        "number": item.number,
        "title": item.title,
        "body": item.body,
        "state": item.state,
        "state_reason": item.state_reason,
        "author": item.author,
        "labels": item.labels,
        "created_at": format_ms(item.created_ms),
        "updated_at": format_ms(item.updated_ms),
        "closed_at": format_ms(item.closed_ms),
        "url": item.url,
        "files": [_file_line(file) for file in item.files],
        "notes": _note_lines(item.threads),
    }
    sometimes = {
        "merged_at": format_ms(item.merged_ms),
        "source_branch": item.source_branch,
        "target_branch": item.target_branch,
        "tag": item.tag,
        "category": item.category,
        "is_draft": item.is_draft,
        "is_confidential": item.is_confidential,
        "assignees": item.assignees,
        "links": [_link_line(link) for link in item.links],
    }
    return _encode(always | {name: value for name, value in sometimes.items() if value}) + b"\n"


def _file_line(file: StoredFile) -> str | FileLine:
    is_plain = file.status == "modified"
    return file.new_path if is_plain else FileLine(file.new_path, file.old_path, cast("FileStatus", file.status))


def _link_line(link: StoredLink) -> LinkLine:
    return LinkLine(cast("Relation", link.relation), link.number, link.kind, link.project, link.is_withdrawn)


def _note_lines(threads: Sequence[StoredThread]) -> list[dict[str, Any]]:
    """Return the notes of all threads in the order in which they were written."""
    if len(threads) == 1:
        return [_note_line(threads[0].key, note) for note in threads[0].notes]
    notes = [(thread.key, note) for thread in threads for note in thread.notes]
    notes.sort(key=lambda one: (one[1].created_ms is not None, one[1].created_ms, len(one[1].key), one[1].key))
    return [_note_line(*one) for one in notes]


def _note_line(thread: str, note: StoredNote) -> dict[str, Any]:
    line: dict[str, Any] = {
        "author": note.author,
        "body": note.body,
        "created_at": format_ms(note.created_ms),
        "path": note.path,
        "line": note.line,
        "is_system": note.is_system,
    }
    if thread != _place(note.path, note.line):
        line["thread"] = thread
    if note.is_internal:
        line["is_internal"] = True
    if note.is_answer:
        line["is_answer"] = True
    return line
