"""People of items (`item_people`): replacing who an item or note asks for a review, says it gave one, or mentions."""

from collections.abc import Iterable

from msgspec import Struct

from forgelore.model import Involvement, PeopleSource
from forgelore.store.db import SqlRow, Store

_COLUMNS = "login, role, verdict, source, created_at"


class PeopleRow(Struct, gc=False):
    item_id: int
    note_id: int | None
    people: list[Involvement]


def load_owner(store: Store, project_id: int) -> str:
    """Return the first part of a project's path: whose teams its texts call."""
    path = store.value("SELECT path FROM projects WHERE id = ?", project_id)
    return str(path or "").partition("/")[0]


def save_people(store: Store, project_id: int, rows: Iterable[PeopleRow]) -> None:
    sql = f"""
        INSERT INTO item_people (project_id, item_id, note_id, {_COLUMNS})
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    """
    store.run_many(
        sql, ((project_id, row.item_id, row.note_id, *columns) for row in rows for columns in _columns(row.people))
    )


def restore_people(store: Store, project_id: int, row: PeopleRow, sources: tuple[PeopleSource, ...]) -> bool:
    """Make what an item or note says of people through these sources this, and write nothing when it is; returns
    whether it was not.
    """
    whose = "item_id = ? AND note_id IS NULL" if row.note_id is None else "note_id = ?"
    where = f"{whose} AND source IN ({', '.join('?' * len(sources))})"
    place = (row.item_id if row.note_id is None else row.note_id, *sources)
    stored = store.rows(f"SELECT {_COLUMNS} FROM item_people WHERE {where}", *place)
    if sorted(map(repr, stored)) == sorted(map(repr, _columns(row.people))):
        return False
    store.run(f"DELETE FROM item_people WHERE {where}", *place)
    save_people(store, project_id, [row])
    return True


def _columns(people: Iterable[Involvement]) -> list[SqlRow]:
    return [(one.login, one.role, one.verdict, one.source, one.created_at) for one in people]


def drop_item_people(store: Store, item_ids: list[int], sources: tuple[PeopleSource, ...]) -> None:
    """Forget what the items themselves (not their notes) said through these sources."""
    sql = f"""
        DELETE FROM item_people
        WHERE item_id = ? AND note_id IS NULL AND source IN ({", ".join("?" * len(sources))})
    """
    store.run_many(sql, [(item_id, *sources) for item_id in item_ids])


def drop_note_people(store: Store, note_ids: Iterable[int]) -> None:
    store.run_many("DELETE FROM item_people WHERE note_id = ?", [(note_id,) for note_id in note_ids])


def replace_silent_reviews(store: Store, project_id: int, item_id: int, reviews: list[Involvement]) -> None:
    """Make these the reviews without words of a change."""
    restore_people(store, project_id, PeopleRow(item_id, None, reviews), ("review",))
