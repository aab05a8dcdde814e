"""The world behind the local GitHub: users, projects, names that moved, and what each project holds.

`World` answers "which project or record is this?"; `Project` holds one repository's records and gets its verbs
(add_issue, comment, merge, ...) from the modules beside this one. Every verb takes the server's lock.
"""

import datetime as dt

from ..base import UTC, parse_time  # noqa: TID252  works as servers.* and as tests.servers.*
from . import changes, forum, issues
from .records import (
    Change,
    Comment,
    Event,
    Item,
    Label,
    ReviewComment,
    User,
    database_id,
    node_id,
)

PUSH = ("push", "maintain", "admin")
ORDERS = {
    "created": lambda thing: (thing.created_at, thing.id),
    "updated": lambda thing: (thing.updated_at, thing.id),
    "comments": lambda thing: (len(thing.comments), thing.id),
    "id": lambda thing: (thing.id,),
}


def stamp(moment: dt.datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class World:
    """Every record of one server, by name and by number."""

    def __init__(self, clock, lock, web):
        self.clock = clock
        self.lock = lock
        self.web = web  # a function: the host is known only once the server listens
        self.next_id = 1_000_001  # set it above 2**31 to see what GraphQL's 32-bit databaseId does
        self.by_id: dict[int, object] = {}
        self.projects: dict[int, Project] = {}
        self.names: dict[str, Project] = {}
        self.moved: dict[str, Project] = {}
        self.users: dict[str, User] = {}

    def now(self) -> str:
        return stamp(self.clock.now())

    def at(self, moment) -> str:
        """The time a verb happens: the one given (text or datetime), or the server's now."""
        if moment is None:
            return self.now()
        return stamp(parse_time(moment) if isinstance(moment, str) else moment)

    def add(self, kind, *args, **fields):
        thing = kind(self.next_id, *args, **fields)
        self.by_id[thing.id] = thing
        self.next_id += 1
        return thing

    def user(self, login: str | None, kind: str | None = None) -> User | None:
        if login is None:
            return None
        if login.lower() not in self.users:
            guess = "Bot" if login.endswith("[bot]") else "User"
            self.users[login.lower()] = self.add(User, login, kind or guess)
        return self.users[login.lower()]

    def node(self, text: str):
        """The record with this global id; None when it never existed or is gone."""
        thing = self.by_id.get(database_id(text))
        return thing if thing is not None and node_id(thing) == text else None


class Project(issues.IssueVerbs, changes.ChangeVerbs, forum.ForumVerbs):
    """One repository. Lists are kept in the order of creation; sorted views are cached until a verb runs."""

    def __init__(self, number: int, world: World, owner: str, name: str, **settings):
        self.id = number
        self.world = world
        self.owner = owner
        self.name = name
        is_private = settings.pop("private", False)
        self.visibility = settings.pop("visibility", "private" if is_private else "public")
        self.told: dict[str, object] = {}  # laid over the repository's payload; None: the field is missing
        self.has_issues = settings.pop("has_issues", True)
        self.has_suggestions = settings.pop("has_suggestions", True)
        self.reactions: list[tuple] = []  # comment, content, login; thumbs that people give are counted on the comment
        self.suggestions: list[dict] = []  # of closings and labels, as REST shows them
        self.has_discussions = settings.pop("has_discussions", True)
        self.default_branch = settings.pop("default_branch", "main")
        self.archived = settings.pop("archived", False)
        self.description = settings.pop("description", None)
        assert not settings, f"unknown settings: {settings}"
        self.created_at = self.updated_at = world.now()
        self.items: dict[int, Item] = {}
        self.gone: dict[int, object] = {}  # number -> None when deleted, the Item's new self when transferred
        self.last_number = 0
        self.comments: dict[int, Comment] = {}
        self.review_comments: dict[int, ReviewComment] = {}
        self.releases: dict[int, object] = {}
        self.labels: dict[str, Label] = {}
        self.categories: dict[str, object] = {}
        self.collaborators: dict[str, str] = {}
        self.branch_files: dict[str, dict[str, str]] = {}  # branch -> path -> text
        self.branch_times: dict[str, str] = {}  # branch -> when its last commit was made
        self._views: dict = {}

    @property
    def private(self) -> bool:
        """True for internal ones too, as in GitHub's own answers."""
        return self.visibility != "public"

    @private.setter
    def private(self, is_private: bool) -> None:
        self.visibility = "private" if is_private else "public"

    @property
    def path(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def web(self) -> str:
        return f"{self.world.web()}/{self.path}"

    def permission(self, login: str | None) -> str | None:
        """admin, maintain, push, triage or pull; None for strangers."""
        if login is None:
            return None
        return "admin" if login.lower() == self.owner.lower() else self.collaborators.get(login.lower())

    def may_push(self, login: str | None) -> bool:
        return self.permission(login) in PUSH

    def changed(self) -> None:
        self._views.clear()

    def view(self, key, build):
        if key not in self._views:
            self._views[key] = build()
        return self._views[key]

    def ordered(self, kinds: tuple[str, ...], order: str) -> list[Item]:
        """Live items of these kinds, ascending."""
        pick = lambda: sorted((i for i in self.items.values() if i.kind in kinds), key=ORDERS[order])  # noqa: E731
        return self.view((kinds, order), pick)

    def ordered_comments(self, name: str, order: str) -> list[Comment]:
        """`name` is "comments" or "review_comments"; ascending."""
        return self.view((name, order), lambda: sorted(getattr(self, name).values(), key=ORDERS[order]))

    def closers(self) -> dict[int, list[Change]]:
        """Issue number -> the changes whose body says that they fix it."""

        def build():
            found: dict[int, list[Change]] = {}
            for change in self.ordered(("change",), "id"):
                for project, number in changes.closing_references(change):
                    if project is self:
                        found.setdefault(number, []).append(change)
            return found

        return self.view("closers", build)

    def record_event(self, item: Item, event: str, actor: str | None, at: str, **extra) -> Event:
        done = self.world.add(Event, item, event, actor or item.author or self.owner, at, extra)
        item.events.append(done)
        return done

    def label(self, name: str) -> Label:
        """The label of that name, made on the spot as GitHub does when an issue names a new one."""
        if name.lower() not in self.labels:
            self.labels[name.lower()] = self.world.add(Label, self, name, description="", created_at=self.world.now())
        return self.labels[name.lower()]

    def add_label(self, name: str, color: str = "ededed", description: str | None = None) -> int:
        with self.world.lock:
            label = self.label(name)
            label.color, label.description = color, description
            return label.id

    def add_collaborator(self, login: str, permission: str = "push") -> None:
        self.world.user(login)
        self.collaborators[login.lower()] = permission
