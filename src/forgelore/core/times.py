"""Times at the border: text to integer milliseconds (UTC) and back, in every spelling that people and forges use."""

import datetime as dt
import re

from forgelore.errors import InvalidValue

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
        raise InvalidValue(f"{text!r} is not a time", hint="write 2026-03-01 or 2026-03-01T12:00:00Z")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        days = dt.date(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY
    except ValueError as error:
        raise InvalidValue(f"{text!r} is not a date: {error}", hint="write 2026-03-01") from error
    if int(hour or 0) > 23 or int(minute or 0) > 59 or int(second or 0) > 60:
        raise InvalidValue(f"{text!r} is not a time of day", hint="write 2026-03-01T12:00:00Z")
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
