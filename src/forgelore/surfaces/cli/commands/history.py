"""`forgelore history PATH`: what happened to a file, decisions first, each with the words it stands in."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.filtering import Once, print_warnings, read_limit
from forgelore.surfaces.cli.terminal import clean, number, table, width, wrap
from forgelore.surfaces.present.text import day

if TYPE_CHECKING:
    from forgelore.api import PathDecision, PathEntry, PathHistory
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore history src/net/conn.py",
    "forgelore history ./conn.py --since '3 months ago' --limit 10",
    "forgelore history src/net/ --project acme/web --until 2026-01-01",
    "forgelore history 'src/**.py' --after 2025 --before 2026",
    "forgelore history src/net/conn.py --db history.db --color always --no-pager",
    "forgelore history src/net/conn.py --json",
)
_MOST = 1_000
_RULES = {
    "decided": "stated", "declined": "declined", "superseded": "replaced", "reverted": "reverted",
    "reason": "said why", "record": "decision record", "model": "read by a model",
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a file, a folder (src/) or a glob (src/**.py)")
    parser.add_argument("--project", metavar="NAME", help="whose path it is; default: the clone's, or the only one")
    parser.add_argument(
        "--after", "--since", metavar="DATE", action=Once, help="since: 2026-03-01, 7d, 3 months ago, yesterday …"
    )
    parser.add_argument("--before", "--until", metavar="DATE", action=Once, help="before")
    parser.add_argument("--limit", metavar="N", type=int, default=30, help="how many, decisions first (default: 30)")


def run(context: "Context", arguments: argparse.Namespace) -> "PathHistory":
    limit = read_limit(context, arguments, most=_MOST)
    found = context.history.history_of(
        arguments.path, project=arguments.project, after=arguments.after, before=arguments.before, limit=limit
    )
    print_warnings(context, found.warnings)
    if not context.is_data:
        _print(context, found)
    return found


def _print(context: "Context", found: "PathHistory") -> None:
    style = context.style
    names = [clean(name) for name in found.names if name != found.path]
    also = f"  {style.dim('also ' + ', '.join(names))}" if names else ""
    context.print(f"{style.bold(clean(found.path))}  {style.dim(clean(found.project))}{also}")
    if not found.decision_count and not found.entry_count:
        context.print("nothing in this time")
        return
    if found.decisions:
        context.print("", style.bold(f"Decisions ({number(found.decision_count)})"))
        for one in found.decisions:
            _print_decision(context, one)
    if found.entries:
        context.print("", style.bold(f"{'The rest' if found.decisions else 'History'} ({number(found.entry_count)})"))
        rows = [_row(context, one) for one in found.entries]
        context.print(*(f"  {line}" for line in table(rows, grow=3, spare=(4,), columns=width() - 2)))
    left = found.decision_count + found.entry_count - len(found.decisions) - len(found.entries)
    if left:
        context.print(style.dim(f"{number(left)} more with --limit"))


def _print_decision(context: "Context", one: "PathDecision") -> None:
    style, columns = context.style, min(width(), 100)
    author = f"@{clean(one.author)}" if one.author else ""
    doubt = " (a maintainer?)" if one.is_by_maintainer is None and author else ""
    head = [day(one.decided_at) or "no date", style.bold(clean(one.ref)), style.cyan(author) + doubt, _RULES[one.rule]]
    context.print("  " + "  ".join(part for part in head if part))
    if one.summary:
        context.print(*wrap(clean(one.summary), columns, "    "))
    context.print(*wrap(f'"{clean(one.quote)}"', columns, "    "))
    lines = f"line {one.first_line}" if one.first_line == one.last_line else f"lines {one.first_line}-{one.last_line}"
    context.print(f"    {style.dim('  '.join(filter(None, (one.key, lines, clean(one.url)))))}")
    if one.superseded_by:
        context.print(f"    {style.yellow('superseded by ' + ', '.join(map(clean, one.superseded_by)))}")
    if one.is_stale:
        context.print(f"    {style.yellow('the conversation went on since a model read it')}")


def _row(context: "Context", one: "PathEntry") -> list[str]:
    style = context.style
    return [
        day(one.happened_at), style.bold(clean(one.ref)), f"{one.kind} {one.how}", clean(one.title),
        style.cyan(f"@{clean(one.author)}" if one.author else ""),
    ]  # fmt: skip
