"""`forgelore import FILE --project NAME`."""

import argparse
import sys
import time
from typing import TYPE_CHECKING

from forgelore.errors import InvalidValue
from forgelore.surfaces.cli.indexing import add_indexing_arguments, describe, read_parts, stopping_on_interrupt
from forgelore.surfaces.cli.terminal import clean, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from forgelore.api import ImportResult, UpdatedIndex
    from forgelore.surfaces.cli.command import Context
    from forgelore.surfaces.present.fetch import ImportData

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


def run(context: "Context", arguments: argparse.Namespace) -> "ImportData":
    from forgelore.api import UpdatedIndex
    from forgelore.surfaces.present.fetch import present_import

    tick = _ticker(context)
    result = context.history.import_file(
        arguments.file, project=arguments.project, strict=arguments.strict, index="none", on_batch=tick
    ).result
    if tick:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # the counting line makes room for the result
    _warn(context, result)
    index = UpdatedIndex()
    if result.items:
        context.print(f"{context.style.green('✓')} {_describe(result)}")
        index = _index(context, result.project, arguments)
    elif result.read:
        context.fail(_no_good_line(result))
    else:
        context.warn("the file holds no lines: nothing was imported")
    if described := describe(index):
        context.print(f"  {described}")
    return present_import(result, index)


def _warn(context: "Context", result: "ImportResult") -> None:
    for bad in result.bad[:20]:
        context.warn(f"line {bad.number} skipped: {bad.reason}")
    if len(result.bad) > 20:
        context.warn(f"{number(len(result.bad) - 20)} more bad lines skipped")
    if result.unknown:
        named = [f"{clean(key)} (first in line {line})" for key, line in result.unknown.items()]
        more = f" and {number(len(named) - 20)} more" if len(named) > 20 else ""
        context.warn(f"keys that mean nothing here were left out: {', '.join(named[:20])}{more}")


def _describe(result: "ImportResult") -> str:
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


def _no_good_line(result: "ImportResult") -> InvalidValue:
    first = result.bad[0]
    hint = "nothing was written; docs/import.md has the format, with a JSON Schema to check a file against"
    return InvalidValue(
        f"there is no item in {_count(result.read, 'line')}; line {first.number}: {first.reason}", hint=hint
    )


def _index(context: "Context", project: str, arguments: argparse.Namespace) -> "UpdatedIndex":
    """Make what was imported findable: told apart from the import, which is good without it."""
    from contextlib import nullcontext

    from forgelore.surfaces.cli.progress import make_watcher

    is_watched = not context.is_data and sys.stderr.isatty()  # as the counting line: nothing in a pipe
    with (
        stopping_on_interrupt(context),
        make_watcher(project, is_quiet=False) if is_watched else nullcontext() as bars,
    ):
        index = context.history.update_index(project, index=read_parts(arguments), watcher=bars)
    for warning in index.warnings:
        context.warn(warning)
    return index


def _ticker(context: "Context") -> "Callable[[int], None] | None":
    """A counting line in a terminal, nothing in a pipe."""
    if context.is_data or not sys.stderr.isatty():
        return None

    def tick(read: int) -> None:
        rate = read / max(0.001, time.monotonic() - context.started)
        print(f"\r{number(read)} lines · {rate:,.0f}/s ", end="", file=sys.stderr, flush=True)

    return tick
