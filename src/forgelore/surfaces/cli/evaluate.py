"""Measuring: `evaluate`, how well search answers known questions, and `calibrate`, how sure a match is."""

import argparse
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from forgelore.errors import InvalidValue
from forgelore.surfaces.cli.command import Command, Context
from forgelore.surfaces.cli.filtering import add_mode, add_project, project_in
from forgelore.surfaces.cli.progress import make_watcher, watched
from forgelore.surfaces.present.evaluate import (
    CalibrationData,
    EvaluationData,
    present_calibration,
    present_evaluation,
)
from forgelore.surfaces.present.text import clean, fit, number, table, width

if TYPE_CHECKING:
    from forgelore.api import Calibrated, Evaluation, Group, QueryResult, Score

_GROUPS: "dict[Group, str]" = {"issue": "issues", "change": "changes", "golden": "golden queries"}
_PLURALS = {"issue": "issues", "change": "changes"}
_MAX_BAD_LINES = 20
_THRESHOLD = 0.92
# The first fields of a decision, in their order.
_DECIDED = ("threshold", "precision", "recall", "false_alarms", "recall@fa1", "recall@fa5", "precision_at_prevalence")


def add_evaluate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help='one query per line: {"q": "words", "expect": ["#12"]}, or {"query": 34, "kind": "issue", "created_at":'
        ' "…", "gold": [12]}; - for standard input',
    )
    parser.add_argument("--project", metavar="NAME", help="the project the numbers belong to")
    parser.add_argument("--exclude", metavar="FILE", help="a JSON list of item numbers that are not candidates")
    add_mode(parser)
    parser.add_argument(
        "--before", action=argparse.BooleanOptionalAction, default=True,
        help="compare an item with earlier ones only (the default), or with all others",
    )  # fmt: skip
    parser.add_argument(
        "--missed", metavar="N", type=int, help="list up to N queries whose answer is not among the first 10"
    )
    parser.add_argument(
        "--decide", action="store_true",
        help="also say how often the duplicate warning would have been right; lines without gold show its noise",
    )  # fmt: skip
    parser.add_argument(
        "--threshold", metavar="X", type=float, default=_THRESHOLD,
        help=f"the similarity that --decide warns at (default: {_THRESHOLD})",
    )  # fmt: skip


def run_evaluate(context: Context, arguments: argparse.Namespace) -> EvaluationData:
    if arguments.missed is not None and arguments.missed < 0:
        raise InvalidValue(f"--missed {arguments.missed} is out of range", hint="use 0 or more")
    if not 0 <= arguments.threshold <= 1:
        raise InvalidValue(f"--threshold {arguments.threshold} is out of range", hint="use 0 to 1")
    result = _evaluate(context, arguments)
    context.warn(*result.warnings)
    for bad in result.left_out[:_MAX_BAD_LINES]:
        context.warn(f"line {bad.number} left out: {bad.reason}")
    if len(result.left_out) > _MAX_BAD_LINES:
        context.warn(f"{number(len(result.left_out) - _MAX_BAD_LINES)} more lines left out")
    if not context.is_data:
        _print_scores(context, result)
        _print_decisions(context, result)
        _print_missed(context, [one for one in result.outcomes if one.is_missed], arguments.missed or 0)
    return present_evaluation(result, missed=arguments.missed)


def _evaluate(context: Context, arguments: argparse.Namespace) -> "Evaluation":
    project = context.history.projects.name(arguments.project)
    is_watched = not context.is_data and sys.stderr.isatty()
    with make_watcher(project or "evaluate", is_quiet=False) if is_watched else nullcontext() as watcher:
        return context.history.evaluate(
            arguments.file, project=project, exclude=arguments.exclude, mode=arguments.mode,
            embedder=arguments.embedder, earlier=arguments.before,
            threshold=arguments.threshold if arguments.decide else None, watcher=watcher,
        )  # fmt: skip


def _print_scores(context: Context, result: "Evaluation") -> None:
    measured = {group: score for group in _GROUPS for score in [result.score(group)] if score.n}
    if not measured:
        context.print("no line has an expected answer")
        return
    style = context.style
    head = [result.mode, *(f"{_GROUPS[group]} ({number(score.n)})" for group, score in measured.items())]
    metrics = next(iter(measured.values())).values
    rows = [
        [metric.upper() if metric == "mrr" else metric, *(_cell(score, metric) for score in measured.values())]
        for metric in metrics
    ]
    context.print(*table(rows, grow=0, head=head, style=style))
    context.print(style.dim("in brackets: the 95 % interval"))
    if result.not_duplicates and not result.decisions:
        context.print(style.dim(f"{number(result.not_duplicates)} lines without gold: nothing to find, not counted"))


