"""What a review provoked on the local forges: odd answers that once lost rows, or stopped everything for one of them."""

import pytest

from forgelore.errors import AuthError
from servers.base import Response
from support import assert_unread, raised

OLD = "2024-01-01T00:00:00Z"


def test_an_object_that_holds_a_list_is_not_the_end_of_a_list(github):
    github.populate()
    github.server.fail(path=r"/issues\?", status=200, body={"message": "x", "errors": []})
    assert_unread(github.sync(), part="items", code="unreadable_answer")
    github.server.faults.clear()
    github.sync()
    github.assert_same()


@pytest.mark.parametrize("forge", ["github", "gitlab", "forgejo"])
def test_an_issue_dated_in_the_future_hides_nothing_that_comes_later(forge, request):
    lab = request.getfixturevalue(forge)
    lab.populate()
    lab.project.add_issue("from 2031", created_at="2031-01-01T00:00:00Z")
    lab.sync()
    for number in range(3):
        lab.time.pass_by(3600)
        lab.project.add_issue(f"later {number}")
        lab.sync()
        lab.assert_same()
        newest = lab.value("SELECT max(updated_at) FROM sync_cursors")
        assert newest <= lab.server.clock.now().timestamp() * 1000


def test_hundreds_of_issues_of_one_instant_are_read_without_links(github):
    for number in range(250):
        github.project.add_issue(f"issue {number}", created_at=OLD)
    github.server.fail(path=r"/issues\?", drop_headers=["link"])
    github.sync(kinds=("issue",))  # without the totals, which would mend it
    github.assert_same()


def test_a_list_of_changes_goes_on_behind_a_page_that_lost_its_link(github):
    """Issues are switched off, so that changes come from a list of their own."""
    github.project.has_issues = False
    for number in range(130):
        github.project.add_change(f"change {number}")
    github.server.fail(path=r"/pulls\?", drop_headers=["link"])
    github.sync(kinds=("change",))  # without the totals, which would mend it
    assert github.value("SELECT count(*) FROM items") == 130


def test_changes_of_one_head_keep_a_payload_each(gitlab):
    """Payloads are kept by content; replacing one must not take the other's along."""
    first, second = (gitlab.project.add_change(f"change {n}", files=[("added", "x.py")]) for n in range(2))
    gitlab.project.item("change", second).sha = gitlab.project.item("change", first).sha
    gitlab.sync()
    gitlab.time.pass_by(600)
    gitlab.project.push(first, [("added", "y.py")])
    gitlab.sync()
    lost = "SELECT number FROM items WHERE detail_hash NOT IN (SELECT hash FROM raw_payloads)"
    assert gitlab.rows(lost) == []


@pytest.mark.parametrize("forge", ["github", "gitlab", "forgejo"])
def test_a_rejected_token_is_told_apart_from_a_refused_page(forge, request):
    lab = request.getfixturevalue(forge)
    rule = lab.server.fail(status=401, body={"message": "Bad credentials"})
    with raised(AuthError) as rejected:
        lab.sync()
    lab.server.faults.remove(rule)
    lab.server.fail(status=403, body={"message": "Forbidden"})
    with raised(AuthError) as refused:
        lab.sync()
    assert (rejected[0].is_rejected, refused[0].is_rejected) == (True, False)


@pytest.mark.parametrize("path", ["graphql", "graphql|rate_limit"])
def test_a_token_is_rejected_when_neither_graphql_nor_rest_takes_it(github, path):
    name = github.app.parse_project("acme/web")
    forge = github.app.forge(name)
    github.server.fail(path=path, status=401, body={"message": "Bad credentials"})
    with raised(AuthError) as refused:
        forge.sweep(forge.fetch_project(name), "discussion")
    assert refused[0].is_rejected == ("rate_limit" in path)


