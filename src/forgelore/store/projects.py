"""Projects of the store: finding one by any of its names."""

from forgelore.core.names import Hosts, parse_project, without_userinfo
from forgelore.errors import InvalidValue, NotFound
from forgelore.profiles import DEFAULT, PROFILES
from forgelore.store.db import SqlRow, Store
from forgelore.words import ProjectName

_COLUMNS = "id, forge, host, path, forge_id, url, default_branch"


class StoredProject:
    """A row of `projects` that other rows hang on."""

    def __init__(self, row: SqlRow) -> None:
        self.id: int = row[0]
        self.name = ProjectName(row[1], row[2], row[3])
        self.forge_id: int | None = row[4]
        self.url: str | None = row[5]
        self.default_branch: str | None = row[6]


def list_projects(store: Store) -> list[StoredProject]:
    return [StoredProject(row) for row in store.rows(f"SELECT {_COLUMNS} FROM projects ORDER BY host, path_key")]


def has_other_projects(store: Store, project_id: int) -> bool:
    return bool(store.value("SELECT EXISTS (SELECT 1 FROM projects WHERE id <> ?)", project_id))


def find_project(store: Store, name: ProjectName, forge_id: int | None = None) -> StoredProject | None:
    """Return the project of that name, of that former name, or with that forge id on the same host."""
    if forge_id is not None:
        found = store.row(f"SELECT {_COLUMNS} FROM projects WHERE host = ? AND forge_id = ?", name.host, forge_id)
        if found:
            return StoredProject(found)
    key = name.path.lower()
    now = f"SELECT {_COLUMNS} FROM projects WHERE host = ? AND path_key = ?"
    formerly = f"""
        SELECT {_COLUMNS}
        FROM projects
        WHERE id = (SELECT project_id FROM project_aliases WHERE host = ? AND path_key = ?)
    """
    found = store.row(now, name.host, key) or store.row(formerly, name.host, key)
    return StoredProject(found) if found else None


def resolve_project(store: Store, text: str, hosts: Hosts) -> StoredProject:
    """Return the stored project that a person means by `text`; a bare path is enough when only one host has it."""
    text = without_userinfo(text)
    try:
        found = find_project(store, parse_project(text, hosts, probe=lambda _host: DEFAULT.name))
    except InvalidValue:
        found = None
    if found:
        return found
    prefix, _, rest = text.partition(":")
    key = (rest if prefix in PROFILES else text).strip("/").lower()
    rows = store.rows(f"SELECT {_COLUMNS} FROM projects WHERE path_key = ?", key)
    if len(rows) == 1:
        return StoredProject(rows[0])
    known = ", ".join(str(project.name) for project in list_projects(store)[:8]) or "none yet"
    if rows:
        raise InvalidValue(f"{text!r} is on several hosts", hint=f"give the URL; known: {known}")
    raise NotFound(
        f"project {text!r} is not in this database", hint=f"known: {known}; fetch one with: forgelore sync {text}"
    )
