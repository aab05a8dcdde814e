"""A list that fails stops no other: what is missing is named with the forge's reason, and the next sync reads it."""

from forgelore.errors import LoreError
from forgelore.model import Cursor
from forgelore.store.sync import load_cursor
from servers.base import Response
from support import assert_unread, content_hash, raised

HTML = {"status": 502, "body": "<html>Unicorn!</html>", "headers": {"Content-Type": "text/html"}}
# Each forge: a list of items, where it is read, how many requests of it are well, and something that is read all the same.
LISTS = {
    "github": ("items", r"/issues\?", 2, "releases"),
    "gitlab": ("merge_requests", r"/merge_requests\?", 2, "issues"),
    "forgejo": ("items", r"/repos/acme/web/issues\?", 6, "releases"),
}


def equals_a_fresh_store(lab) -> bool:
    fresh = lab.new_app()
    lab.sync(fresh)
    return lab.stored() == lab.stored(fresh)


def test_labels_that_fail_leave_everything_else(lab):
    lab.populate(releases=2)
    rule = lab.server.fail(path=r"/labels", **HTML)
    result = lab.sync()
    found = assert_unread(result, code="forge", says="502", hint="again")
    assert found.part == "labels"
    lab.assert_same()
    assert load_cursor(lab.app.store(), 1, "labels") == Cursor()
    lab.server.faults.remove(rule)
    lab.time.pass_by(600)
    assert lab.sync().status == "complete"
    assert equals_a_fresh_store(lab)
    assert load_cursor(lab.app.store(), 1, "labels").is_complete


def test_a_list_of_items_that_fails_half_way_keeps_its_place(lab):
    """A later page fails: the first stays, its cursor too, and the other lists are read to their ends."""
    part, path, well, other = LISTS[lab.server.kind]
    lab.server.populate(lab.path, seed=5, issues=130, changes=110, releases=2)
    rule = lab.server.fail(path=path, skip=well, **HTML)
    result = lab.sync()
    found = assert_unread(result, part=part, says="502")
    place = load_cursor(lab.app.store(), 1, part)
    assert not place.is_complete
    assert place != Cursor()
    assert load_cursor(lab.app.store(), 1, other).is_complete
    assert found.title in {one.title for one in result.unread}
    lab.server.faults.remove(rule)
    lab.time.pass_by(600)
    assert lab.sync().status == "complete"
    lab.assert_same()


def test_comments_wait_for_items_that_were_never_read(github):
    """Each comment of an unknown issue would ask for that issue by itself."""
    github.populate(issues=30)
    rule = github.server.fail(path=r"/issues\?", **HTML)
    result = github.sync()
    assert_unread(result, part="comments", says="waiting for issues and changes")
    assert not [path for path in github.server.paths() if "/issues/comments" in path]
    github.server.faults.remove(rule)
    github.time.pass_by(600)
    github.sync()
    github.assert_same()


def test_comments_of_known_items_are_read_though_the_list_of_items_fails(github):
    github.populate(issues=30)
    github.sync()
    github.time.pass_by(3600)
    github.project.comment(3, "Still there")
    github.server.fail(path=r"/issues\?", **HTML)
    result = github.sync()
    assert [one.part for one in result.unread] == ["items"]
    assert github.value("SELECT count(*) FROM notes WHERE body = 'Still there'") == 1


def test_graphql_that_answers_502_for_good_leaves_what_rest_reads(github):
    """It took 220 seconds and brought not one comment."""
    github.populate(issues=30, changes=20, discussions=4)
    rule = github.server.fail(path="graphql", **HTML)
    result = github.sync()
    assert {one.part for one in result.unread} == {"discussions", "detail"}
    assert github.value("SELECT count(*) FROM notes") > 0
    assert sum(github.time.waits) <= 60
    assert github.value("SELECT status FROM sync_runs") == "incomplete"
    assert result.failing_jobs == 0, "nobody asked: these jobs are not to blame"
    github.server.faults.remove(rule)
    github.time.pass_by(600)
    assert github.sync().status == "complete"
    github.assert_same()
    assert equals_a_fresh_store(github)


