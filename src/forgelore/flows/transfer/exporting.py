"""`export`: a project as lines, sorted by number, notes by time: equal stores give equal bytes.

A thousand items at a time are in memory. The format is `core/jsonl`.
"""

import json
from collections.abc import Iterator
from typing import Any

from forgelore.core.jsonl import file_line, link_line, note_line, write_line
from forgelore.core.times import format_ms
from forgelore.store.db import Store
from forgelore.store.exports import count_internal, load_notes_of, load_stated_links, next_exported
from forgelore.store.item_parts import load_files_of, load_labels_of
from forgelore.store.projects import StoredProject

BATCH = 1000
_ALWAYS = ("title", "body", "state", "state_reason", "author")
_SOMETIMES = ("source_branch", "target_branch", "tag", "category", "is_draft", "is_confidential")
_TIMES = ("created_at", "updated_at", "closed_at", "merged_at")


def export_lines(store: Store, project: StoredProject, *, include_internal: bool = False) -> Iterator[bytes]:
    """Yield the items as lines. Without `include_internal`, what only members may see stays behind."""
    last: tuple[int, str] = (-1, "")
    while items := next_exported(store, project.id, last, BATCH, include_internal=include_internal):
        last = (items[-1]["number"], items[-1]["kind"])
        parts = _Parts(store, [item["id"] for item in items], include_internal=include_internal)
        for item in items:
            yield parts.line(item)


def count_hidden(store: Store, project: StoredProject) -> int:
    """Return how many internal notes and confidential items an ordinary export leaves out."""
    return count_internal(store, project.id)


class _Parts:
    """Labels, files, links and notes of a batch of items, each read with one query."""

    def __init__(self, store: Store, ids: list[int], *, include_internal: bool) -> None:
        self._labels = load_labels_of(store, ids)
        self._files = load_files_of(store, ids)
        self._links = load_stated_links(store, ids)
        self._notes = load_notes_of(store, ids, include_internal=include_internal)

    def line(self, item: dict[str, Any]) -> bytes:
        item_id = item["id"]
        times = {name: format_ms(item[name]) for name in _TIMES}
        always = {
            "kind": item["kind"], "number": item["number"], **{name: item[name] for name in _ALWAYS},
            "labels": self._labels.get(item_id, []), "created_at": times["created_at"],
            "updated_at": times["updated_at"], "closed_at": times["closed_at"], "url": item["url"],
            "files": [file_line(*file) for file in self._files.get(item_id, ())],
            "notes": [_note(*note) for note in self._notes.get(item_id, ())],
        }  # fmt: skip
        flags = {name: bool(item[name]) if name.startswith("is_") else item[name] for name in _SOMETIMES}
        links = [link_line(*link) for link in self._links.get(item_id, ())]
        return write_line(
            always,
            {"merged_at": times["merged_at"], **flags, "assignees": json.loads(item["assignees"]), "links": links},
        )


def _note(
    author: str | None, body: str | None, created_at: int | None, path: str | None, line: int | None, is_system: int,
    thread: str, is_internal: int, is_answer: int,
) -> dict[str, Any]:  # fmt: skip
    said = {
        "author": author,
        "body": body,
        "created_at": created_at,
        "path": path,
        "line": line,
        "is_system": bool(is_system),
    }
    return note_line(said, thread, is_internal=bool(is_internal), is_answer=bool(is_answer))
