"""Every fact about reading GitHub (FACTS 1-13), provoked on the local forge.

A disturbed sync ends with the store of an undisturbed one, or with a clear error and nothing lost: with the fault gone, the next
run reaches the truth.

| left out | why |
|---|---|
| 1 | GitHub Models: nothing is read from it |
| 5, writes and search | sync writes nothing and does not search; its reading cost is tested |
| 7, writes | closing belongs to dedupe; the duplicate history it leaves behind is read here |
| 8, 14 | comments are written by triage alone |
| 15, 16, 17 | Actions, pushes and webhooks: their own tests |
"""

import json

import pytest

from forgelore.errors import AuthError, ForgeError, NotFound
from forgelore.forges.github import forge as adapter
from forgelore.net import client
from servers.base import Response
from servers.github import GitHubServer, Token, paging
from support import Elsewhere, GitHubLab, assert_unread, raised

MANY = 230  # three pages


def fill(lab, count=MANY, step_s=1):
    """Many issues, a second apart, so that a list has several pages."""
    lab.server.clock.advance(-count * step_s - 3600)
    for number in range(1, count + 1):
        lab.project.add_issue(f"issue {number}")
        lab.server.clock.advance(step_s)
    lab.server.clock.advance(3600)


def graph_answer(lab, name, change, times=1):
    """Let `change(data)` spoil the next `times` answers to the GraphQL query of that name."""
    handle, left = lab.server.handle, [times]

    def spoiling(request):
        response = handle(request)
        if left[0] and f"query {name}(".encode() in request.body:
            left[0] -= 1
            document = json.loads(response.payload())
            change(document)
            response.body = document
        return response

    lab.server.handle = spoiling


# 2: deep pages and Link headers


def test_deep_pages_are_never_asked_for(github, monkeypatch):
    """Fact 2: page numbers are answered with 422; the walk goes by time and by the forge's own links."""
    monkeypatch.setattr(paging, "DEEPEST_PAGE", 1)
    fill(github)
    github.sync()
    github.assert_same()
    lists = [r for r in github.server.requests if "/issues?" in r["url"]]
    assert {r["status"] for r in lists} == {200}
    assert not [r["url"] for r in lists if "page=2" in r["url"] and "after=" not in r["url"]]


def test_hundreds_of_issues_of_one_second_are_read_through_links(github, monkeypatch):
    """Fact 2: `Link` URLs name the repository by number and carry an opaque `after`."""
    monkeypatch.setattr(paging, "DEEPEST_PAGE", 1)
    fill(github, step_s=0)
    github.sync()
    github.assert_same()
    assert any("/repositories/" in path and "after=" in path for path in github.server.paths())


def test_a_link_that_was_dropped_from_a_full_page_loses_nothing(github):
    """Fact 2: a proxy that eats `Link` must not end a list of items, of comments, of labels or of releases early."""
    fill(github)
    for number in range(1, MANY):
        github.project.comment(number, f"remark {number}")
        github.server.clock.advance(1)
    for number in range(120):
        github.project.add_label(f"label {number:03}")
        github.project.add_release(f"v{number}")
    github.server.fail(drop_headers=["link"])
    github.sync()
    github.assert_same()
    assert github.value("SELECT count(*) FROM labels") == 120


def test_a_conversation_of_many_pages_without_links_loses_no_note(github):
    """Fact 2: a whole conversation decides what is gone, so half of one must not look whole."""
    number = github.project.add_issue("long")
    said = [github.project.comment(number, f"remark {n}") for n in range(150)]
    github.sync()
    github.project.delete_comment(said[0])
    github.project.edit(number, title="longer")
    github.server.fail(path=r"/issues/\d+/comments", drop_headers=["link"])
    github.time.pass_by(600)
    github.sync()
    assert any("/issues/1/comments" in path for path in github.server.paths())
    github.assert_same()


# 3: what comes from where


def test_changes_come_with_the_issues_and_discussions_from_graphql(github):
    """Fact 3: `/pulls` has no `since` and is not listed; discussions have no REST list."""
    github.populate(discussions=4)
    github.sync()
    github.assert_same()
    paths = [path.partition("?")[0] for path in github.server.paths()]
    assert "GET /repos/acme/web/pulls" not in paths
    assert not [path for path in paths if "discussions" in path]
    kinds = dict(github.rows("SELECT kind, count(*) FROM items GROUP BY kind"))
    assert kinds == {"issue": 12, "change": 6, "discussion": 4, "release": 3}


# 4: limits


@pytest.mark.parametrize("status", [403, 429])
def test_a_secondary_limit_waits_as_long_as_it_says(github, status):
    """Fact 4."""
    github.populate()
    github.server.secondary(times=2, retry_after=7, status=status)
    github.sync()
    github.assert_same()
    assert github.time.waits.count(7) == 2


@pytest.mark.parametrize("status", [403, 429])
def test_a_secondary_limit_without_a_time_waits_a_minute_and_then_longer(github, status):
    """Fact 4: at least 60 s, growing."""
    github.populate()
    github.server.secondary(times=3, retry_after=None, status=status)
    github.sync()
    github.assert_same()
    assert github.time.waits[:3] == [60, 120, 240]


