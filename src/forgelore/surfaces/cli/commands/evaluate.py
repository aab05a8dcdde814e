"""`forgelore evaluate FILE`."""

import argparse
import sys
from contextlib import nullcontext
from typing import Any

from forgelore.surfaces.cli.terminal import clean, fit, number, table, width

EXAMPLES = (
    "forgelore evaluate golden.jsonl",
    "forgelore evaluate duplicates.jsonl --project acme/web --missed 20",
    "forgelore evaluate duplicates.jsonl --exclude spam.json --mode lexical --json",
    "forgelore evaluate duplicates.jsonl --decide      what triage would have said, right and wrong",
)
_NAMES = {"issue": "issues", "change": "changes", "golden": "golden queries"}
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
    parser.add_argument(
        "--mode", choices=("hybrid", "lexical", "semantic"), default="hybrid",
        help="by words and meaning (hybrid, the default), by words, or by meaning",
    )  # fmt: skip
    parser.add_argument("--embedder", metavar="NAME", help="use these vectors instead of the configured ones")
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


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from forgelore.errors import InvalidValue
    from forgelore.flows.compare.evaluate import GROUPS

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
    missed = [one for one in result.outcomes if one.is_missed]
    scores: dict[str, Any] = {group: result.score(group) for group in GROUPS}
    if not context.is_json:
        _print_scores(context, scores, result)
        _print_decisions(context, result.decisions)
        _print_missed(context, missed, arguments.missed or 0)
    return {
        "mode": result.mode,
        **{group: {**_score_data(score), **_decision_data(result.decisions, group)} for group, score in scores.items()},
        "missed": [_missed_data(one) for one in missed[: arguments.missed]],
        "not_duplicates": result.not_duplicates,
        "left_out": [{"line": bad.number, "reason": bad.reason} for bad in result.left_out],
    }  # fmt: skip


def _evaluate(context: Any, arguments: argparse.Namespace) -> Any:
    from forgelore.api import History
    from forgelore.flows.compare.evaluate import EvaluationSetup, evaluate, read_suite
    from forgelore.flows.transfer.importing import open_source
    from forgelore.surfaces.cli.progress import make_watcher

    with open_source(arguments.file) as source:
        suite = read_suite(source)
    project = context.app.find_project(arguments.project)
    setting = EvaluationSetup(
        project, context.app.hosts, arguments.mode, _excluded(arguments.exclude), is_time_ordered=arguments.before,
        threshold=arguments.threshold if arguments.decide else None,
    )  # fmt: skip
    retriever = History(context.app).retriever(arguments.embedder, is_lexical=arguments.mode == "lexical")
    is_watched = not context.is_json and sys.stderr.isatty()
    title = str(project.name) if project else "evaluate"
    with make_watcher(title, is_json=False) if is_watched else nullcontext() as watcher:
        return evaluate(retriever, suite, setting, watcher=watcher)


def _excluded(path: str | None) -> tuple[int, ...]:
    from forgelore.core.compare.queryfile import parse_numbers
    from forgelore.flows.transfer.importing import open_source

    if path is None:
        return ()
    with open_source(path) as source:
        return tuple(parse_numbers(source.read()))


def _print_scores(context: Any, scores: dict[str, Any], result: Any) -> None:
    from forgelore.core.compare.scoring import METRICS

    measured = {group: score for group, score in scores.items() if score.n}
    if not measured:
        context.print("no line has an answer to look for")
        return
    style = context.style
    head = [result.mode, *(f"{_NAMES[group]} ({number(score.n)})" for group, score in measured.items())]
    rows = [
        [metric.upper() if metric == "mrr" else metric, *(_cell(score, metric) for score in measured.values())]
        for metric in METRICS
    ]
    context.print(*table(rows, grow=0, head=head, style=style))
    context.print(style.dim("in brackets: the 95 % interval"))
    if result.not_duplicates and not result.decisions:
        context.print(style.dim(f"{number(result.not_duplicates)} lines without gold: nothing to find, not counted"))


def _print_decisions(context: Any, decisions: dict[str, Any]) -> None:
    if not decisions:
        return
    head = [
        "warned at",
        *(f"{_NAMES[group]} ({number(one.duplicates + one.others)})" for group, one in decisions.items()),
    ]
    told = [_decided(one) for one in decisions.values()]
    rows = [[name, *("-" if each[name] is None else f"{each[name]:.3f}" for each in told)] for name in _DECIDED]
    context.print("", *table(rows, grow=0, head=head, style=context.style))


_DECIDED = ("threshold", "precision", "recall", "false_alarms", "recall@fa1", "recall@fa5", "precision_at_prevalence")


def _decided(one: Any) -> dict[str, float | None]:
    return {
        "threshold": one.threshold, "precision": one.precision, "recall": one.recall,
        "false_alarms": one.false_alarms, "recall@fa1": one.recall_at[0.01], "recall@fa5": one.recall_at[0.05],
        "precision_at_prevalence": one.precision_at_prevalence,
    }  # fmt: skip


def _decision_data(decisions: dict[str, Any], group: str) -> dict[str, Any]:
    """Return the key `decision` where something was decided; the shares are null where nothing could be measured."""
    if not decisions:
        return {}
    one = decisions.get(group)
    if one is None:
        return {"decision": None}
    rounded = {name: None if value is None else round(value, 4) for name, value in _decided(one).items()}
    prevalence = None if one.prevalence is None else round(one.prevalence, 4)
    return {"decision": {**rounded, "duplicates": one.duplicates, "others": one.others, "prevalence": prevalence}}


def _cell(score: Any, metric: str) -> str:
    low, high = score.ci95[metric]
    return f"{score.values[metric]:.3f} [{low:.2f}, {high:.2f}]"


def _print_missed(context: Any, missed: list[Any], limit: int) -> None:
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
            context.print(f"    first was {fit(clean(f'{_ref(one.first)} {one.first.title}'), columns - 14)}")


def _ref(row: Any) -> str:
    from forgelore.surfaces.cli.hits import ref_of

    return ref_of(row)


def _score_data(score: Any) -> dict[str, Any]:
    """Every key is always there; nothing measured is null."""
    from forgelore.core.compare.scoring import METRICS

    values = {metric: round(score.values[metric], 4) if score.n else None for metric in METRICS}
    ci95 = {metric: [round(end, 4) for end in score.ci95[metric]] if score.n else None for metric in METRICS}
    return {"n": score.n, **values, "ci95": ci95}


def _missed_data(one: Any) -> dict[str, Any]:
    first = {"ref": _ref(one.first), "title": one.first.title} if one.first else None
    return {
        "line": one.line, "group": one.group, "query": one.query, "title": one.title,
        "expected": list(one.expected), "rank": one.rank, "first": first,
    }  # fmt: skip
