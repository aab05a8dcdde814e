"""`forgelore auth-test`: who the tokens belong to."""

import argparse
from typing import Any

from forgelore.errors import AuthError
from forgelore.surfaces.cli.terminal import clean

EXAMPLES = (
    "forgelore auth-test",
    "forgelore auth-test acme/web",
    "forgelore auth-test https://gitlab.example.com/team/app --json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "project", metavar="PROJECT", nargs="?", help="the forge of this project; default: the one you would sync"
    )


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from forgelore.tokens import find_token, unused_variable

    app = context.app
    name = next(iter(app.names_to_sync([arguments.project] if arguments.project else [])))
    _, source = find_token(app.config, app.environ, name.forge, name.host)
    if not source:
        other = unused_variable(app.config, app.environ, name.forge, name.host)
        belongs = (
            f"{other} is set, but belongs to another host; name this one under [[forges]] (forgelore init --host"
            f" {name.host})"
            if other
            else ""
        )
        variable = "GITHUB_TOKEN" if name.forge == "github" else "GITLAB_TOKEN"
        raise AuthError(
            f"no token for {name.host}",
            hint=belongs or f"set {variable}, or sign in with {'gh' if name.forge == 'github' else 'glab'} auth login",
        )
    identity = app.forge(name).fetch_identity()
    shown = f" ({clean(identity.name)})" if identity.name else ""
    context.print(
        f"{context.style.green('✓')} Authenticated as @{clean(identity.login)}{shown} on {name.host}, token from"
        f" {source}"
    )
    if identity.scopes:
        context.print(f"  scopes: {', '.join(identity.scopes)}")
    if identity.expires_at:
        context.print(f"  expires: {identity.expires_at}")
    return {
        "host": name.host,
        "login": identity.login,
        "name": identity.name,
        "scopes": list(identity.scopes),
        "expires_at": identity.expires_at,
        "source": source,
    }
