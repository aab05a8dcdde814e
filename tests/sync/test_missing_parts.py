"""What GitHub's GraphQL does not show is missing: kept in the queue with GitHub's own reason, told, and made good later.

A null node is no deletion, and a forge that shows nothing at all is not asked for each item by itself.
"""

import base64
import json

import pytest

from forgelore.errors import AuthError
from servers.base import Response
from servers.github import graph
from support import raised

FORBIDDEN = {"type": "FORBIDDEN", "message": "Resource not accessible by personal access token"}
SILENT = "GitHub left this out without a reason"
MISSING = "SELECT kind, key, last_error FROM jobs WHERE kind NOT IN ('document', 'embed') ORDER BY kind, key"


def spoil(lab, name, change):
    """Let `change(document)` alter every answer to the GraphQL query of that name, until `mend(lab)`."""
    handle = lab.server.handle

    def spoiling(request):
        response = handle(request)
        if f"query {name}(".encode() in request.body and response.status == 200:
            document = json.loads(response.payload())
            change(document)
            response.body = document
        return response

    lab.server.handle = spoiling


def mend(lab):
    lab.server.handle = type(lab.server).handle.__get__(lab.server)


def hide(numbers, error=None):
    """Null the nodes of these numbers (None: all of them), with an error for each place or without a word."""

    def change(document):
        nodes = document["data"]["nodes"]
        for place, node in enumerate(nodes):
            if node and (numbers is None or node["number"] in numbers):
                nodes[place] = None
                if error:
                    document.setdefault("errors", []).append({**error, "path": ["nodes", place]})

    return change


def refuse(lab, answer):
    """Every GraphQL request is answered like this, until `mend(lab)`."""
    handle = lab.server.handle
    lab.server.handle = lambda request: answer if request.path.endswith("/graphql") else handle(request)


def add_fix(lab, title="fix"):
    """A change that closes an issue, with a resolved review thread: three things that only GraphQL tells."""
    issue = lab.project.add_issue(f"bug for {title}")
    change = lab.project.add_change(title, f"Fixes #{issue}", files=[("modified", f"src/{title}.py")])
    lab.project.resolve_thread(lab.project.review_comment(change, "why?", path=f"src/{title}.py", line=1))
    return issue, change


def told_by_graphql(lab, change):
    (row,) = lab.rows(
        "SELECT target_branch, (SELECT max(is_resolved) FROM threads WHERE item_id = i.id) FROM items i"
        " WHERE kind = 'change' AND number = ?",
        change,
    )
    closes = {target for relation, _, _, _, target, _ in lab.links(change, "change") if relation == "closes"}
    return row, closes


def detail_sources(lab, change):
    return {source for _, source, *_ in lab.links(change, "change")}


@pytest.mark.parametrize(
    ("error", "reason"),
    [(FORBIDDEN, "FORBIDDEN: Resource not accessible"), (None, SILENT)],
    ids=["forbidden", "silent"],
)
def test_a_change_whose_node_stays_null_is_owed_and_made_good_later(github, error, reason):
    github.populate()
    _, change = add_fix(github)
    spoil(github, "Changes", hide({change}, error))
    result = github.sync()
    github.assert_same()  # its files and reviews came through REST
    ((kind, key, last_error),) = github.rows(MISSING)
    assert (kind, key) == ("links", f"change:{change}")
    assert reason in last_error
    assert (result.pending_jobs, result.failing_jobs) == (1, 1)
    (warning,) = result.warnings
    assert f"change {change}" in warning
    assert reason in warning
    assert told_by_graphql(github, change)[0] == (None, 0)
    mend(github)
    github.time.pass_by(60)
    assert github.sync().warnings == []
    assert told_by_graphql(github, change)[0] == ("main", 1)
    assert "detail" in detail_sources(github, change)
    assert github.rows(MISSING) == []
    github.assert_same()


