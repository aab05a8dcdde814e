"""Measuring a judge: `dedupe audit`, by another judge, by history or by people, and `dedupe report`.

People see two texts side by side or one below the other, and press one key for each pair. Nothing on the screen tells
what a judge thinks, and every answer is saved at once, so that they may stop at any pair.
"""

import argparse
import json
from collections.abc import Callable
from itertools import zip_longest
from typing import TYPE_CHECKING

from forgelore.errors import UsageError
from forgelore.surfaces.cli.command import Command, Context, add_project_option, write_file
from forgelore.surfaces.cli.progress import watched
from forgelore.surfaces.present.dedupe import BOUNDS, describe_class, describe_proof, describe_share
from forgelore.surfaces.present.text import cells, clean, counted_noun, fit, number, table, width, wrap

if TYPE_CHECKING:
    from forgelore.api import (
        AuditAnalysis,
        AuditCase,
        AuditReport,
        BlindItem,
        BlindPair,
        LaneAnswer,
        MeasuredShare,
        PairLabel,
        SweptBound,
        Watcher,
    )
    from forgelore.surfaces.present.review_page import WrittenPage

_DEFAULT_SAMPLE = 100
_MAX_CASES = 20
_LABELS = {"y": "duplicate", "n": "different", "r": "related", "s": "unsure"}
_PROMPT = "duplicates? y yes · n no · r related · s skip · m more text · q quit > "
_WIDE_COLUMNS = 100  # columns from which on two texts stand side by side
_PAIR_LINES, _MAX_PAIR_LINES = 16, 400


def add_audit_arguments(parser: argparse.ArgumentParser) -> None:
    add_project_option(parser)
    parser.add_argument("--kind", choices=("issue", "change"), help="only these items; default: both")
    parser.add_argument(
        "--against", choices=("strong", "history", "human"), default="strong",
        help="what is right: another judge, known duplicates as of their filing, or people (default %(default)s)",
    )  # fmt: skip
    judges = "builtin, statements (and what maintainers wrote), llm, cheap or strong (models)"
    parser.add_argument("--judge", default="builtin", metavar="NAME", help=f"against history or people: {judges}")
    parser.add_argument("--cheap", default="cheap", metavar="NAME", help="who is measured against another judge")
    parser.add_argument("--strong", default="strong", metavar="NAME", help="that other judge")
    parser.add_argument("--sample", type=int, metavar="N", help="how many items; default: 100, all known duplicates")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="another seed, another sample")
    parser.add_argument(
        "--min-edge", type=float, default=0.85, metavar="C", help="minimum confidence (default %(default)s)"
    )
    parser.add_argument(
        "--others", type=int, default=100, metavar="N",
        help="against history: also ask about this many items that nobody called a duplicate (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="questions at once, to a model (%(default)s)"
    )
    parser.add_argument("--budget", type=int, metavar="TOKENS", help="token limit for each model")
    parser.add_argument("--pairs", metavar="FILE", help="against people: write the pairs that need a label, and end")
    parser.add_argument("--labels", metavar="FILE", help="against people: read labels from a file instead of asking")


def run_audit(context: Context, arguments: argparse.Namespace) -> "AuditReport | list[BlindPair]":
    if arguments.against != "human" and (arguments.pairs or arguments.labels):
        raise UsageError("--pairs and --labels need --against human", hint="add: --against human")
    if arguments.pairs:
        return _write_pairs(context, arguments)
    if arguments.against == "human":
        _label(context, arguments)
    project = arguments.project or context.history.projects.name() or ""
    with watched(context, project) as watcher:
        report = _audit(context, arguments, watcher)
    _print_report(context, report)
    return report


