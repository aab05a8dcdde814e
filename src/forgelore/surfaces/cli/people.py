"""People: `who PERSON` did and knows what, `who PATH` knows a file, and `me`, what waits for you."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.command import Command, Context
from forgelore.surfaces.cli.filtering import (
    Once,
    add_filters,
    add_output,
    add_query,
    filter_examples,
    read_filters,
    read_limit,
)
from forgelore.surfaces.present.data import WAITING_COLUMNS
from forgelore.surfaces.present.text import clean, day, fit, number, table, width

if TYPE_CHECKING:
    from forgelore.api import KnownPlace, MyWork, PathPeople, PersonAnswer, PersonItem, WaitingWork

_MAX_LIMIT = 1_000
_PLACE_COLUMNS = 40  # columns of a path
_WAITING = {
    "answer": "somebody outside the team had the last word",
    "newcomers": "newcomers without an answer",
    "reviews": "changes without a review",
    "untriaged": "issues that nobody has sorted in",
}
_VERDICTS = {"changes_requested": "changes requested"}


def add_who_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "person", metavar="PERSON|PATH", help="a login, ana or @ana; or a path: a file, a folder (src/), a glob"
    )
    _add_scope(parser)


def run_who(context: Context, arguments: argparse.Namespace) -> "PersonAnswer | PathPeople":
    project = context.history.projects.name(arguments.project)
    limit = read_limit(context, arguments, most=_MAX_LIMIT)
    person = context.history.people.who_or_path(arguments.person, project=project, after=arguments.after, limit=limit)
    from forgelore.api import PathPeople

    if isinstance(person, PathPeople):
        _print_knowing(context, person)
    else:
        _print_person(context, person)
    return person


def _print_knowing(context: Context, found: "PathPeople") -> None:
    style = context.style
    names = [clean(name) for name in found.names if name != found.path]
    also = f"  {style.dim('also ' + ', '.join(names))}" if names else ""
    context.print(f"{style.bold(clean(found.path))}  {style.dim(clean(found.project))}{also}")
    if not found.people:
        context.print("  nobody in this period")
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


def _print_person(context: Context, person: "PersonAnswer") -> None:
    _print_head(context, person)
    counts = person.counts
    written = counts.issues + counts.changes + counts.discussions + counts.releases
    _print_items(context, "wrote", person.written, written, with_author=False)
    _print_items(context, "reviewed", person.reviewed, counts.reviews)
    _print_items(context, "resolved threads", person.resolved, counts.resolved)
    _print_places(context, "knows these folders", person.areas)
    _print_places(context, "knows these files", person.paths)
    if person.labels:
        names = ", ".join(f"{clean(label.name)} ({number(label.items)})" for label in person.labels)
        context.print("", f"{context.style.bold('labels')}  {names}")


def _print_head(context: Context, person: "PersonAnswer") -> None:
    style = context.style
    where = f" in {person.project}" if person.project else ""
    context.print(f"{style.bold(style.cyan(f'@{clean(person.login)}'))}{where}")
    called = ", ".join(map(clean, (*person.git_names, *person.mails)))
    if called:
        context.print(style.dim(f"  in git: {called}"))
    parts = [
        f"{number(count)} {one if count == 1 else many}{more}"
        for one, many, more, count in _count_work(person)
        if count
    ]
    context.print(f"  {', '.join(parts) or 'nothing here'}")
    if person.first_note_at and person.last_note_at:
        context.print(style.dim(f"  comments from {day(person.first_note_at)} to {day(person.last_note_at)}"))


def _count_work(person: "PersonAnswer") -> list[tuple[str, str, str, int]]:
    """Return each kind of work: its name for one, for many, a remark in brackets, and the count."""
    counts = person.counts
    verdicts = ", ".join(f"{number(count)} {_describe_verdict(name)}" for name, count in counts.verdicts.items())
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


def _print_places(context: Context, title: str, places: "tuple[KnownPlace, ...]") -> None:
    if not places:
        return
    style = context.style
    rows = [[clean(one.path), *map(number, (one.written, one.reviewed, one.commits))] for one in places]
    context.print("", style.bold(title))
    for line in table(rows, grow=0, head=["", "changed", "reviewed", "commits"], style=style, columns=width() - 2):
        context.print(f"  {line}")


def add_me_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--as", dest="login", metavar="LOGIN", action=Once,
        help="who you are; default: the setting `me`, the token's owner, or what git knows of you",
    )  # fmt: skip
    _add_scope(parser)


def run_me(context: Context, arguments: argparse.Namespace) -> "MyWork":
    project = context.history.projects.name(arguments.project)
    limit = read_limit(context, arguments, most=_MAX_LIMIT)
    work = context.history.people.me(arguments.login, project=project, after=arguments.after, limit=limit)
    context.warn(*work.warnings)
    style = context.style
    known = "" if arguments.login else style.dim(f" (by {clean(work.known_from)})")
    where = f" in {work.project}" if work.project else ""
    context.print(f"{style.bold(style.cyan(f'@{clean(work.login)}'))}{where}{known}")
    _print_items(context, "your review is asked for", work.reviews, work.totals["reviews"])
    _print_items(
        context, "questions since you last answered", work.questions, work.totals["questions"], with_words=True
    )
    _print_items(context, "open threads on your changes", work.threads, work.totals["threads"], with_words=True)
    _print_items(context, "assigned to you", work.assigned, work.totals["assigned"])
    _print_items(context, "mentions of you", work.mentioned, work.totals["mentioned"], with_words=True)
    if not any(work.totals.values()):
        context.print("nothing open waits for you")
    return work


def add_waiting_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "only", metavar="LIST", nargs="?", choices=tuple(_WAITING),
        help="answer, newcomers, reviews or untriaged; default: all four",
    )  # fmt: skip
    add_query(parser)
    parser.add_argument("--limit", "-L", metavar="N", type=int, default=10, help="how many of each list (default: 10)")
    add_output(parser, with_marks=False)
    add_filters(parser)


def run_waiting(context: Context, arguments: argparse.Namespace) -> "WaitingWork":
    limit, query = read_limit(context, arguments, most=_MAX_LIMIT), " ".join(arguments.query)
    filters = read_filters(context, arguments)
    work = context.history.people.waiting(query, only=arguments.only, limit=limit, **filters)
    if arguments.rows:
        context.print_rows(arguments.rows, [item for one in work.lists for item in one.items], columns=WAITING_COLUMNS)
        return work
    style = context.style
    for one in work.lists:
        context.print(style.bold(f"{_WAITING[one.name]} ({number(one.total)})"))
        rows = [
            [
                style.bold(clean(item.ref)),
                clean(item.title),
                style.cyan(f"@{clean(item.by or 'somebody')}"),
                day(item.since),
            ]
            for item in one.items
        ]
        for line in table(rows, grow=1, columns=width() - 2) if rows else ():
            context.print(f"  {line}")
        if one.total > len(one.items) > 0:
            context.print(style.dim(f"  {number(one.total - len(one.items))} more with --limit"))
    return work


def _add_scope(parser: argparse.ArgumentParser) -> None:
    """Add what limits the history of a person."""
    parser.add_argument("--project", metavar="NAME", action=Once, help="in this project; default: the clone's, or all")
    parser.add_argument("--repo", dest="project", metavar="NAME", action=Once, help="the same, as in gh")
    parser.add_argument(
        "--after",
        metavar="DATE",
        action=Once,
        help="leave out what is older: 2026-03-01, 7d, 3 months ago, yesterday …",
    )
    parser.add_argument("--limit", metavar="N", type=int, default=10, help="how many of each (default: 10)")


def _describe_verdict(verdict: str | None) -> str:
    return _VERDICTS.get(verdict or "", verdict or "")


def _print_items(
    context: Context,
    title: str,
    items: "Sequence[PersonItem]",
    total: int,
    *,
    with_words: bool = False,
    with_author: bool = True,
) -> None:
    """Print a list below its title, and how many more there are; nothing for an empty one."""
    if not items:
        return
    style = context.style
    context.print("", style.bold(f"{title} ({number(total)})"))
    many = len({item.project for item in items}) > 1
    rows = [_item_row(context, item, with_project=many, with_author=with_author) for item in items]
    filled = [column for column in range(len(rows[0])) if any(row[column] for row in rows)]
    lines = table([[row[column] for column in filled] for row in rows], grow=1, columns=width() - 2)
    for line, item in zip(lines, items, strict=True):
        context.print(f"  {style.dim(line) if item.is_answered else line}".rstrip())
        if with_words and item.text:
            who = f"@{clean(item.by)}: " if item.by else ""
            context.print(style.dim(f"      {fit(who + clean(item.text), max(20, width() - 6))}"))
    if total > len(items):
        context.print(style.dim(f"  {number(total - len(items))} more with --limit"))


def _item_row(context: Context, item: "PersonItem", *, with_project: bool, with_author: bool) -> list[str]:
    style = context.style
    place = f"{clean(item.path)}:{item.line}" if item.path and item.line else clean(item.path)
    row = [
        style.bold(clean(item.ref)),
        clean(item.title),
        _describe_verdict(item.verdict) or style.state(item.state),
        style.cyan(f"@{clean(item.author)}") if item.author and with_author else "",
        style.dim(fit(place, _PLACE_COLUMNS)),
        day(item.at or item.updated_at),
    ]
    return [*row, style.dim(item.project)] if with_project else row


COMMANDS = {
    "who": Command(
        add_who_arguments,
        run_who,
        (
            "forgelore who ana",
            "forgelore who @ana --after '1 year' --limit 20",
            "forgelore who src/net/conn.py          who knows this file",
            "forgelore who ana --project acme/web --json",
            "forgelore who 'renovate[bot]' --repo acme/web --db history.db --color always --no-pager",
        ),
    ),
    "waiting": Command(
        add_waiting_arguments,
        run_waiting,
        (
            "forgelore waiting                              what waits for the team, the longest wait first",
            "forgelore waiting answer label:bug 'created:<30d'",
            "forgelore waiting reviews --type change --limit 200 --format csv",
            *filter_examples("forgelore waiting untriaged"),
        ),
    ),
    "me": Command(
        add_me_arguments,
        run_me,
        (
            "forgelore me",
            "forgelore me --as ana --project acme/web",
            "forgelore me --after 2w --limit 50 --json",
            "forgelore me --repo acme/web --db history.db --color always --no-pager",
        ),
    ),
}
