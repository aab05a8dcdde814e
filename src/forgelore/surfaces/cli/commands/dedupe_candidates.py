"""`forgelore dedupe candidates`: for every open item, what it could repeat."""

import argparse
import os
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.indexing import stopping_on_interrupt
from forgelore.surfaces.cli.progress import make_watcher
from forgelore.surfaces.cli.terminal import number

if TYPE_CHECKING:
    from forgelore.api import CandidatesMade
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore dedupe candidates --kind issue",
    "forgelore dedupe candidates --k 8 --min-score 0.9   more of them, and closer ones",
    "forgelore dedupe candidates --source intent         chosen by cards, after: forgelore dedupe intent",
    "forgelore dedupe candidates --full                  all of them anew",
)
_NAMES = {"issue": "issues", "change": "changes"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", metavar="NAME", help="one project; default: the clone's, or the only one")
    parser.add_argument("--kind", choices=("issue", "change"), help="only these items; default: both")
    parser.add_argument("--k", type=int, default=4, metavar="N", help="candidates of an item (default %(default)s)")
    parser.add_argument(
        "--min-score", type=float, default=0.75, metavar="S", help="least similarity (default %(default)s)"
    )
    parser.add_argument(
        "--states", choices=("open", "closed", "all"), default="open",
        help="states of the candidates that count; closed ones are never judged (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--source", choices=("raw", "intent"), default="raw",
        help="what chooses who is compared: texts, or the cards of `dedupe intent` (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--workers", type=int, default=min(2, os.cpu_count() or 1), metavar="N", help="processes (default: up to 2)"
    )
    parser.add_argument("--full", action="store_true", help="also items whose candidates are known")


def run(context: "Context", arguments: argparse.Namespace) -> "list[CandidatesMade]":
    project = arguments.project or context.history.name_project() or ""
    with stopping_on_interrupt(context), make_watcher(project, is_quiet=context.is_data) as watcher:
        found = context.history.make_candidates(
            project=arguments.project, kind=arguments.kind, k=arguments.k, min_score=arguments.min_score,
            states=arguments.states, source=arguments.source, workers=arguments.workers, full=arguments.full,
            watcher=watcher,
        )  # fmt: skip
    for one in found:
        _print(context, one)
    return found


def _print(context: "Context", one: "CandidatesMade") -> None:
    style, name = context.style, _NAMES[one.kind]
    if not one.sources:
        context.print(f"there are no open {name}")
        return
    counts = (
        (one.made, "looked at"), (one.unchanged, "unchanged"), (one.empty, "without a candidate"),
        (one.members_written, "candidates kept"), (one.stale_marked, "earlier lists replaced"),
    )  # fmt: skip
    parts = ", ".join(f"{number(count)} {what}" for count, what in counts if count)
    mark = style.yellow("!") if one.is_stopped else style.green("✓")
    context.print(f"{mark} {number(one.sources)} open {name}: {parts}")
    if one.raw_fallbacks:
        context.warn(
            f"{number(one.raw_fallbacks)} {name} have no card of what they say now and were compared by their texts;"
            " run: forgelore dedupe intent"
        )
    if one.missing_embeddings:
        context.warn(f"{number(one.missing_embeddings)} {name} have no vector of their own; run: forgelore embed")
