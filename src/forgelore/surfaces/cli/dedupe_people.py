"""What people decide about duplicates: `dedupe accept`, `reject`, `split` and `set-canonical`; who `maintainers` are.

These write or read a row: nothing that finds or judges is imported.
"""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.command import Command, Context, add_project_option
from forgelore.surfaces.present.text import clean

if TYPE_CHECKING:
    from forgelore.api import Maintainers, OverrideAction, SaidOverride

_HOW = {
    "settings": "the setting `maintainers` names them",
    "members": "as the forge lists the project's people",
    "associations": (
        "The forge's list of people is not known here, so the role that it gives beside a text decides. Items of\n"
        "anybody without one stay open. To name all maintainers yourself, set `maintainers` (FORGELORE_MAINTAINERS)."
    ),
}


def _add_item(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("item", metavar="REF", help="the item: '#12', '!34', a URL")
    add_project_option(parser)


def _add_pair(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("item", metavar="REF", help="the item: '#12', '!34', a URL")
    parser.add_argument("target", metavar="TARGET", help="the other item")
    add_project_option(parser)


def _override(context: Context, arguments: argparse.Namespace, action: "OverrideAction", done: str) -> "SaidOverride":
    """Save what a person decided, and say so."""
    target = getattr(arguments, "target", None)
    said = context.history.dedupe.override(action, arguments.item, target, project=arguments.project)
    context.print(f"{arguments.item} {done}{f' {target}' if target else ''}; the next plan follows it")
    return said


def run_accept(context: Context, arguments: argparse.Namespace) -> "SaidOverride":
    return _override(context, arguments, "accept", "repeats")


def run_reject(context: Context, arguments: argparse.Namespace) -> "SaidOverride":
    return _override(context, arguments, "reject", "is not a duplicate of")


def run_split(context: Context, arguments: argparse.Namespace) -> "SaidOverride":
    return _override(context, arguments, "split", "stands alone")


def run_set_canonical(context: Context, arguments: argparse.Namespace) -> "SaidOverride":
    return _override(context, arguments, "canonical", "stays of its cluster")


def run_maintainers(context: Context, arguments: argparse.Namespace) -> "Maintainers":
    found = context.history.dedupe.list_maintainers(project=arguments.project)
    context.print(*(clean(login) for login in found.logins), context.style.dim(_HOW[found.known_by]))
    return found


COMMANDS = {
    "dedupe accept": Command(_add_pair, run_accept, ("forgelore dedupe accept '#12' '#7'",)),
    "dedupe reject": Command(_add_pair, run_reject, ("forgelore dedupe reject '#12' '#7'",)),
    "dedupe split": Command(_add_item, run_split, ("forgelore dedupe split '#12'",)),
    "dedupe set-canonical": Command(_add_item, run_set_canonical, ("forgelore dedupe set-canonical '#7'",)),
    "dedupe maintainers": Command(add_project_option, run_maintainers, ("forgelore dedupe maintainers",)),
}
