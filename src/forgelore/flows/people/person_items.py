"""Items as they concern a person: what it is, when and by whom they were drawn in, and in which words."""

import datetime as dt
from collections.abc import Callable, Iterable
from typing import NamedTuple

from forgelore.core.names import note_page, shown_ref
from forgelore.core.times import as_time
from forgelore.store.person_history import DoneRow
from forgelore.store.person_work import WorkRow
from forgelore.words import ProjectName

EXCERPT = 300  # characters of what was said


class PersonItem(NamedTuple):
    """An item that somebody wrote, reviewed or is wanted for. `at`: when; `by` and `text`: who said what; `verdict`:
    of a review; `path` and `line`: of a thread; `url`: of the note, or of the item.
    """

    ref: str
    kind: str
    number: int
    title: str
    state: str | None
    author: str | None
    updated_at: dt.datetime | None
    project: str
    url: str | None
    at: dt.datetime | None = None
    by: str | None = None
    text: str = ""
    verdict: str | None = None
    path: str | None = None
    line: int | None = None
    is_answered: bool = False


def work_item(row: WorkRow, text: str = "") -> PersonItem:
    """Return a row of what waits for a person, with the words that were said."""
    url = note_page(row.forge, row.item_url, row.note_key, row.note_url) if row.note_key else row.item_url
    return _item(row, url or row.item_url)._replace(
        by=row.by, text=text[:EXCERPT], path=row.path, line=row.line, is_answered=bool(row.is_answered)
    )


def done_item(row: DoneRow) -> PersonItem:
    """Return a row of what a person did."""
    return _item(row, row.item_url)._replace(verdict=row.verdict, path=row.path, line=row.line)


def _item(row: WorkRow | DoneRow, url: str | None) -> PersonItem:
    return PersonItem(
        shown_ref(row.forge, row.kind, row.number, row.tag), row.kind, row.number, row.title, row.state, row.author,
        as_time(row.updated_at), str(ProjectName(row.forge, row.host, row.project_path)), url, as_time(row.at or None),
    )  # fmt: skip


def first_of_each(rows: Iterable[WorkRow], said: Callable[[WorkRow], str]) -> list[PersonItem]:
    """Return each item once, by the first of its rows of which something was `said`."""
    found: dict[tuple[str, str, str, int], PersonItem] = {}
    for row in rows:
        place = (row.host, row.project_path, row.kind, row.number)
        if place not in found and (text := said(row)):
            found[place] = work_item(row, text)
    return list(found.values())
