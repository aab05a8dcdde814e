"""Item history from the store: what was known of items at a time, a list of them in four statements."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from forgelore.records import ItemHistory
from forgelore.store.database import Store
from forgelore.store.filters import visible_link
from forgelore.store.sqlite.connection import each_of, one_of, pack_list

_NEVER = 2**62  # later than all times

_ITEMS = f"""
    SELECT id, project_id, kind, number, author, state, state_reason, created_at, updated_at,
        coalesce(merged_at, closed_at), threads_fetched_at NOTNULL
    FROM items
    WHERE id {one_of()}
"""
# Comments without a time count as later: unknown must not become known.
_NOTES = f"""
    SELECT item_id, author, count(*), max(created_at)
    FROM notes
    WHERE item_id {one_of(1)} AND created_at < ?2 AND NOT is_system AND NOT is_internal
    GROUP BY item_id, author
"""
_DISCUSSED = f"""
    SELECT value
    FROM {each_of()}
    WHERE EXISTS (SELECT 1 FROM notes WHERE item_id = value)
"""


class _ItemRow(NamedTuple):
    item_id: int
    project_id: int
    kind: str
    number: int
    author: str | None
    state: str | None
    state_reason: str | None
    created_at: int | None
    updated_at: int | None
    ended_at: int | None
    is_fetched: int  # its conversation was read from the forge

    def is_settled(self, before: int) -> bool:
        """True where nothing happened to the item since: what is stored was known then."""
        return before == _NEVER or (self.updated_at is not None and self.updated_at < before)


class _Said(NamedTuple):
    """The comments of an item before a time."""

    comments: int = 0
    last_at: int | None = None
    authors: frozenset[str] = frozenset()


def load_histories(
    store: Store, item_ids: Collection[int], *, before: int | None = None, not_from: int = 0
) -> dict[int, ItemHistory]:
    """Return item -> what was known of it before a time; None: everything that is stored. What the item `not_from`
    says of others is not counted: it is the one that asks.
    """
    ids, at = pack_list(item_ids), _NEVER if before is None else before
    rows = [_ItemRow._make(row) for row in store.rows(_ITEMS, ids)]
    said = _load_said(store, ids, at)
    discussed = {item_id for (item_id,) in store.rows(_DISCUSSED, ids)}
    marks = _load_marks(store, ids)
    named = _count_named(store, ids, at, not_from, counts_undated=before is None)
    groups = _discussed_groups(rows, discussed)
    found = {}
    for row in rows:
        # A file says nothing of comments where there are none: what others of the kind have tells whether it would.
        # The forge's own count is not asked. It is of today: in the bot's index, which has no conversations, the
        # present would be known better than the past, and the past is what the present is measured by.
        is_known = (row.project_id, row.kind) in groups or bool(row.is_fetched)
        is_open = _is_open(row, at)
        history = ItemHistory(row.item_id, row.author, is_open, row.ended_at if is_open is False else None)
        history = _with_comments(history, row, said.get(row.item_id, _Said()), is_known=is_known)
        mentions, duplicates = named.get(row.item_id, (0, 0)) if is_known else (None, None)
        is_marked = _is_marked(row, marks.get(row.item_id), at, is_known=is_known)
        found[row.item_id] = history._replace(is_marked=is_marked, mentions=mentions, duplicates=duplicates)
    return found


def _load_said(store: Store, ids: str, before: int) -> dict[int, _Said]:
    found: dict[int, _Said] = {}
    for item_id, author, count, last_at in store.each(_NOTES, ids, before):
        known = found.get(item_id, _Said())
        authors = known.authors | {author} if author else known.authors
        found[item_id] = _Said(known.comments + count, max(known.last_at or 0, last_at), authors)
    return found


def _load_marks(store: Store, ids: str) -> dict[int, tuple[int | None, int]]:
    """Return what calls items duplicates: the first that has a time, and whether there is something without one."""
    sql = f"""
        SELECT l.item_id, min(CASE WHEN l.note_id NOTNULL OR l.source = 'text' THEN l.created_at END),
            max(l.note_id ISNULL AND l.source <> 'text')
        FROM item_links l
        WHERE l.item_id {one_of()} AND l.relation = 'duplicate_of' AND NOT l.is_withdrawn AND {visible_link(store)}
        GROUP BY l.item_id
    """
    return {item_id: (first_at, undated) for item_id, first_at, undated in store.rows(sql, ids)}


def _count_named(
    store: Store, ids: str, before: int, not_from: int, *, counts_undated: bool
) -> dict[int, tuple[int, int]]:
    """Return item -> how many others name it and how many say that they repeat it, of those that the viewer may see."""
    sql = f"""
        SELECT t.id, count(DISTINCT l.item_id), count(DISTINCT CASE WHEN l.relation = 'duplicate_of' THEN l.item_id END)
        FROM {each_of(1)}
        JOIN items t ON t.id = value
        JOIN item_links l ON l.project_id = t.project_id AND l.target_number = t.number
        WHERE l.target_project = '' AND coalesce(l.target_kind, t.kind) = t.kind AND NOT l.is_withdrawn
          AND l.item_id <> t.id AND l.item_id <> ?3 AND {visible_link(store)}
          AND CASE WHEN l.note_id NOTNULL OR l.source = 'text' THEN l.created_at < ?2 ELSE ?4 END
        GROUP BY t.id
    """
    rows = store.rows(sql, ids, before, not_from, counts_undated)
    return {item_id: (mentions, duplicates) for item_id, mentions, duplicates in rows}


def _discussed_groups(rows: Iterable[_ItemRow], discussed: set[int]) -> set[tuple[int, str]]:
    return {(row.project_id, row.kind) for row in rows if row.item_id in discussed}


def _is_open(row: _ItemRow, before: int) -> bool | None:
    if row.state is None or row.state == "open" or before == _NEVER:
        return None if row.state is None else row.state == "open"
    return None if row.ended_at is None else row.ended_at >= before


def _with_comments(history: ItemHistory, row: _ItemRow, said: _Said, *, is_known: bool) -> ItemHistory:
    if not is_known:
        return history
    author = {row.author} if row.author else set()
    return history._replace(
        comments=said.comments, active_at=said.last_at or row.created_at, participants=said.authors | author
    )


def _is_marked(row: _ItemRow, marked: tuple[int | None, int] | None, before: int, *, is_known: bool) -> bool | None:
    if row.state_reason == "duplicate" and _is_open(row, before) is False:
        return True
    first_at, has_undated = marked or (None, 0)
    if first_at is not None and first_at < before:
        return True
    if has_undated:
        return True if row.is_settled(before) else None
    return False if is_known else None
