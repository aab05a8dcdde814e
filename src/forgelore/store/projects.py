"""Projects of the store: finding one by any of its names, and saving what changed of it, its labels and members."""

from typing import TYPE_CHECKING

from forgelore.errors import InvalidValue, NotFound
from forgelore.profiles import DEFAULT, PROFILES
from forgelore.store.database import SqlRow, Store
from forgelore.store.filters import in_view
from forgelore.text.refs import Hosts, parse_project, without_userinfo
from forgelore.text.values import suggest
from forgelore.words import ProjectName

if TYPE_CHECKING:  # a list is shown without msgspec
    from forgelore.model import Label, Member, Project

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


_FACTS = (  # columns, and what `Project` calls them
    "forge_id", "url", "default_branch", "description", "is_private", "is_archived", "has_issues", "has_changes",
    "has_discussions",
)  # fmt: skip


def save_project(store: Store, project: "Project", now_ms: int) -> StoredProject:
    """Insert or update; a project found under a new name keeps its rows and remembers the old name."""
    from forgelore.store.links import adopt_names  # whoever only reads loads neither
    from forgelore.store.payloads import drop_payloads, row_hash, save_payloads

    digest = row_hash(project.raw)
    known = find_project(store, project.name, project.forge_id)
    if known is not None and None not in (known.forge_id, project.forge_id) and known.forge_id != project.forge_id:
        _set_aside(store, known, project.name)
        known = None
    if known is None:
        return _insert(store, project, digest, now_ms)
    if known.name.path != project.name.path:
        _rename(store, known, project.name)
        adopt_names(store, known.id)
    if known.forge_id is None and project.forge_id is not None:
        # Imported before, now met on its forge, which brings every conversation again under its own keys.
        store.run("DELETE FROM threads WHERE project_id = ?", known.id)
    old = store.value("SELECT row_hash FROM projects WHERE id = ?", known.id)
    if old != digest and project.raw:
        restore_project(store, known.id, project)
        store.run("UPDATE projects SET row_hash = ? WHERE id = ?", digest, known.id)
        drop_payloads(store, known.id, [old])
        save_payloads(store, known.id, "project", [(digest, project.raw)])
    return find_project(store, project.name) or known


def restore_project(store: Store, project_id: int, project: "Project") -> bool:
    """Make a project's row what its payload says; returns whether it was not."""
    facts = _facts(project)
    if store.row(f"SELECT {', '.join(_FACTS)} FROM projects WHERE id = ?", project_id) == facts:
        return False
    store.run(f"UPDATE projects SET {', '.join(f'{name} = ?' for name in _FACTS)} WHERE id = ?", *facts, project_id)
    return True


def _set_aside(store: Store, known: StoredProject, name: ProjectName) -> None:
    """Another project has taken a name that was this one's: it keeps its rows, and loses the name (or former name)."""
    store.run("DELETE FROM project_aliases WHERE host = ? AND path_key = ?", name.host, name.path.lower())
    if known.name.path.lower() == name.path.lower():
        path = f"{known.name.path}.{known.forge_id}"
        store.run("UPDATE projects SET path = ?, path_key = ? WHERE id = ?", path, path.lower(), known.id)


def _insert(store: Store, project: "Project", digest: bytes, now_ms: int) -> StoredProject:
    from forgelore.store.payloads import save_payloads

    name = project.name
    sql = f"""
        INSERT INTO projects (forge, host, path, path_key, {", ".join(_FACTS)}, row_hash, added_at)
        VALUES (?, ?, ?, ?, {", ".join("?" * len(_FACTS))}, ?, ?)
    """
    store.run(sql, name.forge, name.host, name.path, name.path.lower(), *_facts(project), digest, now_ms)
    made = find_project(store, name)
    assert made is not None
    save_payloads(store, made.id, "project", [(digest, project.raw)])
    return made


def _facts(project: "Project") -> tuple[object, ...]:
    return tuple(getattr(project, name) for name in _FACTS)


def _rename(store: Store, known: StoredProject, name: ProjectName) -> None:
    if known.name.path.lower() == name.path.lower():
        store.run("UPDATE projects SET path = ? WHERE id = ?", name.path, known.id)
        return
    alias = """
        INSERT INTO project_aliases (host, path_key, project_id)
        VALUES (?, ?, ?)
        ON CONFLICT (host, path_key) DO UPDATE SET project_id = excluded.project_id
    """
    store.run(alias, known.name.host, known.name.path.lower(), known.id)
    store.run("DELETE FROM project_aliases WHERE host = ? AND path_key = ?", name.host, name.path.lower())
    store.run("UPDATE projects SET path = ?, path_key = ? WHERE id = ?", name.path, name.path.lower(), known.id)


def save_labels(store: Store, project_id: int, labels: "list[Label]", *, is_complete: bool) -> None:
    """Save label descriptions; `is_complete` also forgets the ones the forge no longer lists."""
    rows = store.rows("SELECT name, color, description FROM labels WHERE project_id = ?", project_id)
    before = {row[0]: row for row in rows}
    now = {label.name: (label.name, label.color, label.description) for label in labels}
    sql = """
        INSERT INTO labels (project_id, name, color, description)
        VALUES (?, ?, ?, ?)
        ON CONFLICT (project_id, name) DO UPDATE SET color = excluded.color, description = excluded.description
    """
    store.run_many(sql, [(project_id, *row) for name, row in now.items() if before.get(name) != row])
    if is_complete:
        _forget(store, "labels", "name", project_id, before.keys() - now.keys())


def save_members(store: Store, project_id: int, members: "list[Member]") -> None:
    """Replace the list of people with a role, writing only what differs."""
    before: dict[str, str] = dict(store.rows("SELECT login, role FROM members WHERE project_id = ?", project_id))
    now = {member.login: member.role for member in members}
    sql = """
        INSERT INTO members (project_id, login, role)
        VALUES (?, ?, ?)
        ON CONFLICT (project_id, login) DO UPDATE SET role = excluded.role
    """
    store.run_many(sql, [(project_id, login, role) for login, role in now.items() if before.get(login) != role])
    _forget(store, "members", "login", project_id, before.keys() - now.keys())


def _forget(store: Store, table: str, column: str, project_id: int, names: set[str]) -> None:
    sql = f"DELETE FROM {table} WHERE project_id = ? AND {column} = ?"
    store.run_many(sql, [(project_id, name) for name in sorted(names)])
