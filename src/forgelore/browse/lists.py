"""`list` and `count`: which items match, and how many."""

import datetime as dt
from collections.abc import Iterable
from typing import NamedTuple

from forgelore.browse.refs import parse_kind
from forgelore.errors import InvalidValue
from forgelore.store.conversations import ThreadRow, count_discussion_threads, load_discussion_threads
from forgelore.store.database import Store
from forgelore.store.filters import Filters
from forgelore.store.item_lists import SORTS, StoredItem, count_by_group, load_labels_of, load_listed
from forgelore.text.dates import as_time
from forgelore.text.refs import note_page, shown_ref
from forgelore.text.values import check_whole
from forgelore.words import ProjectName

COUNTABLE = ("issues", "changes", "discussions", "releases", "threads", "notes", "items")
MAX = 1_000_000
_TITLE = 200  # characters of a thread's first line, which has no other title
_EMPTY = {"notes": {"people": 0, "system": 0}, "threads": {"all": 0}}


class ListedItem(NamedTuple):
    """An item without its body; `ref` names the project where the store has several. `kind` "thread", in a list of
    discussions: one below an item of GitLab, which calls it so. It has the item's ref, number and labels, its own state
    (resolved, unresolved), and for a title its first line.
    """

    ref: str
    kind: str
    number: int
    title: str
    state: str | None
    state_reason: str | None
    author: str | None
    created_at: dt.datetime | None
    updated_at: dt.datetime | None
    url: str | None
    source_branch: str | None
    target_branch: str | None
    tag: str | None
    labels: tuple[str, ...]
    project: str


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
    labels_of = load_labels_of(store, [row.id for row in rows])
    return ListedItems(_listed_item(row, labels_of.get(row.id, ())) for row in rows)


def list_discussions(
    store: Store, filters: Filters, *, sort: str = "updated", limit: int = 30, is_ascending: bool = False
) -> ListedItems:
    """Return matching discussions, newest first: those that are items, and the threads of forges that call these so."""
    _check(sort, limit)
    threads = load_discussion_threads(store, filters, sort=sort, limit=limit, is_ascending=is_ascending)
    ranked: list[tuple[int, StoredItem | ThreadRow]] = [
        *load_listed(store, filters, sort=sort, limit=limit, is_ascending=is_ascending),
        *((row.rank, row) for row in threads),
    ]
    ranked = sorted(ranked, key=lambda one: one[0], reverse=not is_ascending)
    rows = [row for _, row in ranked[:limit]]
    labels_of = load_labels_of(store, [row.item_id if isinstance(row, ThreadRow) else row.id for row in rows])
    return ListedItems(
        _listed_thread(row, labels_of.get(row.item_id, ()))
        if isinstance(row, ThreadRow)
        else _listed_item(row, labels_of.get(row.id, ()))
        for row in rows
    )


def _check(sort: str, limit: int) -> None:
    check_whole("limit", limit, MAX)
    if sort not in SORTS:
        hint = f"use {', '.join(SORTS)}; add -asc to reverse"
        raise InvalidValue(f"unknown sort order: {str(sort)[:60]!r}", hint=hint)


def _listed_item(row: StoredItem, labels: Iterable[str]) -> ListedItem:
    return ListedItem(
        shown_ref(row.forge, row.kind, row.number, row.tag), row.kind, row.number, row.title, row.state,
        row.state_reason, row.author, as_time(row.created_at), as_time(row.updated_at), row.url,
        row.source_branch, row.target_branch, row.tag, tuple(labels),
        str(ProjectName(row.forge, row.host, row.path)),
    )  # fmt: skip


def _listed_thread(row: ThreadRow, labels: Iterable[str]) -> ListedItem:
    lines = (line.strip() for line in row.body.splitlines())
    title = next((line for line in lines if line), "")
    state = ("resolved" if row.is_resolved else "unresolved") if row.is_resolvable else None
    return ListedItem(
        shown_ref(row.forge, row.kind, row.number), "thread", row.number, title[:_TITLE], state, None, row.author,
        as_time(row.created_at), as_time(row.updated_at), note_page(row.forge, row.item_url, row.key, row.url),
        None, None, None, tuple(labels), str(ProjectName(row.forge, row.host, row.path)),
    )  # fmt: skip


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
