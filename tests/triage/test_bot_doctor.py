"""`doctor` knows how the bot is doing also where no run could leave a word: by the dates of the branch and of the items."""

import json

import pytest
from test_bot import CRASH, THEME

from forgelore.surfaces.cli.main import main
from forgelore.text.dates import parse_ms
from forgelore.triage.health_log import CHANGED_SLACK_MS, FILED_SLACK_MS, HealthEntry, HealthLog, build_botlog, lag

HOUR_S = 3600
DAY_S = 24 * HOUR_S
GITHUB_SETUP, GITLAB_SETUP = ".github/workflows/triage.yml", ".gitlab-ci.yml"


class Doctor:
    """A forge with a project, and what `forgelore doctor` says about its bot."""

    def __init__(self, lab, monkeypatch, capsys, tmp_path, *, branch="triage-index"):
        self.project, self.server, self.branch = lab.project, lab.server, branch
        self._capsys = capsys
        for name, value in lab.environ(lab.good_token).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("FORGELORE_PROJECTS", lab.name_text)
        monkeypatch.setenv("FORGELORE_DB", str(tmp_path / "lore.db"))

    def push(self):
        """The bot pushes now, and all is well."""
        now = self.project.world.at() if hasattr(self.project.world, "groups") else self.project.world.now()
        log = HealthLog().plus(HealthEntry(parse_ms(now), "schedule"), known=1, total=None)
        self.project.branch_files[self.branch] = {"health.json": build_botlog(log)}
        self.project.branch_times[self.branch] = now

    def wait(self, seconds):
        self.server.clock.advance(seconds)

    def says(self):
        main(["doctor", "--json"])
        checks = json.loads(self._capsys.readouterr().out)["data"]["checks"]
        return [(one["status"], one["message"], one["hint"]) for one in checks if one["check"] == "triage"]


@pytest.fixture(params=["github", "gitlab"])
def doctor(request, monkeypatch, capsys, tmp_path):
    return Doctor(request.getfixturevalue(request.param), monkeypatch, capsys, tmp_path)


def test_a_branch_that_keeps_up_is_well(doctor):
    doctor.project.add_issue(*CRASH)
    doctor.wait(60)
    doctor.push()
    [(status, message, _)] = doctor.says()
    assert (status, "1 issues and changes known" in message) == ("ok", True)
    doctor.wait(30 * DAY_S)  # nothing happens in the project: nothing is missing on the branch
    assert doctor.says()[0][0] == "ok"


def test_an_item_that_led_to_no_push_is_told_with_where_to_look(doctor):
    doctor.push()
    doctor.wait(HOUR_S)
    doctor.project.add_issue(*CRASH)
    assert doctor.says()[0][0] == "ok"  # its run may still wait
    doctor.wait(2 * HOUR_S)
    doctor.project.add_change(*THEME)
    [(status, message, hint)] = doctor.says()
    assert status == "warning"
    assert "triage-index was last pushed" in message
    assert "latest run of the triage workflow" in hint


def test_a_change_that_the_daily_run_should_have_seen_is_told(doctor):
    number = doctor.project.add_issue(*CRASH)
    doctor.push()
    for days, status in ((1, "ok"), (2, "warning"), (8, "error")):
        doctor.wait(days * DAY_S)
        if hasattr(doctor.project, "changes"):
            doctor.project.edit("issue", number, title=f"Other words {days}")
        else:
            doctor.project.edit(number, title=f"Other words {days}")
        assert doctor.says()[0][0] == status


def test_a_set_up_that_never_pushed_is_told(doctor):
    assert doctor.says() == []  # no bot here
    is_gitlab = hasattr(doctor.project, "changes")
    path, text = (
        (GITLAB_SETUP, "forgelore-triage:\n") if is_gitlab else (GITHUB_SETUP, "uses: forgelore/forgelore@v1\n")
    )
    doctor.project.branch_files["main"] = {path: text}
    [(status, message, _)] = doctor.says()
    assert status == "warning"
    assert "no run has pushed" in message
    doctor.push()
    assert doctor.says()[0][0] == "ok"


def test_issues_that_are_switched_off_do_not_hide_it(doctor):
    doctor.push()
    doctor.project.has_issues = False
    doctor.wait(3 * HOUR_S)
    doctor.project.add_change(*THEME)
    assert doctor.says()[0][0] == "warning"


@pytest.mark.parametrize(
    ("filed", "changed", "wanted"),
    [
        (None, None, 0),
        (FILED_SLACK_MS, None, 0),
        (FILED_SLACK_MS + 1, None, FILED_SLACK_MS + 1),
        (None, CHANGED_SLACK_MS, 0),
        (5, CHANGED_SLACK_MS + 1, CHANGED_SLACK_MS + 1),
        (-10, -10, 0),
    ],
)
def test_what_counts_as_falling_behind(filed, changed, wanted):
    at = 1_000_000_000
    add = lambda ms: None if ms is None else at + ms  # noqa: E731
    assert lag(at, filed_at=add(filed), changed_at=add(changed)) == wanted
