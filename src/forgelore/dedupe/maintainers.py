"""Maintainers: people whose items are never closed. Where the forge does not say who they are, nothing is closed.

    GitHub     admin, maintain, write among the collaborators; where the list is refused, the association of what they
               wrote: OWNER, MEMBER, COLLABORATOR
    GitLab     Developer and above among the members
    Forgejo    collaborators and the owner; who else may write (teams) is not listed, so all others are unknown

The setting `maintainers` names them instead; it is then taken as complete.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from forgelore.dedupe.clusters import protects
from forgelore.dedupe.journal import WriteContext
from forgelore.dedupe.reasons import ReasonCode
from forgelore.model import Cursor, Item, ProjectName
from forgelore.store.closings import load_associations, load_roles
from forgelore.store.database import Store
from forgelore.store.projects import StoredProject, save_members
from forgelore.sync.pages import KnownStore


class Maintainers(NamedTuple):
    """Who maintains a project, and how that is known: settings, members, associations, or nothing."""

    logins: list[str]
    known_by: str


def load_people(store: Store, project: StoredProject, logins: Iterable[str], *, named: Sequence[str] = ()) -> "People":
    """Return the roles and associations of these people."""
    roles = load_roles(store, project.id)
    associations = {} if roles else load_associations(store, project.id, logins)
    return people_of(project.name, roles, associations, named=named)


def people_of(
    name: ProjectName, roles: Mapping[str, str], associations: Mapping[str, frozenset[str]], *,
    named: Sequence[str] = (),
) -> "People":  # fmt: skip
    """Return what lists of a project's people say. Associations are needed only where the list of roles is refused."""
    # Forgejo lists collaborators alone; owners and members of teams may write as well.
    is_partial = set(roles.values()) == {"collaborator"}
    owner = name.path.partition("/")[0] if is_partial else ""
    return People(roles, associations, is_list_complete=not is_partial, owner=owner, named=tuple(named))


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


class LivePeople:
    """Who maintains a project now. `named`: by the settings, which are then taken as complete."""

    def __init__(self, context: WriteContext, named: Sequence[str]) -> None:
        self._context, self._named = context, tuple(named)
        self._is_listed = bool(named) or _refresh(context)

    def speak_for_us(self, login: str | None) -> bool:
        """Tell whether what somebody wrote may be ours: our own account's, or a maintainer's with a store of theirs."""
        if login is None:
            return False
        own, found = (
            self._context.own,
            find_maintainers(self._context.store, self._context.job.project, [login], named=self._named),
        )
        return bool(found.get(login)) or own is None or login.lower() == own.lower()

    def protects(self, item: Item) -> ReasonCode | None:
        """Return why an item must not be closed: it is a maintainer's, or may be."""
        context = self._context
        logins = [login for login in (item.author, *item.assignees) if login]
        found = find_maintainers(context.store, context.job.project, logins, named=self._named)
        if item.author and not self._is_listed and is_associated(item.author_role):
            found[item.author] = True
        return protects(item.author, item.assignees, found)


def _refresh(context: WriteContext) -> bool:
    """Read the list of people again and keep it; False where the forge refuses it: the stored list is used then."""
    known, is_listed = KnownStore(context.store, context.project_id), False
    for page in context.forge.pages(context.project, "members", Cursor(), known, context.now_ms()):
        if page.members is not None:
            with context.store.transaction():
                context.lock.confirm(context.now_ms())
                save_members(context.store, context.project_id, page.members)
            is_listed = True
    return is_listed


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
