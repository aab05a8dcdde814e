"""`forgelore triage [REF]`: does an item repeat something? Inside CI: the bot, for the event that started the job."""

import argparse
import os
from typing import Any

from forgelore.errors import UsageError
from forgelore.surfaces.cli.terminal import clean

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
        ("--max-results", str, "rows in the report, 1 to 20 (5)"),
    ):
        parser.add_argument(name, type=kind, metavar="N", help=what)
    split = parser.add_mutually_exclusive_group()
    split.add_argument("--emit", metavar="FILE", help="in CI: write the judgement to FILE and nothing else anywhere")
    split.add_argument("--apply", metavar="FILE", help="in CI: post what a judgement in FILE allows")
    parser.add_argument("--keep", metavar="FOLDER", help="in CI: keep the index there while it cannot be pushed")


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from forgelore.surfaces.ci.runner import find_ci

    where = find_ci(os.environ)
    if arguments.ref is None:
        if where is None:
            raise UsageError("name an item", hint="forgelore triage '#12'; without one it runs inside CI")
        from forgelore.surfaces.ci.action import run_in_ci

        result: dict[str, Any] = run_in_ci(
            context, where, emit=arguments.emit or "", apply=arguments.apply or "", keep=arguments.keep or "",
            is_dry=arguments.dry_run,
        )  # fmt: skip
        return result
    if arguments.emit or arguments.apply or arguments.keep:
        raise UsageError(
            "--emit, --apply and --keep are for events, not for a named item", hint="leave REF out, inside CI"
        )
    return _triage_one(context, arguments)


def _triage_one(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from forgelore.api import History
    from forgelore.core.names import parse_ref
    from forgelore.core.triage.inputs import parse_inputs

    names = ("similarity_threshold", "duplicate_threshold", "max_results")
    given = {f"INPUT_{name.upper()}": getattr(arguments, name) or "" for name in names}
    inputs, complaints = parse_inputs(given)
    for complaint in complaints:
        context.warn(complaint)
    triaged, posted = History(context.app).triage(
        parse_ref(arguments.ref), inputs, project=arguments.project, is_posted=arguments.post
    )
    for warning in triaged.warnings:
        context.warn(warning)
    if not context.is_json:
        _print(context, arguments.ref, triaged, posted)
    report = triaged.report
    return {
        "ref": arguments.ref, "title": triaged.title, "outcome": triaged.outcome, "reason": triaged.reason,
        "matches": [_row_data(row) for row in report.rows] if report else [],
        "related": [_row_data(row) for row in report.related] if report else [],
        "chance": report.chance if report else None, "labels": [list(one) for one in triaged.labels],
        "report": triaged.body, "comment": posted.action if posted else None,
        "comment_url": posted.url if posted else None,
    }  # fmt: skip


def _row_data(row: Any) -> dict[str, Any]:
    """Return a row with the refs of what fixed it and of what it was closed in favour of."""
    return {
        **row._asdict(), "fixed_by": row.fixed_by.ref if row.fixed_by else None,
        "original": row.original.ref if row.original else None,
    }  # fmt: skip


def _print(context: Any, ref: str, triaged: Any, posted: Any) -> None:
    context.print(f"{context.style.bold(clean(ref))} {clean(triaged.title)}", "")
    if triaged.body:
        context.print(*(clean(line) for line in triaged.body.splitlines()))
    else:
        context.print(f"nothing to say: {triaged.reason}")
    if posted is not None:
        where = f" {posted.url}" if posted.url else ""
        context.print("", f"comment: {posted.action}{where}" + (f" ({posted.reason})" if posted.reason else ""))
    elif triaged.body:
        context.print("", context.style.dim("nothing was posted; --post does"))
