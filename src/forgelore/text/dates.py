"""Times at the border: text to integer milliseconds (UTC) and back, dates and ranges as people write them, the clock.

A date as people write it on a command line -> milliseconds, UTC:

    2026-03-01   2026-03-01T12:00:00Z   2026/03/01   20260301   1.3.2026
    2026-03   2026   March 2026   1 Mar 2026   Mar 1, 2026          (the first moment of it)
    today   yesterday   now   7d   2w   3 months   1y   12 hours ago   last week      (back from now)

03/04/2026 means two days to two people and is refused. Ranges, of dates and of numbers:

    >10   >=10   <10   <=10   10..20   10..*   *..20   10..   ..20   10
    >2024-01-31   <=2024-01   2024-01..2024-03   2024 (all of it)   >7d   (after the moment seven days ago)
    >3 months ago   >"3 months ago"

A named period counts as a whole: `>2024-01` begins with February, `<=2024-01` ends with January. The machine's clock is
for callers without an app; others pass `App.now_ms`, so that a test can hold time still.
"""

import datetime as dt
import re
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

from forgelore.errors import InvalidValue


def machine_ms() -> int:
    """Return the time in milliseconds since 1970, UTC."""
    return int(time.time() * 1000)


TIME_PATTERN = r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(Z|z|[+-]\d\d:?\d\d)?)?"
_ISO = re.compile(TIME_PATTERN + r"\Z")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_FIRST_MS = (1 - _EPOCH_DAY) * 86_400_000
_LAST_MS = (dt.date.max.toordinal() - _EPOCH_DAY + 1) * 86_400_000 - 1


def parse_ms(text: str | None) -> int | None:
    """Return milliseconds since 1970; None for None. Raises InvalidValue for anything that is not a time.

    "2026-03-01T12:00:00Z" -> 1772366400000      "2026-03-01" -> that day's midnight UTC
    """
    if text is None:
        return None
    if (
        len(text) in (20, 24) and text[-1] == "Z"
    ):  # what forges write; the C parser is six times faster than the pattern
        try:
            since = dt.datetime.fromisoformat(text) - _EPOCH  # integers: half the price of `timestamp()`
            return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
        except ValueError:
            pass
    match = _ISO.match(text.strip())
    if not match:
        raise InvalidValue(f"not a time: {text!r}", hint="write 2026-03-01 or 2026-03-01T12:00:00Z")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        days = dt.date(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY
    except ValueError as error:
        raise InvalidValue(f"not a date: {text!r}: {error}", hint="write 2026-03-01") from error
    if int(hour or 0) > 23 or int(minute or 0) > 59 or int(second or 0) > 60:
        raise InvalidValue(f"not a time of day: {text!r}", hint="write 2026-03-01T12:00:00Z")
    seconds = days * 86400 + int(hour or 0) * 3600 + int(minute or 0) * 60 + int(second or 0)
    if zone and zone not in "Zz":
        offset = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
        seconds -= offset if zone[0] == "+" else -offset
    millis = int((fraction or "0")[:3].ljust(3, "0"))
    value = seconds * 1000 + millis
    if not _FIRST_MS <= value <= _LAST_MS:
        raise InvalidValue(f"{text!r} is outside the years 1 to 9999", hint="write 2026-03-01T12:00:00Z")
    return value


def format_ms(value: int | None) -> str | None:
    """Return "2026-03-01T12:00:00Z", with milliseconds only where there are some; None for None."""
    if value is None:
        return None
    seconds, millis = divmod(value, 1000)
    day, rest = divmod(seconds, 86400)
    date = dt.date.fromordinal(_EPOCH_DAY + day)
    fraction = f".{millis:03d}" if millis else ""
    return f"{date.isoformat()}T{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}{fraction}Z"


def as_time(value: int | None) -> dt.datetime | None:
    """Return the moment as Python has it, aware and in UTC."""
    return None if value is None else _EPOCH + dt.timedelta(milliseconds=value)


def as_ms(moment: dt.datetime) -> int:
    """Return the milliseconds of a moment; one without a zone is in UTC, as everything here."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return (aware - _EPOCH) // dt.timedelta(milliseconds=1)


def parse_http_date(text: str | None) -> int | None:
    """Return the ms of an HTTP `Date` header; None when it is missing or not a date."""
    if not text:
        return None
    from email.utils import parsedate_to_datetime

    try:
        return int(parsedate_to_datetime(text).timestamp() * 1000)
    except (ValueError, TypeError):
        return None


def ago(then: int | None, now: int) -> str:
    """Return "3 h ago", "in 5 min", "never": for people."""
    if then is None:
        return "never"
    seconds = abs(now - then) // 1000
    for size, unit in ((86400 * 365, "y"), (86400 * 30, "mo"), (86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            text = f"{seconds // size} {unit}"
            break
    else:
        text = f"{seconds} s"
    return f"{text} ago" if then <= now else f"in {text}"


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
        raise InvalidValue(f"not a date: {text.strip()[:60]!r}", hint=_HINT)
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
        raise InvalidValue(f"not a date: {words!r}: {error}", hint=_HINT) from error


_BLANKS = ' \t\n"'  # and quotes, which a query needs around words


class Bounds(NamedTuple):
    """From `low` on, and below `high`; None: open."""

    low: int | None = None
    high: int | None = None

    @property
    def is_empty(self) -> bool:
        return self.low is not None and self.high is not None and self.low >= self.high

    def within(self, other: "Bounds") -> "Bounds":
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        return Bounds(max(lows, default=None), min(highs, default=None))


def parse_dates(text: str, now_ms: int) -> Bounds:
    """Return the range of moments that `text` means, in milliseconds."""
    return _parse_bounds(text, lambda value: parse_period(value, now_ms))


def parse_numbers(text: str) -> Bounds:
    """Return the range of numbers that `text` means."""
    return _parse_bounds(text, _number)


def _parse_bounds(text: str, read: Callable[[str], tuple[int, int]]) -> Bounds:
    """`read` returns the first of what a value names, and what comes behind its last; the same twice for a moment."""
    text = text.strip()
    compared = re.match(r"(>=|<=|>|<)", text)
    if compared and ".." in text:
        bare = text[compared.end() :].strip()
        raise InvalidValue(
            f"{text[:60]!r} mixes a comparison and a range", hint=f"write {bare[:60]}, or {compared[0]} alone"
        )
    if compared:
        start, end = read(text[compared.end() :].strip(_BLANKS))
        past = max(end, start + 1)
        return {
            ">": Bounds(low=end), ">=": Bounds(low=start), "<": Bounds(high=start), "<=": Bounds(high=past)
        }[compared[0]]  # fmt: skip
    first, dots, last = (part.strip(_BLANKS) for part in text.partition(".."))
    if dots and (first or last):
        low = None if first in ("", "*") else read(first)[0]
        if last in ("", "*"):
            return Bounds(low)
        start, end = read(last)
        return Bounds(low, max(end, start + 1))
    start, end = read(text)
    if start == end:
        moment = f'"{text}"' if " " in text else text  # as a query takes it, and everybody else too
        raise InvalidValue(f"{text!r} is a point in time", hint=f"use >{moment} for later, <{moment} for earlier")
    return Bounds(start, end)


def _number(text: str) -> tuple[int, int]:
    if not re.fullmatch(r"\s*[0-9]{1,15}\s*", text):
        raise InvalidValue(f"not a number: {text.strip()[:60]!r}", hint="write 10, >10, <=10 or 5..20")
    return int(text), int(text) + 1
