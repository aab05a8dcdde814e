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
    from forgelore.tokens import find_token, token_advice

    app = context.app
    name = next(iter(app.names_to_sync([arguments.project] if arguments.project else [])))
    _, source = find_token(app.config, app.environ, name.forge, name.host)
    if not source:
        hint = token_advice(app.config, app.environ, name.forge, name.host, source)
        raise AuthError(f"no token for {name.host}", hint=hint)
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
