"""Projects as JSON lines, `import` and `export`, and whole databases that others built: `open`."""

import argparse
import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

from forgelore.errors import InvalidValue, UsageError
from forgelore.surfaces.cli.command import Command, Context
from forgelore.surfaces.cli.filtering import add_project, project_in
from forgelore.surfaces.cli.main import output_errors
from forgelore.surfaces.cli.progress import make_watcher, stopping_on_interrupt
from forgelore.surfaces.cli.sync import add_indexing_arguments, describe_index, index_parts
from forgelore.surfaces.present.text import clean, counted_noun, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from forgelore.api import BadLine, Embedded, Exported, ImportResult, Indexed, OpenedIndex, UpdatedIndex


class UnknownKey(NamedTuple):
    """A key that means nothing here, and the first line that has it."""

    key: str
    line: int


class ImportData(NamedTuple):
    """What an import did. `read` lines = `items` + `repeated` + skipped; `written`: items that are new or changed."""

    project: str
    read: int
    items: int
    repeated: int
    written: int
    notes: int
    skipped: "list[BadLine]"
    unknown: list[UnknownKey]
    documents: "Indexed | None"
    vectors: "Embedded | None"


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", nargs="+",
        help="one JSON object per line (docs/import.md); plain or gzipped; - for standard input. Of an archive: its"
        " files or folders",
    )  # fmt: skip
    parser.add_argument(
        "--from", dest="kind", choices=("jsonl", "gharchive", "github-backup"), default="jsonl",
        help="what the files are: lines of our own format; hours of GH Archive; JSON files of python-github-backup or"
        " of `gh api --paginate`",
    )  # fmt: skip
    parser.add_argument("--project", metavar="NAME", required=True, help="the project to import into")
    parser.add_argument("--strict", action="store_true", help="stop at the first bad line instead of skipping it")
    add_indexing_arguments(parser)


def run_import(context: Context, arguments: argparse.Namespace) -> ImportData:
    from forgelore.api import UpdatedIndex

    tick = _make_line_counter(context)
    if arguments.kind != "jsonl":
        return _run_archive(context, arguments, tick)
    if len(arguments.file) > 1:
        raise UsageError("more than one file", hint="join them: cat A B | forgelore import - --project NAME")
    result = context.history.sync.import_file(
        arguments.file[0], project=arguments.project, strict=arguments.strict, index="none", on_batch=tick
    ).result
    if tick:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # the counting line makes room for the result
    _warn_of_lines(context, result)
    index = UpdatedIndex()
    if result.items:
        context.print(f"{context.style.green('✓')} {_describe_import(result)}")
        index = _index_imported(context, result.project, arguments)
    elif result.read:
        context.fail(_no_good_line(result))
    else:
        context.warn("the file is empty: nothing was imported")
    return _import_data(context, result, index)


def _run_archive(context: Context, arguments: argparse.Namespace, tick: "Callable[[int], None] | None") -> ImportData:
    from forgelore.api import UpdatedIndex

    result = context.history.sync.import_archive(
        arguments.file, project=arguments.project, kind=arguments.kind, index="none", on_batch=tick
    ).result
    _warn_of_lines(context, result)
    if not result.read:
        where = f"of {arguments.project} in {counted_noun(len(arguments.file), 'file')}"
        context.warn(f"nothing {where}: check the project's name and the files")
        return _import_data(context, result, UpdatedIndex())
    counted = f"{counted_noun(result.written, 'item')} and {counted_noun(result.notes, 'note')} written"
    bad = f", {counted_noun(len(result.bad), 'line')} skipped" if result.bad else ""
    context.print(f"{context.style.green('✓')} {result.project}: {counted} from {number(result.read)} records{bad}")
    context.print(f"  forgelore sync {arguments.project} reads what the archive lacks")
    return _import_data(context, result, _index_imported(context, result.project, arguments))


def _import_data(context: Context, result: "ImportResult", index: "UpdatedIndex") -> ImportData:
    if described := describe_index(index):
        context.print(f"  {described}")
    return ImportData(
        result.project, result.read, result.items, result.repeated, result.written, result.notes, result.bad,
        [UnknownKey(key, line) for key, line in result.unknown.items()], index.documents, index.vectors,
    )  # fmt: skip


def _warn_of_lines(context: Context, result: "ImportResult") -> None:
    for bad in result.bad[:20]:
        context.warn(f"line {bad.number} skipped: {bad.reason}")
    if len(result.bad) > 20:
        context.warn(f"{number(len(result.bad) - 20)} more bad lines skipped")
    if result.unknown:
        named = [f"{clean(key)} (first in line {line})" for key, line in result.unknown.items()]
        more = f" and {number(len(named) - 20)} more" if len(named) > 20 else ""
        context.warn(f"unknown keys were ignored: {', '.join(named[:20])}{more}")


