"""`export`: a project as lines, sorted by number, notes by time: equal stores give equal bytes.

A thousand items at a time are in memory. The format is `core/jsonl`.
"""

import json
from collections.abc import Iterator
from typing import Any

from forgelore.core.jsonl import file_line, link_line, note_line, write_line
from forgelore.core.times import format_ms
from forgelore.store.db import Store
from forgelore.store.projects import StoredProject

BATCH = 1000
_ALWAYS = ("title", "body", "state", "state_reason", "author")
_SOMETIMES = ("source_branch", "target_branch", "tag", "category", "is_draft", "is_confidential")
_TIMES = ("created_at", "updated_at", "closed_at", "merged_at")
_COLUMNS = ("id", "kind", "number", *_ALWAYS, *_TIMES, "url", *_SOMETIMES, "assignees")


def export_lines(store: Store, project: StoredProject, *, include_internal: bool = False) -> Iterator[bytes]:
    """Yield the items as lines. Without `include_internal`, what only members may see stays behind."""
    hidden = "" if include_internal else " AND is_confidential = 0"
    last: tuple[int, str] = (-1, "")
    while True:
        rows = store.rows(
            f"SELECT {', '.join(_COLUMNS)} FROM items WHERE project_id = ? AND deleted_at IS NULL"
            f" AND (number, kind) > (?, ?){hidden} ORDER BY number, kind LIMIT ?",
            project.id, *last, BATCH,
        )  # fmt: skip
        if not rows:
            return
        items = [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
        last = (items[-1]["number"], items[-1]["kind"])
        parts = _Parts(store, json.dumps([item["id"] for item in items]), include_internal=include_internal)
        for item in items:
            yield parts.line(item)


def count_hidden(store: Store, project: StoredProject) -> int:
    """Return how many internal notes and confidential items an ordinary export leaves out."""
    items = store.value(
        "SELECT count(*) FROM items WHERE project_id = ? AND is_confidential AND deleted_at IS NULL", project.id
    )
    notes = store.value(
        "SELECT count(*) FROM notes n JOIN items i ON i.id = n.item_id WHERE n.project_id = ? AND n.is_internal"
        " AND NOT i.is_confidential AND i.deleted_at IS NULL", project.id,
    )  # fmt: skip
    return int(items + notes)


class _Parts:
    """Labels, files, links and notes of a batch of items, each read with one query."""

    def __init__(self, store: Store, ids: str, *, include_internal: bool) -> None:
        within = "item_id IN (SELECT value FROM json_each(?))"
        hidden = "" if include_internal else " AND n.is_internal = 0"
        queries = {
            "labels": f"SELECT item_id, name FROM item_labels WHERE {within} ORDER BY name",
            "files": f"SELECT item_id, new_path, old_path, status FROM item_files WHERE {within}"
            " ORDER BY new_path, old_path",
            "links": "SELECT item_id, relation, target_number, target_kind, target_project, is_withdrawn"
            f" FROM item_links WHERE {within} AND note_id IS NULL AND source <> 'text'"
            " ORDER BY relation, target_project, target_number, target_kind, is_withdrawn",
            "notes": "SELECT n.item_id, n.author, n.body, n.created_at, n.path, n.line, n.is_system, t.key,"
            " n.is_internal, n.is_answer FROM notes n JOIN threads t ON t.id = n.thread_id"
            f" WHERE n.{within}{hidden} ORDER BY n.created_at, length(n.key), n.key",
        }
        self._rows = {name: _grouped(store.rows(sql, ids)) for name, sql in queries.items()}

    def line(self, item: dict[str, Any]) -> bytes:
        found = {name: rows.get(item["id"], []) for name, rows in self._rows.items()}
        times = {name: format_ms(item[name]) for name in _TIMES}
        always = {
            "kind": item["kind"], "number": item["number"], **{name: item[name] for name in _ALWAYS},
            "labels": [name for (name,) in found["labels"]], "created_at": times["created_at"],
            "updated_at": times["updated_at"], "closed_at": times["closed_at"], "url": item["url"],
            "files": [file_line(*file) for file in found["files"]], "notes": [_note(*note) for note in found["notes"]],
        }  # fmt: skip
        flags = {name: bool(item[name]) if name.startswith("is_") else item[name] for name in _SOMETIMES}
        links = [link_line(*link) for link in found["links"]]
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


def _grouped(rows: list[tuple[Any, ...]]) -> dict[int, list[tuple[Any, ...]]]:
    grouped: dict[int, list[tuple[Any, ...]]] = {}
    for item_id, *rest in rows:
        grouped.setdefault(item_id, []).append(tuple(rest))
    return grouped
