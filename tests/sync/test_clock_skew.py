"""The local clock may be a day wrong in either direction, and may jump between runs: windows are measured on the forge's."""

import pytest

DAY_S = 86_400
SKEWS = [-DAY_S, -3600, 3600, DAY_S, 400 * DAY_S]


@pytest.mark.parametrize("skew_s", SKEWS)
def test_a_wrong_clock_loses_nothing(lab, skew_s):
    lab.populate()
    number = lab.project.add_issue("talk")
    lab.time.skew_s = skew_s
    lab.sync()
    lab.assert_same()
    lab.time.pass_by(20)
    lab.on_issue("comment", number, "unannounced")
    lab.time.pass_by(300)
    lab.sync()
    lab.assert_same()
    lab.time.pass_by(600)
    assert lab.sync().rows_written == 0


@pytest.mark.parametrize(("first", "then"), [(DAY_S, -DAY_S), (-DAY_S, DAY_S), (0, -DAY_S), (400 * DAY_S, 0)])
def test_a_clock_that_was_set_between_runs_loses_nothing(lab, first, then):
    """Jobs, locks and looks were dated by the old clock."""
    lab.populate(issues=6, changes=2)
    change = lab.project.add_change("work", files=[("renamed", "a", "b")])
    part = f"/merge_requests/{change}/diffs" if lab.server.kind == "gitlab" else f"/pulls/{change}/files"
    lab.time.skew_s = first
    rule = lab.server.fail(path=part, status=400, body={"message": "not now"})
    assert lab.sync().failing_jobs == 1
    lab.server.faults.remove(rule)
    lab.time.skew_s = then
    lab.time.pass_by(60)
    lab.project.add_issue("new")
    lab.sync()
    lab.assert_same()
    assert lab.value("SELECT count(*) FROM jobs WHERE kind <> 'document'") == 0


def test_the_wider_net_is_due_by_the_clock_of_the_forge(gitlab):
    """Ours runs two days ahead after the first run; the forge's day is not over."""
    gitlab.populate()
    gitlab.sync()
    gitlab.time.skew_s = 2 * DAY_S
    gitlab.time.pass_by(3600)
    before = len(gitlab.server.requests)
    gitlab.sync()
    assert not [path for path in gitlab.server.paths(before) if "/discussions" in path]


@pytest.mark.parametrize("forge", ["gitlab", "forgejo"])
def test_a_forge_that_tells_no_time_is_measured_by_ours(forge, request, monkeypatch):
    """Without a `Date` the local clock has to do."""
    from forgelore.net.client import HttpAnswer

    monkeypatch.setattr(HttpAnswer, "date_ms", None)
    lab = request.getfixturevalue(forge)
    lab.populate(issues=60)
    lab.sync()
    lab.assert_same()
    lab.time.pass_by(600)
    lab.project.add_issue("new")
    lab.sync()
    lab.assert_same()
