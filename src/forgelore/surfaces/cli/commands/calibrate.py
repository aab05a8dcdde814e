"""`forgelore calibrate`: learn from the project's own duplicates how sure a match is."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.filtering import add_project, project_in
from forgelore.surfaces.cli.indexing import stopping_on_interrupt
from forgelore.surfaces.cli.progress import make_watcher
from forgelore.surfaces.cli.terminal import number, table
from forgelore.surfaces.present.evaluate import CalibrationData, present_calibration

if TYPE_CHECKING:
    from forgelore.api import Calibrated
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore calibrate acme/web",
    "forgelore calibrate --dry-run         say the same, and write nothing at all",
)
_NAMES = {"issue": "issues", "change": "changes"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_project(parser, "one project; default: the clone's, or the only one")
    parser.add_argument("--embedder", metavar="NAME", help="use these vectors instead of the configured ones")
    parser.add_argument("--dry-run", action="store_true", help="measure only; write nothing")


def run(context: "Context", arguments: argparse.Namespace) -> CalibrationData:
    project = context.history.name_project(project_in(arguments))
    with stopping_on_interrupt(context), make_watcher(project or "", is_quiet=context.is_data) as watcher:
        found = context.history.calibrate(
            project=project, embedder=arguments.embedder, is_dry=arguments.dry_run, watcher=watcher
        )
    for one in found:
        _print(context, one, is_dry=arguments.dry_run)
    if not found:
        context.print("there are no issues or changes to learn from")
    return present_calibration(project or "", found, is_dry=arguments.dry_run)


def _print(context: "Context", one: "Calibrated", *, is_dry: bool) -> None:
    style = context.style
    first = f", {number(one.found_first)} of them found first" if one.pairs else ""
    context.print(
        f"{style.bold(_NAMES[one.kind])}: {number(one.pairs)} known duplicates{first}; {number(one.items)} items"
    )
    if one.pairs:
        rows = [
            [f"{at.similarity:.2f}", _share(at.precision), _share(at.recall), number(at.flagged)]
            for at in one.thresholds
        ]
        head = ["similarity", "precision", "recall", "ranked items at or above"]
        context.print(*(f"  {line}" for line in table(rows, grow=3, head=head, style=style)))
    if one.kept:
        context.print(f"  {style.yellow('!')} the shipped chance is kept: {one.kept}")
    else:
        done = "would be used" if is_dry else "is used from now on"
        error = f"off by {one.error:.3f} on items it had not seen"
        context.print(f"  {style.green('✓')} a chance fitted on {number(one.pairs)} pairs {done} ({error})")


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"
