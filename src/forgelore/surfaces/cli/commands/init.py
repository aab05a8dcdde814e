"""`forgelore init`: choose projects, write forgelore.toml, make the database."""

import argparse
import json
import os
from typing import Any

from forgelore.core.names import without_userinfo
from forgelore.errors import ConfigError, InvalidValue, UsageError
from forgelore.profiles import NAMING, PROFILES

EXAMPLES = (
    "forgelore init                             asks; inside a clone its origin is the suggestion",
    "forgelore init --project acme/web --yes",
    "forgelore init --project gitlab:group/app --project acme/api --yes",
    "forgelore init --host git.example.com --kind gitlab --token-env TEAM_TOKEN --yes",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", metavar="NAME", action="append", help="a project to sync; repeat for more")
    parser.add_argument("--host", help="also describe a server of your own, in your config.toml")
    parser.add_argument("--kind", choices=tuple(PROFILES), help="what runs on --host")
    parser.add_argument("--token-env", metavar="NAME", help="the environment variable that holds the token for --host")
    parser.add_argument("--yes", action="store_true", help="ask nothing")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing forgelore.toml")


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    app = context.app
    asks = context.is_interactive and not arguments.yes
    added = _add_host(context, arguments) if arguments.host else None
    projects = arguments.project or _suggested(app, asks=asks)
    if not projects and not added:
        raise UsageError("no project named, and this is not a clone with an origin", hint="add --project owner/repo")
    names = [str(app.parse_project(text)) if not text.endswith("*") else without_userinfo(text) for text in projects]
    written = _write_clone_file(app.cwd, names, overwrite=arguments.overwrite) if names else None
    app.store(create=True)
    if written:
        context.print(f"{context.style.green('✓')} {written}: {', '.join(names)}")
    context.print(
        f"{context.style.green('✓')} database at {app.config.db}", "", "next: forgelore doctor, then forgelore sync"
    )
    return {"projects": names, "config": written, "user_config": added, "db": app.config.db}


def _suggested(app: Any, *, asks: bool) -> list[str]:
    remote = app.clone_remote()
    suggestion = str(app.parse_project(remote)) if remote else ""
    if not asks:
        return [suggestion] if suggestion else []
    shown = f" [{suggestion}]" if suggestion else ""
    answer = input(f"Which project?{shown} ({NAMING} or a URL) ").strip() or suggestion
    return answer.split()


def _write_clone_file(folder: str, names: list[str], *, overwrite: bool) -> str:
    from forgelore.config import CLONE_FILE

    path = os.path.join(folder, CLONE_FILE)
    if os.path.exists(path) and not overwrite:
        raise ConfigError(f"{path} exists already", hint="edit it, or add --overwrite")
    listed = "".join(f"  {json.dumps(name)},\n" for name in names)
    text = f"# What `forgelore sync` brings up to date. Other settings: docs/settings.md.\nprojects = [\n{listed}]\n"
    _write_whole(path, text)
    return path


def _add_host(context: Any, arguments: argparse.Namespace) -> str:
    """Add a [[forges]] table to the user's own file: a clone's file may not name hosts for tokens."""
    from forgelore.config import user_file

    host = arguments.host.removeprefix("https://").strip("/").lower()
    if not arguments.kind:
        raise UsageError("--host needs --kind", hint="add " + " or ".join(f"--kind {name}" for name in PROFILES))
    if not host or any(character in host for character in '/"\\ \n'):
        raise InvalidValue(f"{arguments.host!r} is not a host name", hint="for example: --host gitlab.example.com")
    if arguments.token_env and not arguments.token_env.replace("_", "a").isalnum():
        raise InvalidValue(
            f"{arguments.token_env!r} is not a variable's name", hint="for example: --token-env TEAM_TOKEN"
        )
    path = user_file(context.app.environ)
    before = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            before = file.read()
    if any(forge.host == host for forge in context.app.config.forges):
        raise ConfigError(f"{host} is described already in {path}", hint="edit the file")
    token = f"token_env = {json.dumps(arguments.token_env)}\n" if arguments.token_env else ""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    _write_whole(
        path,
        f'{before}{"" if not before or before.endswith(chr(10)) else chr(10)}\n[[forges]]\nhost = "{host}"\nkind ='
        f' "{arguments.kind}"\n{token}',
    )
    context.print(f"{context.style.green('✓')} {host} added to {path}")
    return path


def _write_whole(path: str, text: str) -> None:
    partial = f"{path}.part"
    try:
        with open(partial, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(partial, path)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}", hint="check the folder's permissions") from error