def _audit(context: Context, arguments: argparse.Namespace, watcher: "Watcher") -> "AuditReport":
    history, sample = context.history, _sample_size(arguments)
    if arguments.against == "history":
        return history.audit.by_history(
            judge=arguments.judge, project=arguments.project, kind=arguments.kind, sample=arguments.sample,
            seed=arguments.seed, min_edge=arguments.min_edge, others=arguments.others, workers=arguments.workers,
            budget=arguments.budget, watcher=watcher,
        )  # fmt: skip
    if arguments.against == "human":
        return history.audit.by_people(
            judge=arguments.judge, project=arguments.project, kind=arguments.kind, sample=sample,
            seed=arguments.seed, min_edge=arguments.min_edge, watcher=watcher,
        )  # fmt: skip
    return history.audit.compare_judges(
        cheap=arguments.cheap, strong=arguments.strong, project=arguments.project, kind=arguments.kind,
        sample=sample, seed=arguments.seed, min_edge=arguments.min_edge, workers=arguments.workers,
        budget=arguments.budget, watcher=watcher,
    )  # fmt: skip


def _list_pairs(context: Context, arguments: argparse.Namespace) -> "list[BlindPair]":
    return context.history.audit.list_blind_pairs(
        judge=arguments.judge, project=arguments.project, kind=arguments.kind, sample=_sample_size(arguments),
        seed=arguments.seed,
    )  # fmt: skip


def _sample_size(arguments: argparse.Namespace) -> int:
    return _DEFAULT_SAMPLE if arguments.sample is None else int(arguments.sample)


def _label(context: Context, arguments: argparse.Namespace) -> None:
    """Get labels: from a file, or from the person at the terminal."""
    history = context.history
    if arguments.labels:
        history.audit.label(history.audit.read_labels(arguments.labels), project=arguments.project)
        return
    if not context.is_interactive:
        raise UsageError(
            "labelling needs a terminal",
            hint="write the pairs with --pairs FILE, fill in the labels, and read them with --labels FILE",
        )
    pairs = _list_pairs(context, arguments)
    answered = _ask_labels(context, pairs, lambda label: history.audit.label([label], project=arguments.project))
    if answered < len(pairs):
        context.print("", f"{len(pairs) - answered} pairs are left; the same command goes on with them", "")


def _write_pairs(context: Context, arguments: argparse.Namespace) -> "list[BlindPair]":
    pairs = _list_pairs(context, arguments)
    lines = "".join(json.dumps(_pair_line(pair), ensure_ascii=False) + "\n" for pair in pairs)
    write_file(arguments.pairs, lines, hint="name another file with --pairs")
    context.print(f"{len(pairs)} pairs written; fill in each label (duplicate, related, different or unsure), then:")
    context.print(f"  forgelore dedupe audit --against human --labels {arguments.pairs}")
    return pairs


def _pair_line(pair: "BlindPair") -> dict[str, object]:
    texts = {
        "first": {"number": pair.first.number, "title": pair.first.title, "body": pair.first.body},
        "second": {"number": pair.second.number, "title": pair.second.title, "body": pair.second.body},
    }
    return {"kind": pair.kind, "number": pair.number, "target": pair.target, "label": "", **texts}


def add_report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=int, nargs="?", metavar="RUN", help="the number of an audit; default: the newest")
    add_project_option(parser)
    parser.add_argument("--html", metavar="FILE", help="only write everything to a self-contained page")
    parser.add_argument("--gate-rank-max", type=int, metavar="N", help="accept only targets up to this rank")
    parser.add_argument("--gate-score-min", type=float, metavar="S", help="... of at least this similarity")
    parser.add_argument(
        "--gate-gap-min", type=float, metavar="G", help="... that lead the others by at least this much"
    )
    parser.add_argument(
        "--gate-confidence-min", type=float, metavar="C", help="... that the judge is at least this sure of"
    )


def run_report(context: Context, arguments: argparse.Namespace) -> "AuditAnalysis | WrittenPage":
    if arguments.html:
        return _write_page(context, arguments)
    found = context.history.audit.analyse(
        arguments.run, project=arguments.project, rank_max=arguments.gate_rank_max,
        score_min=arguments.gate_score_min, gap_min=arguments.gate_gap_min,
        confidence_min=arguments.gate_confidence_min,
    )  # fmt: skip
    _print_report(context, found.report)
    if found.simulated:
        _print_simulation(context, found)
    _print_sweeps(context, found)
    return found


