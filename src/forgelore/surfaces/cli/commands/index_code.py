"""`forgelore index-code [PATH]`: the files and commits of a clone into documents that are searched."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.indexing import stopping_on_interrupt
from forgelore.surfaces.cli.terminal import clean, number

if TYPE_CHECKING:
    from forgelore.api import IndexedCode
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore index-code                            the clone you are in",
    "forgelore index-code ~/src/web                  another one; its origin says which project it is",
    "forgelore index-code . --project acme/web       its origin is no forge, or a fork",
    "forgelore index-code --project acme/web         without a clone: fetch a shallow copy",
    "forgelore index-code --project acme/web --fetch --depth 5000",
    "forgelore search 'retry on timeout' --type code --path 'src/**/*.py'",
    "forgelore search 'why was this removed' --type commit",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", nargs="?", default="", help="a clone; default: the one you are in")
    parser.add_argument("--project", metavar="NAME", help="whose code it is; default: what the clone's origin says")
    parser.add_argument("--fetch", action="store_true", help="fetch a shallow copy, also where there is a clone")
    parser.add_argument("--depth", metavar="N", type=int, help="how many commits are fetched (default 200)")
    parser.add_argument("--no-commits", action="store_true", help="only the files, not the commits")


def run(context: "Context", arguments: argparse.Namespace) -> "IndexedCode":
    from forgelore.surfaces.cli.progress import make_watcher

    with (
        stopping_on_interrupt(context),
        make_watcher(arguments.project or "code", is_quiet=context.is_data) as watcher,
    ):
        done = context.history.index_code(
            arguments.path, project=arguments.project, fetch=arguments.fetch, depth=arguments.depth,
            with_commits=not arguments.no_commits, watcher=watcher,
        )  # fmt: skip
    for warning in done.warnings:
        context.warn(warning)
    _print(context, done)
    return done


def _print(context: "Context", done: "IndexedCode") -> None:
    files, commits = done.files, done.commits
    counts = (
        (files.new, "new"), (files.changed, "changed"), (files.moved, "moved"), (files.removed, "removed"),
        (files.unchanged, "unchanged"),
    )  # fmt: skip
    what = ", ".join(f"{number(count)} {name}" for count, name in counts if count) or "none"
    place = f" at {files.commit[:12]}" if files.commit else ""
    context.print(f"{context.style.green('✓')} {clean(done.project)}{place}: {number(files.total)} files: {what}")
    if files.left_out:
        reasons = ", ".join(f"{number(count)} {name.replace('_', ' ')}" for name, count in files.left_out.items())
        context.print(context.style.dim(f"  left out: {reasons}"))
    if commits:
        gone = f", {number(commits.removed)} removed" if commits.removed else ""
        context.print(f"  {number(commits.total)} commits: {number(commits.new)} new{gone}")
