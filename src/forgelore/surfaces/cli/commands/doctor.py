"""`forgelore doctor`: is everything in place, and what to do where it is not."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forgelore.surfaces.cli.command import Context
    from forgelore.surfaces.present.setup import DoctorData

EXAMPLES = ("forgelore doctor", "forgelore doctor --offline", "forgelore doctor --json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--offline", action="store_true", help="do not ask any forge")


def run(context: "Context", arguments: argparse.Namespace) -> "DoctorData":
    from forgelore.surfaces.cli.progress import Spinner
    from forgelore.surfaces.present.setup import present_checkup

    marks = {"ok": context.style.green("✓"), "warning": context.style.yellow("!"), "error": context.style.red("✗")}
    checks = []
    with Spinner(is_shown=not context.is_data) as spinner:
        for check in context.history.check_up(is_offline=arguments.offline, on_ask=spinner.show_asking):
            spinner.hide()
            checks.append(check)
            context.print(f"{marks[check.status]} {check.name:<12} {check.message}")
            if check.hint:
                context.print(f"  {'':<12} {context.style.dim('→')} {check.hint}")
    faults = [check for check in checks if check.status == "error"]
    if faults:  # the first one decides the exit code: what comes after often follows from it
        names = ", ".join(check.name for check in faults)
        context.fail(faults[0].fault(f"not in order: {names}", hint="each line above says what to do"))
    else:
        unsearched = [check for check in checks if check.name in ("database", "search") and check.status != "ok"]
        context.print("", unsearched[-1].message if unsearched else "everything needed is in place")
    return present_checkup(checks)
