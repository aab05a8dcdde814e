"""What a person says of duplicates. One row is written: nothing that finds or judges them is imported."""

import getpass
import os
from typing import NamedTuple

from forgelore.app import App
from forgelore.browse.refs import find_row
from forgelore.dedupe.overrides import OverrideAction, override
from forgelore.errors import InvalidValue
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
    store = app.store(create=True)
    meant = app.find_project(project)
    texts = (ref, *([target] if target else []))
    rows = [find_row(store, parse_ref(text), meant, app.hosts) for text in texts]
    if len({row.project_id for row in rows}) > 1:
        raise InvalidValue(
            "the items belong to different projects", hint="duplicates are looked for within one project"
        )
    person = user_name()
    other = rows[1].id if target else None
    override(store, rows[0].project_id, action, rows[0].id, other, said_by=person, now_ms=app.now_ms())
    return SaidOverride(action, ref, target, person)


def user_name() -> str:
    """Return who is signed in at this machine; a user without a name, as in a container, by its number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
