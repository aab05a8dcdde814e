"""A date as people write it on a command line -> milliseconds, UTC.

    2026-03-01   2026-03-01T12:00:00Z   2026/03/01   20260301   1.3.2026
    2026-03   2026   March 2026   1 Mar 2026   Mar 1, 2026          (the first moment of it)
    today   yesterday   now   7d   2w   3 months   1y   12 hours ago   last week      (back from now)

03/04/2026 means two days to two people and is refused.
"""

import datetime as dt
import re

from forgelore.core.times import parse_ms
from forgelore.errors import InvalidValue

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_UNITS = {"h": "hours", "d": "days", "w": "weeks", "m": "months", "y": "years"}
_HINT = "write 2026-03-01, 2026-03, 7d, 2w, 3 months ago, yesterday …"


def parse_when(text: str, now_ms: int) -> int:
    """Return the moment that a person means. Raises InvalidValue with examples for anything else."""
    words = " ".join(text.strip().lower().replace(",", " ").split())
    if re.fullmatch(r"\d{4}-\d\d-\d\d([t ].*)?", words):
        return parse_ms(text.strip()) or 0
    moment = _named(words, now_ms) or _back(words, now_ms) or _calendar(words)
    if moment is None:
        raise InvalidValue(f"{text.strip()[:60]!r} is not a date", hint=_HINT)
    return round(moment.timestamp() * 1000)


def _now(now_ms: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(now_ms / 1000, dt.UTC)


def _named(words: str, now_ms: int) -> dt.datetime | None:
    now = _now(now_ms)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return {"now": now, "today": midnight, "yesterday": midnight - dt.timedelta(days=1)}.get(words)


def _back(words: str, now_ms: int) -> dt.datetime | None:
    match = re.fullmatch(r"(?:(\d{1,6}) ?|(last|a|an) )(h|d|w|m|y|hour|day|week|month|year)s?( ago)?", words)
    if not match:
        return None
    count, unit, now = int(match[1] or 1), _UNITS[match[3][0]], _now(now_ms)
    try:
        if unit in ("months", "years"):
            return _months_before(now, count * (12 if unit == "years" else 1))
        return now - dt.timedelta(**{unit: count})
    except (OverflowError, ValueError) as error:
        raise InvalidValue(f"{words[:60]!r} is before the year 1", hint=_HINT) from error


def _months_before(now: dt.datetime, months: int) -> dt.datetime:
    year, month = divmod(now.year * 12 + now.month - 1 - months, 12)
    last_day = (dt.datetime(year + month // 11, (month + 1) % 12 + 1, 1, tzinfo=dt.UTC) - dt.timedelta(days=1)).day
    return now.replace(year=year, month=month + 1, day=min(now.day, last_day))


def _calendar(words: str) -> dt.datetime | None:
    for pattern, order in (
        (r"(\d{4})/(\d{1,2})/(\d{1,2})", "ymd"), (r"(\d{4})(\d\d)(\d\d)", "ymd"), (r"(\d{4})[-/](\d{1,2})", "ym"),
        (r"((?:19|20)\d\d)", "y"), (r"(\d{1,2})\.(\d{1,2})\.(\d{4})", "dmy"),
        (r"(\d{4})-(\d{1,2})-(\d{1,2})", "ymd"),
        (r"([a-z]{3,9})\.? (\d{4})", "Ny"), (r"(\d{1,2})\.? ([a-z]{3,9})\.? (\d{4})", "dNy"),
        (r"([a-z]{3,9})\.? (\d{1,2}) (\d{4})", "Ndy"),
    ):  # fmt: skip
        match = re.fullmatch(pattern, words)
        if match:
            return _day(dict(zip(order, match.groups(), strict=True)), words)
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