@pytest.mark.parametrize("status", [403, 429])
def test_a_spent_primary_limit_waits_for_its_reset(github, status):
    """Fact 4: `x-ratelimit-remaining: 0` and the reset's epoch on the forge's clock, not on ours."""
    app = github.new_app(FORGELORE_MAX_WAIT_S="7200")
    github.populate()
    github.time.skew_s = 90_000
    github.server.limit_status = status
    github.server.set_limit(5000, remaining=4)
    github.sync(app)
    github.assert_same(app)
    assert 3500 < max(github.time.waits) <= 3601


def test_after_too_long_a_wait_the_next_run_resumes(github):
    """Fact 4: the time to come back in the hint, pages that were saved stay saved."""
    fill(github, 600)
    github.server.set_limit(5000, remaining=6)
    spent = assert_unread(
        github.sync(), part="items", code="rate_limited", says="the quota for REST is used up, 60 min to go",
        hint="run the same command again in 60 min",
    )  # fmt: skip
    assert 3_500_000 < spent.retry_at - github.time.now_ms() <= 3_601_000
    assert github.value("SELECT count(*) FROM items") >= 100
    assert github.rows("SELECT status FROM sync_runs") == [("incomplete",)]
    github.time.pass_by(3700)
    before = len(github.server.requests)
    github.sync()
    github.assert_same()
    first = next(path for path in github.server.paths(before) if "/issues?" in path and "sort=updated" in path)
    assert "since=" in first, "the second run began where the first stopped"


def test_graphql_says_rate_limited_in_a_200(github):
    """Fact 4: no data, `errors[].type=RATE_LIMITED`."""
    app = github.new_app(FORGELORE_MAX_WAIT_S="7200")
    github.populate(discussions=3)
    github.server.graphql_limited(times=2)
    github.sync(app)
    github.assert_same(app)
    assert max(github.time.waits) > 1000


def test_a_spent_graphql_limit_leaves_what_rest_has_quota_for(github):
    """Fact 4: the same when the wait is too long."""
    github.populate(discussions=3)
    github.server.graphql_limited(times=1)
    result = github.sync()
    assert {one.part for one in result.unread} == {"discussions", "detail"}
    assert_unread(result, part="discussions", says="the quota for GraphQL is used up", hint="nothing is lost")
    assert result.written["note"] > 0
    github.time.pass_by(3700)
    github.sync()
    github.assert_same()


def test_limits_do_not_use_up_the_attempts_of_failures(github):
    """Fact 4: seven limits and then a broken gateway are still only one failure."""
    github.populate()
    github.server.fail(path=r"/issues\?", status=429, times=7, headers={"Retry-After": "2"})
    github.server.fail(path=r"/issues\?", status=502, times=2, body="<html>Bad gateway</html>")
    github.sync()
    github.assert_same()


# 5: what reading costs


def test_a_first_sync_fits_well_into_the_budget_of_an_actions_token(github):
    """Fact 5: 1,000 requests an hour; bulk lists and batches, not one request per item."""
    github.populate(issues=120, changes=60, discussions=10, comments_per_item=2)
    result = github.sync()
    github.assert_same()
    assert result.requests < 60


# 6: GraphQL


def test_null_nodes_are_asked_for_again_and_are_no_deletion(github):
    """Fact 6: RESOURCE_LIMITS_EXCEEDED is a 200 with half of the nodes null."""
    github.populate(discussions=5)
    github.server.graphql_partial(times=4)
    github.sync()
    github.assert_same()
    assert github.deleted() == set()


def test_nulls_on_a_later_run_remove_nothing(github):
    """Fact 6."""
    github.populate(discussions=5)
    github.sync()
    github.time.pass_by(600)
    for number, item in github.project.items.items():
        if item.kind != "discussion":
            github.project.edit(number, title=f"again {number}")
        else:
            github.project.discussion_comment(number, "again")
    github.server.graphql_partial(times=4)
    github.sync()
    github.assert_same()
    assert github.deleted() == set()


def test_a_change_that_graphql_never_shows_is_read_through_rest(github):
    """Fact 6: a node that stays null would otherwise leave a change without files for ever."""
    github.populate()

    def hide(document):
        document["data"]["nodes"] = [None] * len(document["data"]["nodes"])

    graph_answer(github, "Changes", hide, times=1000)
    github.sync()
    github.assert_same()