def test_an_issue_whose_node_is_forbidden_is_owed_with_the_forges_reason(github):
    github.populate()
    original, copy = github.project.add_issue("one"), github.project.add_issue("two")
    github.project.mark_duplicate(copy, original)
    spoil(github, "Issues", hide({copy}, FORBIDDEN))
    result = github.sync()
    ((kind, key, last_error),) = github.rows(MISSING)
    assert (kind, key, last_error) == ("detail", f"issue:{copy}", f"FORBIDDEN: {FORBIDDEN['message']}")
    assert any(FORBIDDEN["message"] in warning for warning in result.warnings)
    assert len(github.graphql_requests("Issues")) == 1, "a refusal is an answer: nobody asks again"
    mend(github)
    github.time.pass_by(60)
    assert github.sync().pending_jobs == 0
    assert ("duplicate_of", "detail", "", "issue", original, 0) in github.links(copy)


def test_what_is_owed_costs_little_while_it_stays_owed(github):
    """The files came through REST once: later syncs ask GraphQL alone, and never more often than their pauses."""
    github.populate()
    missing = {add_fix(github, f"fix{n}")[1] for n in range(8)}
    spoil(github, "Changes", hide(missing, FORBIDDEN))
    github.sync()
    for _ in range(3):
        github.time.pass_by(3 * 3600)
        before = len(github.server.requests)
        github.sync()
        new = github.server.requests[before:]
        assert not [r["url"] for r in new if "/files" in r["url"] or "/reviews" in r["url"]]
        assert sum("query Changes(" in (r["body"] or "") for r in new) <= 2
    assert len(github.rows(MISSING)) == 8


def test_a_change_that_moves_on_while_owed_is_read_again_and_stays_owed(github):
    github.populate()
    _, change = add_fix(github)
    spoil(github, "Changes", hide({change}, FORBIDDEN))
    github.sync()
    github.time.pass_by(3600)
    github.project.push(change, [("added", "src/new.py")])
    github.sync()
    github.assert_same()
    assert [key for _, key, _ in github.rows(MISSING)] == [f"change:{change}"]
    mend(github)
    github.time.pass_by(3600)
    github.project.edit(change, title="on and on")
    github.sync()
    assert github.rows(MISSING) == [], "the second look at what changed brings what was missing as well"
    assert told_by_graphql(github, change)[0] == ("main", 1)


def test_a_store_whose_changes_were_read_through_rest_alone_gets_the_rest(github):
    """Rows of a reader without a token, and of an older program that took a null node for done."""
    _, change = add_fix(github)
    without = github.new_app("")
    github.sync(without)
    github.app = github.new_app(db=without.config.db)
    assert told_by_graphql(github, change)[0] == (None, 0)
    github.time.pass_by(600)
    github.sync()
    assert told_by_graphql(github, change)[0] == ("main", 1)
    assert "detail" in detail_sources(github, change)
    github.time.pass_by(600)
    before = len(github.server.requests)
    github.sync()
    assert not any("query Changes(" in (r["body"] or "") for r in github.server.requests[before:])


# by place


def test_nodes_are_matched_by_their_place(github):
    """GitHub answers a legacy global id with the new one: both occur in the payloads of one project."""
    github.populate()
    original, copy = github.project.add_issue("one"), github.project.add_issue("two")
    github.project.mark_duplicate(copy, original)
    issue, change = add_fix(github)

    def rename(document):
        for node in document["data"]["nodes"]:
            node["id"] = base64.b64encode(f"011:Node{node['number']}".encode()).decode()

    spoil(github, "Changes", rename)
    spoil(github, "Issues", rename)
    result = github.sync()
    assert result.warnings == []
    assert ("duplicate_of", "detail", "", "issue", original, 0) in github.links(copy)
    assert ("closes", "detail", "", "issue", issue, 0) in github.links(change, "change")
    assert len(github.graphql_requests("Changes")) <= 2
    assert len(github.graphql_requests("Issues")) == 1


