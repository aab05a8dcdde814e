"""Items of a person as lines: who, me."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.filtering import Once
from forgelore.surfaces.cli.terminal import clean, fit, number, table, width
from forgelore.surfaces.present.text import day

if TYPE_CHECKING:
    from forgelore.api import PersonItem
    from forgelore.surfaces.cli.command import Context

MOST = 1_000
_PLACE = 40  # columns of a path
_VERDICTS = {"changes_requested": "changes requested"}


def add_scope(parser: argparse.ArgumentParser) -> None:
    """Add what limits the history of a person."""
    parser.add_argument("--project", metavar="NAME", action=Once, help="in this project; default: the clone's, or all")
    parser.add_argument("--repo", dest="project", metavar="NAME", action=Once, help="the same, in the words of gh")
    parser.add_argument(
        "--after", metavar="DATE", action=Once, help="nothing older: 2026-03-01, 7d, 3 months ago, yesterday …"
    )
    parser.add_argument("--limit", metavar="N", type=int, default=10, help="how many of each (default: 10)")


def verdict_words(verdict: str | None) -> str:
    return _VERDICTS.get(verdict or "", verdict or "")


def print_items(
    context: "Context",
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
    rows = [_row(context, item, with_project=many, with_author=with_author) for item in items]
    filled = [column for column in range(len(rows[0])) if any(row[column] for row in rows)]
    lines = table([[row[column] for column in filled] for row in rows], grow=1, columns=width() - 2)
    for line, item in zip(lines, items, strict=True):
        context.print(f"  {style.dim(line) if item.is_answered else line}".rstrip())
        if with_words and item.text:
            who = f"@{clean(item.by)}: " if item.by else ""
            context.print(style.dim(f"      {fit(who + clean(item.text), max(20, width() - 6))}"))
    if total > len(items):
        context.print(style.dim(f"  {number(total - len(items))} more with --limit"))


def _row(context: "Context", item: "PersonItem", *, with_project: bool, with_author: bool) -> list[str]:
    style = context.style
    place = f"{clean(item.path)}:{item.line}" if item.path and item.line else clean(item.path)
    row = [
        style.bold(clean(item.ref)),
        clean(item.title),
        verdict_words(item.verdict) or style.state(item.state),
        style.cyan(f"@{clean(item.author)}") if item.author and with_author else "",
        style.dim(fit(place, _PLACE)),
        day(item.at or item.updated_at),
    ]
    return [*row, style.dim(item.project)] if with_project else row
