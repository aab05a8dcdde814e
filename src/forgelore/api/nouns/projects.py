"""`history.projects`: which projects the file holds, and which one a person means."""

from collections.abc import Sequence

from forgelore.app import App
from forgelore.errors import InvalidValue
from forgelore.store.projects import StoredProject, list_projects, resolve_project
from forgelore.text.values import check_filled


class Projects:
    """The projects of one file."""

    def __init__(self, app: App) -> None:
        self._app = app

    def name(self, text: str | None = None) -> str | None:
        """Return the full name of the stored project a person means: by any of its names, else by the clone they are
        in, else the only one there is. None stands for all of them.
        """
        project = self._app.find_project(text)
        return str(project.name) if project else None

    def list(self, texts: Sequence[str] = ()) -> "list[str]":
        """Return the full names of these stored projects, or of all."""
        found = [load_project(self._app, text) for text in texts] or list_projects(self._app.store())
        return [str(project.name) for project in found]

    @property
    def are_several(self) -> bool:
        """Whether the file holds more than one project, so that a number alone may mean several items."""
        return has_several_projects(self._app)


def load_project(app: App, text: str) -> StoredProject:
    """Return the stored project of that name. Raises NotFound or InvalidValue with those that are known."""
    return resolve_project(app.store(), check_filled("the project's name", text), app.hosts)


def project_ids(app: App, text: str | None) -> list[int]:
    """Return the id of the named project, or those of all."""
    found = list_projects(app.store()) if text is None else [load_project(app, text)]
    return [project.id for project in found]


def find_project(app: App, text: str | None) -> StoredProject | None:
    """Return the named project; None stands for all."""
    return None if text is None else load_project(app, text)


def require_project(app: App, text: str | None) -> StoredProject:
    """Return the one project that is meant: the named one, the clone's, or the only one there is."""
    found = app.find_project(text)
    if found is None:
        known = ", ".join(str(project.name) for project in list_projects(app.store())[:5])
        raise InvalidValue("no project named", hint=f"name one: {known or 'sync one first'}")
    return found


def has_several_projects(app: App) -> bool:
    """Tell whether a number alone may mean several items, so that refs have to name their project."""
    return len(list_projects(app.store())) > 1