def _write_page(context: Context, arguments: argparse.Namespace) -> "WrittenPage":
    from forgelore.surfaces.present.review_page import WrittenPage, build_page

    if arguments.run is not None:
        raise UsageError(
            "--html writes a page about everything, not about one run", hint="leave the number or --html out"
        )
    overview = context.history.dedupe.load_overview(project=arguments.project)
    write_file(arguments.html, build_page(overview), hint="name another file with --html")
    written = WrittenPage(arguments.html, overview.project, len(overview.clusters), len(overview.audits))
    counted = f"{counted_noun(written.clusters, 'cluster')}, {counted_noun(written.audits, 'audit')}"
    context.print(f"{arguments.html}: {counted}")
    return written


def _print_report(context: Context, report: "AuditReport") -> None:
    """Print an audit: classes, precision and recall, disagreements."""
    style = context.style
    name = f"{report.judge} {report.model}".strip()
    context.print(f"{style.bold(f'run {report.run}')}: the judge {clean(name)}, measured by {clean(report.reference)}")
    _print_classes(context, report.counters, report.against)
    _print_share(context, "precision", report.precision)
    _print_share(context, "recall", report.recall)
    if report.prompt_tokens or report.answer_tokens:
        cost = f", cost {report.cost:,.4f}" if report.cost else ""
        context.print(f"  {number(report.prompt_tokens)} tokens in, {number(report.answer_tokens)} out{cost}")
    _print_reference(context, report)
    _print_cases(context, report.disagreements)
    if report.status == "stopped":
        context.warn("the audit was stopped early and proves nothing; run it again")


def _print_classes(context: Context, counters: dict[str, int], against: str) -> None:
    rows = [[name, number(count), describe_class(name, against)] for name, count in counters.items() if count]
    context.print(*(f"  {line}" for line in table(rows, grow=2)))


def _print_share(context: Context, name: str, share: "MeasuredShare | None") -> None:
    context.print(f"  {name}: {describe_share(share)}")


def _print_cases(context: Context, cases: "list[AuditCase]") -> None:
    if not cases:
        return
    context.print("", f"{number(len(cases))} to look at:")
    rows = [
        [one.audit_class, f"#{one.number}", _describe_lane(one.judged), _describe_lane(one.right), clean(one.title)]
        for one in cases[:_MAX_CASES]
    ]
    context.print(*table(rows, grow=4, head=["class", "item", "judge", "right", "title"], style=context.style))
    if len(cases) > _MAX_CASES:
        context.print(context.style.dim(f"and {number(len(cases) - _MAX_CASES)} more: --json has them all"))


def _describe_lane(answer: "LaneAnswer") -> str:
    if answer.outcome == "accepted":
        return ", ".join(f"#{one}" for one in (answer.target, *answer.also)[:3])
    return answer.reason or "-"


def _print_reference(context: Context, report: "AuditReport") -> None:
    style = context.style
    if report.against == "strong":
        context.print(style.dim("  compares two judges: no proof for closings (--against history or human is)"))
        return
    context.print(style.dim(f"  {describe_proof(report.precision)}"))


def _print_simulation(context: Context, found: "AuditAnalysis") -> None:
    """Print what the given bounds would have made of an audit."""
    if found.simulated is None:
        return
    bounds = zip(BOUNDS.values(), found.bounds, strict=True)
    shown = ", ".join(f"{name} {value:g}" for name, value in bounds if value is not None)
    context.print("", context.style.bold(f"with {shown}:"))
    _print_classes(context, found.simulated.classes, found.report.against)
    _print_share(context, "precision", found.simulated.precision)
    _print_share(context, "recall", found.simulated.recall)


