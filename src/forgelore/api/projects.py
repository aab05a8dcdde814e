"""Projects by name: which stored project the methods of the facade mean by what they are given."""

from forgelore.app import App
from forgelore.errors import InvalidValue
from forgelore.store.projects import StoredProject, list_projects, resolve_project
from forgelore.text.values import check_filled


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
        raise InvalidValue("which project is meant?", hint=f"name one: {known or 'sync one first'}")
    return found


def has_several_projects(app: App) -> bool:
    """Tell whether a number alone may mean several items, so that refs have to name their project."""
    return len(list_projects(app.store())) > 1