def _describe_import(result: "ImportResult") -> str:
    """Return what happened as a line: items are counted once, however often their lines come."""
    parts = [
        f"{result.project}: {counted_noun(result.items, 'item')} in {counted_noun(result.read, 'line')}",
        f"{counted_noun(result.written, 'item')} and {counted_noun(result.notes, 'note')} written",
    ]
    if result.repeated:
        parts.append(f"{counted_noun(result.repeated, 'line')} for an item that came before (the last one counts)")
    if result.bad:
        parts.append(f"{counted_noun(len(result.bad), 'line')} skipped")
    return ", ".join(parts)


def _no_good_line(result: "ImportResult") -> InvalidValue:
    first = result.bad[0]
    hint = "nothing was written; docs/import.md has the format, with a JSON Schema to check a file against"
    return InvalidValue(
        f"no item in {counted_noun(result.read, 'line')}; line {first.number}: {first.reason}", hint=hint
    )


def _index_imported(context: Context, project: str, arguments: argparse.Namespace) -> "UpdatedIndex":
    """Index what was imported. The import itself is complete without it."""
    is_watched = not context.is_data and sys.stderr.isatty()  # as the counting line: nothing in a pipe
    with (
        stopping_on_interrupt(context),
        make_watcher(project, is_quiet=False) if is_watched else nullcontext() as bars,
    ):
        index = context.history.index.update(project, index=index_parts(arguments), watcher=bars)
    context.warn(*index.warnings)
    return index


def _make_line_counter(context: Context) -> "Callable[[int], None] | None":
    """A counting line in a terminal, nothing in a pipe."""
    if context.is_data or not sys.stderr.isatty():
        return None

    def tick(read: int) -> None:
        rate = read / max(0.001, time.monotonic() - context.started)
        print(f"\r{number(read)} lines · {rate:,.0f}/s ", end="", file=sys.stderr, flush=True)

    return tick


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    add_project(parser, "which project; default: the clone's, or the only one")
    parser.add_argument(
        "--output", metavar="FILE", help="write to this file instead of standard output, whole or not at all"
    )
    parser.add_argument(
        "--include-internal", action="store_true", help="also write internal notes and confidential items"
    )


def run_export(context: Context, arguments: argparse.Namespace) -> "Exported":
    if context.is_data and not arguments.output:
        message = f"{context.output} needs --output: standard output cannot hold both"
        raise UsageError(message, hint="add --output FILE")
    project = context.history.projects.name(project_in(arguments))
    if project is None:
        raise UsageError(
            "which project?", hint="name one, as in: forgelore export acme/web (forgelore sync-status lists them)"
        )
    done = _export(context, project, arguments)
    if done.left_out:
        context.warn(
            f"{done.left_out} internal notes or confidential items were left out (--include-internal writes them)"
        )
    if arguments.output:
        context.print(
            f"{context.style.green('✓')} {done.items:,} items of {done.project} written to {arguments.output}"
        )
    return done


def _export(context: Context, project: str, arguments: argparse.Namespace) -> "Exported":
    history, with_internal = context.history, bool(arguments.include_internal)
    if arguments.output:
        return history.sync.export_file(arguments.output, project=project, include_internal=with_internal)
    with output_errors():
        return history.sync.export_to(sys.stdout.buffer, project=project, include_internal=with_internal)


def add_open_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", metavar="SOURCE", help="OWNER/REPO@triage-index, an https:// address, a file or a folder"
    )
    parser.add_argument("--to", metavar="FILE", help="the database to make; default: one in the folder of your data")


def run_open(context: Context, arguments: argparse.Namespace) -> "OpenedIndex":
    with stopping_on_interrupt(context):
        found = context.history.setup.open_index(arguments.source, to=arguments.to)
    style, path = context.style, clean(found.path)
    projects = ", ".join(clean(one) for one in found.projects) or "no project"
    context.print(f"{style.green('✓')} {projects}: {number(found.items)} issues and changes")
    context.print(f"  {path}", "")
    context.print(f"forgelore search 'words' --db {path}", f"forgelore mcp --db {path}")
    context.print(style.dim("It is read-only; run `open` again for a newer one."))
    return found


COMMANDS = {
    "import": Command(
        add_import_arguments,
        run_import,
        (
            "forgelore import tracker.jsonl --project acme/tracker",
            "forgelore import archive.jsonl.gz --project old-bugzilla",
            "forgelore import --from gharchive 2026-03-*.json.gz --project acme/web",
            "forgelore import --from github-backup backup/repositories/web --project acme/web",
            "zcat archive.jsonl.gz | forgelore import - --project acme/tracker --strict",
        ),
    ),
    "export": Command(
        add_export_arguments,
        run_export,
        (
            "forgelore export acme/web --output web.jsonl",
            "forgelore export acme/web | gzip > web.jsonl.gz",
            "forgelore export gitlab:group/app --include-internal --output app.jsonl",
        ),
    ),
    "open": Command(
        add_open_arguments,
        run_open,
        (
            "forgelore open acme/web@triage-index           the index of a project's bot",
            "forgelore open https://github.com/acme/web/releases/download/v1/history.db.gz",
            "forgelore open ./checkout --to history.db      a checkout of the branch triage-index",
        ),
    ),
}
