"""GitLab's conversations and files in batches: what GraphQL brings is what REST brings, and what it cannot bring is asked of REST."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from servers.base import Response
from support import GitLabLab

# When it was fetched, and ETags, which GraphQL does not have.
COLUMNS_LEFT_OUT = {"threads_etag", "threads_fetched_at", "queued_at", "version", "created_at_ms", "fetched_at"}
EITHER = (
    "items", "item_files", "item_labels", "item_links", "item_people", "threads", "notes", "raw_payloads", "documents",
)  # fmt: skip


def said(app, table: str) -> list[tuple]:
    """The rows of a table without what differs from run to run. Rows of files name their item, not its id."""
    names = [name for (name,) in app.store().rows("SELECT name FROM pragma_table_info(?)", table)]
    ids = {"id", "item_id", "thread_id", "note_id", "document_id", "content_version", "project_id"}
    kept = [name for name in names if name not in COLUMNS_LEFT_OUT | ids]
    key = "(SELECT kind || number FROM items i WHERE i.id = t.item_id)" if "item_id" in names else "1"
    return sorted(app.store().rows(f"SELECT {key}, {', '.join(kept)} FROM {table} t"), key=repr)


def sync_both_ways(lab: GitLabLab):
    """The same project read with GraphQL and without it, each into a store of its own."""
    first, second = lab.app, lab.new_app()
    lab.server.graphql = True
    lab.sync(first)
    lab.server.graphql = False
    lab.sync(second)
    lab.server.graphql = True
    return first, second


def assert_equal(first, second) -> None:
    for table in EITHER:
        assert said(first, table) == said(second, table), table


def graphql(lab) -> list[dict]:
    return [r for r in lab.server.requests if r["url"] == "/api/graphql"]


def rest_threads(lab) -> list[str]:
    return [path for path in lab.server.paths() if "/discussions" in path]


def test_both_ways_bring_the_same_rows(gitlab):
    gitlab.populate(issues=60, changes=45, comments_per_item=4)
    gitlab.project.comment("issue", 3, "not for everybody", internal=True)
    gitlab.project.discuss("change", 2, "on a line that is gone", path="src/a.py", old_line=3)
    first, second = sync_both_ways(gitlab)
    assert_equal(first, second)
    gitlab.assert_same(first)
    gitlab.assert_same(second)


_texts = st.sampled_from(
    ["plain", "a\r\nb", "", "nul \x00", "lone \ud800", "see #1 and !2, duplicate of #1", "@ana 👍"]
)
_events = st.lists(
    st.tuples(
        st.sampled_from(["comment", "internal", "discuss", "reply", "line", "resolve", "reopen", "system", "delete"]),
        st.sampled_from(["issue", "change"]), st.integers(1, 3), _texts, st.sampled_from(["ana", "ben", None]),
        st.integers(0, 200_000),
    ),
    max_size=14,
)  # fmt: skip


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=_events)
def test_whatever_happened_both_ways_bring_the_same_rows(tmp_path_factory, events):
    """A law: the way is nobody's business."""
    with GitLabLab(tmp_path_factory.mktemp("law")) as lab:
        for number in range(3):
            lab.project.add_issue(f"issue {number}")
            lab.project.add_change(f"change {number}", files=[("renamed", "old.py", "a.py"), ("added", "b.py")])
        for event in events:
            happen(lab, *event)
        first, second = sync_both_ways(lab)
        assert_equal(first, second)


def happen(lab, verb, kind, number, text, author, pause_ms) -> None:
    project = lab.project
    lab.server.clock.advance(pause_ms / 1000)
    threads = [one for one in project.item(kind, number).discussions if not one.notes[0].system]
    if verb in ("comment", "internal"):
        project.comment(kind, number, text, author=author, internal=verb == "internal")
    elif verb == "line" and kind == "change":
        project.discuss(kind, number, text, author=author, path="a.py", line=pause_ms % 90 + 1)
    elif verb == "discuss":
        project.discuss(kind, number, text, author=author)
    elif verb == "system":
        project.system_note(kind, number, f"changed the description {text}")
    elif threads and verb == "reply":
        project.reply(kind, number, threads[-1].id, text, author=author)
    elif threads and verb in ("resolve", "reopen") and kind == "change":
        project.resolve(number, threads[0].id, resolved=verb == "resolve")
    elif threads and verb == "delete":
        project.delete_note(threads[0].notes[-1].id)


def test_a_first_sync_asks_for_conversations_and_files_by_the_dozen(gitlab):
    gitlab.populate(issues=100, changes=60)
    gitlab.sync()
    still_open = gitlab.value("SELECT count(*) FROM items WHERE kind = 'change' AND state = 'open'")
    diffs = [path for path in gitlab.server.paths() if "/diffs" in path]
    assert len(diffs) == still_open, "the lines of an open change come with its files"
    assert (len(graphql(gitlab)), rest_threads(gitlab)) == (2 + 3 + 1, [])
    gitlab.assert_same()


