"""`sync --plan`: what a first sync would take, from a page of each list, within a quarter of what it then takes."""

import pytest

from forgelore.sync.status import estimate_sync


def estimate(lab, app=None):
    app = app or lab.app
    name = app.parse_project(lab.name_text)
    return estimate_sync(None, app.forge(name), name, 10.0)


@pytest.mark.parametrize(
    "sizes",
    [{"issues": 90, "changes": 40, "comments_per_item": 1}, {"issues": 40, "changes": 60, "comments_per_item": 8}],
)
def test_a_plan_is_right_within_a_quarter(lab, sizes):
    lab.populate(discussions=0, **sizes)
    plan = estimate(lab)
    asked = len(lab.server.requests)
    assert asked <= 16, "a plan is cheap"
    came = lab.sync().requests
    assert came * 0.75 - 5 <= plan.requests <= came * 1.25 + 5
    notes = lab.value("SELECT count(*) FROM notes")
    assert plan.notes <= notes * 1.3 + 20
    assert plan.megabytes > 0


def test_a_plan_for_github_counts_the_points_of_graphql(github):
    github.populate(issues=60, changes=40, discussions=0)
    limits = github.server.limits
    plan = estimate(github)
    planning = limits.bucket("graphql").used
    github.sync()
    spent = limits.bucket("graphql").used - planning
    assert planning <= 5
    assert plan.points == pytest.approx(spent, abs=max(6, spent / 4))


def test_a_plan_for_what_is_there_already_asks_for_no_samples(lab):
    lab.populate(discussions=0)
    lab.sync()
    app = lab.app
    name, before = app.parse_project(lab.name_text), len(lab.server.requests)
    plan = estimate_sync(app.store(), app.forge(name), name, 10.0)
    assert sum(plan.missing.values()) == 0
    assert plan.megabytes == 0
    assert len(lab.server.requests) - before <= 4