def test_a_node_of_another_number_is_never_taken_for_ours(github):
    """A list that lost its nulls has everything at the wrong place."""
    numbers = [github.project.add_issue(f"issue {n}") for n in range(3)]
    github.project.mark_duplicate(numbers[2], numbers[0])

    def shift(document):
        document["data"]["nodes"] = [*document["data"]["nodes"][1:], None]

    spoil(github, "Issues", shift)
    github.sync()
    assert github.rows("SELECT 1 FROM item_links WHERE source = 'detail'") == []
    mend(github)
    github.time.pass_by(60)
    assert github.sync().pending_jobs == 0
    assert ("duplicate_of", "detail", "", "issue", numbers[0], 0) in github.links(numbers[2])


# everything null


def test_a_graphql_that_shows_nothing_is_given_up_after_a_few_batches(github):
    github.populate(issues=700, changes=350, comments_per_item=0)
    spoil(github, "Changes", hide(None))
    spoil(github, "Issues", hide(None))
    result = github.sync()
    assert len(github.graphql_requests("Changes")) <= 16
    assert len(github.graphql_requests("Issues")) <= 16
    assert result.requests < 160, "two batches may be read through REST before it is clear that all are null"
    assert result.pending_jobs == 1050
    assert any(SILENT in warning and "the next sync tries them again" in warning for warning in result.warnings)
    mend(github)
    github.time.pass_by(60)
    assert github.sync().pending_jobs == 0
    github.assert_same()
    assert github.rows("SELECT 1 FROM items WHERE kind = 'change' AND target_branch IS NULL") == []


def test_discussions_that_are_all_null_are_given_up_after_a_few(github):
    github.populate(discussions=60)

    def hide_all(document):
        found = document["data"]["repository"]["discussions"]
        found["nodes"] = [None] * len(found["nodes"])

    spoil(github, "Discussions", hide_all)
    spoil(github, "Numbers", hide_all)
    result = github.sync()
    assert len(github.graphql_requests("Discussions")) <= 16
    assert any("cannot show a discussion" in warning for warning in result.warnings)
    mend(github)
    for _ in range(3):
        github.time.pass_by(600)
        github.sync()
    github.assert_same()


def test_a_discussion_that_is_null_without_a_word_is_not_buried(github):
    github.populate(discussions=8)
    github.sync()
    gone = next(n for n, item in github.project.items.items() if item.kind == "discussion")

    def lose(document):
        nodes = document["data"]["repository"]["discussions"]["nodes"]
        nodes[:] = [None if node["number"] == gone else node for node in nodes]

    def forget(document):
        document["data"]["repository"]["discussion"] = None
        document.pop("errors", None)

    def count_less(document):
        document["data"]["repository"]["discussions"]["totalCount"] -= 1

    spoil(github, "Counts", count_less)
    spoil(github, "Numbers", lose)
    spoil(github, "Discussion", forget)
    github.time.pass_by(3600)
    github.sync()
    assert github.deleted() == set()


# refused


@pytest.mark.parametrize(
    "answer",
    [
        Response(401, {"message": "Bad credentials"}),
        Response(403, {"message": "Resource not accessible by personal access token"}),
        Response(404, {"message": "Not Found"}),
        Response(200, {"data": None, "errors": [FORBIDDEN]}),
        Response(200, {"errors": [{"type": "INSUFFICIENT_SCOPES", "message": "Your token needs ['repo']."}]}),
    ],
    ids=["401", "403", "404", "forbidden", "scopes"],
)
def test_a_token_whose_graphql_is_refused_reads_through_rest(github, answer):
    github.project.has_discussions = False
    github.populate(issues=150, comments_per_item=1)
    issue, change = add_fix(github)
    refuse(github, answer)
    result = github.sync()
    github.assert_same()
    assert len(result.warnings) == 1, result.warnings
    assert len([r for r in github.server.requests if r["url"].endswith("/graphql")]) < 12
    assert result.pending_jobs == github.value("SELECT count(*) FROM items WHERE kind IN ('issue', 'change')")
    github.time.pass_by(3600)
    before = len(github.server.requests)
    github.sync()
    assert len(github.server.requests) - before < 20, "what REST gave is not asked for again"
    mend(github)
    github.time.pass_by(3600)
    assert github.sync().pending_jobs == 0
    assert told_by_graphql(github, change)[0] == ("main", 1)
    assert ("closes", "detail", "", "issue", issue, 0) in github.links(change, "change")


