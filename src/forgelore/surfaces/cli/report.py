"""`forgelore report`: one month of a project, as Markdown."""

import argparse
from typing import TYPE_CHECKING

from forgelore.errors import ConfigError
from forgelore.surfaces.cli.command import Command, Context
from forgelore.surfaces.present.report import month_file

if TYPE_CHECKING:
    from forgelore.api import MonthReport


def add_report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("project", metavar="PROJECT", nargs="?", help="default: the clone's project, or the only one")
    parser.add_argument("--month", metavar="MONTH", help="such as 2026-03; default: the last one that is over")
    parser.add_argument("--output", metavar="FILE", help="write it to a file")


def run_report(context: Context, arguments: argparse.Namespace) -> "MonthReport":
    report = context.history.people.month(arguments.month, project=arguments.project)
    text = month_file(report)
    if arguments.output:
        try:
            with open(arguments.output, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise ConfigError(f"cannot write {arguments.output}: {error.strerror}", hint="name another file") from error
        context.print(f"{context.style.green('✓')} written to {arguments.output}")
    else:
        context.print(*text.splitlines())
    return report


COMMANDS = {
    "report": Command(
        add_report_arguments,
        run_report,
        (
            "forgelore report acme/web                         the last month that is over",
            "forgelore report --month 2026-03 --output march.md",
        ),
    ),
}