def test_an_issue_that_graphql_never_shows_waits_and_does_not_hold_up_others(github):
    """Fact 6: its second look fails alone, the rest of its batch goes on, and a later run gets it."""
    first, second = github.project.add_issue("one"), github.project.add_issue("two")
    github.project.mark_duplicate(second, first)
    third = github.project.add_issue("three")
    node = github.project.items[third]

    def hide(document):
        nodes = document["data"]["nodes"]
        document["data"]["nodes"] = [None if n and n["number"] == node.number else n for n in nodes]

    graph_answer(github, "Issues", hide, times=10)
    result = github.sync()
    assert (result.pending_jobs, result.failing_jobs) == (1, 1)
    assert any("the next sync tries them again" in warning for warning in result.warnings)
    assert ("duplicate_of", "detail", "", "issue", first, 0) in github.links(second)
    github.server.handle = type(github.server).handle.__get__(github.server)
    github.time.pass_by(60)
    assert github.sync().pending_jobs == 0
    github.assert_same()


def test_holes_inside_a_node_are_no_empty_lists(github):
    """Fact 6: an error below a node means that the node is not whole, even when it looks complete."""
    issue = github.project.add_issue("bug")
    change = github.project.add_change("fix", f"Fixes #{issue}")

    def punch(document):
        nodes = document["data"]["nodes"]
        for place, node in enumerate(nodes):
            node["closingIssuesReferences"]["nodes"] = [None]
            path = ["nodes", place, "closingIssuesReferences", "nodes", 0]
            document.setdefault("errors", []).append({"type": "RESOURCE_LIMITS_EXCEEDED", "path": path, "message": "…"})

    graph_answer(github, "Changes", punch, times=1)
    github.project.add_change("other", "")
    github.sync()
    assert ("closes", "detail", "", "issue", issue, 0) in github.links(change, "change")


def test_comments_that_graphql_left_out_of_a_discussion_are_asked_for_again(github):
    """Fact 6: half a conversation must not look like a whole one."""
    number = github.project.add_discussion("how")
    for n in range(4):
        github.project.discussion_comment(number, f"so {n}")
    github.sync()
    github.time.pass_by(600)
    github.project.discussion_comment(number, "one more")

    def punch(document):
        node = document["data"]["repository"]["discussions"]["nodes"][0]
        node["comments"]["nodes"][1:] = [None] * (len(node["comments"]["nodes"]) - 1)

    graph_answer(github, "Discussions", punch, times=2)
    github.sync()
    github.assert_same()


def test_a_discussion_that_the_list_never_shows_is_read_by_itself(github):
    """Fact 6: one that is too heavy for any page must not hold up the project, and is fetched in small pieces."""
    github.populate(discussions=6)
    github.sync(kinds=("release",))
    heavy = next(n for n, item in github.project.items.items() if item.kind == "discussion")

    def hide(document):
        found = document["data"]["repository"]["discussions"]
        found["nodes"] = [None if node["number"] == heavy else node for node in found["nodes"]]

    graph_answer(github, "Discussions", hide, times=100)
    result = github.sync()
    assert any("cannot show a discussion" in warning for warning in result.warnings)
    github.time.pass_by(600)
    github.sync()  # the totals still differ: this time the numbers are compared
    github.assert_same()
    cursor = github.rows("SELECT updated_at FROM sync_cursors WHERE resource = 'discussions'")
    github.time.pass_by(600)
    github.project.discussion_comment(heavy, "more of it")
    github.sync()
    assert github.rows("SELECT updated_at FROM sync_cursors WHERE resource = 'discussions'") == cursor, "read again"
    github.server.handle = type(github.server).handle.__get__(github.server)
    github.sync()
    github.assert_same()


def test_a_graphql_timeout_is_retried(github):
    """Fact 6: 502 and 504 as HTML."""
    github.populate(discussions=5)
    github.server.graphql_timeout(times=4)
    github.sync()
    github.assert_same()


def test_pages_that_are_too_heavy_are_halved(github):
    """Fact 6: GraphQL answers lighter questions meanwhile, so it is not down."""
    github.populate(discussions=30)
    handle, heavy = github.server.handle, []

    def strained(request):
        if b'"first":25' in request.body:
            heavy.append(request)
            return Response(502, "<html>Unicorn!</html>", {"Content-Type": "text/html"})
        return handle(request)

    github.server.handle = strained
    assert github.sync().unread == []
    github.assert_same()
    assert heavy


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_gateway_that_answers_html_is_asked_again(github, status):
    """Fact 6."""
    github.populate(discussions=2)
    github.server.fail(
        skip=2, times=3, status=status, body="<html>Unicorn!</html>", headers={"Content-Type": "text/html"}
    )
    github.sync()
    github.assert_same()
    assert github.time.waits[:1] == [1]


def test_maintenance_is_waited_for_as_long_as_it_says(github):
    """Fact 6: 503 with Retry-After says how long."""
    github.populate()
    github.server.fail(path=r"/issues\?", status=503, times=8, headers={"Retry-After": "120"}, body="down")
    github.sync()
    github.assert_same()
    assert github.time.waits.count(120) == 8


def test_a_list_that_stays_broken_is_named_with_its_status(github):
    """Fact 6: the cursor stays where it was, and the next run completes."""
    github.populate()
    rule = github.server.fail(path=r"/issues/comments", status=500, body={"message": "oops"})
    assert_unread(github.sync(), part="comments", code="forge", says="answered 500 to comments", hint="again")
    github.server.faults.remove(rule)
    github.sync()
    github.assert_same()


