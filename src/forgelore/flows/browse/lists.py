"""`list` and `count`: which items match, and how many."""

import datetime as dt
from typing import NamedTuple

from forgelore.core.names import shown_ref
from forgelore.core.times import as_time
from forgelore.core.values import check_whole
from forgelore.errors import InvalidValue
from forgelore.flows.browse.refs import parse_kind
from forgelore.store.browse import SORTS, count_by_group, count_discussion_threads, load_listed
from forgelore.store.db import Store
from forgelore.store.filters import Filters
from forgelore.store.item_parts import load_labels_of
from forgelore.words import ProjectName

COUNTABLE = ("issues", "changes", "discussions", "releases", "threads", "notes", "items")
MOST = 1_000_000


class ListedItem(NamedTuple):
    """An item without its body."""

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
    tag: str | None
    labels: tuple[str, ...]
    project: str


class ListedItems(list[ListedItem]):
    """Listed items, with what there is to say about the filters: a label that no item has."""

    warnings: tuple[str, ...] = ()


class RowCount(NamedTuple):
    """How many rows match: `by` state for items, by who wrote them for notes. `warnings` are about the filters."""

    kind: str
    total: int
    by: dict[str, int]
    warnings: tuple[str, ...] = ()


def list_items(
    store: Store, filters: Filters, *, sort: str = "updated", limit: int = 30, is_ascending: bool = False
) -> ListedItems:
    """Return matching items, newest first, without their bodies."""
    check_whole("limit", limit, MOST)
    if sort not in SORTS:
        raise InvalidValue(f"{sort!r} is no order of a list", hint=f"use {', '.join(SORTS)}")
    rows = load_listed(store, filters, sort=sort, limit=limit, is_ascending=is_ascending)
    labels_of = load_labels_of(store, [row.id for row in rows])
    return ListedItems(
        ListedItem(
            shown_ref(row.forge, row.kind, row.number, row.tag), row.kind, row.number, row.title, row.state,
            row.state_reason, row.author, as_time(row.created_at), as_time(row.updated_at), row.url,
            row.source_branch, row.tag, tuple(labels_of.get(row.id, ())),
            str(ProjectName(row.forge, row.host, row.path)),
        )
        for row in rows
    )  # fmt: skip


def parse_countable(word: str) -> tuple[str, tuple[str, ...]]:
    """Return what is counted, and the kinds of items that are: ("changes", ("change",)) for `prs`."""
    if word in ("items", "threads", "notes"):
        return word, ()
    kind = parse_kind(word)
    return f"{kind}s", (kind,)


def count_rows(store: Store, what: str, filters: Filters) -> RowCount:
    """Return counts by state for items; with and without system notes for notes. Discussions are those that are items,
    and the threads of forges that call these so.
    """
    by = count_by_group(store, what, filters) or ({"all": 0} if what == "threads" else {})
    if what == "discussions" and (threads := count_discussion_threads(store, filters)):
        by["threads"] = threads
    return RowCount(what, sum(by.values()), by)
