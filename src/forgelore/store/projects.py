"""Projects of the store: finding one by any of its names."""

from forgelore.errors import InvalidValue, NotFound
from forgelore.profiles import DEFAULT, PROFILES
from forgelore.store.database import SqlRow, Store
from forgelore.store.filters import in_view
from forgelore.text.refs import Hosts, parse_project, without_userinfo
from forgelore.text.values import suggest
from forgelore.words import ProjectName

_COLUMNS = "id, forge, host, path, forge_id, url, default_branch"


def _seen(store: Store) -> str:
    return in_view(store, "projects").replace("project_id", "id")


class StoredProject:
    """A row of `projects` that other rows hang on."""

    def __init__(self, row: SqlRow) -> None:
        self.id: int = row[0]
        self.name = ProjectName(row[1], row[2], row[3])
        self.forge_id: int | None = row[4]
        self.url: str | None = row[5]
        self.default_branch: str | None = row[6]


def list_projects(store: Store) -> list[StoredProject]:
    return [
        StoredProject(row)
        for row in store.rows(f"SELECT {_COLUMNS} FROM projects WHERE {_seen(store)} ORDER BY host, path_key")
    ]


def has_other_projects(store: Store, project_id: int) -> bool:
    return bool(store.value(f"SELECT EXISTS (SELECT 1 FROM projects WHERE id <> ? AND {_seen(store)})", project_id))


def find_project(store: Store, name: ProjectName, forge_id: int | None = None) -> StoredProject | None:
    """Return the project of that name, of that former name, or with that forge id on the same host."""
    if forge_id is not None:
        found = store.row(
            f"SELECT {_COLUMNS} FROM projects WHERE host = ? AND forge_id = ? AND {_seen(store)}", name.host, forge_id
        )
        if found:
            return StoredProject(found)
    key = name.path.lower()
    now = f"SELECT {_COLUMNS} FROM projects WHERE host = ? AND path_key = ? AND {_seen(store)}"
    formerly = f"""
        SELECT {_COLUMNS}
        FROM projects
        WHERE id = (SELECT project_id FROM project_aliases WHERE host = ? AND path_key = ?) AND {_seen(store)}
    """
    found = store.row(now, name.host, key) or store.row(formerly, name.host, key)
    return StoredProject(found) if found else None


def resolve_project(store: Store, text: str, hosts: Hosts) -> StoredProject:
    """Return the stored project that a person means by `text`; a bare path is enough when only one host has it. Raises
    NotFound with the one that was probably meant, or with those that are known.
    """
    text = without_userinfo(text)
    found = find_named(store, text, hosts)
    if found:
        return found
    known = list_projects(store)
    meant = _suggest_project(text, known)
    listed = ", ".join(str(project.name) for project in known[:8]) or "none yet"
    advice = f"did you mean {meant}? if not, fetch it" if meant else f"known: {listed}; fetch one"
    raise NotFound(f"project {text!r} is not in this database", hint=f"{advice} with: forgelore sync {text}")


def find_named(store: Store, text: str, hosts: Hosts) -> StoredProject | None:
    """Return the stored project that a person means by `text`, None where there is none of that name. Raises
    InvalidValue where several hosts have one.
    """
    text = without_userinfo(text)
    try:
        found = find_project(store, parse_project(text, hosts, probe=lambda _host: DEFAULT.name))
    except InvalidValue:
        found = None
    if found:
        return found
    prefix, _, rest = text.partition(":")
    key = (rest if prefix in PROFILES else text).strip("/").lower()
    rows = store.rows(f"SELECT {_COLUMNS} FROM projects WHERE path_key = ? AND {_seen(store)}", key)
    if len(rows) > 1:
        known = ", ".join(str(StoredProject(row).name) for row in rows[:8])
        raise InvalidValue(f"{text!r} is on several hosts", hint=f"give the URL; known: {known}")
    return StoredProject(rows[0]) if rows else None


def find_by_last_part(store: Store, name: str) -> StoredProject | None:
    """Return the one project whose path ends with this part: `rust` is rust-lang/rust. None where several do."""
    return _ending_with(list_projects(store), name)


def _suggest_project(text: str, known: list[StoredProject]) -> str | None:
    """Return the name that a misspelt or shortened one was probably meant to be."""
    if meant := _ending_with(known, text):
        return str(meant.name)
    return suggest(text, [str(one.name) for one in known]) or suggest(text, [one.name.path for one in known])


def _ending_with(known: list[StoredProject], name: str) -> StoredProject | None:
    found = [project for project in known if project.name.path.lower().rpartition("/")[2] == name.lower()]
    return found[0] if len(found) == 1 else None