# 7: the duplicate history


def test_the_duplicate_history_arrives_as_links(github):
    """Fact 7: closed as duplicate, marked by comment, marked and taken back."""
    project = github.project
    original, closed, said, regretted = (project.add_issue(name) for name in ("a", "b", "c", "d"))
    project.add_collaborator("ben", "push")
    project.close(closed, reason="duplicate", duplicate_of=original)
    project.comment(said, f"Duplicate of #{original}", author="ben")
    project.mark_duplicate(regretted, original)
    project.unmark_duplicate(regretted)
    github.sync()
    github.assert_same()
    mark = ("duplicate_of", "detail", "", "issue", original)
    assert (*mark, 0) in github.links(closed)
    assert (*mark, 0) in github.links(said)
    assert (*mark, 1) in github.links(regretted)
    assert (*mark, 0) not in github.links(regretted)
    assert github.value("SELECT state_reason FROM items WHERE number = ?", closed) == "duplicate"


# 9: API versions


@pytest.mark.parametrize("version", ["2022-11-28", "2026-03-10"])
def test_both_versions_of_the_api_give_the_same_store(github, monkeypatch, version):
    """Fact 9: the newer one drops `assignee`, `merge_commit_sha` and `rate`."""
    monkeypatch.setitem(adapter.HEADERS, "X-GitHub-Api-Version", version)
    github.populate(discussions=2)
    github.sync()
    github.assert_same()
    assert {r["headers"].get("x-github-api-version") for r in github.server.requests} == {version}


def test_an_enterprise_server_is_read_below_its_own_root(tmp_path):
    """Fact 9: GHES serves REST below /api/v3 and GraphQL at /api/graphql."""
    with GitHubLab(tmp_path, ghes=True) as lab:
        lab.populate(discussions=2)
        lab.sync()
        lab.assert_same()


# 10: renamed, moved, deleted, forbidden


def test_a_renamed_repository_stays_the_same_project(github):
    """Fact 10: 301 to /repositories/{id}; one row, the old name as an alias."""
    github.populate()
    github.sync()
    github.server.rename("acme/web", "acme/website")
    github.time.pass_by(600)
    github.project.add_issue("after the move")
    github.sync()
    github.assert_same(path="acme/website")
    assert github.rows("SELECT path FROM projects") == [("acme/website",)]
    assert github.rows("SELECT path_key FROM project_aliases") == [("acme/web",)]
    assert github.app.find_project("acme/web").name.path == "acme/website"


def test_a_repository_that_is_renamed_during_a_sync_is_read_on(github):
    """Fact 10: method, query and body go along with the redirect."""
    fill(github)
    github.populate(discussions=2)
    github.on_request(r"GET .*/issues\?", lambda: github.server.rename("acme/web", "acme/website"))
    github.sync()
    assert 301 in {r["status"] for r in github.server.requests}
    github.time.pass_by(600)
    github.sync(path="acme/website")
    github.assert_same(path="acme/website")


def test_a_new_repository_under_an_old_name_is_another_project(github):
    """Fact 10: a 301 lasts until somebody takes the name; two histories must not flow into one row."""
    github.project.add_issue("old")
    github.sync()
    github.server.rename("acme/web", "acme/legacy")
    github.sync(path="acme/legacy")
    github.server.add_project("acme/web").add_issue("new")
    github.sync(path="acme/web")
    github.sync(path="acme/legacy")
    github.assert_same(path="acme/web")
    github.assert_same(path="acme/legacy")
    assert github.value("SELECT count(*) FROM projects") == 2


def test_a_repository_that_was_deleted_and_made_anew_keeps_the_old_rows(github):
    """Fact 10: the same name with another id is another project; what the old one said stays."""
    github.project.add_issue("old")
    github.sync()
    github.server.remove_project("acme/web")
    github.server.add_project("acme/web").add_issue("new")
    github.sync()
    github.assert_same()
    assert {title for (title,) in github.rows("SELECT title FROM items WHERE deleted_at IS NULL")} == {"old", "new"}


def test_a_transferred_issue_leaves_a_tombstone_that_says_where_to(github):
    """Fact 10: 301 to another repository."""
    github.populate()
    other = github.server.add_project("acme/api")
    number = github.project.add_issue("moves")
    github.project.comment(number, "see you there")
    github.sync()
    new = github.project.transfer(number, other)
    github.time.pass_by(600)
    assert github.sync().deleted == 1
    github.assert_same()
    assert github.deleted() == {("issue", number)}
    assert [link for link in github.links(number) if link[0] == "moved_to"] == [
        ("moved_to", "forge", "github.com/acme/api", "issue", new, 0)
    ]
    assert github.value("SELECT count(*) FROM notes n JOIN items i ON i.id = n.item_id WHERE i.number = ?", number) == 1


