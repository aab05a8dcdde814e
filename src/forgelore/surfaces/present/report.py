"""One month of a project in words: as Markdown, and the lengths of waits as people say them."""

from typing import TYPE_CHECKING

from forgelore.surfaces.present.text import clean, counted_noun
from forgelore.text.markdown import plain

if TYPE_CHECKING:
    from forgelore.api import MonthReport, OutcomeTally, Waits

_MAX_NAMES = 20
_DAY_H = 24


def describe_wait(hours: float | None) -> str:
    """`40 min`, `5 h`, `12 days`; a dash where there is none."""
    if hours is None:
        return "-"
    if hours < 1:
        return f"{round(hours * 60)} min"
    if hours < 2 * _DAY_H:
        return f"{hours:.0f} h"
    return f"{hours / _DAY_H:.0f} days"


def describe_waits(waits: "Waits") -> str:
    """`5 h; 9 of 10 within 3 days; 4 still wait`."""
    parts = []
    if waits.ended:
        parts = [describe_wait(waits.median_h), f"9 of 10 within {describe_wait(waits.p90_h)}"]
    if waits.unfinished:
        parts.append(f"{waits.unfinished} still {'waits' if waits.unfinished == 1 else 'wait'}")
    return "; ".join(parts) or "-"


def describe_triage(one: "OutcomeTally") -> str:
    """`9 comments on 30 items: 2 closed by their authors as that, 3 by others, …`."""
    return (
        f"{counted_noun(one.commented, 'comment')} on {counted_noun(one.looked, 'item')}: {one.success} closed by their"
        f" authors as that, {one.assist} by others, {one.noise} noise, {one.open} open;"
        f" {counted_noun(one.missed, 'duplicate')} missed"
    )


def month_file(report: "MonthReport") -> str:
    """Return the report as Markdown, without a name that would notify anybody."""
    lines = [
        f"# {clean(report.project)} in {report.month}", "",
        "| | issues | changes |", "|---|---|---|",
    ]  # fmt: skip
    rows = {
        "filed": [str(one.opened) for one in report.kinds],
        "closed": [str(one.closed) for one in report.kinds],
        "closed as duplicates": [str(one.duplicates) for one in report.kinds],
        "open at the end": [str(one.open_at_end) for one in report.kinds],
        "time to the first answer (median)": [describe_waits(one.first_answer) for one in report.kinds],
        "time to the closing (median)": [describe_waits(one.to_close) for one in report.kinds],
    }
    lines += [f"| {name} | {' | '.join(values)} |" for name, values in rows.items()]
    lines += ["", "What was open at the end, by age:", "", "| age | issues | changes |", "|---|---|---|"]
    ages = [one.ages for one in report.kinds]
    lines += [f"| {words} | {' | '.join(str(each[words]) for each in ages)} |" for words in ages[0]]
    if report.confirmed:
        lines += ["", f"Reviewers called {counted_noun(report.confirmed, 'pair')} the same."]
    if report.triage:
        lines += ["", f"The triage bot wrote {describe_triage(report.triage)}."]
    if report.newcomers:
        names = ", ".join(plain(name, limit=60) for name in report.newcomers[:_MAX_NAMES])
        more = len(report.newcomers) - _MAX_NAMES
        lines += ["", f"New: {names}{f' and {more} more' if more > 0 else ''}."]
    return "\n".join([*lines, "", "What robots filed or said is not counted."]) + "\n"
