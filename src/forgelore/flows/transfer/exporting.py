"""`export`: a project as lines, sorted by number, notes by time: equal stores give equal bytes.

A thousand items at a time are in memory. The format is `core/jsonl`.
"""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from forgelore.core.jsonl import file_line, link_line, note_line, write_line
from forgelore.core.times import format_ms
from forgelore.flows.transfer.writing import open_target, write_lines
from forgelore.store.db import Store
from forgelore.store.exports import (
    ExportedItem,
    ExportedNote,
    count_internal,
    load_notes_of,
    load_stated_links,
    next_exported,
)
from forgelore.store.item_parts import load_files_of, load_labels_of
from forgelore.store.projects import StoredProject

BATCH = 1000


class Exported(NamedTuple):
    """What an export wrote: items, one per line; and how many internal notes and confidential items it left out."""

    project: str
    items: int
    left_out: int


def export_file(store: Store, project: StoredProject, path: str, *, include_internal: bool = False) -> Exported:
    """Write a project to a file, whole or not at all. Raises InvalidValue or StoreError where that cannot be done."""
    with open_target(path) as stream:
        return export_to(store, project, stream, include_internal=include_internal)


def export_to(store: Store, project: StoredProject, stream: BinaryIO, *, include_internal: bool = False) -> Exported:
    """Write a project to an open stream."""
    count = write_lines(stream, export_lines(store, project, include_internal=include_internal))
    hidden = 0 if include_internal else count_internal(store, project.id)
    return Exported(str(project.name), count, hidden)


def export_lines(store: Store, project: StoredProject, *, include_internal: bool = False) -> Iterator[bytes]:
    """Yield the items as lines. Without `include_internal`, what only members may see stays behind."""
    last: tuple[int, str] = (-1, "")
    while items := next_exported(store, project.id, last, BATCH, include_internal=include_internal):
        last = (items[-1].number, items[-1].kind)
        parts = _Parts(store, [item.id for item in items], include_internal=include_internal)
        for item in items:
            yield parts.line(item)


class _Parts:
    """Labels, files, links and notes of a batch of items, each read with one query."""

    def __init__(self, store: Store, ids: list[int], *, include_internal: bool) -> None:
        self._labels = load_labels_of(store, ids)
        self._files = load_files_of(store, ids)
        self._links = load_stated_links(store, ids)
        self._notes = load_notes_of(store, ids, include_internal=include_internal)

    def line(self, item: ExportedItem) -> bytes:
        always = {
            "kind": item.kind,
            "number": item.number,
            "title": item.title,
            "body": item.body,
            "state": item.state,
            "state_reason": item.state_reason,
            "author": item.author,
            "labels": self._labels.get(item.id, []),
            "created_at": format_ms(item.created_at),
            "updated_at": format_ms(item.updated_at),
            "closed_at": format_ms(item.closed_at),
            "url": item.url,
            "files": [file_line(*file) for file in self._files.get(item.id, ())],
            "notes": [_note(note) for note in self._notes.get(item.id, ())],
        }
        sometimes = {
            "merged_at": format_ms(item.merged_at),
            "source_branch": item.source_branch,
            "target_branch": item.target_branch,
            "tag": item.tag,
            "category": item.category,
            "is_draft": bool(item.is_draft),
            "is_confidential": bool(item.is_confidential),
            "assignees": json.loads(item.assignees),
            "links": [link_line(*link) for link in self._links.get(item.id, ())],
        }
        return write_line(always, sometimes)


def _note(note: ExportedNote) -> dict[str, Any]:
    said = {
        "author": note.author,
        "body": note.body,
        "created_at": note.created_at,
        "path": note.path,
        "line": note.line,
        "is_system": bool(note.is_system),
    }
    return note_line(said, note.thread, is_internal=bool(note.is_internal), is_answer=bool(note.is_answer))
