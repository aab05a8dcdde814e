"""`forgelore dedupe split`: a person says that an item belongs to no cluster."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.overriding import add_items, say

if TYPE_CHECKING:
    from forgelore.api import SaidOverride
    from forgelore.surfaces.cli.command import Context

EXAMPLES = ("forgelore dedupe split '#12'",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_items(parser, has_target=False)


def run(context: "Context", arguments: argparse.Namespace) -> "SaidOverride":
    return say(context, arguments, "split", "stands alone")
