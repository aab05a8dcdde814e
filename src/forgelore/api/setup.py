"""`history.setup`: the projects of a clone and the servers of a person, written into their settings, whose tokens are
used, and what is in place.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from forgelore.api import renamed
from forgelore.app import App
from forgelore.config import CLONE_FILE, user_file
from forgelore.errors import AuthError, ConfigError, InvalidValue, Locked, StoreError
from forgelore.text.refs import without_userinfo

if TYPE_CHECKING:
    from forgelore.api.checkup import DoctorCheck
    from forgelore.api.opening import OpenedIndex
    from forgelore.ports.progress import Watcher


class SetupAnswer(NamedTuple):
    """What `init` made: the settings of the clone, None where no project was named; those of the person, None where
    no server was described; and the database.
    """

    projects: tuple[str, ...]
    config: str | None
    user_config: str | None
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


class Setup:
    """What `init`, `auth-add`, `auth-test` and `doctor` do."""

    def __init__(self, app: App) -> None:
        self._app = app

    def suggest_project(self) -> str | None:
        """Return the project of the clone that one is in; None outside of any."""
        remote = self._app.clone_remote()
        return str(self._app.parse_project(remote)) if remote else None

    def write(self, projects: list[str], *, overwrite: bool = False) -> SetupAnswer:
        """Write the projects into forgelore.toml of this folder, and make the database. Raises ConfigError for a file
        that is there.
        """
        app = self._app
        names = tuple(
            str(app.parse_project(text)) if not text.endswith("*") else without_userinfo(text) for text in projects
        )
        written = _write_clone_file(app.cwd, names, overwrite=overwrite) if names else None
        app.store(create=True)
        return SetupAnswer(names, written, None, app.config.db)

    def add_host(self, host: str, *, kind: str, token_env: str | None = None) -> AddedHost:
        """Describe a server of one's own in one's own settings: a clone's file may not name hosts for tokens."""
        name = host.removeprefix("https://").strip("/").lower()
        if not name or any(character in name for character in '/"\\ \n'):
            raise InvalidValue(f"{host!r} is not a host name", hint="for example: gitlab.example.com")
        if token_env and not token_env.replace("_", "a").isalnum():
            raise InvalidValue(f"not a valid environment variable name: {token_env!r}", hint="for example: TEAM_TOKEN")
        path = user_file(self._app.environ)
        before = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                before = file.read()
        if any(forge.host == name for forge in self._app.config.forges):
            raise ConfigError(f"{name} is already configured in {path}", hint="edit the file")
        token = f"token_env = {json.dumps(token_env)}\n" if token_env else ""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        end = "" if not before or before.endswith("\n") else "\n"
        _write_atomically(path, f'{before}{end}\n[[forges]]\nhost = "{name}"\nkind = "{kind}"\n{token}')
        return AddedHost(name, path)

    def open_index(self, source: str, *, to: str | None = None) -> "OpenedIndex":
        """Take a database here that somebody else built, to be searched: OWNER/REPO@BRANCH (a bot's index), a URL that
        everybody may read, or a path. `to`: the file that it becomes; by default one in the folder of your data.
        """
        from forgelore.api.opening import open_index

        return open_index(self._app, source, to=to)

    @renamed
    def check(self, *, offline: bool = False, watcher: "Watcher | None" = None) -> "Iterator[DoctorCheck]":
        """Yield what is in place and what is not, one check after another. Each forge is asked once, for 5 seconds at
        most, and the watcher hears the name of a server before it is asked.
        """
        from forgelore.api.checkup import run_checks

        return run_checks(self._app, is_offline=offline, watcher=watcher)

    def find_token_owner(self, project: str | None = None) -> TokenOwner:
        """Ask the forge of a project, or of the first that would be synced, whose token is used there. Raises AuthError
        where there is none.
        """
        app = self._app
        from forgelore.api.fetch import names_to_sync
        from forgelore.config import find_token, token_advice

        name = next(iter(names_to_sync(app, [project] if project else [])))
        _, source = find_token(app.config, app.environ, name.forge, name.host)
        advice = token_advice(app.config, app.environ, name.forge, name.host, source)
        identity = app.forge(name).fetch_identity() if source else None
        if identity is None:
            raise AuthError(f"no token for {name.host}", hint=advice)
        _remember_owner(app, name.host, identity.login)
        return TokenOwner(name.host, identity.login, identity.name, identity.scopes, identity.expires_at, source)


def _write_clone_file(folder: str, names: tuple[str, ...], *, overwrite: bool) -> str:
    path = os.path.join(folder, CLONE_FILE)
    if os.path.exists(path) and not overwrite:
        raise ConfigError(f"{path} exists already", hint="edit it, or overwrite it: forgelore init --overwrite")
    listed = "".join(f"  {json.dumps(name)},\n" for name in names)
    text = f"# What `forgelore sync` brings up to date. Other settings: docs/settings.md.\nprojects = [\n{listed}]\n"
    _write_atomically(path, text)
    return path


def _write_atomically(path: str, text: str) -> None:
    partial = f"{path}.part"
    try:
        with open(partial, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(partial, path)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}", hint="check the folder's permissions") from error


def _remember_owner(app: App, host: str, login: str) -> None:
    """Keep whose token it is, for `me`. A missing, damaged or busy store must not make this fail."""
    from forgelore.store.people import save_token_owner

    if not app.has_store:
        return
    with contextlib.suppress(StoreError, Locked):
        store = app.store()
        if not store.is_read_only:
            with store.transaction():
                save_token_owner(store, host, login, app.now_ms())
