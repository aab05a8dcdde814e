"""`forgelore who PERSON`: what somebody did and knows; `forgelore who PATH`: who knows a file."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.filtering import read_limit
from forgelore.surfaces.cli.people.item_lines import MOST, add_scope, print_items, verdict_words
from forgelore.surfaces.cli.terminal import clean, number, table, width
from forgelore.surfaces.present.text import day

if TYPE_CHECKING:
    from forgelore.api import KnownPlace, PathPeople, PersonAnswer
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore who ana",
    "forgelore who @ana --after '1 year' --limit 20",
    "forgelore who src/net/conn.py          who knows this file",
    "forgelore who ana --project acme/web --json",
    "forgelore who 'renovate[bot]' --repo acme/web --db history.db --color always --no-pager",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "person", metavar="PERSON|PATH", help="a login, ana or @ana; or a path: a file, a folder (src/), a glob"
    )
    add_scope(parser)


def run(context: "Context", arguments: argparse.Namespace) -> "PersonAnswer | PathPeople":
    project = context.history.name_project(arguments.project)
    limit = read_limit(context, arguments, most=MOST)
    person = context.history.who_or_path(arguments.person, project=project, after=arguments.after, limit=limit)
    from forgelore.api import PathPeople

    if isinstance(person, PathPeople):
        _print_knowing(context, person)
    else:
        _print_person(context, person)
    return person


def _print_knowing(context: "Context", found: "PathPeople") -> None:
    style = context.style
    names = [clean(name) for name in found.names if name != found.path]
    also = f"  {style.dim('also ' + ', '.join(names))}" if names else ""
    context.print(f"{style.bold(clean(found.path))}  {style.dim(clean(found.project))}{also}")
    if not found.people:
        context.print("  nobody in this time")
        return
    rows = [
        [
            style.cyan(f"@{clean(one.login)}"),
            *map(number, (one.written, one.reviewed, one.commits)),
            day(one.last_active_at),
        ]
        for one in found.people
    ]
    head = ["", "changed", "reviewed", "commits", "last active"]
    for line in table(rows, grow=0, head=head, style=style, columns=width() - 2):
        context.print(f"  {line}")


def _print_person(context: "Context", person: "PersonAnswer") -> None:
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


def _print_head(context: "Context", person: "PersonAnswer") -> None:
    style = context.style
    where = f" in {person.project}" if person.project else ""
    context.print(f"{style.bold(style.cyan(f'@{clean(person.login)}'))}{where}")
    called = ", ".join(map(clean, (*person.git_names, *person.mails)))
    if called:
        context.print(style.dim(f"  in git: {called}"))
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