def _print_sweeps(context: Context, found: "AuditAnalysis") -> None:
    """Print what each value of each bound would have made of it, down to the first that leaves nothing."""
    rows = [_sweep_row(one) for one in found.sweeps if _count_accepted(one)]
    if not rows:
        context.print("", "nothing was accepted: there are no bounds to try")
        return
    context.print("")
    context.print(*table(rows, grow=0, head=["gate", "accepted", "precision", "recall"], style=context.style))


def _count_accepted(one: "SweptBound") -> int:
    return sum(one.scores.classes.get(name, 0) for name in ("tp", "fp", "conflict"))


def _sweep_row(one: "SweptBound") -> list[str]:
    scores = one.scores
    return [
        f"{BOUNDS[one.bound]} {one.value:g}", number(_count_accepted(one)), describe_share(scores.precision),
        describe_share(scores.recall),
    ]  # fmt: skip


def _ask_labels(context: Context, pairs: "list[BlindPair]", save: "Callable[[PairLabel], object]") -> int:
    """Ask about each pair until somebody quits; returns how many were answered."""
    answered = 0
    for at, pair in enumerate(pairs, 1):
        context.print("", context.style.bold(f"{number(at)} of {number(len(pairs))} ({pair.kind}s)"))
        _show_pair(context, pair)
        label = _ask_label(context, pair)
        if label is None:
            break
        save(label)
        answered += 1
    return answered


def _show_pair(context: Context, pair: "BlindPair", *, lines: int = _PAIR_LINES) -> None:
    """Print both items, the one with the smaller number first."""
    columns = width()
    if columns < _WIDE_COLUMNS:
        for item in (pair.first, pair.second):
            context.print(*_item_lines(item, columns, lines), "")
        return
    half = (columns - 3) // 2
    left, right = (_item_lines(item, half, lines) for item in (pair.first, pair.second))
    for first, second in zip_longest(left, right, fillvalue=""):
        context.print(f"{_padded(first, half)} │ {fit(second, half)}".rstrip())


def _item_lines(item: "BlindItem", columns: int, lines: int) -> list[str]:
    body = [line.rstrip() for line in wrap(item.body, columns)] or [""]
    shown = body[:lines]
    rest = [f"… {number(len(body) - lines)} more lines"] if len(body) > lines else []
    return [fit(clean(f"#{item.number} {item.title}"), columns), fit(clean(item.url), columns), "", *shown, *rest]


def _padded(text: str, columns: int) -> str:
    cut = fit(text, columns)
    return cut + " " * (columns - cells(cut))


def _ask_label(context: Context, pair: "BlindPair") -> "PairLabel | None":
    """Return what the person says; None: they quit, or there is nobody any more."""
    from forgelore.api import PairLabel

    while True:
        try:
            key = input(_PROMPT).strip().lower()[:1]
        except EOFError:
            return None
        if key == "q":
            return None
        if key == "m":
            _show_pair(context, pair, lines=_MAX_PAIR_LINES)
        if key in _LABELS:
            return PairLabel(pair.kind, pair.number, pair.target, _LABELS[key])  # type: ignore[arg-type]


COMMANDS = {
    "dedupe audit": Command(
        add_audit_arguments,
        run_audit,
        (
            "forgelore dedupe audit --against history             by the duplicates that the project knows",
            "forgelore dedupe audit --against human --sample 40   by you: two texts, one key; go on whenever you like",
            "forgelore dedupe audit --against human --pairs ask.jsonl     write the pairs, to be labelled elsewhere",
            "forgelore dedupe audit --against human --labels ask.jsonl    read them back, and measure",
            "forgelore dedupe audit --sample 100 --seed 7         the cheap model beside the strong one",
            "forgelore dedupe audit --cheap builtin --strong strong",
        ),
    ),
    "dedupe report": Command(
        add_report_arguments,
        run_report,
        (
            "forgelore dedupe report                        the newest audit, with sweeps of each gate",
            "forgelore dedupe report 14 --gate-score-min 0.95 --gate-gap-min 0.5",
            "forgelore dedupe report --html page.html       clusters, evidence, audits and the plan, for a browser",
        ),
    ),
}
