"""`forgelore triage --since 30d --dry-run [PROJECT]`, what the bot would have said in a period, for a terminal and as a
page; `forgelore triage report [PROJECT]`, what came of what it did say.
"""

import argparse
import time
from typing import TYPE_CHECKING

from forgelore.errors import UsageError
from forgelore.surfaces.cli.command import Context, write_file
from forgelore.surfaces.cli.progress import watched
from forgelore.surfaces.present.replay import (
    OUTCOMES_EXPLAINED,
    ReplayData,
    ReportData,
    build_replay_page,
    describe_left_alone,
    describe_today,
    present_outcomes,
    present_replay,
    rows_of,
    summarize,
)
from forgelore.surfaces.present.text import clean, counted_noun, day, fit, number, table, width

if TYPE_CHECKING:
    from forgelore.api import HealthLog, Inputs, Replay, ReplayedItem

_MAX_LINES = 40  # of each part; the page and --json have all
_FOR_CI = ("post", "emit", "apply", "keep")


def run_replay(context: Context, arguments: argparse.Namespace, inputs: "Inputs") -> ReplayData:
    for name in _FOR_CI:
        if getattr(arguments, name):
            raise UsageError(f"--{name} does not go with --since: a replay posts nothing", hint=f"leave --{name} out")
    if arguments.ref and arguments.project:
        raise UsageError("name the project once", hint="forgelore triage --since 30d --dry-run owner/repo")
    project = context.history.projects.name(arguments.ref or arguments.project)
    with watched(context, project or "") as watcher:
        found = context.history.triage.replay(
            arguments.since, until=arguments.until, project=project, kind=arguments.kind, inputs=inputs,
            watcher=watcher,
        )  # fmt: skip
    context.warn(*found.warnings)
    if not context.is_data:
        _print(context, found, is_page=bool(arguments.html))
    if arguments.html:
        page = build_replay_page(found, made_at=int(time.time() * 1000))
        write_file(arguments.html, page, hint="name another file with --html")
        context.print("", f"{arguments.html}: {counted_noun(len(found.items), 'case')}, to open in a browser")
    return present_replay(found)


def run_outcomes(context: Context, arguments: argparse.Namespace) -> ReportData:
    if arguments.of and arguments.project:
        raise UsageError("name the project once", hint="forgelore triage report owner/repo")
    log = context.history.triage.report(arguments.of or arguments.project, branch=arguments.index_branch)
    if not context.is_data:
        _print_outcomes(context, log)
    return present_outcomes(log)


def _print_outcomes(context: Context, log: "HealthLog") -> None:
    style = context.style
    head = ["version", "items", "comments", "success", "assist", "noise", "open", "missed"]
    rows = [
        [clean(one.version or "?"), *(number(value) for value in one[1:6]), number(one.open), number(one.missed)]
        for one in log.outcomes
    ]
    if not rows:
        context.print("the bot has not looked at any item yet")
        return
    context.print(*table(rows, grow=0, head=head, style=style), "")
    for word, meaning in OUTCOMES_EXPLAINED:
        context.print(style.dim(f"{word}: {meaning}"))


def _print(context: Context, found: "Replay", *, is_page: bool) -> None:
    style, counts = context.style, found.tally()
    if not counts.seen:
        context.print(f"nothing was filed {day(found.since)} to {day(found.until)}")
        if found.newest is not None:
            context.print(style.dim(f"the newest item is from {day(found.newest)}; name an earlier --since"))
        return
    for heading, cases in (
        ("Warnings", [one for one in found.items if one.is_warned]),
        ("Lists", [one for one in found.items if one.triaged.body and not one.is_warned]),
        ("Duplicates it would have passed in silence", [one for one in found.items if not one.triaged.body]),
    ):
        if cases:
            context.print(style.bold(f"{heading} ({number(len(cases))})"), *_table(context, cases), "")
    period = f"filed {day(found.since)} to {day(found.until)}"
    cut = ", stopped before the end" if found.is_cut else ""
    context.print(style.bold(f"{clean(str(found.project))}: {counted_noun(counts.seen, 'item')} {period}{cut}"))
    rows = [[value, text] for text, value in summarize(found)]
    context.print(*(f"  {line}" for line in table(rows, grow=1, columns=width() - 2)))
    if alone := describe_left_alone(found):
        context.print(style.dim(f"  left alone: {alone}"))
    context.print(
        "", style.dim("Nothing was posted. What people have marked as duplicates by now decides what is right.")
    )
    if not is_page:
        context.print(style.dim("--html FILE writes a page on which you can judge every case."))


def _table(context: Context, cases: "list[ReplayedItem]") -> list[str]:
    shown, room = cases[:_MAX_LINES], max(24, (width() - 50) // 2)
    rows = [
        [
            day(one.item.created_at),
            f"#{one.item.number}",
            fit(clean(one.item.title), room),
            _named(one),
            describe_today(one),
        ]
        for one in shown
    ]
    head = ["filed", "item", "title", "names", "today"]
    lines = table(rows, grow=3, head=head, style=context.style)
    more = len(cases) - len(shown)
    return [*lines, context.style.dim(f"… and {number(more)} more")] if more else lines


def _named(one: "ReplayedItem") -> str:
    """`#8 (+2) Its title`: what comes first, and how many more."""
    rows = rows_of(one)
    if not rows:
        return ""
    more = f" (+{len(rows) - 1})" if len(rows) > 1 else ""
    return clean(f"{rows[0].project}{rows[0].ref}{more} {rows[0].title}")
