"""`forgelore changes overlap [REF]`: changes that do the same as another one, and why."""

import argparse
import sys
from typing import TYPE_CHECKING

from forgelore.errors import InvalidValue, UsageError
from forgelore.surfaces.cli.command import Command, Context, add_project_option
from forgelore.surfaces.cli.filtering import read_limit
from forgelore.surfaces.present.changes import OverlapData, present_overlaps, say_overlap
from forgelore.surfaces.present.text import clean, counted_noun, day, number, table, width

if TYPE_CHECKING:
    from forgelore.api import OverlapAnswer, StoredItem

_MAX_LIMIT = 1_000
_MAX_BYTES = 16_000_000  # of a diff


def add_overlap_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", nargs="?", help="a change: #12, !34, owner/repo#12 or a page's URL")
    add_project_option(parser)
    parser.add_argument("--diff", metavar="FILE", help="a change that does not exist yet: its diff; - for stdin")
    parser.add_argument("--path", metavar="FILE", action="append", default=[], help="a file that it will touch")
    parser.add_argument("--closes", metavar="N", type=int, action="append", default=[], help="an issue it will close")
    parser.add_argument("--limit", "-L", metavar="N", type=int, default=30, help="how many groups or changes (30)")


def run_overlap(context: Context, arguments: argparse.Namespace) -> OverlapData:
    if arguments.ref and (arguments.diff or arguments.path or arguments.closes):
        raise UsageError("an existing change already has its diff", hint="leave out REF, or the options")
    diff = _read_diff(arguments.diff) if arguments.diff else ""
    answer = context.history.changes.overlap(
        arguments.ref, diff=diff, paths=arguments.path, closes=arguments.closes,
        project=context.history.projects.name(arguments.project), limit=read_limit(context, arguments, most=_MAX_LIMIT),
    )  # fmt: skip
    for warning in answer.warnings:
        context.warn(warning)
    if arguments.ref or diff or arguments.path or arguments.closes:
        _print_overlaps(context, answer)
    else:
        _print_groups(context, answer)
    return present_overlaps(answer)


def _read_diff(name: str) -> str:
    """Return a diff as text: bytes that are not UTF-8 are in some files, and in their diffs."""
    try:
        if name == "-":
            if sys.stdin is None:
                raise InvalidValue(
                    "standard input is closed", hint="git diff main | forgelore changes overlap --diff -"
                )
            return _decode(sys.stdin.buffer.read(_MAX_BYTES + 1))
        with open(name, "rb") as file:
            return _decode(file.read(_MAX_BYTES + 1))
    except OSError as error:
        raise InvalidValue(f"{name} cannot be read: {error.strerror}", hint="name a file, or - for stdin") from error


def _decode(raw: bytes) -> str:
    if len(raw) > _MAX_BYTES:
        raise InvalidValue(f"a diff of more than {_MAX_BYTES // 1_000_000} MB is not compared")
    if not raw.strip():
        raise InvalidValue("the diff is empty", hint="git diff main | forgelore changes overlap --diff -")
    return raw.decode(errors="replace")


def _print_overlaps(context: Context, answer: "OverlapAnswer") -> None:
    if answer.change:
        context.print(_head(context, answer, answer.change))
    if answer.on_default:
        context.print(context.style.bold(answer.on_default))
    if not answer.overlaps:
        context.print("No other change overlaps with it.")
        return
    for one in answer.overlaps:
        context.print("", _head(context, answer, one.change))
        said = " · ".join(fact.says for fact in one.facts)
        context.print(f"  {said}{context.style.dim(' · by the same author') if one.is_same_author else ''}")
    _print_rest(context, answer.total - len(answer.overlaps))


def _print_groups(context: Context, answer: "OverlapAnswer") -> None:
    if not answer.groups:
        context.print("No open change does the same as another one.")
        return
    groups = counted_noun(answer.total, "group")
    context.print(context.style.bold(f"{groups} of changes that do the same, in {clean(answer.project)}"))
    for group in answer.groups:
        context.print("")
        rows = [_cells(context, answer, row) for row in group.changes]
        context.print(*table(rows, grow=3, spare=(1,), columns=width()))
        for change, overlap in group.pairs:
            sentence = f"{answer.ref(change)} {say_overlap(overlap, answer.ref(overlap.change))}"
            context.print(f"  {context.style.dim(sentence)}")
    _print_rest(context, answer.total - len(answer.groups))


def _print_rest(context: Context, left: int) -> None:
    if left:
        context.print("", context.style.dim(f"{number(left)} more with --limit"))


def _cells(context: Context, answer: "OverlapAnswer", row: "StoredItem") -> list[str]:
    style, ended = context.style, day(row.merged_at or row.closed_at) if row.state != "open" else ""
    author = style.cyan(f"@{clean(row.author)}") if row.author else ""
    return [style.bold(answer.ref(row)), f"{row.state or ''} {ended}".strip(), author, clean(row.title)]


def _head(context: Context, answer: "OverlapAnswer", row: "StoredItem") -> str:
    return "  ".join(filter(None, _cells(context, answer, row)))


COMMANDS = {
    "changes overlap": Command(
        add_overlap_arguments,
        run_overlap,
        (
            "forgelore changes overlap                          groups of changes that do the same",
            "forgelore changes overlap '#42'                    which ones overlap with this one, and why",
            "git diff main | forgelore changes overlap --diff - before you open one",
            "forgelore changes overlap --path src/net/conn.py --closes 17 --project acme/web",
            "forgelore changes overlap --limit 100 --json",
        ),
    ),
}
