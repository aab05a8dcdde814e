"""Which lines changes remove and add (`change_lines`): hashes in two blobs of a change, and what is told of a change
beside them.

Kept of open changes, and of those that were closed at most a year before the newest item of their project. A table of
single hashes was measured beside the blobs: docs/decisions/0020-same-lines.md has the numbers.
"""

from array import array
from collections.abc import Iterable, Iterator
from sys import byteorder

from forgelore.model import PatchLines
from forgelore.store.database import Store
from forgelore.store.filters import visible
from forgelore.store.item_lists import ITEM_COLUMNS_WITHOUT_BODY, as_item
from forgelore.store.sqlite.connection import one_of, pack_list
from forgelore.text.items import StoredItem

KEPT_MS = 365 * 86_400_000

_NEWEST = "(SELECT max(n.updated_at) FROM items n WHERE n.project_id = ?1 AND n.kind = 'change')"


def save_lines(store: Store, project_id: int, item_id: int, lines: PatchLines, head_sha: str | None) -> None:
    """Keep which lines a change removes and adds, unless it was closed long ago."""
    sql = f"""
        INSERT INTO change_lines (item_id, project_id, head_sha, removed, added)
        SELECT i.id, ?1, ?3, ?4, ?5
        FROM items i
        WHERE i.id = ?2 AND coalesce(i.closed_at, i.merged_at, {1 << 60}) >= coalesce({_NEWEST}, 0) - {KEPT_MS}
        ON CONFLICT (item_id) DO UPDATE
        SET head_sha = excluded.head_sha, removed = excluded.removed, added = excluded.added
    """
    store.run(sql, project_id, item_id, head_sha, _pack(lines.removed), _pack(lines.added))


def forget_old_lines(store: Store, project_id: int) -> int:
    """Forget the lines of changes that were closed long ago; returns how many that were. In a transaction."""
    sql = f"""
        DELETE FROM change_lines
        WHERE project_id = ?1 AND item_id IN (
          SELECT l.item_id
          FROM change_lines l
          JOIN items i ON i.id = l.item_id
          WHERE l.project_id = ?1 AND coalesce(i.closed_at, i.merged_at) < {_NEWEST} - {KEPT_MS}
        )
    """
    return store.run(sql, project_id)


def find_without_lines(store: Store, project_id: int) -> list[str]:
    """Return job keys of open changes whose lines nobody has read since their last push and that do not wait for it,
    newest first. A change that nobody has touched for a year is left alone.
    """
    sql = f"""
        SELECT i.kind || ':' || i.number
        FROM items i
        WHERE i.project_id = ?1 AND i.kind = 'change' AND i.state = 'open' AND i.deleted_at ISNULL
          AND i.updated_at >= {_NEWEST} - {KEPT_MS}
          AND NOT EXISTS (
            SELECT 1
            FROM change_lines l
            WHERE l.item_id = i.id AND l.head_sha IS NOT DISTINCT FROM i.head_sha
          )
          AND NOT EXISTS (
            SELECT 1
            FROM jobs j
            WHERE j.project_id = ?1 AND j.kind = 'lines' AND j.key = i.kind || ':' || i.number
          )
        ORDER BY i.number DESC
    """
    return [key for (key,) in store.rows(sql, project_id)]


def load_changes(store: Store, project_id: int, item_ids: Iterable[int]) -> dict[int, StoredItem]:
    """Return the changes of a project among these items, as far as the viewer may see them."""
    sql = f"""
        SELECT {ITEM_COLUMNS_WITHOUT_BODY}
        FROM items i
        JOIN projects p ON p.id = i.project_id
        WHERE i.id {one_of()} AND i.project_id = ? AND i.kind = 'change' AND i.deleted_at ISNULL
          AND {visible(store, "i")}
    """
    return {row[0]: as_item(row) for row in store.each(sql, pack_list(item_ids), project_id)}


