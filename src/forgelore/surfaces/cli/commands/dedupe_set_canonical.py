"""`forgelore dedupe set-canonical`: a person says that an item is what stays of its cluster."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.overriding import add_items, say

if TYPE_CHECKING:
    from forgelore.api import SaidOverride
    from forgelore.surfaces.cli.command import Context

EXAMPLES = ("forgelore dedupe set-canonical '#7'",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_items(parser, has_target=False)


def run(context: "Context", arguments: argparse.Namespace) -> "SaidOverride":
    return say(context, arguments, "canonical", "stays of its cluster")
