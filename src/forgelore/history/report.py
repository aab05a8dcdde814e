"""One month of a project: what was filed and closed, how long people waited, how old the backlog is, who is new.

Times are of people: what robots file or say does not count. A wait that has not ended by now is not in the median, but
counted beside it, since leaving it out alone would make a project that never answers look quick.
"""

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from forgelore.errors import InvalidValue, NotFound
from forgelore.history.waiting import is_robot
from forgelore.records import OutcomeTally
from forgelore.store.database import Store
from forgelore.store.open_items import DatedItem, find_newest, list_dated_items, list_first_filed, list_first_words
from forgelore.store.projects import StoredProject
from forgelore.store.reviews import list_standing
from forgelore.store.triage import tally_filed

KINDS = ("issue", "change")
AGES = ((30, "up to a month"), (90, "up to 3 months"), (365, "up to a year"), (0, "older"))  # days -> in words
_HOUR_MS, _DAY_MS = 3_600_000, 86_400_000
_MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")


class Waits(NamedTuple):
    """How long people waited, in hours: the median and what nine of ten stayed below; of how many, and how many still
    wait.
    """

    ended: int
    median_h: float | None
    p90_h: float | None
    unfinished: int

    @staticmethod
    def json_digits() -> int:
        return 1


class KindMonth(NamedTuple):
    """One kind of item: how many were filed and closed, how many were open at the end, by age."""

    kind: str
    opened: int
    closed: int
    duplicates: int
    open_at_end: int
    ages: dict[str, int]
    first_answer: Waits
    to_close: Waits


class WeekCount(NamedTuple):
    """How many issues and changes were filed and closed in the days from one on."""

    start: str
    opened: int
    closed: int


class MonthReport(NamedTuple):
    """A month of a project. `confirmed`: pairs that reviewers called the same in it. `triage`: what came of the bot's
    comments on what was filed in it; null where the database is not the bot's own.
    """

    project: str
    month: str
    kinds: list[KindMonth]
    weeks: list[WeekCount]
    newcomers: list[str]
    confirmed: int
    triage: OutcomeTally | None = None


def load_report(store: Store, project: StoredProject, month: str | None, *, now_ms: int) -> MonthReport:
    """Return the report of a month, such as "2026-03"; by default of the last one that is over, or of the newest item's
    where nothing happened since. Raises NotFound for a project without items.
    """
    newest = find_newest(store, project.id)
    if newest is None:
        raise NotFound(f"{project.name} has no issues or changes yet", hint="run: forgelore sync")
    name = month or min(_month_before(now_ms), _month_of(newest))
    start, end = read_month(name)
    items = [one for one in list_dated_items(store, project.id, start, end) if not is_robot(one.author)]
    answers: defaultdict[int, list[int]] = defaultdict(list)
    authors = {one.id: one.author for one in items}
    for word in list_first_words(store, project.id, start, end):
        if word.item_id in authors and word.author != authors[word.item_id] and not is_robot(word.author):
            answers[word.item_id].append(word.at)
    first = {item_id: min(times) for item_id, times in answers.items()}
    said = list_standing(store, project.id)
    return MonthReport(
        str(project.name), name, [_count_kind(kind, items, first, start, end) for kind in KINDS],
        _count_weeks(items, start, end),
        [one for one in list_first_filed(store, project.id, start, end) if not is_robot(one)],
        len({frozenset((one.item_id, one.target_id)) for one in said
             if one.decision == "same" and start <= one.said_at < end}),
        tally_filed(store, project.id, start, end),
    )  # fmt: skip


def read_month(text: str) -> tuple[int, int]:
    """Return the first moment of a month and that of the next one, in milliseconds."""
    match = _MONTH.fullmatch(text.strip())
    if match is None:
        raise InvalidValue(f"not a month: {text[:40]!r}", hint="write a year and a month: 2026-03")
    year, month = int(match[1]), int(match[2])
    following = (year + 1, 1) if month == 12 else (year, month + 1)
    try:
        return _moment(year, month), _moment(*following)
    except ValueError as error:
        raise InvalidValue(f"not a month: {text[:40]!r}", hint="write a year and a month: 2026-03") from error


def _moment(year: int, month: int) -> int:
    return int(dt.datetime(year, month, 1, tzinfo=dt.UTC).timestamp() * 1000)


def _month_of(moment: int) -> str:
    return f"{dt.datetime.fromtimestamp(moment / 1000, dt.UTC):%Y-%m}"


def _month_before(now_ms: int) -> str:
    start, _ = read_month(_month_of(now_ms))
    return _month_of(start - 1)


def _count_kind(kind: str, items: Sequence[DatedItem], first: dict[int, int], start: int, end: int) -> KindMonth:
    mine = [one for one in items if one.kind == kind]
    filed = [one for one in mine if one.created_at >= start]
    ended = [one for one in mine if one.closed_at is not None and start <= one.closed_at < end]
    left = [one for one in mine if one.closed_at is None or one.closed_at >= end]
    waits = [first[one.id] - one.created_at for one in filed if one.id in first]
    unanswered = sum(one.id not in first and one.closed_at is None for one in filed)
    lives = [one.closed_at - one.created_at for one in filed if one.closed_at is not None]
    return KindMonth(
        kind, len(filed), len(ended), sum(bool(one.is_duplicate) for one in ended), len(left), _count_ages(left, end),
        _measure(waits, unanswered), _measure(lives, sum(one.closed_at is None for one in filed)),
    )  # fmt: skip


def _count_ages(items: Sequence[DatedItem], end: int) -> dict[str, int]:
    found = {words: 0 for _, words in AGES}
    for one in items:
        days = (end - one.created_at) / _DAY_MS
        found[next(words for most, words in AGES if not most or days <= most)] += 1
    return found


def _measure(spans_ms: Sequence[int], unfinished: int) -> Waits:
    if not spans_ms:
        return Waits(0, None, None, unfinished)
    hours = sorted(max(0, span) / _HOUR_MS for span in spans_ms)
    return Waits(len(hours), _quantile(hours, 0.5), _quantile(hours, 0.9), unfinished)


def _quantile(values: Sequence[float], share: float) -> float:
    place = share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def _count_weeks(items: Sequence[DatedItem], start: int, end: int) -> list[WeekCount]:
    found, week = [], 7 * _DAY_MS
    for first in range(start, end, week):
        last = min(first + week, end)
        found.append(
            WeekCount(
                f"{dt.datetime.fromtimestamp(first / 1000, dt.UTC):%Y-%m-%d}",
                sum(first <= one.created_at < last for one in items),
                sum(one.closed_at is not None and first <= one.closed_at < last for one in items),
            )
        )
    return found