def load_current_changes(store: Store, project_id: int, since_ms: int) -> dict[int, StoredItem]:
    """Return the changes that are open, or were closed since then, newest first."""
    sql = f"""
        SELECT {ITEM_COLUMNS_WITHOUT_BODY}
        FROM items i
        JOIN projects p ON p.id = i.project_id
        WHERE i.project_id = ? AND i.kind = 'change' AND i.deleted_at ISNULL AND {visible(store, "i")}
          AND (i.state = 'open' OR coalesce(i.merged_at, i.closed_at) >= ?)
        ORDER BY i.number DESC
    """
    return {row[0]: as_item(row) for row in store.each(sql, project_id, since_ms)}


def count_open_changes(store: Store, project_id: int) -> tuple[int, int]:
    """Return how many changes are open, and of how many of them the lines are known."""
    sql = f"""
        SELECT count(*), count(l.item_id)
        FROM items i
        LEFT JOIN change_lines l ON l.item_id = i.id
        WHERE i.project_id = ? AND i.kind = 'change' AND i.state = 'open' AND i.deleted_at ISNULL
          AND {visible(store, "i")}
    """
    row = store.row(sql, project_id)
    return (row[0], row[1]) if row else (0, 0)


def each_removed(store: Store, project_id: int) -> Iterator[tuple[int, "array[int]"]]:
    """Yield (item, hashes of the lines that it removes) of every change whose lines are known and may be seen."""
    sql = f"""
        SELECT l.item_id, l.removed
        FROM change_lines l
        JOIN items i ON i.id = l.item_id
        WHERE l.project_id = ? AND i.deleted_at ISNULL AND {visible(store, "i")}
    """
    return ((item_id, _unpack(packed)) for item_id, packed in store.each(sql, project_id))


def load_lines(store: Store, item_ids: Iterable[int]) -> dict[int, PatchLines]:
    """Return item -> its lines, of those that are known."""
    sql = f"""
        SELECT item_id, removed, added
        FROM change_lines
        WHERE item_id {one_of()}
    """
    rows = store.each(sql, pack_list(item_ids))
    return {item_id: PatchLines(tuple(_unpack(removed)), tuple(_unpack(added))) for item_id, removed, added in rows}


def load_closed_issues(store: Store, project_id: int, item_ids: Iterable[int]) -> dict[int, frozenset[int]]:
    """Return item -> the issues that it closes, as its own text says, or as the forge says of issues that the viewer
    may see.
    """
    sql = f"""
        SELECT l.item_id, l.target_number
        FROM item_links l
        WHERE l.item_id {one_of()} AND l.project_id = ? AND {_closes(store)}
    """
    found: dict[int, set[int]] = {}
    for item_id, number in store.each(sql, pack_list(item_ids), project_id):
        found.setdefault(item_id, set()).add(number)
    return {item_id: frozenset(numbers) for item_id, numbers in found.items()}


def list_closing_changes(store: Store, project_id: int, issues: Iterable[int]) -> set[int]:
    """Return the items that close one of these issues."""
    sql = f"""
        SELECT l.item_id
        FROM item_links l
        WHERE l.project_id = ? AND l.target_number {one_of()} AND {_closes(store)}
    """
    return {item_id for (item_id,) in store.each(sql, project_id, pack_list(issues))}


def _closes(store: Store) -> str:
    return f"""
        l.relation = 'closes' AND l.note_id ISNULL AND NOT l.is_withdrawn AND l.target_project = ''
        AND coalesce(l.target_kind, 'issue') = 'issue' AND (l.source = 'text' OR NOT EXISTS (
          SELECT 1
          FROM items t
          WHERE t.project_id = l.project_id AND t.kind = 'issue' AND t.number = l.target_number
            AND NOT ({visible(store, "t")})
        ))
    """


def _pack(hashes: Iterable[int]) -> bytes:
    packed = array("q", hashes)
    if byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _unpack(packed: bytes) -> "array[int]":
    hashes = array("q")
    hashes.frombytes(packed[: len(packed) // 8 * 8])
    if byteorder == "big":
        hashes.byteswap()
    return hashes
