"""`list` and `count`: which items match, and how many."""

from typing import NamedTuple

from forgelore.browse.refs import parse_kind
from forgelore.errors import InvalidValue
from forgelore.store.database import Store
from forgelore.store.filters import Filters
from forgelore.store.item_lists import (
    SORTS,
    count_by_group,
    count_discussion_threads,
    load_discussion_threads,
    load_labels_of,
    load_listed,
)
from forgelore.text.items import ListedItem, StoredItem
from forgelore.text.values import check_whole

COUNTABLE = ("issues", "changes", "discussions", "releases", "threads", "notes", "items")
MAX = 1_000_000
_TITLE = 200  # characters of a thread's first line, which has no other title
_EMPTY = {"notes": {"people": 0, "system": 0}, "threads": {"all": 0}}


class ListedItems(list[ListedItem]):
    """Listed items, with what there is to say about the filters (a label that no item has), and by what they are
    sorted.
    """

    warnings: tuple[str, ...] = ()
    order: str = "updated"


class RowCount(NamedTuple):
    """How many rows match: `by` state for items (`threads`: discussions that are threads below items), by who wrote
    them for notes (`people`, `system`: the forge itself). `warnings` are about the filters.
    """

    kind: str
    total: int
    by: dict[str, int]
    warnings: tuple[str, ...] = ()

    @staticmethod
    def json_key(name: str) -> str:
        return "" if name == "warnings" else name


def list_items(
    store: Store, filters: Filters, *, sort: str = "updated", limit: int = 30, is_ascending: bool = False
) -> ListedItems:
    """Return matching items, newest first, without their bodies."""
    _check(sort, limit)
    rows = [row for _, row in load_listed(store, filters, sort=sort, limit=limit, is_ascending=is_ascending)]
    return _with_labels(store, rows)


def list_discussions(
    store: Store, filters: Filters, *, sort: str = "updated", limit: int = 30, is_ascending: bool = False
) -> ListedItems:
    """Return matching discussions, newest first: those that are items, and the threads of forges that call these so."""
    _check(sort, limit)
    ranked = [
        *load_listed(store, filters, sort=sort, limit=limit, is_ascending=is_ascending),
        *load_discussion_threads(store, filters, sort=sort, limit=limit, is_ascending=is_ascending),
    ]
    ranked.sort(key=lambda one: one[0], reverse=not is_ascending)
    return _with_labels(store, [_titled(row) if row.kind == "thread" else row for _, row in ranked[:limit]])


def _with_labels(store: Store, rows: list[StoredItem]) -> ListedItems:
    labels_of = load_labels_of(store, [row.id for row in rows])
    at = StoredItem._fields.index("labels")
    return ListedItems(
        ListedItem._make((*row[:at], tuple(labels_of.get(row.id, ())), *row[at + 1:])) for row in rows
    )  # fmt: skip


def _titled(thread: StoredItem) -> StoredItem:
    """Return a thread with its first line for a title."""
    lines = (line.strip() for line in (thread.body or "").splitlines())
    return thread._replace(title=next((line for line in lines if line), "")[:_TITLE], body=None)


def _check(sort: str, limit: int) -> None:
    check_whole("limit", limit, MAX)
    if sort not in SORTS:
        hint = f"use {', '.join(SORTS)}; add -asc to reverse"
        raise InvalidValue(f"unknown sort order: {str(sort)[:60]!r}", hint=hint)


def parse_countable(word: str) -> tuple[str, tuple[str, ...]]:
    """Return what is counted, and the kinds of items that are: ("changes", ("change",)) for `prs`."""
    if word in ("items", "threads", "notes"):
        return word, ()
    kind = parse_kind(word)
    return f"{kind}s", (kind,)


def count_rows(store: Store, what: str, filters: Filters) -> RowCount:
    """Return counts by state for items; what people wrote and what the forge wrote for notes. Discussions are those
    that are items, and the threads of forges that call these so.
    """
    by = {**_EMPTY.get(what, {}), **count_by_group(store, what, filters)}
    if what == "discussions" and (threads := count_discussion_threads(store, filters)):
        by["threads"] = threads
    return RowCount(what, sum(by.values()), by)