def test_a_transferred_issue_never_overwrites_one_of_ours(github):
    """Fact 10: the redirect answers with the number it has *there*, which is somebody else's here."""
    other = github.server.add_project("acme/api")
    first, moving = github.project.add_issue("ours"), github.project.add_issue("moves")
    github.sync()
    github.project.transfer(moving, other)
    assert other.items[1].title == "moves"
    github.rows("INSERT INTO jobs (project_id, kind, key, queued_at) VALUES (1, 'item', ?, 0)", f"issue:{moving}")
    github.time.pass_by(600)
    github.sync()
    github.assert_same()
    assert github.value("SELECT title FROM items WHERE number = ?", first) == "ours"
    assert github.value("SELECT count(*) FROM jobs WHERE kind <> 'document'") == 0


def test_an_issue_that_came_from_elsewhere_brings_its_old_comments(github):
    """Fact 10: their times lie before the cursor of the comment stream."""
    github.populate()
    other = github.server.add_project("acme/api")
    number = other.add_issue("arrives", created_at="2025-05-01T00:00:00Z")
    other.comment(number, "said long ago", at="2025-05-02T00:00:00Z")
    github.sync()
    other.transfer(number, github.project)
    github.time.pass_by(600)
    github.sync()
    github.assert_same()


def test_a_deleted_issue_is_buried_only_after_a_second_look(github):
    """Fact 10: 410. Its rows stay, and no other item is touched."""
    github.populate()
    number = github.project.add_issue("goes", "body")
    github.sync()
    github.project.delete(number)
    github.time.pass_by(600)
    before = len(github.server.requests)
    assert github.sync().deleted == 1
    assert [r["status"] for r in github.server.requests[before:] if r["url"].endswith(f"/issues/{number}")] == [410]
    github.assert_same()
    assert github.deleted() == {("issue", number)}
    assert github.value("SELECT body FROM items WHERE number = ?", number) == "body"


def test_an_issue_that_is_missing_from_the_list_but_answers_is_kept(github):
    """Fact 10: the list lies for a moment; the second look does not."""
    github.populate()
    github.sync()
    github.time.pass_by(600)

    def lie(document):
        document["data"]["repository"]["issues"]["totalCount"] -= 1

    graph_answer(github, "Counts", lie)
    github.server.fail(path=r"sort=created", status=200, body=[])
    result = github.sync()
    assert github.deleted() == set()
    assert any("lost permission" in warning for warning in result.warnings)
    github.assert_same()


def test_a_discussion_that_was_deleted_is_buried_and_a_forbidden_one_is_not(github):
    """Fact 10: null with NOT_FOUND is gone, null with FORBIDDEN is a refusal."""
    github.populate(discussions=6)
    github.sync()
    number = next(n for n, item in github.project.items.items() if item.kind == "discussion")
    github.project.delete(number)

    def forbid(document):
        document["errors"] = [{"type": "FORBIDDEN", "message": "Resource not accessible", "path": ["repository"]}]

    graph_answer(github, "Discussion", forbid)
    github.time.pass_by(600)
    assert github.sync().failing_jobs == 1
    assert github.deleted() == set()
    github.time.pass_by(600)
    github.sync()
    assert github.deleted() == {("discussion", number)}
    github.assert_same()


def test_a_project_without_access_is_not_found_and_nothing_is_deleted(github):
    """Fact 10: private and missing look alike; the run is on record."""
    github.populate()
    github.sync()
    github.project.private = True
    github.server.tokens["weak"] = Token("eve", scopes=())
    app = github.same_file("weak")
    with raised(NotFound, code="not_found", says="'acme/web' not found", hint="the token's access"):
        github.sync(app)
    assert github.rows("SELECT status, error_code FROM sync_runs ORDER BY id DESC LIMIT 1") == [("failed", "not_found")]
    assert github.deleted() == set()
    github.assert_same()


def test_without_a_token_the_hint_says_which_variable_to_set(github):
    """Fact 10."""
    github.project.private = True
    with raised(NotFound, hint="GITHUB_TOKEN"):
        github.sync(github.new_app(""))


def test_a_bad_token_is_an_authentication_error_and_is_never_shown(github):
    """Fact 10: 401; exit code 4."""
    with raised(AuthError, code="auth", says="401", hint="GITHUB_TOKEN") as caught:
        github.sync(github.new_app("not-a-good-secret"))
    assert caught[0].exit_code == 4
    assert "not-a-good-secret" not in f"{caught[0].message} {caught[0].hint}"


def test_a_missing_permission_is_named_and_deletes_nothing(github):
    """Fact 10: 403 "Resource not accessible" with X-Accepted-GitHub-Permissions."""
    github.populate()
    github.sync()
    github.server.tokens["narrow"] = Token("bot", permissions={"contents": "read"}, kind="integration")
    with raised(AuthError, code="auth", says="may not read", hint="issues=read"):
        github.sync(github.same_file("narrow"))
    assert github.deleted() == set()
    github.assert_same()


