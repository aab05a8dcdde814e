"""`forgelore import FILE --project NAME`."""

import argparse
import sys
import time
from typing import Any

from forgelore.errors import UsageError
from forgelore.surfaces.cli.terminal import number

EXAMPLES = (
    "forgelore import tracker.jsonl --project acme/tracker",
    "forgelore import archive.jsonl.gz --project old-bugzilla",
    "zcat archive.jsonl.gz | forgelore import - --project acme/tracker --strict",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="one JSON object per line; plain or gzipped; - for standard input")
    parser.add_argument("--project", metavar="NAME", required=True, help="the project the items become part of")
    parser.add_argument("--strict", action="store_true", help="stop at the first bad line instead of skipping it")
    parser.add_argument("--no-docs", action="store_true", help="do not build search documents")
    parser.add_argument("--no-embed", action="store_true", help="do not compute vectors")


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from forgelore.core.names import is_pattern
    from forgelore.flows.importing import import_lines, open_source

    if is_pattern(arguments.project):
        raise UsageError("--project must name one project", hint="for example: --project acme/tracker")
    name = context.app.parse_project(arguments.project)
    with open_source(arguments.file) as source:
        now = int(time.time() * 1000)
        result = import_lines(
            context.app.store(create=True), name, source, now, is_strict=arguments.strict, on_batch=_ticker(context)
        )
    for bad in result.bad[:20]:
        context.warn(f"line {bad.number} skipped: {bad.reason}")
    if len(result.bad) > 20:
        context.warn(f"{len(result.bad) - 20} more bad lines skipped")
    context.print(
        f"{context.style.green('✓')} {result.project}: {number(result.read)} lines read, {number(result.written)}"
        f" items and"
        f" {number(result.notes)} notes written" + (f", {number(len(result.bad))} lines skipped" if result.bad else "")
    )
    return {
        "project": result.project, "read": result.read, "written": result.written, "notes": result.notes,
        "skipped": [{"line": bad.number, "reason": bad.reason} for bad in result.bad],
    }  # fmt: skip


def _ticker(context: Any) -> Any:
    """A counting line in a terminal, nothing in a pipe."""
    if context.is_json or not sys.stderr.isatty():
        return None

    def tick(read: int) -> None:
        rate = read / max(0.001, time.monotonic() - context.started)
        print(f"\r{number(read)} lines · {rate:,.0f}/s ", end="", file=sys.stderr, flush=True)

    return tick
