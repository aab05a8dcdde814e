"""Setting up: the projects of a clone and the servers of a person, written into their settings, and whose tokens are
used.
"""

import contextlib
import json
import os
from typing import NamedTuple

from forgelore.app import App
from forgelore.config import CLONE_FILE, user_file
from forgelore.errors import AuthError, ConfigError, InvalidValue, Locked, StoreError
from forgelore.text.refs import without_userinfo


class SetupAnswer(NamedTuple):
    """What `init` made: the settings of the clone, None where no project was named, and the database."""

    projects: tuple[str, ...]
    config: str | None
    db: str


class AddedHost(NamedTuple):
    """A server that was added to a person's own settings, and the file it was added to."""

    host: str
    path: str


class TokenOwner(NamedTuple):
    """Whose token is used on a host, and what it may do there."""

    host: str
    login: str
    name: str | None
    scopes: tuple[str, ...]
    expires_at: str | None
    source: str  # the variable or the program that the token comes from


def suggest_project(app: App) -> str | None:
    """Return the project of the clone's origin, None outside the clone of a forge."""
    remote = app.clone_remote()
    return str(app.parse_project(remote)) if remote else None


def set_up(app: App, projects: list[str], *, overwrite: bool = False) -> SetupAnswer:
    """Write the projects into forgelore.toml and make the database. Raises ConfigError for a file that is there."""
    names = tuple(
        str(app.parse_project(text)) if not text.endswith("*") else without_userinfo(text) for text in projects
    )
    written = _write_clone_file(app.cwd, names, overwrite=overwrite) if names else None
    app.store(create=True)
    return SetupAnswer(names, written, app.config.db)


def _write_clone_file(folder: str, names: tuple[str, ...], *, overwrite: bool) -> str:
    path = os.path.join(folder, CLONE_FILE)
    if os.path.exists(path) and not overwrite:
        raise ConfigError(f"{path} exists already", hint="edit it, or overwrite it: forgelore init --overwrite")
    listed = "".join(f"  {json.dumps(name)},\n" for name in names)
    text = f"# What `forgelore sync` brings up to date. Other settings: docs/settings.md.\nprojects = [\n{listed}]\n"
    _write_atomically(path, text)
    return path


def add_host(app: App, host: str, *, kind: str, token_env: str | None = None) -> AddedHost:
    """Add a [[forges]] table to the user's own file: a clone's file may not name hosts for tokens."""
    name = host.removeprefix("https://").strip("/").lower()
    if not name or any(character in name for character in '/"\\ \n'):
        raise InvalidValue(f"{host!r} is not a host name", hint="for example: gitlab.example.com")
    if token_env and not token_env.replace("_", "a").isalnum():
        raise InvalidValue(f"{token_env!r} is not a variable's name", hint="for example: TEAM_TOKEN")
    path = user_file(app.environ)
    before = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            before = file.read()
    if any(forge.host == name for forge in app.config.forges):
        raise ConfigError(f"{name} is described already in {path}", hint="edit the file")
    token = f"token_env = {json.dumps(token_env)}\n" if token_env else ""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    end = "" if not before or before.endswith("\n") else "\n"
    _write_atomically(path, f'{before}{end}\n[[forges]]\nhost = "{name}"\nkind = "{kind}"\n{token}')
    return AddedHost(name, path)


def _write_atomically(path: str, text: str) -> None:
    partial = f"{path}.part"
    try:
        with open(partial, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(partial, path)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}", hint="check the folder's permissions") from error


def find_token_owner(app: App, project: str | None = None) -> TokenOwner:
    """Ask the forge of a project (default: of the first that would be synced) whose token it is. Raises AuthError where
    there is none.
    """
    from forgelore.tokens import find_token, token_advice

    name = next(iter(app.names_to_sync([project] if project else [])))
    _, source = find_token(app.config, app.environ, name.forge, name.host)
    advice = token_advice(app.config, app.environ, name.forge, name.host, source)
    identity = app.forge(name).fetch_identity() if source else None
    if identity is None:
        raise AuthError(f"no token for {name.host}", hint=advice)
    _remember_owner(app, name.host, identity.login)
    return TokenOwner(name.host, identity.login, identity.name, identity.scopes, identity.expires_at, source)


def _remember_owner(app: App, host: str, login: str) -> None:
    """Keep whose token it is, for `me`. A store that is missing, damaged or busy is no reason to fail here."""
    from forgelore.store.people import save_token_owner

    if not app.has_store:
        return
    with contextlib.suppress(StoreError, Locked):
        store = app.store()
        if not store.is_read_only:
            with store.transaction():
                save_token_owner(store, host, login, app.now_ms())
