"""A small tracker with copies, near copies, shared failures and ordinary items, imported and indexed."""

import json

from forgelore.context import JobContext
from forgelore.index.update import index_items
from forgelore.model import ProjectName
from forgelore.search.retriever import Retriever
from forgelore.store.projects import list_projects
from forgelore.sync.archive import import_lines

WORDS = [
    "wallet",
    "block",
    "relay",
    "mempool",
    "script",
    "descriptor",
    "header",
    "network",
    "peer",
    "fee",
    "index",
    "backup",
    "cipher",
    "socket",
    "thread",
    "cache",
    "parser",
    "layout",
    "theme",
    "plugin",
    "export",
    "import",
    "queue",
    "timer",
    "signal",
    "buffer",
    "packet",
    "cursor",
    "schema",
    "cluster",
]


def item(number, title, body="", *, state="open", kind="issue", **more):
    day = f"2024-{1 + number // 28 % 12:02d}-{1 + number % 28:02d}T00:00:00Z"
    row = {"kind": kind, "number": number, "title": title, "body": body, "state": state, "created_at": day}
    return row | ({"closed_at": "2025-02-01T00:00:00Z"} if state == "closed" else {}) | more


def job(store, now_ms=9, should_stop=lambda: False):
    """What a job of the store's one project works with, at that time."""
    return JobContext(store, list_projects(store)[0], lambda: now_ms, should_stop=should_stop)


def ordinary(number):
    """An item that shares no more than single words with the others."""
    first, second, third = (WORDS[(number * step + number // 7) % len(WORDS)] for step in (1, 7, 11))
    return item(
        number,
        f"Some {first} of the {second} is slow in case {number}",
        f"When the {third} handles {first} number {number}, the {second} waits for seconds and nothing is drawn.",
    )


def write(store, items):
    """Save and index items; the project is 1."""
    lines = [json.dumps(one).encode() + b"\n" for one in items]
    import_lines(store, ProjectName("local", "local", "p"), lines, 0)
    index_items(store, [1])


def words_only(store):
    return Retriever(store)


def id_of(store, number):
    return store.value("SELECT id FROM items WHERE number = ?", number)


def number_of(store, item_id):
    return store.value("SELECT number FROM items WHERE id = ?", item_id)
