"""A quota that is used up: with `--wait` a sync finishes unattended; without, it says how far it came and when to come
back. REST and GraphQL have a quota each, and the work of one goes on without the other.
"""

import json

from forgelore.api.fetch import sync
from forgelore.ports.progress import Watcher

HOUR_S = 3600


def finish(lab, app, waits):
    """Sync as `--wait` does; `waits` collects what people are told."""
    watcher = Watcher(lambda event: waits.append((event.wait_s, event.note)) if event.wait_s > 60 else None)
    options = {"full": False, "force": False, "kinds": (), "index": "none"}
    return sync(app, lab.name_text, wait=True, watcher=watcher, **options).result


def test_a_first_sync_finishes_through_three_exhausted_hours(github):
    """Told once an hour until when it waits, and equal to a sync that never had to."""
    github.populate(issues=320, changes=60, discussions=12)
    github.server.set_limit(9, remaining=9)
    waits = []
    result = finish(github, github.app, waits)
    assert (result.status, result.unread, result.pending_jobs) == ("complete", [], 0)
    of_rest = [seconds for seconds, why in waits if why == "the quota for REST is used up"]
    assert len(of_rest) >= 3
    assert max(of_rest) <= HOUR_S + 2
    refused = [one for one in github.server.requests if one["status"] == 403]
    assert len(refused) <= 8 * (1 + len(of_rest)), "no more than the threads that were at work"
    github.assert_same()
    github.server.set_limit(5000, remaining=5000)
    fresh = github.new_app()
    github.sync(fresh)
    assert github.stored() == github.stored(fresh)


def test_gitlab_finishes_through_exhausted_hours(gitlab):
    gitlab.populate(issues=40, changes=20)
    gitlab.server.set_limit(9, remaining=9, window_s=HOUR_S)
    waits = []
    result = finish(gitlab, gitlab.app, waits)
    assert result.status == "complete"
    assert len(waits) >= 2
    gitlab.assert_same()


def test_what_has_a_quota_goes_on_where_another_is_used_up(github):
    """GraphQL has none left: comments and lists come by REST, and no request of GraphQL is sent in vain twice."""
    github.populate(issues=30, changes=20, discussions=4)
    github.server.limits.buckets["graphql"].used = 5000
    github.server.limits.buckets["graphql"].reset = int(github.server.clock.now().timestamp()) + HOUR_S
    result = github.sync()
    assert {(one.part, one.code) for one in result.unread} == {
        ("discussions", "rate_limited"),
        ("detail", "rate_limited"),
    }
    assert result.written["note"] > 0
    assert len([path for path in github.server.paths() if "graphql" in path]) == 1
    github.time.pass_by(HOUR_S + 60)
    assert github.sync().status == "complete"
    github.assert_same()


def test_graphql_goes_on_where_rest_is_used_up(github):
    github.populate(issues=250, changes=20, discussions=40)
    github.server.limits.buckets["core"].used = 5000 - 3
    github.server.limits.buckets["core"].reset = int(github.server.clock.now().timestamp()) + HOUR_S
    result = github.sync()
    assert "discussions" not in {one.part for one in result.unread}
    assert github.value("SELECT count(*) FROM items WHERE kind = 'discussion'") == 40


def test_without_wait_it_says_how_far_it_came_and_when_to_come_back(github):
    github.populate(issues=320, changes=30)
    github.server.set_limit(5000, remaining=7)
    done = github.command("sync", "acme/web")
    assert done.returncode == 7
    assert "! acme/web" in done.stdout or "acme/web: " in done.stdout
    assert "issues" in done.stdout
    assert "the quota is used up; not finished: issues and changes, comments" in done.stderr
    assert "run the same command again at " in done.stderr
    assert "forgelore sync --wait" in done.stderr
    assert "a token raises the limit" not in done.stderr, "one is set"


def test_programs_get_what_came_and_what_is_missing(github):
    github.populate(issues=320, changes=30)
    github.server.set_limit(5000, remaining=7)
    envelope = json.loads(github.command("sync", "acme/web", "--json").stdout)
    assert (envelope["ok"], envelope["error"]["code"]) == (False, "rate_limited")
    (result,) = envelope["data"]
    assert result["status"] == "incomplete"
    assert result["written"]["issue"] > 0
    assert {one["code"] for one in result["unread"]} == {"rate_limited"}
    assert all(one["retry_at"] for one in result["unread"])


def test_a_list_that_fails_has_an_exit_code_and_stands_in_the_status(github):
    github.populate()
    github.server.fail(path="/labels", status=400, body={"message": "no labels today"})
    done = github.command("sync", "acme/web")
    assert done.returncode == 6
    assert "could not read all labels" in done.stderr
    assert "no labels today" in done.stderr
    status = github.command("sync-status")
    assert "not read: labels: " in status.stdout
    (project,) = json.loads(github.command("sync-status", "--json").stdout)["data"]
    assert project["runs"][0]["status"] == "incomplete"
    assert "no labels today" in project["runs"][0]["unread"][0]


def test_a_quota_that_was_used_up_before_the_sync_began_names_wait(github):
    github.server.set_limit(5000, remaining=0)
    done = github.command("sync", "acme/web")
    assert done.returncode == 7
    assert "or let it wait: forgelore sync --wait" in done.stderr
