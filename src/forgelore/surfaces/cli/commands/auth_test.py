"""`forgelore auth-test`: who the tokens belong to."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.terminal import clean

if TYPE_CHECKING:
    from forgelore.api import TokenOwner
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore auth-test",
    "forgelore auth-test acme/web",
    "forgelore auth-test https://gitlab.example.com/team/app --json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "project", metavar="PROJECT", nargs="?", help="the forge of this project; default: the one you would sync"
    )


def run(context: "Context", arguments: argparse.Namespace) -> "TokenOwner":
    owner = context.history.find_token_owner(arguments.project)
    shown = f" ({clean(owner.name)})" if owner.name else ""
    context.print(
        f"{context.style.green('✓')} Authenticated as @{clean(owner.login)}{shown} on {owner.host}, token from"
        f" {owner.source}"
    )
    if owner.scopes:
        context.print(f"  scopes: {', '.join(owner.scopes)}")
    if owner.expires_at:
        context.print(f"  expires: {owner.expires_at}")
    return owner
