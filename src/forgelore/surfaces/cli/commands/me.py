"""`forgelore me`."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.filtering import Once, print_warnings, read_limit
from forgelore.surfaces.cli.people.item_lines import MOST, add_scope, print_items
from forgelore.surfaces.cli.terminal import clean

if TYPE_CHECKING:
    from forgelore.api import MyWork
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore me",
    "forgelore me --as ana --project acme/web",
    "forgelore me --after 2w --limit 50 --json",
    "forgelore me --repo acme/web --db history.db --color always --no-pager",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--as", dest="login", metavar="LOGIN", action=Once,
        help="who you are; default: the setting `me`, the token's owner, or what git knows of you",
    )  # fmt: skip
    add_scope(parser)


def run(context: "Context", arguments: argparse.Namespace) -> "MyWork":
    project = context.history.name_project(arguments.project)
    limit = read_limit(context, arguments, most=MOST)
    work = context.history.me(arguments.login, project=project, after=arguments.after, limit=limit)
    print_warnings(context, work.warnings)
    style = context.style
    known = "" if arguments.login else style.dim(f" (by {clean(work.known_from)})")
    where = f" in {work.project}" if work.project else ""
    context.print(f"{style.bold(style.cyan(f'@{clean(work.login)}'))}{where}{known}")
    print_items(context, "your review is asked for", work.reviews, work.totals["reviews"])
    print_items(context, "questions since your last word", work.questions, work.totals["questions"], with_words=True)
    print_items(context, "open threads on your changes", work.threads, work.totals["threads"], with_words=True)
    print_items(context, "assigned to you", work.assigned, work.totals["assigned"])
    print_items(context, "mentions of you", work.mentioned, work.totals["mentioned"], with_words=True)
    if not any(work.totals.values()):
        context.print("nothing open waits for you")
    return work