def test_a_404_that_names_a_permission_names_it_too(github):
    """Fact 10: a fine-grained token may get 404 instead of 403."""
    github.populate()
    headers = {"X-Accepted-GitHub-Permissions": "issues=read"}
    rule = github.server.fail(path=r"/issues\?", status=404, body={"message": "Not Found"}, headers=headers)
    assert any("issues=read" in warning for warning in github.sync().warnings)
    github.server.faults.remove(rule)
    github.time.pass_by(600)
    github.sync()
    github.assert_same()


def test_a_token_without_contents_reads_all_but_releases_and_says_so(github):
    """Fact 10: a narrow token is no reason to read nothing."""
    github.populate(discussions=2)
    given = {"issues": "read", "pull_requests": "read"}
    github.server.tokens["narrow"] = Token("ana", permissions=given)
    app = github.new_app("narrow")
    result = github.sync(app)
    assert any("releases are left out" in w and "contents=read" in w for w in result.warnings)
    assert any("discussions are left out" in w and "discussions=read" in w for w in result.warnings)
    github.sync(github.same_file())
    kinds = {item["kind"] for item in github.stored(app)}
    assert kinds == {"issue", "change"}
    github.assert_same()


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_to_another_host_is_not_followed(github, status):
    """Fact 10: no request, and so no token, goes there."""
    github.populate()
    with Elsewhere() as other:
        headers = {"Location": f"{other.url}/repos/acme/web/issues"}
        rule = github.server.fail(path=r"/issues\?", status=status, headers=headers, body={})
        assert_unread(github.sync(), part="items", says="another server", hint="new address")
        assert other.requests == []
    github.server.faults.remove(rule)
    github.sync()
    github.assert_same()


@pytest.mark.parametrize(("path", "part"), [(r"/issues\?", "items"), (r"/labels", "labels")])
def test_a_link_to_another_host_is_not_followed(github, path, part):
    """Fact 10."""
    fill(github, step_s=0)
    for number in range(120):
        github.project.add_label(f"label {number}")
    with Elsewhere() as other:
        rule = github.server.fail(path=path, set_headers={"Link": f'<{other.url}/steal>; rel="next"'})
        assert_unread(github.sync(), part=part, says="another server")
        assert other.requests == []
    github.server.faults.remove(rule)
    github.sync()
    github.assert_same()


@pytest.mark.parametrize("location", ["http://[bad", "http://127.0.0.1:99999999/", "//[/"])
def test_a_redirect_to_nonsense_is_a_clear_error(github, location):
    """Fact 10."""
    github.server.fail(path=r"/issues\?", status=302, headers={"Location": location}, body={})
    assert_unread(github.sync(), part="items", code="forge")


def test_redirects_in_a_circle_end(github):
    """Fact 10."""
    github.server.fail(path=r"/issues\?", status=301, headers={"Location": "/repos/acme/web/issues?x=1"}, body={})
    assert_unread(github.sync(), part="items", says="redirects in a loop")


# 11: what may be null, and what a body may hold


def test_authors_bodies_and_forks_may_be_null(github):
    """Fact 11: ghost users and deleted forks."""
    project = github.project
    issue = project.add_issue("ghost", None, author=None)
    change = project.add_change("from a fork", None, author=None, fork_gone=True)
    talk = project.add_discussion("ghostly", "x", author=None)
    project.comment(issue, "boo", author=None)
    project.review(change, "fine", author=None)
    project.review_comment(change, "here", author=None)
    said = project.discussion_comment(talk, "yes", author=None)
    project.discussion_reply(said, "no", author=None)
    project.add_release("v1", body=None)
    github.server.fail(path=r"/issues\?", json=[["/*/milestone", None], ["/*/assignees", None]])
    github.sync()
    github.assert_same()


HARD = [
    "a\r\nb\r\n",
    "nul \x00 inside",
    "lone \ud800 high",
    "lone \udfff low",
    "zero\u200bwidth\u200d",
    "😀" * 100,
    "\x1b[2J",
    "\u2028",
]


@pytest.mark.parametrize("text", HARD)
def test_hostile_text_is_kept_as_far_as_a_file_can_hold_it(github, text):
    """Fact 11."""
    project = github.project
    number = project.add_issue(f"title {text}", text)
    project.comment(number, text)
    change = project.add_change("change", text, files=[("modified", "src/\u200b.py")])
    project.review_comment(change, text)
    project.review(change, text)
    talk = project.add_discussion("talk", text)
    project.discussion_comment(talk, text)
    project.add_release("v1", body=text)
    github.sync()
    github.assert_same()
    again = github.sync()
    assert again.rows_written == 0


def test_the_longest_body_arrives_whole(github):
    """Fact 11: 65,536 characters, here of four bytes each and with CRLF."""
    body = ("𝕏" * 78 + "\r\n") * 819 + "end \x00\ud800"
    number = github.project.add_issue("long", body)
    github.project.comment(number, body)
    github.sync()
    github.assert_same()


# 12: files


def test_file_lists_of_any_length_and_renames_are_whole(github):
    """Fact 12: GraphQL gives 100 and no old names; REST has both."""
    files = [("modified", f"src/{n:04}.py") for n in range(250)]
    github.project.add_change("big", files=[*files, ("renamed", "a.txt", "b.txt"), ("added", "c.png")])
    github.project.add_change("small", files=[("renamed", "x/old.py", "y/new.py"), ("deleted", "z.py")])
    github.sync()
    github.assert_same()


