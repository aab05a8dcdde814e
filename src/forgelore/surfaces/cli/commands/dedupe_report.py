"""`forgelore dedupe report`: an audit, what stricter gates would have made of it, and a page of everything."""

import argparse
from typing import TYPE_CHECKING

from forgelore.errors import StoreError, UsageError
from forgelore.surfaces.cli.deduping.audit_tables import print_report, print_simulation, print_sweeps
from forgelore.surfaces.present.review_page import WrittenPage, build_page
from forgelore.surfaces.present.text import counted_noun

if TYPE_CHECKING:
    from forgelore.api import AuditAnalysis
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore dedupe report                        the newest audit, with sweeps of each gate",
    "forgelore dedupe report 14 --gate-score-min 0.95 --gate-gap-min 0.5",
    "forgelore dedupe report --html page.html       clusters, evidence, audits and the plan, to be read in a browser",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=int, nargs="?", metavar="RUN", help="the number of an audit; default: the newest")
    parser.add_argument("--project", metavar="NAME", help="one project; default: the clone's, or the only one")
    parser.add_argument("--html", metavar="FILE", help="write a page of everything, which loads nothing, and end")
    parser.add_argument("--gate-rank-max", type=int, metavar="N", help="accept no target behind this rank")
    parser.add_argument("--gate-score-min", type=float, metavar="S", help="... of less similarity")
    parser.add_argument("--gate-gap-min", type=float, metavar="G", help="... that leads the others by less strength")
    parser.add_argument("--gate-confidence-min", type=float, metavar="C", help="... that the judge is less sure of")


def run(context: "Context", arguments: argparse.Namespace) -> "AuditAnalysis | WrittenPage":
    if arguments.html:
        return _write_page(context, arguments)
    found = context.history.analyse_audit(
        arguments.run, project=arguments.project, rank_max=arguments.gate_rank_max,
        score_min=arguments.gate_score_min, gap_min=arguments.gate_gap_min,
        confidence_min=arguments.gate_confidence_min,
    )  # fmt: skip
    print_report(context, found.report)
    if found.simulated:
        print_simulation(context, found)
    print_sweeps(context, found)
    return found


def _write_page(context: "Context", arguments: argparse.Namespace) -> WrittenPage:
    if arguments.run is not None:
        raise UsageError("a page tells of everything, not of one run", hint="leave the number or --html out")
    overview = context.history.load_overview(project=arguments.project)
    try:
        with open(arguments.html, "w", encoding="utf-8") as file:
            file.write(build_page(overview))
    except OSError as error:
        raise StoreError(
            f"{arguments.html} cannot be written: {error.strerror}", hint="name another file with --html"
        ) from error
    written = WrittenPage(arguments.html, overview.project, len(overview.clusters), len(overview.audits))
    counted = f"{counted_noun(written.clusters, 'cluster')}, {counted_noun(written.audits, 'audit')}"
    context.print(f"{arguments.html}: {counted}")
    return written
