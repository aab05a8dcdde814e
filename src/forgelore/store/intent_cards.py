"""Intent cards: what each was made from, by whom, and what it says. Its text becomes a document of its item."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from forgelore.core.intent.card import CardSource
from forgelore.store.db import Store
from forgelore.store.jobs import queue_documents

_WITHIN = "IN (SELECT value FROM json_each(?))"


class CardOrigin(NamedTuple):
    """What a card was made from and by. Where nothing of it changed and its status is ok, it is not made again."""

    source_hash: str
    schema_version: int
    prompt_version: str
    model: str
    status: str


class NewCard(NamedTuple):
    """A card about to be saved. `status` fallback: the model failed, as `error` says, and rules made it."""

    item_id: int
    project_id: int
    source_hash: str
    schema_version: int
    prompt_version: str
    model: str
    status: str
    error: str
    card: str
    text: str


class CardDocument(NamedTuple):
    """A card as it is searched."""

    document_id: int
    title: str
    text: str


def list_card_items(store: Store, project_id: int, kind: str, states: Sequence[str] | None = None) -> list[int]:
    """Return the live public items of a kind, of some states or of any, newest first: what is new is asked first."""
    wanted = "" if states is None else f"AND state {_WITHIN}"
    sql = f"""
        SELECT id
        FROM items
        WHERE project_id = ? AND kind = ? AND deleted_at IS NULL AND NOT is_confidential {wanted}
        ORDER BY number DESC
    """
    given = () if states is None else (json.dumps(list(states)),)
    return [item_id for (item_id,) in store.rows(sql, project_id, kind, *given)]


def load_card_sources(store: Store, item_ids: Iterable[int]) -> dict[int, CardSource]:
    """Return what the cards of live public items are made from."""
    sql = f"""
        SELECT i.id, i.kind, i.title, coalesce(i.body, ''), (
            SELECT json_group_array(new_path)
            FROM item_files
            WHERE item_id = i.id), i.number
        FROM items i
        WHERE i.id {_WITHIN} AND i.deleted_at IS NULL AND NOT i.is_confidential
    """
    rows = store.rows(sql, json.dumps(list(item_ids)))
    return {row[0]: CardSource._make((*row[1:4], tuple(sorted(json.loads(row[4]))), row[5])) for row in rows}


def load_origins(store: Store, item_ids: Iterable[int]) -> dict[int, CardOrigin]:
    """Return item -> what its card was made from; items without one are missing."""
    names = ", ".join(CardOrigin._fields)
    sql = f"SELECT item_id, {names} FROM intent_cards WHERE item_id {_WITHIN}"
    return {row[0]: CardOrigin._make(row[1:]) for row in store.rows(sql, json.dumps(list(item_ids)))}


def save_card(store: Store, new: NewCard, now_ms: int) -> None:
    """Keep a card in place of the item's earlier one, and queue its documents. In a transaction."""
    names = NewCard._fields
    sql = f"""
        INSERT INTO intent_cards ({", ".join(names)}, made_at)
        VALUES ({", ".join("?" * len(names))}, ?)
        ON CONFLICT (item_id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in (*names, "made_at"))}
    """
    store.run(sql, *new, now_ms)
    queue_documents(store, new.project_id, [new.item_id])


def drop_cards(store: Store, item_ids: Iterable[int]) -> int:
    """Delete the cards of items; returns how many there were. Their documents go when the items are indexed again."""
    return store.run(f"DELETE FROM intent_cards WHERE item_id {_WITHIN}", json.dumps(list(item_ids)))


def load_card_texts(store: Store, item_ids: Iterable[int]) -> dict[int, str]:
    """Return item -> the text of its card; items without one are missing."""
    sql = f"SELECT item_id, text FROM intent_cards WHERE item_id {_WITHIN}"
    return dict(store.rows(sql, json.dumps(list(item_ids))))


def load_card_document(store: Store, item_id: int) -> CardDocument | None:
    """Return the searchable card of an item; None while it has none."""
    sql = """
        SELECT d.id, t.title, t.text
        FROM documents d
        JOIN document_texts t ON t.id = d.id
        WHERE d.item_id = ? AND d.representation = 'intent'
    """
    row = store.row(sql, item_id)
    return CardDocument._make(row) if row else None


def has_cards(store: Store, project_id: int) -> bool:
    """Whether a project has any."""
    return bool(store.value("SELECT EXISTS (SELECT 1 FROM intent_cards WHERE project_id = ?)", project_id))


def each_card(store: Store) -> Iterator[tuple[int, str, str]]:
    """Yield (item, card, text) of every card, as it is kept."""
    return ((row[0], row[1], row[2]) for row in store.each("SELECT item_id, card, text FROM intent_cards"))
