"""`forgelore import FILE --project NAME`."""

import argparse
import sys
import time
from functools import partial
from typing import Any

from forgelore.errors import InvalidValue, UsageError
from forgelore.surfaces.cli.indexing import add_indexing_arguments, bring_up_to_date, describe, stopping_on_interrupt
from forgelore.surfaces.cli.terminal import clean, number

EXAMPLES = (
    "forgelore import tracker.jsonl --project acme/tracker",
    "forgelore import archive.jsonl.gz --project old-bugzilla",
    "zcat archive.jsonl.gz | forgelore import - --project acme/tracker --strict",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="one JSON object per line (docs/import.md); plain or gzipped; - for standard input"
    )
    parser.add_argument("--project", metavar="NAME", required=True, help="the project the items become part of")
    parser.add_argument("--strict", action="store_true", help="stop at the first bad line instead of skipping it")
    add_indexing_arguments(parser)


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from forgelore.core.names import is_pattern
    from forgelore.flows.transfer.importing import import_lines, open_source

    if is_pattern(arguments.project):
        raise UsageError("--project must name one project", hint="for example: --project acme/tracker")
    name = context.app.parse_project(arguments.project)
    tick = _ticker(context)
    with open_source(arguments.file) as source:
        store = partial(context.app.store, create=True)
        result = import_lines(store, name, source, context.app.now_ms(), is_strict=arguments.strict, on_batch=tick)
    if tick:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # the counting line makes room for the result
    _warn(context, result)
    indexed: dict[str, Any] = {"documents": None, "vectors": None}
    if result.items:
        context.print(f"{context.style.green('✓')} {_describe(result)}")
        indexed = _index(context, name, arguments)
    elif result.read:
        context.fail(_no_good_line(result))
    else:
        context.warn("the file holds no lines: nothing was imported")
    if told := describe(indexed):
        context.print(f"  {told}")
    return {
        "project": result.project, "read": result.read, "items": result.items, "repeated": result.repeated,
        "written": result.written, "notes": result.notes,
        "skipped": [{"line": bad.number, "reason": bad.reason} for bad in result.bad],
        "unknown": [{"key": key, "line": line} for key, line in result.unknown.items()], **indexed,
    }  # fmt: skip


def _warn(context: Any, result: Any) -> None:
    for bad in result.bad[:20]:
        context.warn(f"line {bad.number} skipped: {bad.reason}")
    if len(result.bad) > 20:
        context.warn(f"{number(len(result.bad) - 20)} more bad lines skipped")
    if result.unknown:
        named = [f"{clean(key)} (first in line {line})" for key, line in result.unknown.items()]
        more = f" and {number(len(named) - 20)} more" if len(named) > 20 else ""
        context.warn(f"keys that mean nothing here were left out: {', '.join(named[:20])}{more}")


def _describe(result: Any) -> str:
    """Return what happened as a line: items are counted once, however often their lines come."""
    parts = [
        f"{result.project}: {_count(result.items, 'item')} in {_count(result.read, 'line')}",
        f"{_count(result.written, 'item')} and {_count(result.notes, 'note')} written",
    ]
    if result.repeated:
        parts.append(f"{_count(result.repeated, 'line')} for an item that came before (the last one counts)")
    if result.bad:
        parts.append(f"{_count(len(result.bad), 'line')} skipped")
    return ", ".join(parts)


def _count(count: int, noun: str) -> str:
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"


def _no_good_line(result: Any) -> InvalidValue:
    first = result.bad[0]
    hint = "nothing was written; docs/import.md has the format, with a JSON Schema to check a file against"
    return InvalidValue(
        f"there is no item in {_count(result.read, 'line')}; line {first.number}: {first.reason}", hint=hint
    )


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
