"""`forgelore triage [REF]`: does an item repeat something? Inside CI: the bot, for the event that started the job."""

import argparse
import os
from typing import TYPE_CHECKING

from forgelore.errors import UsageError
from forgelore.surfaces.cli.terminal import clean, width

if TYPE_CHECKING:
    from forgelore.api import TriageAnswer
    from forgelore.surfaces.cli.command import Context
    from forgelore.surfaces.present.triage import BotData, TriageData

EXAMPLES = (
    "forgelore triage '#12'                  print what it repeats",
    "forgelore triage '#12' --post           and tell its author, in one comment",
    "forgelore triage '#12' --max-results 10 --json",
    "forgelore triage                        inside GitHub Actions or GitLab CI: handle the event",
    "forgelore triage --dry-run              the same, and write nothing",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", nargs="?", help="#12, !34, owner/repo#12 or a page's URL")
    parser.add_argument("--project", metavar="NAME", help="the project of a short REF")
    posting = parser.add_mutually_exclusive_group()
    posting.add_argument("--post", action="store_true", help="create, update or delete the comment (default in CI)")
    posting.add_argument("--dry-run", action="store_true", help="write nothing on the forge")
    for name, kind, what in (
        ("--similarity-threshold", str, "how close an item must be to be shown (0.75)"),
        ("--duplicate-threshold", str, "how close the first must be for a warning (0.92)"),
        ("--max-results", str, "rows in the report, 1 to 20 (3)"),
    ):
        parser.add_argument(name, type=kind, metavar="N", help=what)
    split = parser.add_mutually_exclusive_group()
    split.add_argument("--emit", metavar="FILE", help="in CI: write the judgement to FILE and nothing else anywhere")
    split.add_argument("--apply", metavar="FILE", help="in CI: post what a judgement in FILE allows")
    parser.add_argument("--keep", metavar="FOLDER", help="in CI: keep the index there while it cannot be pushed")


def run(context: "Context", arguments: argparse.Namespace) -> "TriageData | BotData":
    from forgelore.surfaces.cli.ci import find_ci

    where = find_ci(os.environ)
    if arguments.ref is None:
        if where is None:
            raise UsageError("name an item", hint="forgelore triage '#12'; without one it runs inside CI")
        from forgelore.surfaces.cli.ci import run_in_ci

        return run_in_ci(
            context, where, emit=arguments.emit or "", apply=arguments.apply or "", keep=arguments.keep or "",
            is_dry=arguments.dry_run,
        )  # fmt: skip
    if arguments.emit or arguments.apply or arguments.keep:
        raise UsageError(
            "--emit, --apply and --keep are for events, not for a named item", hint="leave REF out, inside CI"
        )
    return _triage_one(context, arguments)


def _triage_one(context: "Context", arguments: argparse.Namespace) -> "TriageData":
    from forgelore.api import parse_inputs
    from forgelore.surfaces.present.triage import present_triage

    names = ("similarity_threshold", "duplicate_threshold", "max_results")
    given = {f"INPUT_{name.upper()}": getattr(arguments, name) or "" for name in names}
    inputs, complaints = parse_inputs(given)
    for complaint in complaints:
        context.warn(complaint)
    project = context.history.name_project(arguments.project)
    answer = context.history.triage(arguments.ref, inputs, project=project, is_posted=arguments.post)
    for warning in answer.warnings:
        context.warn(warning)
    if not context.is_data:
        _print(context, arguments.ref, answer)
    return present_triage(arguments.ref, answer)


def _print(context: "Context", ref: str, answer: "TriageAnswer") -> None:
    found, posted = answer
    context.print(f"{context.style.bold(clean(ref))} {clean(found.title)}", "")
    if found.body:
        from forgelore.surfaces.cli.rendering import render_comment

        context.print(*render_comment(found.body, context.style, min(width(), 110)))
    else:
        context.print(f"nothing to say: {found.reason}")
    if posted is not None:
        where = f" {posted.url}" if posted.url else ""
        context.print("", f"comment: {posted.action}{where}" + (f" ({posted.reason})" if posted.reason else ""))
    elif found.body:
        context.print("", context.style.dim("nothing was posted; --post does"))
