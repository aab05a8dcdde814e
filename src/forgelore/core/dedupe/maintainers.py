"""Maintainers: who of a project's people is one, as far as the forge tells. Unknown means that nothing is closed.

    GitHub     admin, maintain, write among the collaborators; where the list is refused, the association of what they
               wrote: OWNER, MEMBER, COLLABORATOR
    GitLab     Developer and above among the members
    Forgejo    collaborators and the owner; who else may write (teams) is not told, so all others are unknown

The setting `maintainers` names them instead; it is then taken as complete.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

_WRITES = frozenset(
    ("admin", "maintain", "write", "developer", "maintainer", "owner", "collaborator", "member", "30", "40", "50")
)
_READS = frozenset(("read", "triage", "guest", "planner", "reporter", "none", "0", "5", "10", "15", "20"))
_ASSOCIATED = frozenset(("OWNER", "MEMBER", "COLLABORATOR"))


class People(NamedTuple):
    """What is known of a project's people. `roles`: login -> role, empty where the list is refused."""

    roles: Mapping[str, str]
    associations: Mapping[str, frozenset[str]]  # login -> what the forge says beside what they wrote
    is_list_complete: bool
    owner: str = ""
    named: Collection[str] = ()  # by the settings


def is_maintainer(people: People, login: str) -> bool | None:
    """Tell whether somebody maintains the project; None: nobody knows."""
    name = login.lower()
    if people.named:
        return name in {one.lower() for one in people.named}
    role = people.roles.get(name)
    if role is not None or (people.owner and name == people.owner.lower()):
        return True if role is None else writes(role)
    if people.roles:
        return False if people.is_list_complete else None
    said = people.associations.get(name)
    return bool(said & _ASSOCIATED) if said else None


def is_associated(association: str | None) -> bool:
    """Tell whether what GitHub says beside an item (its association) makes its author a maintainer."""
    return association in _ASSOCIATED


def writes(role: str) -> bool | None:
    """Tell whether a role may write to the project; None for one that an organisation has made up."""
    return True if role.lower() in _WRITES else False if role.lower() in _READS else None