def test_lists_do_not_wait_for_totals_that_do_not_come(github):
    """A GraphQL that is down was asked for a minute before the first list, one that is used up for an hour."""
    github.populate(issues=20, changes=5)
    github.server.fail(path="graphql", delay=8, times=1)
    github.sync()
    asked = github.server.paths()
    first = [next(at for at, path in enumerate(asked) if word in path) for word in ("/issues?", "graphql")]
    assert first == sorted(first), "requests are noted when they are answered"
    github.assert_same()


def test_an_endpoint_that_was_down_is_tried_once_by_the_next_run(github):
    github.populate(discussions=2)
    github.server.fail(path="graphql", **HTML)
    github.sync()
    before, waited = len(github.server.requests), sum(github.time.waits)
    github.time.pass_by(600)
    result = github.sync(github.same_file())
    assert {one.part for one in result.unread} == {"discussions", "detail"}
    asked = [path for path in github.server.paths(before) if "graphql" in path]
    assert len(asked) == 2, "the question, and the lightest one there is"
    assert sum(github.time.waits) == waited


def test_an_endpoint_that_works_again_is_forgotten(github):
    github.populate(discussions=2)
    rule = github.server.fail(path="graphql", **HTML)
    github.sync()
    assert github.rows("SELECT endpoint FROM down_endpoints") == [("GraphQL",)]
    github.server.faults.remove(rule)
    github.time.pass_by(600)
    github.sync()
    assert github.rows("SELECT endpoint FROM down_endpoints") == []


def test_one_item_that_always_fails_is_not_taken_for_all_of_them(gitlab):
    gitlab.populate(issues=40)
    gitlab.server.fail(path="graphql", status=404, body={})
    gitlab.server.fail(path=r"/issues/7/discussions", **HTML)
    result = gitlab.sync()
    assert (result.status, result.pending_jobs) == ("complete", 1)
    assert gitlab.value("SELECT count(*) FROM items WHERE kind = 'issue' AND threads_fetched_at IS NULL") == 1


def test_threads_that_all_fail_wait_and_are_not_counted_as_tried(gitlab):
    """Those that met the failure were tried; nobody asked for the others."""
    gitlab.populate(issues=60)
    gitlab.server.fail(path="graphql", status=404, body={})
    rule = gitlab.server.fail(path=r"/discussions", **HTML)
    result = gitlab.sync()
    assert_unread(result, part="threads")
    assert 0 < result.failing_jobs < 15 < result.pending_jobs
    gitlab.server.faults.remove(rule)
    gitlab.time.pass_by(3600)
    assert gitlab.sync().status == "complete"
    gitlab.assert_same()


def test_a_network_that_goes_away_ends_the_run(github):
    """Nothing can go on; what came before is kept."""
    github.populate()

    def go_away():
        github.server.fail(drop=True)
        github.server.stop()

    github.on_request(r"/repos/acme/web\?", go_away)
    with raised(LoreError, code="forge", says="cannot be reached"):
        github.sync()
    assert github.value("SELECT status FROM sync_runs") == "failed"
    github.server.start()


def test_a_forge_that_breaks_everywhere_is_an_error(lab):
    lab.populate()
    lab.server.fail(path=r"(issues|pulls|merge_requests|labels|releases|graphql|members|collaborators)", **HTML)
    with raised(LoreError, code="forge", says="502"):
        lab.sync()
    assert lab.value("SELECT status FROM sync_runs") == "failed"


def test_a_question_that_is_too_heavy_does_not_count_as_a_graphql_that_is_down(github):
    github.populate(issues=3, changes=30)
    handle = github.server.handle

    def strained(request):
        is_heavy = b"query Changes" in request.body and request.json()["variables"]["ids"].__len__() > 6
        return Response(502, "<html>Unicorn!</html>") if is_heavy else handle(request)

    github.server.handle = strained
    assert github.sync().status == "complete"
    github.assert_same()
    assert content_hash(github.app) == content_hash(github.app)


def test_a_graphql_of_gitlab_that_is_down_leaves_conversations_to_rest(gitlab):
    gitlab.populate(issues=40, changes=12)
    gitlab.server.fail(path="graphql", **HTML)
    assert gitlab.sync().status == "complete"
    gitlab.assert_same()