def test_nodes_that_are_all_forbidden_are_read_through_rest_without_asking_for_each(github):
    github.populate(issues=1, changes=120, comments_per_item=0)
    spoil(github, "Changes", hide(None, FORBIDDEN))
    result = github.sync()
    github.assert_same()
    assert len(github.graphql_requests("Changes")) <= 10
    assert result.pending_jobs == 120
    (warning,) = result.warnings
    assert FORBIDDEN["message"] in warning
    mend(github)
    github.time.pass_by(60)
    assert github.sync().pending_jobs == 0


def test_a_token_that_is_revoked_during_a_sync_still_ends_it(github):
    github.populate()
    handle, is_revoked = github.server.handle, []

    def revoking(request):
        if is_revoked or b"query Issues(" in request.body or b"query Changes(" in request.body:
            is_revoked.append(1)
            return Response(401, {"message": "Bad credentials"})
        return handle(request)

    github.server.handle = revoking
    with raised(AuthError, says="rejected the token") as caught:
        github.sync()
    assert caught[0].is_rejected


# broken down


def test_an_answer_without_data_is_asked_for_again(github):
    github.populate(discussions=3)
    github.server.graphql_broken(times=4)
    result = github.sync()
    assert result.warnings == []
    assert github.time.waits[:3] == [1.0, 2.0, 4.0], "as after a 502"
    github.assert_same()


def test_a_graphql_that_stays_without_data_is_no_endless_loop(github):
    github.project.has_discussions = False
    github.populate(issues=250, changes=60, comments_per_item=0)
    github.server.graphql_broken(times=100_000)
    result = github.sync()
    assert len([r for r in github.server.requests if r["url"].endswith("/graphql")]) < 500
    assert any(graph.BROKEN[:40] in warning for warning in result.warnings)
    assert result.pending_jobs > 0
    github.server.limits.graphql_troubles.clear()
    github.time.pass_by(3600)
    assert github.sync().pending_jobs == 0
    github.assert_same()


def test_one_change_that_rest_cannot_show_either_spoils_no_other(github):
    changes = [github.project.add_change(f"change {n}", files=[("added", f"a{n}")]) for n in range(12)]
    spoil(github, "Changes", hide(None, FORBIDDEN))
    github.server.fail(path=f"/pulls/{changes[5]}/files", status=400, body={"message": "never"})
    github.sync()
    kinds = {key: (kind, error) for kind, key, error in github.rows(MISSING)}
    assert len(kinds) == 12
    assert kinds[f"change:{changes[5]}"][0] == "detail"
    assert "never" in kinds[f"change:{changes[5]}"][1]
    assert sum("/files" in path for path in github.server.paths()) == 12, "nobody else is read twice"


def test_sync_status_shows_what_is_owed_and_why(github):
    github.populate()
    _, change = add_fix(github)
    spoil(github, "Changes", hide({change}, FORBIDDEN))
    done = github.command("sync", "acme/web")
    assert done.returncode == 0, done.stderr
    assert FORBIDDEN["message"] in done.stderr
    shown = github.command("sync-status").stdout
    assert "1 links waiting, 1 failing" in shown
    assert f"links change:{change}: FORBIDDEN: {FORBIDDEN['message']}" in shown
