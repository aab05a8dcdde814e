"""`forgelore dedupe audit`: how often a judge is right, by another judge, by history, or by people."""

import argparse
import json
from typing import TYPE_CHECKING

from forgelore.errors import StoreError, UsageError
from forgelore.surfaces.cli.deduping.audit_tables import print_report
from forgelore.surfaces.cli.indexing import stopping_on_interrupt
from forgelore.surfaces.cli.progress import make_watcher

if TYPE_CHECKING:
    from forgelore.api import AuditReport, BlindPair, Watcher
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore dedupe audit --against history             by the duplicates that the project knows",
    "forgelore dedupe audit --against human --sample 40   by you: two texts, one key; go on whenever you like",
    "forgelore dedupe audit --against human --pairs ask.jsonl     write the pairs, to be labelled elsewhere",
    "forgelore dedupe audit --against human --labels ask.jsonl    read them back, and measure",
    "forgelore dedupe audit --sample 100 --seed 7         the cheap model beside the strong one",
    "forgelore dedupe audit --cheap builtin --strong strong",
)
_SAMPLE = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", metavar="NAME", help="one project; default: the clone's, or the only one")
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
        "--min-edge", type=float, default=0.85, metavar="C", help="least confidence (default %(default)s)"
    )
    parser.add_argument(
        "--others", type=int, default=100, metavar="N",
        help="against history: ask about so many items that nobody called a duplicate, too (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="questions at once, to a model (%(default)s)"
    )
    parser.add_argument("--budget", type=int, metavar="TOKENS", help="ask each model no more than this")
    parser.add_argument("--pairs", metavar="FILE", help="against people: write the pairs that need a label, and end")
    parser.add_argument("--labels", metavar="FILE", help="against people: read labels from a file instead of asking")


def run(context: "Context", arguments: argparse.Namespace) -> "AuditReport | list[BlindPair]":
    if arguments.against != "human" and (arguments.pairs or arguments.labels):
        raise UsageError("--pairs and --labels are for people", hint="add: --against human")
    if arguments.pairs:
        return _write_pairs(context, arguments)
    if arguments.against == "human":
        _label(context, arguments)
    project = arguments.project or context.history.name_project() or ""
    with stopping_on_interrupt(context), make_watcher(project, is_quiet=context.is_data) as watcher:
        report = _audit(context, arguments, watcher)
    print_report(context, report)
    return report


def _audit(context: "Context", arguments: argparse.Namespace, watcher: "Watcher") -> "AuditReport":
    history, sample = context.history, _sample(arguments)
    if arguments.against == "history":
        return history.audit_by_history(
            judge=arguments.judge, project=arguments.project, kind=arguments.kind, sample=arguments.sample,
            seed=arguments.seed, min_edge=arguments.min_edge, others=arguments.others, workers=arguments.workers,
            budget=arguments.budget, watcher=watcher,
        )  # fmt: skip
    if arguments.against == "human":
        return history.audit_by_people(
            judge=arguments.judge, project=arguments.project, kind=arguments.kind, sample=sample,
            seed=arguments.seed, min_edge=arguments.min_edge, watcher=watcher,
        )  # fmt: skip
    return history.audit_judges(
        cheap=arguments.cheap, strong=arguments.strong, project=arguments.project, kind=arguments.kind,
        sample=sample, seed=arguments.seed, min_edge=arguments.min_edge, workers=arguments.workers,
        budget=arguments.budget, watcher=watcher,
    )  # fmt: skip


def _list_pairs(context: "Context", arguments: argparse.Namespace) -> "list[BlindPair]":
    return context.history.list_blind_pairs(
        judge=arguments.judge, project=arguments.project, kind=arguments.kind, sample=_sample(arguments),
        seed=arguments.seed,
    )  # fmt: skip


def _sample(arguments: argparse.Namespace) -> int:
    return _SAMPLE if arguments.sample is None else int(arguments.sample)


def _label(context: "Context", arguments: argparse.Namespace) -> None:
    """Get labels: from a file, or from the person at the terminal."""
    history = context.history
    if arguments.labels:
        history.label_pairs(history.read_pair_labels(arguments.labels), project=arguments.project)
        return
    if not context.is_interactive:
        raise UsageError(
            "there is nobody to ask: this is no terminal",
            hint="write the pairs with --pairs FILE, fill in the labels, and read them with --labels FILE",
        )
    from forgelore.surfaces.cli.deduping.labelling import walk

    pairs = _list_pairs(context, arguments)
    answered = walk(context, pairs, lambda label: history.label_pairs([label], project=arguments.project))
    if answered < len(pairs):
        context.print("", f"{len(pairs) - answered} pairs are left; the same command goes on with them", "")


def _write_pairs(context: "Context", arguments: argparse.Namespace) -> "list[BlindPair]":
    pairs = _list_pairs(context, arguments)
    try:
        with open(arguments.pairs, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(_as_line(pair), ensure_ascii=False) + "\n" for pair in pairs)
    except OSError as error:
        raise StoreError(
            f"{arguments.pairs} cannot be written: {error.strerror}", hint="name another file with --pairs"
        ) from error
    context.print(f"{len(pairs)} pairs written; fill in each label (duplicate, related, different or unsure), then:")
    context.print(f"  forgelore dedupe audit --against human --labels {arguments.pairs}")
    return pairs


def _as_line(pair: "BlindPair") -> dict[str, object]:
    texts = {
        "first": {"number": pair.first.number, "title": pair.first.title, "body": pair.first.body},
        "second": {"number": pair.second.number, "title": pair.second.title, "body": pair.second.body},
    }
    return {"kind": pair.kind, "number": pair.number, "target": pair.target, "label": "", **texts}
