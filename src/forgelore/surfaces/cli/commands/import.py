"""`forgelore import FILE --project NAME`."""

import argparse
import sys
import time
from typing import Any

from forgelore.errors import UsageError
from forgelore.surfaces.cli.indexing import add_indexing_arguments, bring_up_to_date, describe, stopping_on_interrupt
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
    add_indexing_arguments(parser)


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from forgelore.core.names import is_pattern
    from forgelore.flows.importing import import_lines, open_source

    if is_pattern(arguments.project):
        raise UsageError("--project must name one project", hint="for example: --project acme/tracker")
    name = context.app.parse_project(arguments.project)
    tick = _ticker(context)
    with open_source(arguments.file) as source:
        now = int(time.time() * 1000)
        store = context.app.store(create=True)
        result = import_lines(store, name, source, now, is_strict=arguments.strict, on_batch=tick)
    if tick:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # the counting line makes room for the result
    for bad in result.bad[:20]:
        context.warn(f"line {bad.number} skipped: {bad.reason}")
    if len(result.bad) > 20:
        context.warn(f"{len(result.bad) - 20} more bad lines skipped")
    context.print(
        f"{context.style.green('✓')} {result.project}: {number(result.read)} lines read, {number(result.written)}"
        f" items and"
        f" {number(result.notes)} notes written" + (f", {number(len(result.bad))} lines skipped" if result.bad else "")
    )
    indexed = _index(context, name, arguments)
    if told := describe(indexed):
        context.print(f"  {told}")
    return {
        "project": result.project, "read": result.read, "written": result.written, "notes": result.notes,
        "skipped": [{"line": bad.number, "reason": bad.reason} for bad in result.bad], **indexed,
    }  # fmt: skip


def _index(context: Any, name: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from contextlib import nullcontext

    from forgelore.store.projects import find_project
    from forgelore.surfaces.cli.progress import make_watcher

    project = find_project(context.app.store(), name)
    is_watched = not context.is_json and sys.stderr.isatty()  # as the counting line: nothing in a pipe
    with (
        stopping_on_interrupt(context),
        make_watcher(str(name), is_json=False) if is_watched else nullcontext() as bars,
    ):
        return bring_up_to_date(
            context, [project.id] if project else [], watcher=bars,
            with_docs=not arguments.no_docs, with_vectors=not arguments.no_embed,
        )  # fmt: skip


def _ticker(context: Any) -> Any:
    """A counting line in a terminal, nothing in a pipe."""
    if context.is_json or not sys.stderr.isatty():
        return None

    def tick(read: int) -> None:
        rate = read / max(0.001, time.monotonic() - context.started)
        print(f"\r{number(read)} lines · {rate:,.0f}/s ", end="", file=sys.stderr, flush=True)

    return tick
