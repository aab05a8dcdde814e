"""One request on its way through the API: who asks, with which parameters, and what may they see?

Errors come in GitLab's three dresses: {"message": text}, {"message": {field: [texts]}} and {"error": text}.
"""

import json
import re
import urllib.parse

from ..base import Request, parse_time  # noqa: TID252  works as servers.* and as tests.servers.*
from .project import Project
from .records import Item, Note, Token, stamp
from .state import World

GUEST, REPORTER = 10, 20
TRUE = ("true", "t", "1", "on", "yes", "y")  # any case: clients in Python send "True"
FALSE = ("false", "f", "0", "off", "no", "n")
ZONE = re.compile(r"(Z|[+-]\d\d:?\d\d)\Z")
DATE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?\Z")


class ApiError(Exception):
    def __init__(self, status: int, body, headers: dict[str, str] | None = None):
        super().__init__(status, body)
        self.status = status
        self.body = body
        self.headers = headers or {}


def not_found(what: str = "") -> ApiError:
    """`not_found("Project")` -> 404 Project Not Found; a record that is missing says "404 Not found"."""
    return ApiError(404, {"message": f"404 {what} Not Found" if what else "404 Not found"})


def forbidden() -> ApiError:
    return ApiError(403, {"message": "403 Forbidden"})


class Call:
    def __init__(self, server, request: Request, token: Token | None):
        self.server = server
        self.world: World = server.world
        self.request = request
        self.token = token
        self.level = token.access_level if token else 0
        self._body = None

    @property
    def who(self) -> str | None:
        return self.token.username if self.token else None

    def arg(self, name: str, default: str | None = None) -> str | None:
        return self.request.arg(name, default)

    def integer(self, name: str, default: int) -> int:
        text = self.arg(name)
        if text in (None, ""):
            return default
        if not re.fullmatch(r"-?\d+", text):
            raise ApiError(400, {"error": f"{name} is invalid"})
        return int(text)

    def flag(self, name: str, default: bool | None = None) -> bool | None:
        text = self.arg(name)
        if text is None:
            return default
        if text.lower() not in TRUE + FALSE:
            raise ApiError(400, {"error": f"{name} is invalid"})
        return text.lower() in TRUE

    def choice(self, name: str, allowed: tuple[str, ...], default: str) -> str:
        value = self.arg(name, default)
        if value not in allowed:
            raise ApiError(400, {"error": f"{name} does not have a valid value"})
        return value

    def date(self, name: str) -> str | None:
        """The instant as the records write it. A raw '+' has become a space by now, hence 400."""
        text = self.arg(name)
        if text is None:
            return None
        try:
            if not DATE.match(text):
                raise ValueError(text)
            full = text if "T" in text else f"{text}T00:00:00"
            return stamp(parse_time(full if ZONE.search(full) else f"{full}Z"))
        except ValueError:
            raise ApiError(400, {"error": f"{name} is invalid"}) from None

    def body(self) -> dict:
        """Parameters of a write: JSON or a form, over those of the query string, which GitLab takes too."""
        if self._body is None:
            self._body = {name: values[-1] for name, values in self.request.query.items()} | self._read_body()
        return self._body

    def _read_body(self) -> dict:
        if not self.request.body:
            return {}
        if "json" in self.request.headers.get("content-type", ""):
            try:
                return dict(json.loads(self.request.body))
            except (ValueError, TypeError):
                raise ApiError(400, {"error": "The request body is not valid JSON"}) from None
        form = urllib.parse.parse_qs(self.request.body.decode(), keep_blank_values=True)
        return {name: values[-1] for name, values in form.items()}

    def project(self, reference: str) -> Project:
        world = self.world
        path = reference.lower()
        found = world.projects.get(int(reference)) if reference.isdigit() else world.paths.get(path)
        moved = None if found or path not in world.moved else world.projects[world.moved[path]]
        project = found or moved
        if project is None or not self.may_enter(project):
            raise not_found("Project")
        if moved:
            raise self._moved_to(moved)
        return project

    def may_enter(self, project: Project) -> bool:
        if project.visibility == "internal":
            return self.token is not None
        is_member = self.token is not None and self.token.private_access and self.level >= GUEST
        return project.visibility == "public" or is_member

    def may_use(self, project: Project, feature: str) -> bool:
        """By level and role, as app/models/project_feature.rb has it: some things are not for guests."""
        if not self.may_enter(project) or project.level(feature) == "disabled":
            return False
        is_hidden = feature == "merge_requests" or (feature == "repository" and project.private)
        is_open = not project.private and project.level(feature) != "private"
        return is_open or self.level >= (REPORTER if is_hidden else GUEST)

    def _moved_to(self, project: Project) -> ApiError:
        if self.request.method not in ("GET", "HEAD"):
            return ApiError(405, {"message": "Non GET methods are not allowed for moved projects"})
        path = re.sub(r"(/projects/)[^/]+", rf"\g<1>{project.id}", self.request.path, count=1)
        query = urllib.parse.urlencode(self.request.query, doseq=True)
        url = f"{self.request.base}{path}" + (f"?{query}" if query else "")
        text = f"This resource has been moved permanently to {url}"
        return ApiError(301, text, {"Location": url, "Content-Type": "text/plain"})

    def tracker(self, reference: str, items: str) -> tuple[Project, str]:
        """The project and the kind of item, provided that the project has that feature switched on."""
        project = self.project(reference)
        kind = "issue" if items == "issues" else "change"
        if not self.may_use(project, items):
            raise forbidden()
        return project, kind

    def item(self, reference: str, items: str, iid: str, *, named: bool = False) -> Item:
        """The item, or 404. `named`: the notes API says which kind of thing is missing, the others do not."""
        project, kind = self.tracker(reference, items)
        if not iid.isdigit():
            raise ApiError(400, {"error": f"{'issue' if kind == 'issue' else 'merge_request'}_iid is invalid"})
        item = project.items(kind).get(int(iid))
        if item is None or not self.may_read(item):
            raise not_found(("Issue" if kind == "issue" else "MergeRequest") if named else "")
        return item

    def may_read(self, item: Item) -> bool:
        feature = "issues" if item.kind == "issue" else "merge_requests"
        return self.may_use(item.project, feature) and (not item.confidential or self.level >= REPORTER)

    def sees_duplicate(self, item: Item) -> bool:
        """Strangers never learn it, readers only where they may read the other issue (entities/issue.rb)."""
        return bool(self.token and item.duplicate_of and self.may_read(item.duplicate_of))

    def may_read_note(self, note: Note) -> bool:
        if note.internal and self.level < REPORTER:
            return False
        return note.mentioner is None or self.may_read(note.mentioner)

    def may_update(self, item: Item) -> bool:
        return self.level >= REPORTER or (self.token is not None and item.author == self.who)