def _cell(score: "Score", metric: str) -> str:
    low, high = score.ci95[metric]
    return f"{score.values[metric]:.3f} [{low:.2f}, {high:.2f}]"


def _print_decisions(context: Context, result: "Evaluation") -> None:
    if not result.decisions:
        return
    groups = [(_GROUPS[group], one) for group, one in result.decisions.items()]
    head = ["warned at", *(f"{name} ({number(one.duplicates + one.others)})" for name, one in groups)]
    rows = [
        [name, *("-" if one[at] is None else f"{one[at]:.3f}" for _, one in groups)] for at, name in enumerate(_DECIDED)
    ]
    context.print("", *table(rows, grow=0, head=head, style=context.style))


def _print_missed(context: Context, missed: "list[QueryResult]", limit: int) -> None:
    if not missed:
        return
    style, columns = context.style, width()
    advice = "" if limit else " (--missed 20 lists them)"
    context.print("", f"{number(len(missed))} not found among the first 10{advice}")
    for one in missed[:limit]:
        place = f"at {one.rank}" if one.rank else "not among the hits"
        asked = f"{one.query} {one.title}" if one.title else one.query
        context.print(f"  {style.bold(fit(clean(asked), columns - 2))}")
        context.print(f"    expected {clean(', '.join(one.expected))}: {place}")
        if one.first:
            context.print(f"    first was {fit(clean(f'{one.first.ref} {one.first.title}'), columns - 14)}")


def add_calibrate_arguments(parser: argparse.ArgumentParser) -> None:
    add_project(parser, "one project; default: the clone's, or the only one")
    parser.add_argument("--embedder", metavar="NAME", help="use these vectors instead of the configured ones")
    parser.add_argument("--dry-run", action="store_true", help="measure only; write nothing")


def run_calibrate(context: Context, arguments: argparse.Namespace) -> CalibrationData:
    project = context.history.projects.name(project_in(arguments))
    with watched(context, project or "") as watcher:
        found = context.history.calibrate(
            project=project, embedder=arguments.embedder, dry_run=arguments.dry_run, watcher=watcher
        )
    for one in found:
        _print_calibrated(context, one, is_dry=arguments.dry_run)
    if not found:
        context.print("no issues or changes to learn from")
    return present_calibration(project or "", found, is_dry=arguments.dry_run)


def _print_calibrated(context: Context, one: "Calibrated", *, is_dry: bool) -> None:
    style = context.style
    first = f", {number(one.found_first)} of them found first" if one.pairs else ""
    context.print(
        f"{style.bold(_PLURALS[one.kind])}: {number(one.pairs)} known duplicates{first}; {number(one.items)} items"
    )
    if one.pairs:
        rows = [
            [f"{at.similarity:.2f}", _share(at.precision), _share(at.recall), number(at.flagged)]
            for at in one.thresholds
        ]
        head = ["similarity", "precision", "recall", "ranked items at or above"]
        context.print(*(f"  {line}" for line in table(rows, grow=3, head=head, style=style)))
    if one.kept:
        context.print(f"  {style.yellow('!')} the shipped chance is kept: {one.kept}")
    else:
        done = "would be used" if is_dry else "is used from now on"
        error = f"off by {one.curve.calibration_error or 0:.3f} on items it had not seen"
        context.print(f"  {style.green('✓')} a chance fitted on {number(one.pairs)} pairs {done} ({error})")


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


COMMANDS = {
    "evaluate": Command(
        add_evaluate_arguments,
        run_evaluate,
        (
            "forgelore evaluate golden.jsonl",
            "forgelore evaluate duplicates.jsonl --project acme/web --missed 20",
            "forgelore evaluate duplicates.jsonl --exclude spam.json --mode lexical --json",
            "forgelore evaluate duplicates.jsonl --decide      what triage would have said, right and wrong",
        ),
    ),
    "calibrate": Command(
        add_calibrate_arguments,
        run_calibrate,
        (
            "forgelore calibrate acme/web",
            "forgelore calibrate --dry-run         say the same, and write nothing at all",
        ),
    ),
}
