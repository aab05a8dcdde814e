"""`forgelore export --project NAME`."""

import argparse
import errno
import os
import sys
from typing import Any

from forgelore.errors import InvalidValue, LoreError, StoreError, UsageError
from forgelore.surfaces.cli.streams import output_errors

EXAMPLES = (
    "forgelore export --project acme/web --output web.jsonl",
    "forgelore export --project acme/web | gzip > web.jsonl.gz",
    "forgelore export --project gitlab:group/app --include-internal --output app.jsonl",
)

# Full, over a quota, larger than allowed, broken, read-only: the machine's part of what can go wrong.
_MACHINE = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG, errno.EIO, errno.EROFS}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", metavar="NAME", help="which project; default: the clone's, or the only one")
    parser.add_argument("--output", metavar="FILE", help="write here (whole or not at all) instead of standard output")
    parser.add_argument(
        "--include-internal", action="store_true", help="also write internal notes and confidential items"
    )


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from forgelore.flows.transfer.exporting import count_hidden, export_lines

    if context.is_json and not arguments.output:
        raise UsageError("--json needs --output: standard output cannot hold both", hint="add --output FILE")
    project = context.app.find_project(arguments.project)
    if project is None:
        raise UsageError("which project?", hint="add --project NAME (forgelore sync-status shows them)")
    store = context.app.store()
    lines = export_lines(store, project, include_internal=arguments.include_internal)
    count = _write_file(arguments.output, lines) if arguments.output else _write_out(lines)
    hidden = 0 if arguments.include_internal else count_hidden(store, project)
    if hidden:
        context.warn(f"{hidden} internal notes or confidential items were left out (--include-internal writes them)")
    if arguments.output:
        context.print(f"{context.style.green('✓')} {count:,} items of {project.name} written to {arguments.output}")
    return {"project": str(project.name), "items": count, "left_out": hidden}


def _write_out(lines: Any) -> int:
    with output_errors():
        return _write(sys.stdout.buffer, lines)


def _write(stream: Any, lines: Any) -> int:
    count = 0
    for line in lines:
        stream.write(line)
        count += 1
    stream.flush()
    return count


def _write_file(path: str, lines: Any) -> int:
    """Write beside the target and rename: a reader never sees half a file. A device or pipe is written to as it is."""
    target = os.path.realpath(path)
    is_plain = os.path.isfile(target) or not os.path.exists(target)
    partial = f"{target}.part" if is_plain else target
    try:
        with open(partial, "wb") as file:
            count = _write(file, lines)
        if is_plain:
            os.replace(partial, target)
    except BaseException as error:
        if is_plain and os.path.exists(partial):
            os.unlink(partial)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise _refusal(path, error) from error
        raise
    return count


def _refusal(path: str, error: OSError) -> LoreError:
    """Return whose fault it is: the machine's, or that of a path that nobody could write to."""
    message = f"cannot write {path}: {error.strerror}"
    if error.errno in _MACHINE:
        return StoreError(message, hint="free some space, or write elsewhere; no half file was left")
    return InvalidValue(message, hint="check the folder and its permissions")
