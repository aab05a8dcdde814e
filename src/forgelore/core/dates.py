"""A date as people write it on a command line -> milliseconds, UTC.

    2026-03-01   2026-03-01T12:00:00Z   2026/03/01   20260301   1.3.2026
    2026-03   2026   March 2026   1 Mar 2026   Mar 1, 2026          (the first moment of it)
    today   yesterday   now   7d   2w   3 months   1y   12 hours ago   last week      (back from now)

03/04/2026 means two days to two people and is refused.
"""

import datetime as dt
import re
from typing import Literal

from forgelore.core.times import parse_ms
from forgelore.errors import InvalidValue

Unit = Literal["moment", "day", "month", "year"]
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_UNITS = {"h": "hours", "d": "days", "w": "weeks", "m": "months", "y": "years"}
_DAY_MS = 86_400_000
_HINT = "write 2026-03-01, 2026-03, 7d, 2w, 3 months ago, yesterday …"


def parse_when(text: str, now_ms: int) -> int:
    """Return the moment that a person means. Raises InvalidValue with examples for anything else."""
    return _read(text, now_ms)[0]


def parse_period(text: str, now_ms: int) -> tuple[int, int]:
    """Return the beginning and the end of what a person names: of a day, a month, a year; both the same for a moment.

    "2026-03" -> the first moments of March and of April      "7d" -> seven days ago, twice
    """
    start, unit = _read(text, now_ms)
    if unit == "moment":
        return start, start
    if unit == "day":
        return start, start + _DAY_MS
    first = _now(start)
    year, month = divmod(first.year * 12 + first.month - 1 + (12 if unit == "year" else 1), 12)
    if year > dt.MAXYEAR:
        return start, start + 366 * _DAY_MS
    return start, round(dt.datetime(year, month + 1, 1, tzinfo=dt.UTC).timestamp() * 1000)


def _read(text: str, now_ms: int) -> tuple[int, Unit]:
    words = " ".join(text.strip().lower().replace(",", " ").split())
    if re.fullmatch(r"\d{4}-\d\d-\d\d([t ].*)?", words):
        return parse_ms(text.strip()) or 0, "day" if len(words) == len("2026-03-01") else "moment"
    found = _named(words, now_ms) or _back(words, now_ms) or _calendar(words)
    if found is None:
        raise InvalidValue(f"{text.strip()[:60]!r} is not a date", hint=_HINT)
    return round(found[0].timestamp() * 1000), found[1]


def _now(now_ms: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(now_ms / 1000, dt.UTC)


def _named(words: str, now_ms: int) -> tuple[dt.datetime, Unit] | None:
    now = _now(now_ms)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    named: dict[str, tuple[dt.datetime, Unit]] = {
        "now": (now, "moment"), "today": (midnight, "day"), "yesterday": (midnight - dt.timedelta(days=1), "day"),
    }  # fmt: skip
    return named.get(words)


def _back(words: str, now_ms: int) -> tuple[dt.datetime, Unit] | None:
    match = re.fullmatch(r"(?:(\d{1,6}) ?|(last|a|an) )(h|d|w|m|y|hour|day|week|month|year)s?( ago)?", words)
    if not match:
        return None
    count, unit, now = int(match[1] or 1), _UNITS[match[3][0]], _now(now_ms)
    try:
        if unit in ("months", "years"):
            return _months_before(now, count * (12 if unit == "years" else 1)), "moment"
        return now - dt.timedelta(**{unit: count}), "moment"
    except (OverflowError, ValueError) as error:
        raise InvalidValue(f"{words[:60]!r} is before the year 1", hint=_HINT) from error


def _months_before(now: dt.datetime, months: int) -> dt.datetime:
    year, month = divmod(now.year * 12 + now.month - 1 - months, 12)
    last_day = (dt.datetime(year + month // 11, (month + 1) % 12 + 1, 1, tzinfo=dt.UTC) - dt.timedelta(days=1)).day
    return now.replace(year=year, month=month + 1, day=min(now.day, last_day))


def _calendar(words: str) -> tuple[dt.datetime, Unit] | None:
    for pattern, order in (
        (r"(\d{4})/(\d{1,2})/(\d{1,2})", "ymd"), (r"(\d{4})(\d\d)(\d\d)", "ymd"), (r"(\d{4})[-/](\d{1,2})", "ym"),
        (r"((?:19|20)\d\d)", "y"), (r"(\d{1,2})\.(\d{1,2})\.(\d{4})", "dmy"),
        (r"(\d{4})-(\d{1,2})-(\d{1,2})", "ymd"),
        (r"([a-z]{3,9})\.? (\d{4})", "Ny"), (r"(\d{1,2})\.? ([a-z]{3,9})\.? (\d{4})", "dNy"),
        (r"([a-z]{3,9})\.? (\d{1,2}) (\d{4})", "Ndy"),
    ):  # fmt: skip
        match = re.fullmatch(pattern, words)
        if match:
            day = _day(dict(zip(order, match.groups(), strict=True)), words)
            return (day, "day" if "d" in order else "year" if order == "y" else "month") if day else None
    return None


def _day(parts: dict[str, str], words: str) -> dt.datetime | None:
    if "N" in parts:
        name = parts.pop("N")
        month = next((at for at, short in enumerate(_MONTHS, 1) if name.startswith(short)), 0)
        if not month:
            return None
        parts["m"] = str(month)
    try:
        return dt.datetime(int(parts["y"]), int(parts.get("m", 1)), int(parts.get("d", 1)), tzinfo=dt.UTC)
    except ValueError as error:
        raise InvalidValue(f"{words!r} is not a date: {error}", hint=_HINT) from error