def test_without_a_token_files_and_reviews_come_through_rest(github):
    """Fact 12: GraphQL needs a token."""
    github.populate()
    change = github.project.add_change("reviewed", files=[("renamed", "a", "b")])
    github.project.review(change, "Looks good")
    app = github.new_app("")
    github.sync(app)
    github.assert_same(app)
    assert not [path for path in github.server.paths() if "graphql" in path]


@pytest.mark.parametrize("status", [406, 422])
def test_files_that_github_will_not_list_do_not_hold_up_the_change(github, status):
    """Fact 12: "too large" is an answer."""
    github.project.add_change("huge", files=[("renamed", "a", "b")])
    github.server.fail(path=r"/pulls/1/files", status=status, body={"message": "too large"})
    result = github.sync()
    assert (result.pending_jobs, github.value("SELECT count(*) FROM items")) == (0, 1)


def test_a_file_list_stops_at_three_thousand(github):
    """Fact 12: what GitHub shows is stored; what it does not show is no error."""
    github.project.add_change("monster", files=[("modified", f"f/{n:05}") for n in range(3100)])
    github.sync()
    assert github.value("SELECT count(*) FROM item_files") == 3000


# 13: conditional requests


def test_unchanged_lists_cost_a_304_without_a_body(github):
    """Fact 13: sent with the tag as given (weak), answered without a body, and nothing is lost or written."""
    github.populate()
    github.sync()
    github.time.pass_by(600)
    before = len(github.server.requests)
    assert github.sync().rows_written == 0
    asked = {r["url"].partition("?")[0]: r for r in github.server.requests[before:]}
    for name in ("releases", "labels", "collaborators"):
        answer = asked[f"/repos/acme/web/{name}"]
        assert (answer["status"], answer["response_body"]) == (304, None)
        assert answer["headers"]["if-none-match"].startswith('W/"')
    github.assert_same()


def test_tags_of_another_token_are_worthless_and_harmless(github):
    """Fact 13: ETags vary with the token."""
    github.populate()
    github.sync()
    github.server.tokens["second"] = Token("ana")
    github.time.pass_by(600)
    before = len(github.server.requests)
    github.sync(github.same_file("second"))
    assert 304 not in {r["status"] for r in github.server.requests[before:]}
    github.assert_same()


# parts that are switched off, and nothing at all


def test_changes_are_read_while_issues_are_switched_off(github):
    """Fact 10: `/issues` answers 410."""
    github.populate()
    github.project.has_issues = False
    github.sync()
    github.assert_same()
    assert {kind for (kind,) in github.rows("SELECT DISTINCT kind FROM items")} == {"change", "release"}
    github.time.pass_by(600)
    change = next(n for n, item in github.project.items.items() if item.kind == "change")
    github.project.edit(change, title="edited meanwhile")
    github.sync()
    github.assert_same()


def test_issues_that_are_switched_off_and_on_again_lose_nothing(github):
    """Fact 10: what was edited before the switch and read by nobody is read after it."""
    github.populate(end="2026-01-01T00:00:00Z")
    github.sync()
    issue = next(n for n, item in github.project.items.items() if item.kind == "issue")
    change = next(n for n, item in github.project.items.items() if item.kind == "change")
    github.time.pass_by(3600)
    github.project.edit(issue, title="edited just before")
    github.project.has_issues = False
    github.time.pass_by(3600)
    github.project.edit(change, title="the cursor goes on")
    github.sync()
    assert github.deleted() == set()
    github.time.pass_by(3600)
    github.project.has_issues = True
    github.sync()
    github.assert_same()


def test_work_on_issues_waits_while_they_are_switched_off(github):
    """Fact 10: 410 on a known issue is no deletion then."""
    number = github.project.add_issue("waits")
    github.project.add_change("goes on")
    github.sync()
    github.rows("INSERT INTO jobs (project_id, kind, key, queued_at) VALUES (1, 'threads', ?, 0)", f"issue:{number}")
    github.rows("INSERT INTO jobs (project_id, kind, key, queued_at) VALUES (1, 'look', ?, 0)", f"issue:{number}")
    github.project.has_issues = False
    github.sync()
    assert github.deleted() == set()
    github.project.has_issues = True
    assert github.sync().pending_jobs == 0
    github.assert_same()


def test_an_empty_project_is_a_success(github):
    """Nothing to read is not an error."""
    result = github.sync()
    assert (result.rows_written, result.warnings) == (0, [])
    github.assert_same()
    github.project.add_issue("the first")
    github.sync()
    github.assert_same()


# the wire itself


BREAKABLE = (r"/issues\?", "/issues/comments", "/releases", "graphql", "/repos/acme/web$")


