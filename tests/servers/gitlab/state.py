"""The world of a local GitLab: its projects, groups and users, where they moved, how they are numbered."""

import collections
import itertools

from ..base import Clock, parse_time  # noqa: TID252  works as servers.* and as tests.servers.*
from .project import Project
from .records import GHOST, User, stamp


class World:
    """Every project, user and group of one server, and the counters that number them."""

    def __init__(self, clock: Clock, lock, web):
        self.clock = clock
        self.lock = lock
        self._web = web  # a function: the port is known once the server runs
        self.projects: dict[int, Project] = {}
        self.paths: dict[str, Project] = {}
        self.moved: dict[str, int] = {}  # old path -> project id
        self.groups: dict[str, int] = {}  # full path -> id
        self.users: dict[str, User] = {}
        self._ids = collections.defaultdict(lambda: itertools.count(101))

    @property
    def web(self) -> str:
        return self._web()

    def at(self, when=None) -> str:
        if when is None:
            return stamp(self.clock.now())
        return stamp(parse_time(when) if isinstance(when, str) else when)

    def next_id(self, table: str) -> int:
        return next(self._ids[table])

    def user(self, username: str) -> User:
        if username not in self.users:
            name = "Ghost User" if username == GHOST else username.replace("-", " ").replace("_", " ").title()
            self.users[username] = User(self.next_id("user"), username, name)
        return self.users[username]

    def find_project(self, path: str) -> Project:
        return self.paths[path.lower()]

    def add_project(self, path: str, *, personal=False, **settings) -> Project:
        if path.lower() in self.paths:
            raise ValueError(f"project {path!r} exists")
        project = Project(self, self.next_id("project"), path, personal=personal, **settings)
        self.projects[project.id] = self.paths[path.lower()] = project
        self.moved.pop(path.lower(), None)  # a new project takes over a path that redirected elsewhere
        self._add_groups(project)
        return project

    def rename(self, old: str, new: str) -> None:
        project = self.paths.pop(old.lower())
        project.path = new
        self.paths[new.lower()] = project
        self.moved[old.lower()] = project.id
        self._add_groups(project)

    def remove_project(self, path: str) -> None:
        project = self.paths.pop(path.lower())
        del self.projects[project.id]
        self.moved = {old: number for old, number in self.moved.items() if number != project.id}

    def _add_groups(self, project: Project) -> None:
        if project.personal:
            self.user(project.namespace)
            return
        parts = project.namespace.split("/")
        for depth in range(1, len(parts) + 1):
            self.groups.setdefault("/".join(parts[:depth]), self.next_id("group"))