def test_a_total_that_is_null_is_not_compared(github):
    github.populate()
    spoil(github, "Counts", {"data": {"repository": {"pullRequests": None, "issues": {"totalCount": 12}}}})
    github.sync()
    github.assert_same()


def test_discussions_that_are_null_and_forbidden_are_left_out_with_a_warning(github):
    github.populate(discussions=3)
    forbidden = [{"type": "FORBIDDEN", "path": ["repository", "discussions"], "message": "Resource not accessible"}]
    spoil(github, "Discussions", {"data": {"repository": {"discussions": None}}, "errors": forbidden})
    result = github.sync(kinds=("discussion",))
    assert any("discussions are left out" in one and "discussions=read" in one for one in result.warnings)


def test_an_older_server_that_lacks_a_field_of_changes_is_asked_through_rest(github):
    github.populate()
    unknown = {"message": "Field 'fullDatabaseId' doesn't exist", "extensions": {"code": "undefinedField"}}
    spoil(github, "Changes", {"errors": [unknown]})
    result = github.sync()
    assert (result.pending_jobs, result.failing_jobs) == (0, 0)
    github.assert_same()
    assert len(github.graphql_requests("Changes")) <= 4, "each of two batches under way asks for all and for less"


def test_a_release_is_gone_only_when_the_list_says_so_again(gitlab):
    """A list that left one out for a moment is no deletion."""
    for number in range(4):
        gitlab.project.add_release(f"v{number}")
    gitlab.sync()
    gitlab.time.pass_by(600)
    hidden = gitlab.project.releases.pop("v2")
    gitlab.on_request(r"/releases\?", lambda: gitlab.project.releases.update(v2=hidden))
    gitlab.sync()
    assert gitlab.deleted() == set()
    gitlab.time.pass_by(600)
    gitlab.project.delete_release("v1")
    gitlab.sync()
    assert len(gitlab.deleted()) == 1
    gitlab.assert_same()


@pytest.mark.parametrize("forge", ["github", "gitlab"])
def test_an_etag_of_the_first_page_does_not_stand_for_the_others(forge, request):
    lab = request.getfixturevalue(forge)
    for number in range(130):
        lab.project.add_label(f"label {number:03}")
    lab.project.add_release("v1")
    lab.sync()
    etags = dict(lab.rows("SELECT resource, etag FROM sync_cursors WHERE resource IN ('labels', 'releases')"))
    assert etags["labels"] is None
    assert etags["releases"]
    lab.time.pass_by(600)
    lab.project.add_label("label 999")
    lab.sync()
    assert lab.value("SELECT count(*) FROM labels") == 131


def test_a_comment_that_names_no_item_is_left_out_with_a_warning(github):
    number = github.project.add_issue("issue")
    for text in ("one", "two", "three"):
        github.server.clock.advance(1)
        github.project.comment(number, text)
    github.server.fail(path=r"issues/comments", json=[("/1/issue_url", "https://x/issues/abc")])
    result = github.sync(kinds=("issue",))
    assert any("a row of comments could not be read: " in one and "abc" in one for one in result.warnings)
    assert "one" in {body for (body,) in github.rows("SELECT body FROM notes")}
    assert github.value("SELECT is_complete FROM sync_cursors WHERE resource = 'comments'")


@pytest.mark.parametrize("forge", ["github", "gitlab", "forgejo"])
def test_an_issue_with_an_impossible_date_is_left_out_and_its_neighbours_are_kept(forge, request):
    lab = request.getfixturevalue(forge)
    for number in range(230):
        lab.server.clock.advance(1)
        lab.project.add_issue(f"issue {number}")
    odd = [("/-1/created_at" if forge == "forgejo" else "/0/created_at", "0000-00-00T00:00:00Z")]
    oldest = r"/issues\?.*before.*page=5" if forge == "forgejo" else r"/issues\?.*per_page=100"
    lab.server.fail(path=oldest, json=odd, drop_headers=["link"], times=1)
    lab.server.fail(path=r"/issues\?", drop_headers=["link"])
    result = lab.sync(kinds=("issue",))
    name = "iid 1" if forge == "gitlab" else "number 1"
    warnings = [
        one for one in result.warnings if f"a row of issues could not be read: {name}: not a date: '0000-" in one
    ]
    assert len(warnings) == 1
    assert lab.value("SELECT count(*) FROM items") == 229
    lab.server.faults.clear()
    lab.time.pass_by(90_000)
    lab.sync()
    lab.assert_same()


