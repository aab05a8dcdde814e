"""`sync --plan`: what a first sync would take, from a page of each list, within a quarter of what it then takes."""

import re

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


def test_a_first_sync_of_many_items_says_how_good_its_plan_was(lab):
    lab.populate(issues=400, changes=110, discussions=0, comments_per_item=1)
    plan = estimate(lab)
    result = lab.sync()
    assert abs(result.plan.requests - plan.requests) <= 2
    taken = result.plan.requests_taken
    assert result.requests - 12 <= taken < result.requests, "the plan itself is not counted"
    assert taken * 0.75 - 5 <= result.plan.requests <= taken * 1.25 + 5
    assert result.plan.megabytes == pytest.approx(plan.megabytes, abs=0.8)
    assert result.plan.megabytes_taken > 1
    assert lab.sync().plan is None


def test_the_command_says_it(github):
    github.populate(issues=400, changes=110, discussions=0, comments_per_item=1)
    done = github.command("sync", "acme/web")
    assert re.search(r"\d+ requests, \d+ planned", done.stdout), done.stdout


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
