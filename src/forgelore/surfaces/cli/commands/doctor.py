"""`forgelore doctor`: is everything in place, and what to do where it is not."""

import argparse
from typing import Any

from forgelore.errors import ConfigError

EXAMPLES = ("forgelore doctor", "forgelore doctor --offline", "forgelore doctor --json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--offline", action="store_true", help="do not ask any forge")


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from forgelore.surfaces.cli.checkup import checks

    marks = {"ok": context.style.green("✓"), "warning": context.style.yellow("!"), "error": context.style.red("✗")}
    results = []
    for check in checks(context.app, is_offline=arguments.offline):
        results.append({"check": check.name, "status": check.status, "message": check.message, "hint": check.hint})
        context.print(f"{marks[check.status]} {check.name:<12} {check.message}")
        if check.hint:
            context.print(f"  {'':<12} {context.style.dim('→')} {check.hint}")
    is_well = all(result["status"] != "error" for result in results)
    failed = [result["check"] for result in results if result["status"] == "error"]
    if failed:
        context.fail(ConfigError(f"not in order: {', '.join(failed)}", hint="each line above says what to do"))
    if is_well:
        context.print("", "everything needed is in place")
    return {"success": is_well, "checks": results}
