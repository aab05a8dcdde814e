"""`forgelore doctor`: is everything in place, and what to do where it is not."""

import argparse
from typing import Any

EXAMPLES = ("forgelore doctor", "forgelore doctor --offline", "forgelore doctor --json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--offline", action="store_true", help="do not ask any forge")


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from forgelore.surfaces.cli.checkup import checks

    marks = {"ok": context.style.green("✓"), "warning": context.style.yellow("!"), "error": context.style.red("✗")}
    results = []
    faults = []
    for check in checks(context.app, is_offline=arguments.offline):
        results.append({"check": check.name, "status": check.status, "message": check.message, "hint": check.hint})
        context.print(f"{marks[check.status]} {check.name:<12} {check.message}")
        if check.status == "error":
            faults.append(check)
        if check.hint:
            context.print(f"  {'':<12} {context.style.dim('→')} {check.hint}")
    if faults:  # the first one decides the exit code: what comes after often follows from it
        names = ", ".join(check.name for check in faults)
        context.fail(faults[0].fault(f"not in order: {names}", hint="each line above says what to do"))
    else:
        unsearched = [one for one in results if one["check"] in ("database", "search") and one["status"] != "ok"]
        context.print("", unsearched[-1]["message"] if unsearched else "everything needed is in place")
    return {"success": not faults, "checks": results}
