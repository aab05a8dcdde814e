"""What is told about a found document: its columns, its item, its labels and its text."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from forgelore.errors import NotFound
from forgelore.store.db import Store


class HitRow(NamedTuple):
    document_id: int
    item_id: int
    representation: str
    kind: str
    number: int
    tag: str | None
    title: str
    state: str | None
    state_reason: str | None
    author: str | None
    created_at: int | None
    updated_at: int | None
    url: str | None
    is_confidential: int
    forge: str
    host: str
    path: str
    text: str
    body: str | None  # what the author wrote, where the text is more or something else
    labels: tuple[str, ...] = ()


def load_hits(store: Store, document_ids: Iterable[int]) -> dict[int, HitRow]:
    ids = json.dumps(list(document_ids))
    labels: dict[int, list[str]] = {}
    for document_id, name in store.each(
        "SELECT document_id, name FROM document_labels WHERE document_id IN (SELECT value FROM json_each(?))"
        " ORDER BY name", ids,
    ):  # fmt: skip
        labels.setdefault(document_id, []).append(name)
    rows = store.rows(
        "SELECT d.id, d.item_id, d.representation, d.kind, i.number, i.tag, t.title, d.state, i.state_reason, d.author,"
        " d.created_at, d.updated_at, d.url, d.is_confidential, p.forge, p.host, p.path, t.text,"
        " CASE WHEN d.kind = 'change' OR d.representation = 'thread' THEN coalesce(i.body, '') END"
        " FROM documents d JOIN items i ON i.id = d.item_id JOIN projects p ON p.id = d.project_id"
        " JOIN document_texts t ON t.id = d.id WHERE d.id IN (SELECT value FROM json_each(?))", ids,
    )  # fmt: skip
    return {row[0]: HitRow._make((*row, tuple(labels.get(row[0], ())))) for row in rows}


def load_items_of(store: Store, document_ids: Iterable[int]) -> dict[int, int]:
    """Return document -> item: what is needed to show each item once."""
    return dict(
        store.rows(
            "SELECT id, item_id FROM documents WHERE id IN (SELECT value FROM json_each(?))",
            json.dumps(list(document_ids)),
        )
    )


def load_created(store: Store, document_ids: Iterable[int]) -> dict[int, int]:
    """Return when documents were created; those without a time are missing."""
    sql = "SELECT id, created_at FROM documents WHERE created_at NOTNULL AND id IN (SELECT value FROM json_each(?))"
    return dict(store.rows(sql, json.dumps(list(document_ids))))


class Subject(NamedTuple):
    """An item as a query: its title and body alone, as if it had just been filed. `said`: what its author wrote, where
    the body is more (a change with its diff).
    """

    item_id: int
    project_id: int
    kind: str
    title: str
    body: str
    created_at: int | None
    document_id: int | None
    said: str | None = None


def load_subject(store: Store, item_id: int) -> Subject:
    row = store.row(
        "SELECT i.id, i.project_id, i.kind, i.title, coalesce(i.body, ''), i.created_at, d.id FROM items i"
        " LEFT JOIN documents d ON d.item_id = i.id AND d.representation = 'item' WHERE i.id = ?", item_id,
    )  # fmt: skip
    if row is None:
        raise NotFound(f"item {item_id} is not in this database")
    return Subject(*row)
