"""`forgelore history PATH`: what happened to a file, decisions first, each with the words it stands in."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.command import Command, Context
from forgelore.surfaces.cli.filtering import Once, read_limit
from forgelore.surfaces.cli.progress import watched
from forgelore.surfaces.present.text import clean, day, number, table, width, wrap

if TYPE_CHECKING:
    from forgelore.api import ExtractedDecisions, PathDecision, PathEntry, PathHistory

_MAX_LIMIT = 1_000
_KINDS = ("decision", "issue", "change", "discussion", "release", "commit", "thread")
_RULES = {
    "decided": "stated", "declined": "declined", "superseded": "replaced", "reverted": "reverted",
    "merged": "merged", "record": "decision record", "model": "read by a model",
}  # fmt: skip
_ROLES = {
    "maintainer": "maintainer", "closer": "closes items here", "author": "author of the change",
    "committer": "committer", "unknown": "a maintainer?",
}  # fmt: skip


def add_history_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a file, a folder (src/) or a glob (src/**.py)")
    parser.add_argument("--project", metavar="NAME", help="the path's project; default: the clone's, or the only one")
    parser.add_argument("--after", metavar="DATE", action=Once, help="since: 2026-03-01, 7d, 3 months ago, yesterday …")
    parser.add_argument("--since", dest="after", metavar="DATE", action=Once, help="the same, as in git")
    parser.add_argument("--before", metavar="DATE", action=Once, help="before this day")
    parser.add_argument("--until", dest="before", metavar="DATE", action=Once, help="the same, as in git")
    parser.add_argument("--limit", metavar="N", type=int, default=30, help="how many, decisions first (default: 30)")
    parser.add_argument("--offset", metavar="N", type=int, default=0, help="skip the first N, decisions first")
    parser.add_argument("--kind", choices=_KINDS, action=Once, help="only decisions, or only entries of this kind")
    group = parser.add_argument_group(
        "decisions", "Your language model reads the conversations; decisions that can be verified are saved."
    )
    group.add_argument(
        "--decisions", action="store_true", help="let it read conversations that are new or have changed"
    )
    group.add_argument("--profile", choices=("cheap", "strong"), help="language model profile of your settings")
    group.add_argument(
        "--budget",
        type=int,
        default=60_000,
        metavar="TOKENS",
        help="token limit, prompts and answers (default %(default)s)",
    )
    group.add_argument(
        "--include-internal", action="store_true", help="also read confidential items, and send them to the model"
    )


def run_history(context: Context, arguments: argparse.Namespace) -> "PathHistory":
    limit = read_limit(context, arguments, most=_MAX_LIMIT)
    extracted = _extract_decisions(context, arguments) if arguments.decisions else None
    found = context.history.paths.history(
        arguments.path, project=arguments.project, after=arguments.after, before=arguments.before, limit=limit,
        offset=arguments.offset, kind=arguments.kind or "",
    )._replace(extracted=extracted)  # fmt: skip
    context.warn(*found.warnings)
    if not context.is_data:
        _print(context, found, arguments.offset)
    return found


def _extract_decisions(context: Context, arguments: argparse.Namespace) -> "ExtractedDecisions":
    with watched(context, arguments.path) as watcher:
        done = context.history.paths.extract_decisions(
            arguments.path, project=arguments.project, profile=arguments.profile, budget=arguments.budget,
            include_internal=arguments.include_internal, watcher=watcher,
        )  # fmt: skip
    counts = (
        (done.asked, "read"), (done.known, "known already"), (done.failed, "without an answer"),
        (done.invalid, "answered with something other than a list"),
    )  # fmt: skip
    read = ", ".join(f"{number(count)} {what}" for count, what in counts if count) or "none to read"
    mark = context.style.green("✓") if not done.left else context.style.yellow("!")
    context.print(f"{mark} conversations: {read}; decisions: {number(done.kept)} kept, {number(done.refused)} refused")
    if done.tokens_in or done.tokens_out:
        cost = f", cost {done.cost:,.4f}" if done.cost else ""
        context.print(f"    {number(done.tokens_in)} tokens asked, {number(done.tokens_out)} answered{cost}")
    if done.left:
        context.warn(f"{number(done.left)} conversations were not read: the budget is spent; run it again to go on")
    context.print("")
    return done


def _print(context: Context, found: "PathHistory", offset: int) -> None:
    style = context.style
    names = [clean(name) for name in found.names if name != found.path]
    also = f"  {style.dim('also ' + ', '.join(names))}" if names else ""
    context.print(f"{style.bold(clean(found.path))}  {style.dim(clean(found.project))}{also}")
    total = found.decision_count + found.entry_count
    shown = len(found.decisions) + len(found.entries)
    if not shown:
        context.print(f"Only {number(total)} in all." if total else "Nothing of that kind in this period.")
        return
    if found.decisions:
        context.print("", style.bold(f"Decisions ({number(found.decision_count)})"))
        for one in found.decisions:
            _print_decision(context, one)
    if found.entries:
        context.print("", style.bold(f"{'The rest' if found.decisions else 'History'} ({number(found.entry_count)})"))
        rows = [_entry_row(context, one) for one in found.entries]
        for entry, line in zip(found.entries, table(rows, grow=3, spare=(4,), columns=width() - 2), strict=True):
            context.print(f"  {line}", *_reason_lines(context, entry, found.decisions))
    end = offset + shown
    if end < total:
        context.print(style.dim(f"{number(total - end)} more: --offset {end}"))


def _print_decision(context: Context, one: "PathDecision") -> None:
    style, columns = context.style, min(width(), 100)
    author = f"@{clean(one.author)}" if one.author else ""
    role = f" ({_ROLES[one.role]})" if author else ""
    head = [day(one.decided_at) or "no date", style.bold(clean(one.ref)), style.cyan(author) + role, _RULES[one.rule]]
    context.print("  " + "  ".join(part for part in head if part))
    if one.summary:
        context.print(*wrap(clean(one.summary), columns, "    "))
    context.print(*wrap(f'"{clean(one.quote)}"', columns, "    "))
    lines = f"line {one.first_line}" if one.first_line == one.last_line else f"lines {one.first_line}-{one.last_line}"
    context.print(f"    {style.dim('  '.join(filter(None, (one.key, lines, clean(one.url)))))}")
    if one.superseded_by:
        context.print(f"    {style.yellow('superseded by ' + ', '.join(map(clean, one.superseded_by)))}")
    if one.is_stale:
        context.print(f"    {style.yellow('the conversation has continued since a model read it')}")


def _reason_lines(context: Context, one: "PathEntry", shown: "list[PathDecision]") -> list[str]:
    """Return why a change or commit was made, as it says itself; nothing where that was quoted above."""
    if not one.reason or any(one.reason == decision.quote for decision in shown):
        return []
    return [
        context.style.dim(line) for line in wrap(f'why: "{clean(one.reason)}"', min(width(), 100), "              ")
    ]


def _entry_row(context: Context, one: "PathEntry") -> list[str]:
    style = context.style
    return [
        day(one.happened_at), style.bold(clean(one.ref)), f"{one.kind} {one.how}", clean(one.title),
        style.cyan(f"@{clean(one.author)}" if one.author else ""),
    ]  # fmt: skip


COMMANDS = {
    "history": Command(
        add_history_arguments,
        run_history,
        (
            "forgelore history src/net/conn.py",
            "forgelore history ./conn.py --since '3 months ago' --limit 10",
            "forgelore history src/net/ --project acme/web --until 2026-01-01",
            "forgelore history 'src/**.py' --after 2025 --before 2026",
            "forgelore history src/net/conn.py --decisions             let your language model read the conversations",
            "forgelore history src/net/ --decisions --profile cheap --budget 200000 --include-internal",
            "forgelore history src/net/ --kind commit --offset 30",
            "forgelore history src/net/conn.py --db history.db --color always --no-pager",
            "forgelore history src/net/conn.py --json",
        ),
    ),
}
