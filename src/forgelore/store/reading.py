"""What reading texts of items are made from: their rows, and the notes that people wrote for everybody."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from forgelore.store.browse import ShownRow
from forgelore.store.db import Store
from forgelore.store.item_parts import grouped

_ITEMS = f"""
    SELECT {", ".join(f"i.{name}" for name in ShownRow._fields[:-3])}, p.forge, p.host, p.path
    FROM items i
    JOIN projects p ON p.id = i.project_id
    WHERE i.id IN (SELECT value FROM json_each(?))
"""
_NOTES = """
    SELECT n.item_id, t.key, coalesce(t.path, n.path), coalesce(t.line, n.line), n.author, n.created_at, n.body,
      n.key, n.url
    FROM notes n
    JOIN threads t ON t.id = n.thread_id
    WHERE n.item_id IN (SELECT value FROM json_each(?))
      AND NOT n.is_system AND NOT n.is_internal AND n.body <> ''
    ORDER BY n.created_at, length(n.key), n.key
"""


class ReadNoteRow(NamedTuple):
    """A note with its thread's key, and the line of a file that the thread is about."""

    key: str
    path: str | None
    line: int | None
    author: str | None
    created_at: int | None
    body: str
    note_key: str
    url: str | None


def load_read_items(store: Store, item_ids: Iterable[int]) -> list[ShownRow]:
    """Return the rows of items, also of those that are gone from their forge: what is here can be read."""
    return [ShownRow._make(row) for row in store.rows(_ITEMS, json.dumps(list(item_ids)))]


def load_read_notes(store: Store, item_ids: Iterable[int]) -> dict[int, list[ReadNoteRow]]:
    """Return item -> the notes that people wrote for everybody, in their order."""
    rows = store.each(_NOTES, json.dumps(list(item_ids)))
    return grouped((item_id, ReadNoteRow(*note)) for item_id, *note in rows)


class DocumentPlace(NamedTuple):
    """Which part of which item a document tells: its body (""), or a thread."""

    item_id: int
    thread_key: str


def load_document_places(store: Store, document_ids: Iterable[int]) -> dict[int, DocumentPlace]:
    sql = "SELECT id, item_id, thread_key FROM documents WHERE id IN (SELECT value FROM json_each(?))"
    return {row[0]: DocumentPlace(*row[1:]) for row in store.rows(sql, json.dumps(list(document_ids)))}
