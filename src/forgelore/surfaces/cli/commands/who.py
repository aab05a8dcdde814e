"""`forgelore who PERSON`."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.filtering import read_limit
from forgelore.surfaces.cli.people.item_lines import MOST, add_scope, print_items, verdict_words
from forgelore.surfaces.cli.terminal import clean, number, table, width
from forgelore.surfaces.present.text import day

if TYPE_CHECKING:
    from forgelore.api import KnownPlace, PersonAnswer
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore who ana",
    "forgelore who @ana --after '1 year' --limit 20",
    "forgelore who ana --project acme/web --json",
    "forgelore who 'renovate[bot]' --repo acme/web --db history.db --color always --no-pager",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("person", metavar="PERSON", help="a login: ana or @ana")
    add_scope(parser)


def run(context: "Context", arguments: argparse.Namespace) -> "PersonAnswer":
    project = context.history.name_project(arguments.project)
    limit = read_limit(context, arguments, most=MOST)
    person = context.history.who(arguments.person, project=project, after=arguments.after, limit=limit)
    _print_head(context, person)
    counts = person.counts
    written = counts.issues + counts.changes + counts.discussions + counts.releases
    print_items(context, "wrote", person.written, written, with_author=False)
    print_items(context, "reviewed", person.reviewed, counts.reviews)
    print_items(context, "resolved threads", person.resolved, counts.resolved)
    _print_places(context, "knows these folders", person.areas)
    _print_places(context, "knows these files", person.paths)
    if person.labels:
        names = ", ".join(f"{clean(label.name)} ({number(label.items)})" for label in person.labels)
        context.print("", f"{context.style.bold('labels')}  {names}")
    return person


def _print_head(context: "Context", person: "PersonAnswer") -> None:
    style = context.style
    where = f" in {person.project}" if person.project else ""
    context.print(f"{style.bold(style.cyan(f'@{clean(person.login)}'))}{where}")
    parts = [
        f"{number(count)} {one if count == 1 else many}{more}" for one, many, more, count in _counted(person) if count
    ]
    context.print(f"  {', '.join(parts) or 'nothing here'}")
    if person.first_note_at and person.last_note_at:
        context.print(style.dim(f"  comments from {day(person.first_note_at)} to {day(person.last_note_at)}"))


def _counted(person: "PersonAnswer") -> list[tuple[str, str, str, int]]:
    """Return what was done: for one, for many, what is said behind it, and how often."""
    counts = person.counts
    verdicts = ", ".join(f"{number(count)} {verdict_words(name)}" for name, count in counts.verdicts.items())
    return [
        ("issue", "issues", "", counts.issues),
        ("change", "changes", f" ({number(counts.merged)} merged)", counts.changes),
        ("discussion", "discussions", "", counts.discussions),
        ("release", "releases", "", counts.releases),
        ("comment", "comments", "", counts.notes),
        ("review", "reviews", f" ({verdicts})", counts.reviews),
        ("thread resolved", "threads resolved", "", counts.resolved),
        ("commit", "commits", "", counts.commits),
        ("item with a mention", "items with a mention", "", counts.mentions),
    ]


def _print_places(context: "Context", title: str, places: "tuple[KnownPlace, ...]") -> None:
    if not places:
        return
    style = context.style
    rows = [[clean(one.path), *map(number, (one.written, one.reviewed, one.commits))] for one in places]
    context.print("", style.bold(title))
    for line in table(rows, grow=0, head=["", "changed", "reviewed", "commits"], style=style, columns=width() - 2):
        context.print(f"  {line}")
