"""`forgelore evaluate FILE`."""

import argparse
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from forgelore.errors import InvalidValue
from forgelore.surfaces.cli.filtering import add_mode
from forgelore.surfaces.cli.progress import make_watcher
from forgelore.surfaces.cli.terminal import clean, fit, number, table, width
from forgelore.surfaces.present.evaluate import EvaluationData, present_decision, present_evaluation

if TYPE_CHECKING:
    from forgelore.api import Evaluation, Group, QueryResult, Score
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore evaluate golden.jsonl",
    "forgelore evaluate duplicates.jsonl --project acme/web --missed 20",
    "forgelore evaluate duplicates.jsonl --exclude spam.json --mode lexical --json",
    "forgelore evaluate duplicates.jsonl --decide      what triage would have said, right and wrong",
)
_NAMES: "dict[Group, str]" = {"issue": "issues", "change": "changes", "golden": "golden queries"}
_SHOWN_LINES = 20
_THRESHOLD = 0.92


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help='one query per line: {"q": "words", "expect": ["#12"]}, or {"query": 34, "kind": "issue", "created_at":'
        ' "…", "gold": [12]}; - for standard input',
    )
    parser.add_argument("--project", metavar="NAME", help="the project the numbers belong to")
    parser.add_argument("--exclude", metavar="FILE", help="a JSON list of item numbers that are no candidates")
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


def run(context: "Context", arguments: argparse.Namespace) -> EvaluationData:
    if arguments.missed is not None and arguments.missed < 0:
        raise InvalidValue(f"--missed {arguments.missed} is out of range", hint="use 0 or more")
    if not 0 <= arguments.threshold <= 1:
        raise InvalidValue(f"--threshold {arguments.threshold} is out of range", hint="use 0 to 1")
    result = _evaluate(context, arguments)
    for warning in result.warnings:
        context.warn(warning)
    for bad in result.left_out[:_SHOWN_LINES]:
        context.warn(f"line {bad.number} left out: {bad.reason}")
    if len(result.left_out) > _SHOWN_LINES:
        context.warn(f"{number(len(result.left_out) - _SHOWN_LINES)} more lines left out")
    if not context.is_data:
        _print_scores(context, result)
        _print_decisions(context, result)
        _print_missed(context, [one for one in result.outcomes if one.is_missed], arguments.missed or 0)
    return present_evaluation(result, missed=arguments.missed)


def _evaluate(context: "Context", arguments: argparse.Namespace) -> "Evaluation":
    project = context.history.name_project(arguments.project)
    is_watched = not context.is_data and sys.stderr.isatty()
    with make_watcher(project or "evaluate", is_quiet=False) if is_watched else nullcontext() as watcher:
        return context.history.evaluate(
            arguments.file, project=project, exclude=arguments.exclude, mode=arguments.mode,
            embedder=arguments.embedder, is_time_ordered=arguments.before,
            threshold=arguments.threshold if arguments.decide else None, watcher=watcher,
        )  # fmt: skip


def _print_scores(context: "Context", result: "Evaluation") -> None:
    measured = {group: score for group in _NAMES for score in [result.score(group)] if score.n}
    if not measured:
        context.print("no line has an answer to look for")
        return
    style = context.style
    head = [result.mode, *(f"{_NAMES[group]} ({number(score.n)})" for group, score in measured.items())]
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


# The first fields of a decision, in their order.
_DECIDED = tuple(
    enumerate(
        ("threshold", "precision", "recall", "false_alarms", "recall@fa1", "recall@fa5", "precision_at_prevalence")
    )
)


def _print_decisions(context: "Context", result: "Evaluation") -> None:
    if not result.decisions:
        return
    groups = [(_NAMES[group], present_decision(one)) for group, one in result.decisions.items()]
    head = ["warned at", *(f"{name} ({number(one.duplicates + one.others)})" for name, one in groups)]
    rows = [[name, *("-" if one[at] is None else f"{one[at]:.3f}" for _, one in groups)] for at, name in _DECIDED]
    context.print("", *table(rows, grow=0, head=head, style=context.style))


def _print_missed(context: "Context", missed: "list[QueryResult]", limit: int) -> None:
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
