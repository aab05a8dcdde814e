"""The wider net: how many days back a sync looks once a day is a setting."""

import datetime as dt
import re
from urllib.parse import unquote

import pytest

from forgelore.config import load_config
from forgelore.errors import ConfigError

DAY_S = 86_400


def looked_from(lab, before):
    """The moments that a list of items was asked from; the part that is read again each day begins at the oldest."""
    asked = (re.search(r"/(?:issues|merge_requests)\?.*(?:since|updated_after)=([^&]+)", path) for path in
             lab.server.paths(before))  # fmt: skip
    return {dt.datetime.fromisoformat(unquote(found[1]).replace("Z", "+00:00")) for found in asked if found}


@pytest.mark.parametrize(("days", "more"), [(14, {}), (3, {"FORGELORE_SYNC_WINDOW_DAYS": "3"}),
                                            (40, {"FORGELORE_SYNC_WINDOW_DAYS": "40"})])  # fmt: skip
def test_once_a_day_a_sync_looks_back_as_far_as_the_setting_says(lab, days, more):
    lab.populate()
    lab.project.add_issue("of today: the cursor is there")
    lab.project.add_change("of today")
    lab.sync()
    lab.time.pass_by(DAY_S + 60)
    before, now = len(lab.server.requests), lab.server.clock.now()
    lab.sync(lab.same_file(**more))
    oldest, *later = sorted(looked_from(lab, before))
    later = [moment for moment in later if moment > now - dt.timedelta(days=100)]
    assert dt.timedelta(days=days) <= now - later[0] < dt.timedelta(days=days, hours=2)
    assert lab.value("SELECT min(updated_at) FROM items WHERE kind <> 'release'") == round(oldest.timestamp() * 1000)


def test_an_edit_without_a_date_is_found_as_far_back_as_the_setting_says(gitlab):
    """Editing a note moves nothing of its item on GitLab."""
    number = gitlab.project.add_issue("old")
    note = gitlab.project.comment("issue", number, "as it was")
    gitlab.sync()
    gitlab.time.pass_by(30 * DAY_S)
    gitlab.project.add_issue("of today: the cursor is there")
    gitlab.sync()
    gitlab.project.edit_note(note, "as it is now")
    gitlab.time.pass_by(DAY_S + 60)
    gitlab.sync()
    assert gitlab.rows("SELECT body FROM notes WHERE NOT is_system") == [("as it was",)], "older than fourteen days"
    gitlab.time.pass_by(DAY_S + 60)
    gitlab.sync(gitlab.same_file(FORGELORE_SYNC_WINDOW_DAYS="60"))
    assert gitlab.rows("SELECT body FROM notes WHERE NOT is_system") == [("as it is now",)]


@pytest.mark.parametrize("value", ["0", "366", "a week", "1.5"])
def test_a_window_that_makes_no_sense_is_refused(tmp_path, value):
    environ = {"HOME": str(tmp_path), "FORGELORE_SYNC_WINDOW_DAYS": value}
    with pytest.raises(ConfigError, match="sync_window_days must be a whole number between 1 and 365") as refused:
        load_config(environ, cwd=str(tmp_path))
    assert refused.value.hint == "for example: sync_window_days = 14"
