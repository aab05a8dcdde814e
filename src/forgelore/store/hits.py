"""Hits as rows: the columns, item, labels and text of found documents, and items named by number or tag."""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from forgelore.errors import NotFound
from forgelore.store.database import Store
from forgelore.store.filters import Allowed, visible
from forgelore.store.sqlite.connection import each_of, json_list, one_of, pack_list
from forgelore.text.refs import Ref, full_ref, note_page, shown_ref
from forgelore.words import ProjectName

_HITS = f"""
    SELECT d.id, d.item_id, d.representation, d.kind, i.number, i.tag, t.title, d.state, i.state_reason, d.author,
        d.created_at, d.updated_at, d.url, d.is_confidential, p.forge, p.host, p.path, t.text,
        CASE WHEN d.representation = 'thread' THEN coalesce(i.body, '') END,
        d.thread_author, d.thread_created_at, d.thread_updated_at,
        CASE WHEN d.representation = 'thread' THEN (
            SELECT {json_list("f.path")}
            FROM document_paths f
            WHERE f.document_id = d.id
        ) END
    FROM documents d
    JOIN items i ON i.id = d.item_id
    JOIN projects p ON p.id = d.project_id
    JOIN document_texts t ON t.id = d.id
    WHERE d.id {one_of()}
"""
_LABELS_OF_HITS = f"""
    SELECT document_id, name
    FROM document_labels
    WHERE document_id {one_of()}
    ORDER BY name
"""


class ThreadFacts(NamedTuple):
    """Who began a thread, when its first and its last note were written, in milliseconds, and of which files."""

    author: str | None
    created_at: int | None
    updated_at: int | None
    paths: tuple[str, ...] = ()


class HitRow(NamedTuple):
    """What is stored of a found document and its item. Times are milliseconds. Author and times are those of the item;
    of the thread, where threads were asked for by their type, as filters mean them then.
    """

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
    body: str | None  # what the author of the item wrote, where the text is that of a thread
    labels: tuple[str, ...] = ()
    thread: ThreadFacts | None = None

    @property
    def ref(self) -> str:
        return shown_ref(self.forge, self.kind, self.number, self.tag)

    @property
    def project(self) -> str:
        return str(ProjectName(self.forge, self.host, self.path))

    @property
    def full_ref(self) -> str:
        return full_ref(self.project, self.kind, self.ref)


def load_hits(store: Store, document_ids: Iterable[int], *, of_threads: bool = False) -> dict[int, HitRow]:
    """Return document -> what is shown of it. `of_threads`: author and times of a thread's hit are the thread's."""
    ids = pack_list(document_ids)
    labels: dict[int, list[str]] = {}
    for document_id, name in store.each(_LABELS_OF_HITS, ids):
        labels.setdefault(document_id, []).append(name)
    found = {}
    for document_id, *columns in store.rows(_HITS, ids):
        *shown, author, created_at, updated_at, paths = columns
        row = HitRow._make((document_id, *shown, tuple(labels.get(document_id, ())), None))
        if row.representation == "thread":
            row = row._replace(thread=ThreadFacts(author, created_at, updated_at, tuple(json.loads(paths))))
            if of_threads:
                row = row._replace(author=author, created_at=created_at, updated_at=updated_at)
        found[document_id] = row
    return found


def load_notes_with(store: Store, words: dict[int, str]) -> dict[int, list[tuple[str, str]]]:
    """Return URL and body of the notes in threads' documents that contain a word, in their order: document -> notes."""
    if not words:
        return {}
    sql = f"""
        SELECT d.id, n.body, p.forge, i.url, n.key, n.url
        FROM {each_of()} w
        JOIN documents d ON d.id = CAST(w.key AS INTEGER)
        JOIN threads t ON t.item_id = d.item_id AND t.key = d.thread_key
        JOIN notes n ON n.thread_id = t.id
        JOIN items i ON i.id = d.item_id
        JOIN projects p ON p.id = d.project_id
        WHERE NOT n.is_system AND NOT n.is_internal AND instr(n.body, w.value) > 0
        ORDER BY d.id, n.created_at, length(n.key), n.key
    """
    notes: dict[int, list[tuple[str, str]]] = {}
    for document_id, body, *place in store.each(sql, json.dumps(words)):
        if url := note_page(*place):
            notes.setdefault(document_id, []).append((url, body))
    return notes


def load_items_of(store: Store, document_ids: Iterable[int]) -> dict[int, int]:
    """Return document -> item: what is needed to show each item once."""
    sql = f"SELECT id, item_id FROM documents WHERE id {one_of()}"
    return dict(store.rows(sql, pack_list(document_ids)))


def load_item_documents(store: Store, item_ids: Iterable[int]) -> dict[int, int]:
    """Return item -> its own document, neither a thread's nor a card."""
    sql = f"""
        SELECT item_id, id
        FROM documents
        WHERE item_id {one_of()} AND representation = 'item'
    """
    return dict(store.rows(sql, pack_list(item_ids)))


