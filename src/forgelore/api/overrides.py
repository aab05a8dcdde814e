"""What a person says of duplicates. One row is written: nothing that finds or judges them is imported."""

import getpass
import os
from collections.abc import Sequence
from typing import NamedTuple

from forgelore.app import App
from forgelore.browse.refs import find_row
from forgelore.dedupe.overrides import OverrideAction, override
from forgelore.errors import InvalidValue
from forgelore.store.item_lists import StoredItem
from forgelore.text.refs import parse_ref


class SaidOverride(NamedTuple):
    """What a person said of an item, or of a pair; it outlives every rerun."""

    action: OverrideAction
    ref: str
    target: str | None
    said_by: str


def say_override(
    app: App, action: OverrideAction, ref: str, target: str | None, *, project: str | None
) -> SaidOverride:
    """Keep what the person at this machine says of items of one project."""
    rows = find_pair(app, (ref, *([target] if target else [])), project)
    store, person = app.store(), user_name()
    other = rows[1].id if target else None
    override(store, rows[0].project_id, action, rows[0].id, other, said_by=person, now_ms=app.now_ms())
    return SaidOverride(action, ref, target, person)


def find_pair(app: App, refs: Sequence[str], project: str | None) -> list[StoredItem]:
    """Return the items that a person names, one or two of one project, in a store that can be written."""
    store, meant = app.store(create=True), app.find_project(project)
    rows = [find_row(store, parse_ref(text), meant, app.hosts) for text in refs]
    if len({row.project_id for row in rows}) > 1:
        raise InvalidValue(
            "the items belong to different projects", hint="duplicates are looked for within one project"
        )
    return rows


def user_name() -> str:
    """Return who is signed in at this machine; a user without a name, as in a container, by its number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
