"""`forgelore dedupe maintainers`: whose items are never closed."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.terminal import clean

if TYPE_CHECKING:
    from forgelore.api import Maintainers
    from forgelore.surfaces.cli.command import Context

EXAMPLES = ("forgelore dedupe maintainers",)
_HOW = {
    "settings": "the setting `maintainers` names them",
    "members": "as the forge lists the project's people",
    "associations": "the forge's list is not known: what it says beside each text decides, and unknown means skip",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", metavar="NAME", help="one project; default: the clone's, or the only one")


def run(context: "Context", arguments: argparse.Namespace) -> "Maintainers":
    found = context.history.list_maintainers(project=arguments.project)
    context.print(*(clean(login) for login in found.logins), context.style.dim(_HOW[found.known_by]))
    return found