def test_what_is_quiet_is_asked_for_in_one_request_a_day_later(gitlab):
    gitlab.populate(issues=40, changes=10)
    for number in range(1, 41):
        gitlab.project.edit("issue", number, title=f"edited {number}")
    gitlab.sync()
    gitlab.time.pass_by(25 * 3600)
    before = len(gitlab.server.requests)
    assert gitlab.sync().rows_written == 0
    assert len(gitlab.server.requests) - before <= 12, "two of them read the next part of each list again"


def test_a_conversation_that_fills_more_than_a_page_comes_through_rest(gitlab):
    gitlab.populate(issues=3, changes=2)
    for number in range(101):
        gitlab.project.comment("issue", 1, f"comment {number}")
    thread = gitlab.project.discuss("issue", 2, "first")
    for number in range(101):
        gitlab.project.reply("issue", 2, thread, f"reply {number}")
    gitlab.sync()
    assert {path.split("/")[6] for path in rest_threads(gitlab)} == {"1", "2"}
    gitlab.assert_same()


def test_a_batch_shrinks_when_answers_are_slow_and_grows_again_when_they_are_fast(gitlab):
    gitlab.populate(issues=200, changes=1)
    handle, sizes = gitlab.server.handle, []

    def think(request):
        if "IssueThreads" in request.body.decode():
            sizes.append(len(request.json()["variables"]["iids"]))
            gitlab.time.pass_by(20 if len(sizes) <= 2 else 1)
        return handle(request)

    gitlab.server.handle = think
    gitlab.sync(workers=1)
    assert (sizes[0], sum(sizes)) == (50, 200)
    assert any(size <= 25 for size in sizes[1:-1]), sizes
    assert sizes[-1] <= 50
    gitlab.assert_same()


def test_an_old_server_calls_the_flag_by_its_former_name(gitlab):
    gitlab.server.graphql_lacks = {"Note.internal", "MergeRequest.diffs"}
    gitlab.populate(issues=30, changes=4)
    gitlab.project.comment("issue", 3, "not for everybody", internal=True)
    gitlab.sync()
    assert rest_threads(gitlab) == []
    assert gitlab.value("SELECT count(*) FROM notes WHERE is_internal") == 1
    gitlab.assert_same()


def test_a_server_that_lacks_what_is_asked_for_is_asked_once_and_then_through_rest(gitlab):
    gitlab.server.graphql_lacks = {"Discussion.notes"}
    gitlab.populate(issues=120, changes=3)
    gitlab.sync(workers=1)
    threads = [r for r in graphql(gitlab) if "Threads" in r["body"]]
    assert len(threads) <= 3, "the batches that were under way"
    gitlab.assert_same()


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_server_that_refuses_graphql_is_read_through_rest(gitlab, status):
    gitlab.populate()
    gitlab.server.fail(path="/api/graphql", status=status, body={"message": "no"})
    result = gitlab.sync()
    assert (result.pending_jobs, result.warnings) == (0, [])
    gitlab.assert_same()


def test_one_note_that_breaks_the_answer_leaves_the_others_in_batches(gitlab):
    """GitLab answers 500 for all when one position is broken: pitfall 5 of the contract."""
    gitlab.populate(issues=40, changes=1)
    handle = gitlab.server.handle

    def break_issue_7(request):
        if "IssueThreads" in request.body.decode() and "7" in request.json()["variables"]["iids"]:
            return Response(500, {"message": "500 Internal Server Error"})
        return handle(request)

    gitlab.server.handle = break_issue_7
    result = gitlab.sync()
    assert (result.pending_jobs, result.warnings) == (0, [])
    assert {path.split("/")[6] for path in rest_threads(gitlab) if "/issues/" in path} == {"7"}
    gitlab.assert_same()


@pytest.mark.parametrize(
    "spoilt", [[("/errors", [{"message": "Timeout on Issue.discussions"}])], [("/data/project/items/nodes/0", None)]]
)
def test_an_error_or_a_null_means_that_nothing_was_read(gitlab, spoilt):
    gitlab.populate(issues=30, changes=1)
    rule = gitlab.server.fail(path="/api/graphql", times=1, json=spoilt)
    gitlab.sync(workers=1)
    assert rule["_seen"] >= 3, "it is asked again in halves"
    gitlab.assert_same()


def test_an_issue_that_vanishes_before_its_conversation_is_read_is_buried(gitlab):
    gitlab.populate(issues=20, changes=1)
    gitlab.on_request(r"/issues\?.*order_by", lambda: gitlab.project.delete("issue", 5))
    gitlab.sync()
    gitlab.sync()
    assert gitlab.deleted() == {("issue", 5)}
    gitlab.assert_same()
