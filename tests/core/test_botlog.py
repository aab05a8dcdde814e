"""The bot's own record: it survives anything, and complains after a week of failures."""

from hypothesis import given
from hypothesis import strategies as st

from forgelore.triage.health_log import KEPT, HealthEntry, HealthLog, build_botlog, parse_botlog

DAY = 86_400_000


def failing(days, start=100 * DAY):
    log = HealthLog().plus(HealthEntry(start - DAY, "issues.opened"), known=5, total=9)
    for day in range(days):
        log = log.plus(HealthEntry(start + day * DAY, "issues.opened", "no permission"), known=5, total=9)
    return log, start + days * DAY


def test_what_is_written_is_read_back():
    log, _ = failing(3)
    assert parse_botlog(build_botlog(log)) == log


def test_a_time_behind_the_last_date_makes_no_log_of_ours():
    """Whoever can push to the branch writes the file; a date of the year 10000 cannot be shown."""
    last = HealthLog().plus(HealthEntry(253_402_300_799_999, "x"), known=0, total=0)
    assert parse_botlog(build_botlog(last)) == last
    assert parse_botlog(build_botlog(last).replace("253402300799999", "253402300800000")) == HealthLog()


def test_a_bot_that_failed_for_a_week_says_so_and_why():
    log, now = failing(8)
    complaint = log.complaint(now)
    assert "no permission" in complaint
    assert "failing since" in complaint


def test_a_few_bad_days_and_a_good_end_are_no_complaint():
    log, now = failing(3)
    assert log.complaint(now) == ""
    log, now = failing(9)
    assert log.plus(HealthEntry(now, "schedule"), known=1, total=1).complaint(now) == ""


def test_only_the_last_runs_are_kept():
    log, _ = failing(100)
    assert len(log.runs) == KEPT


@given(st.text() | st.sampled_from(["{}", "[]", '{"runs": 3}', '{"runs": [{}]}', "null"]))
def test_a_file_that_is_not_ours_is_an_empty_log(text):
    assert parse_botlog(text) == HealthLog()
