"""`forgelore embed`: vectors for documents that have none."""

import argparse
from typing import TYPE_CHECKING

from forgelore.errors import EmbeddingFailed
from forgelore.surfaces.cli.indexing import stopping_on_interrupt
from forgelore.surfaces.cli.terminal import number

if TYPE_CHECKING:
    from forgelore.api import Embedded
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore embed                       documents that have no vectors yet",
    "forgelore embed --retry-failed        only those that failed before",
    "forgelore embed --full                all vectors anew; the old ones are used until then",
    "forgelore embed --embedder ollama     with another embedder than the settings name",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--retry-failed", action="store_true", help="only documents that failed before, all of them")
    which.add_argument(
        "--full",
        action="store_true",
        help="all documents, whether they have vectors or not; goes on where it was cut off",
    )
    parser.add_argument("--project", metavar="NAME", help="one project; default: all")
    parser.add_argument("--embedder", metavar="NAME", help="minilm, ollama or openai; default: as the settings say")


def run(context: "Context", arguments: argparse.Namespace) -> "Embedded":
    from forgelore.surfaces.cli.progress import make_watcher

    history, project = context.history, arguments.project
    if waiting := history.count_unindexed(project):
        # Vectors are made from documents: what has none yet gets none now, and that should be no surprise.
        context.warn(f"{number(waiting)} items wait to be indexed first; run: forgelore generate-docs")
    with (
        stopping_on_interrupt(context),
        make_watcher(arguments.project or "index", is_quiet=context.is_data) as watcher,
    ):
        done = history.embed(
            project, full=arguments.full, retry=arguments.retry_failed, embedder=arguments.embedder, watcher=watcher
        )
    _print(context, done)
    return done


def _print(context: "Context", done: "Embedded") -> None:
    mark = context.style.green("✓") if not done.failed else context.style.yellow("!")
    counts = (
        (done.embedded, "embedded"),
        (done.failed, "failed"),
        (done.second, "items embedded by the second embedder"),
    )
    parts = ", ".join(f"{number(count)} {name}" for count, name in counts if count)
    waiting = f"; {number(done.waiting)} wait for another attempt (forgelore stats)" if done.waiting else ""
    context.print(f"{mark} {parts or 'nothing to do'}{waiting}")
    if done.dropped:
        context.print(f"  {number(done.dropped)} vectors of an embedder that is no longer used were dropped")
    if done.failed and not done.embedded:
        hint = "why: forgelore stats; again: forgelore embed --retry-failed"
        context.fail(EmbeddingFailed(f"none of {number(done.failed)} documents could be embedded", hint=hint))
