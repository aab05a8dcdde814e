"""`forgelore dedupe reject`: a person says that two items are not duplicates."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.overriding import add_items, say

if TYPE_CHECKING:
    from forgelore.api import SaidOverride
    from forgelore.surfaces.cli.command import Context

EXAMPLES = ("forgelore dedupe reject '#12' '#7'",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_items(parser, has_target=True)


def run(context: "Context", arguments: argparse.Namespace) -> "SaidOverride":
    return say(context, arguments, "reject", "is no duplicate of")