def list_documents_of(store: Store, item_ids: Iterable[int]) -> list[int]:
    """Return the ids of all documents of some items: their own, their threads' and their cards'."""
    sql = f"SELECT id FROM documents WHERE item_id {one_of()}"
    return [document_id for (document_id,) in store.rows(sql, pack_list(item_ids))]


def load_created(store: Store, document_ids: Iterable[int]) -> dict[int, int]:
    """Return when documents were created; those without a time are missing."""
    sql = f"""
        SELECT id, created_at
        FROM documents
        WHERE created_at NOTNULL AND id {one_of()}
    """
    return dict(store.rows(sql, pack_list(document_ids)))


def load_texts(store: Store, document_ids: Iterable[int]) -> dict[int, tuple[str, str]]:
    """Return title and text of documents, in the order of their ids."""
    sql = f"""
        SELECT id, title, text
        FROM document_texts
        WHERE id {one_of()}
        ORDER BY id
    """
    return {row_id: (title, text) for row_id, title, text in store.rows(sql, pack_list(document_ids))}


def load_own_texts(store: Store, document_ids: Iterable[int]) -> list[tuple[int, str | None, str]]:
    """Return item, author, and title with text of those documents that an item's author wrote: no threads."""
    sql = f"""
        SELECT d.item_id, d.author, t.title || char(10) || t.text
        FROM documents d
        JOIN document_texts t ON t.id = d.id
        WHERE d.id {one_of()} AND d.representation = 'item'
    """
    return store.rows(sql, pack_list(document_ids))


def load_holding(store: Store, document_ids: Iterable[int], text: str) -> set[int]:
    """Return which documents hold a text in title or text, capitals of ASCII aside."""
    sql = f"""
        SELECT id
        FROM document_texts
        WHERE id {one_of(1)}
          AND (instr(lower(text), lower(?2)) > 0 OR instr(lower(title), lower(?2)) > 0)
    """
    return {row_id for (row_id,) in store.rows(sql, pack_list(document_ids), text)}


class Subject(NamedTuple):
    """An item as a query: its title and body alone, as if it had just been filed."""

    item_id: int
    project_id: int
    kind: str
    title: str
    body: str
    created_at: int | None
    document_id: int | None
    author: str | None = None


def load_subject(store: Store, item_id: int) -> Subject:
    sql = """
        SELECT i.id, i.project_id, i.kind, i.title, coalesce(i.body, ''), i.created_at, d.id, i.author
        FROM items i
        LEFT JOIN documents d ON d.item_id = i.id AND d.representation = 'item'
        WHERE i.id = ?
    """
    row = store.row(sql, item_id)
    if row is None:
        raise NotFound(f"item {item_id} is not in this database")
    return Subject(*row)


def load_known(store: Store, ref: Ref, project_ids: Sequence[int] = ()) -> list[tuple[bool, int | None]]:
    """Return whether it was deleted, and its document (None: not indexed), of each item of that number or tag in these
    projects (none: in all): live ones first, issues before changes.

    Releases are known by their tag alone; the numbers they have are the forge's own, and nobody sees them.
    """
    marks = ", ".join("?" * len(project_ids))
    within = f"i.project_id IN ({marks})" if project_ids else "i.project_id IN (SELECT id FROM projects)"
    named = "i.kind = 'release' AND i.tag = ?" if ref.tag else "i.kind <> 'release' AND i.number = ?"
    kind = "" if ref.tag or ref.kind is None else "AND i.kind = ?"
    sql = f"""
        SELECT i.deleted_at IS NOT NULL, d.id
        FROM items i
        LEFT JOIN documents d ON d.item_id = i.id AND d.representation = 'item'
        WHERE {within} AND {named} {kind} AND {visible(store, "i")}
        ORDER BY 1, CASE i.kind WHEN 'issue' THEN 0 WHEN 'change' THEN 1 ELSE 2 END, i.project_id
    """
    given = (*project_ids, ref.tag or ref.number, *((ref.kind,) if kind else ()))
    return [(bool(is_deleted), document_id) for is_deleted, document_id in store.rows(sql, *given)]


def load_permitted(store: Store, allowed: Allowed, document_ids: tuple[int, ...]) -> set[int]:
    """Return those of these documents that are allowed."""
    marks = ", ".join("?" * len(document_ids))
    within = allowed.condition("o.id")
    sql = f"SELECT o.id FROM documents o WHERE o.id IN ({marks}) AND {within.sql}"
    return {row[0] for row in store.rows(sql, *document_ids, *within.bindings)}


def load_document_of(store: Store, item_id: int) -> int | None:
    """Return the document that an item is shown by; None where there is none that may be seen."""
    sql = f"""
        SELECT d.id
        FROM documents d
        WHERE d.item_id = ? AND d.representation = 'item' AND {visible(store, "d")}
    """
    found: int | None = store.value(sql, item_id)
    return found
