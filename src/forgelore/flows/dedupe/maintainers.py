"""Maintainers of a project: who may write to it, from what was synced, or from the settings."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from forgelore.core.dedupe.maintainers import People, is_maintainer, writes
from forgelore.store.closing_items import load_associations, load_roles
from forgelore.store.db import Store
from forgelore.store.projects import StoredProject


class Maintainers(NamedTuple):
    """Who maintains a project, and how that is known: settings, members, associations, or nothing."""

    logins: list[str]
    known_by: str


def load_people(store: Store, project: StoredProject, logins: Iterable[str], *, named: Sequence[str] = ()) -> People:
    """Return what is known of these people."""
    roles = load_roles(store, project.id)
    # Forgejo lists collaborators alone; owners and members of teams may write as well.
    is_partial = set(roles.values()) == {"collaborator"}
    return People(
        roles, {} if roles else load_associations(store, project.id, logins), is_list_complete=not is_partial,
        owner=project.name.path.partition("/")[0] if is_partial else "", named=tuple(named),
    )  # fmt: skip


def find_maintainers(
    store: Store, project: StoredProject, logins: Iterable[str], *, named: Sequence[str] = ()
) -> dict[str, bool | None]:
    """Return login -> whether they maintain the project; None: nobody knows."""
    wanted = sorted(set(logins))
    people = load_people(store, project, wanted, named=named)
    return {login: is_maintainer(people, login) for login in wanted}


def list_maintainers(store: Store, project: StoredProject, *, named: Sequence[str] = ()) -> Maintainers:
    """Return the maintainers that are known by name."""
    if named:
        return Maintainers(sorted(named), "settings")
    roles = load_roles(store, project.id)
    found = sorted(login for login, role in roles.items() if writes(role))
    return Maintainers(found, "members" if roles else "associations")
