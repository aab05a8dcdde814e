"""What the commands that override a decision share: `accept`, `reject`, `split`, `set-canonical`."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forgelore.api import OverrideAction, SaidOverride
    from forgelore.surfaces.cli.command import Context


def add_items(parser: argparse.ArgumentParser, *, has_target: bool) -> None:
    parser.add_argument("item", metavar="REF", help="the item: '#12', '!34', a URL")
    if has_target:
        parser.add_argument("target", metavar="TARGET", help="the other item")
    parser.add_argument("--project", metavar="NAME", help="one project; default: the clone's, or the only one")


def say(context: "Context", arguments: argparse.Namespace, action: "OverrideAction", done: str) -> "SaidOverride":
    """Keep it, and tell that in words."""
    target = getattr(arguments, "target", None)
    said = context.history.override_duplicate(action, arguments.item, target, project=arguments.project)
    context.print(f"{arguments.item} {done}{f' {target}' if target else ''}; the next canonicalize and plan follow it")
    return said