@pytest.mark.parametrize(
    "fault",
    [{"truncate": 0.5}, {"drop": True}, {"drop_after": True}, {"status": 200, "body": "<html>hello</html>"}, {"status": 200, "body": ""},
     {"status": 200, "body": '[{"id": 1, "number": 1, "title": "cut of'}],
    ids=["truncated", "dropped", "dropped after", "html", "empty", "cut off"],
)  # fmt: skip
def test_a_broken_answer_is_asked_for_again(github, fault):
    """Half a body, a closed connection, HTML instead of JSON: twice, at each place where something is read."""
    github.populate(discussions=2)
    rules = [github.server.fail(path=path, times=2, **fault) for path in BREAKABLE]
    github.sync()
    github.assert_same()
    assert all(rule["_seen"] >= 2 for rule in rules)
    assert github.time.waits.count(1) >= len(BREAKABLE)


def test_an_answer_that_stays_html_is_a_clear_error(github):
    """A captive portal answers 200 to everything."""
    rule = github.server.fail(path=r"/issues\?", status=200, body="<html>Please log in</html>")
    assert_unread(github.sync(), part="items", code="unreadable_answer", says="not JSON", hint="API")
    github.server.faults.remove(rule)
    github.populate()
    github.sync()
    github.assert_same()


def test_an_answer_of_an_unexpected_shape_is_a_clear_error(github):
    """A list where an object should be, or the other way round."""
    github.populate()
    rule = github.server.fail(path=r"/issues\?", status=200, body={"message": "surprise"})
    assert_unread(github.sync(), part="items", code="unreadable_answer")
    github.server.faults.remove(rule)
    github.sync()
    github.assert_same()


def test_a_slow_answer_is_given_up_and_asked_for_again(github, monkeypatch):
    """A read that takes too long is a failure like any other."""
    monkeypatch.setattr(client, "TIMEOUT", 0.25)
    github.populate()
    github.server.fail(path=r"/issues\?", delay=0.5, times=1)
    github.sync(github.new_app())
    github.assert_same(github.apps[-1])


def test_a_server_that_is_not_there_says_what_to_check(tmp_path):
    """Exit code 6, and the host in the message."""
    with GitHubLab(tmp_path) as lab:
        lab.server.stop()
        with raised(ForgeError, says="cannot be reached", hint="network, proxy") as caught:
            lab.sync()
        assert caught[0].exit_code == 6


def test_an_item_that_is_edited_while_pages_are_read_loses_no_neighbour(github):
    """The list shifts when a row moves to its end: the row at the seam must not be skipped."""
    fill(github)
    github.on_request(r"GET .*/issues\?", lambda: [github.project.edit(n, title=f"moved {n}") for n in range(1, 60)])
    github.sync()
    github.assert_same()


def test_comments_that_are_edited_while_pages_are_read_lose_no_neighbour(github):
    """The same for comments, whose list has numbered pages."""
    number = github.project.add_issue("busy")
    said = []
    for n in range(MANY):
        said.append(github.project.comment(number, f"remark {n}"))
        github.server.clock.advance(1)
    github.server.clock.advance(60)
    github.on_request(
        r"GET .*/issues/comments\?", lambda: [github.project.edit_comment(c, "edited") for c in said[:60]]
    )
    github.sync()
    github.assert_same()


def test_ids_beyond_32_bits_are_ids(github):
    """GraphQL's `databaseId` is 32 bits wide on old types; `fullDatabaseId` is not."""
    github.server.world.next_id = 2**31 + 5
    github.populate(discussions=2)
    github.sync()
    github.assert_same()


def test_an_older_server_without_duplicate_fields_is_read_all_the_same(github):
    """GHES lags behind: an unknown field is left out, once and for all."""
    github.populate()
    refusal = {"errors": [{"message": "Field 'duplicateOf' doesn't exist", "extensions": {"code": "undefinedField"}}]}
    handle = github.server.handle

    def older(request):
        if b"duplicateOf" in request.body:
            return type(handle(request))(200, refusal)
        return handle(request)

    github.server.handle = older
    result = github.sync()
    assert result.pending_jobs == 0
    github.assert_same()


def test_what_no_token_could_read_is_read_once_there_is_one(github):
    """Discussions and the duplicate history need a token; adding one later must bring them."""
    github.populate(discussions=3)
    original, copy = github.project.add_issue("a"), github.project.add_issue("b")
    github.project.close(copy, reason="duplicate", duplicate_of=original)
    app = github.new_app("")
    result = github.sync(app)
    assert any("GITHUB_TOKEN" in warning for warning in result.warnings)
    with_token = github.new_app(db=app.config.db)
    github.time.pass_by(600)
    github.sync(with_token)
    github.assert_same(with_token)
    links = with_token.store().rows(
        "SELECT relation FROM item_links WHERE source = 'detail' AND relation = 'duplicate_of'"
    )
    assert links


def test_the_local_forge_is_what_is_tested():
    """A guard against testing nothing: a fault rule that never matches would make a test pass."""
    with GitHubServer() as server:
        rule = server.fail(path="x")
        assert server.find_fault("GET", "/x") is rule
