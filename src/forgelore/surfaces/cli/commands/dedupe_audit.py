"""`forgelore dedupe audit`: how often a judge is right, by another judge, by history, or by people."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.deduping.audit_tables import print_report
from forgelore.surfaces.cli.indexing import stopping_on_interrupt
from forgelore.surfaces.cli.progress import make_watcher

if TYPE_CHECKING:
    from forgelore.api import AuditReport
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore dedupe audit --against history             by the duplicates that the project knows",
    "forgelore dedupe audit --sample 100 --seed 7         the cheap model beside the strong one",
    "forgelore dedupe audit --cheap builtin --strong strong",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", metavar="NAME", help="one project; default: the clone's, or the only one")
    parser.add_argument("--kind", choices=("issue", "change"), help="only these items; default: both")
    parser.add_argument(
        "--against", choices=("strong", "history"), default="strong",
        help="what is right: another judge, or known duplicates as of their filing (default %(default)s)",
    )  # fmt: skip
    judges = "builtin, statements (and what maintainers wrote), cheap or strong (models)"
    parser.add_argument("--judge", default="builtin", metavar="NAME", help=f"who is measured against history: {judges}")
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


def run(context: "Context", arguments: argparse.Namespace) -> "AuditReport":
    project = arguments.project or context.history.name_project() or ""
    with stopping_on_interrupt(context), make_watcher(project, is_quiet=context.is_data) as watcher:
        if arguments.against == "history":
            report = context.history.audit_by_history(
                judge=arguments.judge, project=arguments.project, kind=arguments.kind, sample=arguments.sample,
                seed=arguments.seed, min_edge=arguments.min_edge, others=arguments.others, watcher=watcher,
            )  # fmt: skip
        else:
            report = context.history.audit_judges(
                cheap=arguments.cheap, strong=arguments.strong, project=arguments.project, kind=arguments.kind,
                sample=arguments.sample or 100, seed=arguments.seed, min_edge=arguments.min_edge, watcher=watcher,
            )  # fmt: skip
    print_report(context, report)
    return report