def test_one_issue_that_stays_unreadable_lets_every_sync_succeed(github):
    for number in range(5):
        github.project.add_issue(f"issue {number}")
    github.server.fail(path=r"/issues\?.*per_page", json=[("/2/closed_at", "yesterday")])
    github.server.fail(path=r"/issues/3$", json=[("/closed_at", "yesterday")])
    for _ in range(3):
        github.sync()
        github.time.pass_by(90_000)
    assert github.value("SELECT count(*) FROM items") == 4
    github.server.faults.clear()
    github.sync(full=True)
    github.assert_same()


def test_a_page_of_rows_that_are_something_else_is_an_error_and_no_warning(gitlab):
    gitlab.populate()
    gitlab.server.fail(path=r"/issues\?", status=200, body=[{"name": "a"}, {"name": "b"}])
    assert_unread(gitlab.sync(), part="issues", code="unreadable_answer", says="unexpected shape")
    gitlab.server.faults.clear()
    gitlab.sync()
    gitlab.assert_same()


def test_a_conversation_with_an_unreadable_note_loses_none(gitlab):
    """It is read whole and decides what is gone, so that it waits instead of leaving one out."""
    number = gitlab.project.add_issue("issue")
    for text in ("one", "two"):
        gitlab.project.comment("issue", number, text)
    gitlab.sync()
    for value in ("yesterday", 10**30):
        field = "id" if isinstance(value, int) else "created_at"
        rule = gitlab.server.fail(path=r"/issues/1/discussions", json=[(f"/0/notes/0/{field}", value)])
        gitlab.time.pass_by(90_000)
        gitlab.project.comment("issue", number, f"then {field}")
        assert gitlab.sync().failing_jobs == 1
        gitlab.server.faults.remove(rule)
    gitlab.time.pass_by(90_000)
    gitlab.sync()
    gitlab.assert_same()


def test_a_discussion_with_an_impossible_date_is_left_out_and_the_others_are_kept(github):
    github.populate(discussions=3)
    path = "/data/repository/discussions/nodes/1/createdAt"
    github.server.fail(path="graphql", skip=1, times=1, json=[(path, "0000-00-00T00:00:00Z")])  # after the totals
    result = github.sync(kinds=("discussion",))
    assert any("could not be read" in one for one in result.warnings)
    assert github.value("SELECT count(*) FROM items WHERE kind = 'discussion'") == 2


def test_a_404_that_names_a_permission_buries_nothing(github):
    """A fine-grained token may get 404 where it means 403: the list says which it is."""
    for number in range(8):
        github.project.add_issue(f"issue {number}")
    github.sync()
    github.time.pass_by(600)
    github.project.delete(3)
    headers = {"X-Accepted-GitHub-Permissions": "issues=read"}
    rule = github.server.fail(
        path=r"/issues/3$|/issues\?per_page=1$", status=404, body={"message": "Not Found"}, headers=headers
    )
    github.sync()
    assert github.deleted() == set()
    github.server.faults.remove(rule)
    github.time.pass_by(90_000)
    github.sync()
    assert github.deleted() == {("issue", 3)}


def spoil(lab, query: str, document: dict) -> None:
    """Every GraphQL query of that name is answered with the document."""
    handle = lab.server.handle

    def spoiling(request):
        response = handle(request)
        return Response(200, document) if f"query {query}(".encode() in request.body else response

    lab.server.handle = spoiling
