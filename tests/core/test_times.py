"""Times: every spelling of a moment becomes the same integer."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.errors import InvalidValue
from forgelore.text.dates import ago, format_ms, parse_http_date, parse_ms

NOON = 1_772_366_400_000


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T12:00:00Z", "2026-03-01T12:00:00.000Z", "2026-03-01 12:00Z", "2026-03-01T12:00:00z", "2026-03-01T13:00:00+01:00",
        "2026-03-01T06:30:00-0530", "2026-03-01T12:00", " 2026-03-01T12:00:00Z ",
    ],
)  # fmt: skip
def test_every_sensible_spelling_names_the_same_moment(text):
    assert parse_ms(text) == NOON


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-01T23:59+00:00", NOON + 43_140_000), ("2026-03-01T00:00", NOON - 43_200_000),
        ("2026-03-01T11:59:60Z", NOON), ("0001-01-01T00:00:00+00:00", -62_135_596_800_000),
        ("9999-12-31T23:59:59.999+00:00", 253_402_300_799_999),
    ],
)  # fmt: skip
def test_the_ends_of_a_day_and_of_all_days_are_times(text, moment):
    assert parse_ms(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-03-01T24:00:00Z",
        "2026-03-01T12:60Z",
        "2026-03-01T12:00:61Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "yesterday",
        "2026-02-30",
        "2026-03-01T25:00:00Z",
        "2026-13-01T00:00:00Z",
        "1772366400",
        "12:00",
        "2026-03-01T12:00:00+1",
    ],
)
def test_anything_else_is_refused_with_an_example(text):
    with pytest.raises(InvalidValue) as caught:
        parse_ms(text)
    assert "2026-03-01" in caught.value.hint


@pytest.mark.parametrize("text", ["2026-03-01T24:00:00Z", "2026-03-01T12:60Z", "2026-03-01T12:00:61Z"])
def test_an_hour_that_no_day_has_is_called_no_time_of_day(text):
    with pytest.raises(InvalidValue) as caught:
        parse_ms(text)
    assert caught.value.message == f"not a time of day: {text!r}"


def test_milliseconds_are_kept():
    assert parse_ms("2026-03-01T12:00:00.123Z") == NOON + 123
    assert parse_ms("2026-03-01T12:00:00.1Z") == NOON + 100
    assert parse_ms("2026-03-01T12:00:00.123456789Z") == NOON + 123


@given(st.datetimes(min_value=dt.datetime(1971, 1, 1), max_value=dt.datetime(2200, 1, 1)))
def test_formatting_and_parsing_are_inverse(moment):
    ms = int(moment.replace(tzinfo=dt.UTC).timestamp() * 1000)
    assert parse_ms(format_ms(ms)) == ms


def test_http_dates_are_read_and_nonsense_is_none():
    assert parse_http_date("Sun, 01 Mar 2026 12:00:00 GMT") == NOON
    assert parse_http_date("soon") is None
    assert parse_http_date(None) is None


def test_ago_speaks_to_people():
    assert ago(NOON - 3 * 3600_000, NOON) == "3 h ago"
    assert ago(NOON + 90_000, NOON) == "in 1 min"
    assert ago(None, NOON) == "never"
