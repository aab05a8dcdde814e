"""Every fact about reading GitLab (FACTS 18-25), provoked on the local forge.

A disturbed sync ends with the store of an undisturbed one, or with a clear error and nothing lost: with the fault gone, the next
run reaches the truth.

| left out | why |
|---|---|
| 20, `created_by_me` | only `/issues` of the whole server defaults to it; sync asks projects alone, and says scope=all |
| 24 | quick actions are about what a bot writes; sync writes nothing |
| 25, `/changes` | deprecated and never asked for: `/diffs` is |
"""

import pytest

from forgelore.errors import AuthError, NotFound
from servers.gitlab import Token
from support import Elsewhere, assert_unread, raised

MANY = 130  # two pages
LISTS = r"/issues\?.*order_by=updated_at"


def fill(lab, count=MANY, step_s=1.0, kind="issue"):
    """Many items, a second apart, so that a list has several pages."""
    lab.server.clock.advance(-count * step_s - 3600)
    for number in range(1, count + 1):
        (lab.project.add_issue if kind == "issue" else lab.project.add_change)(f"{kind} {number}")
        lab.server.clock.advance(step_s)
    lab.server.clock.advance(3600)


def discussions_asked(lab, since=0):
    return [path for path in lab.server.paths(since) if "/discussions" in path]


# 18: throttled bumps


@pytest.mark.parametrize("pause_s", [0, 1, 30, 59])
def test_a_comment_that_did_not_bump_its_parent_is_found(gitlab, pause_s):
    """Fact 18: bumps are throttled to one a minute, so a strict cursor would never see this comment."""
    number = gitlab.project.add_issue("talk")
    gitlab.project.comment("issue", number, "first")
    gitlab.sync()
    gitlab.time.pass_by(pause_s)
    before = gitlab.server.truth("group/app")[0]["updated_at"]
    gitlab.project.comment("issue", number, "second, unannounced")
    assert gitlab.server.truth("group/app")[0]["updated_at"] == before
    gitlab.time.pass_by(86_000)
    gitlab.sync()
    gitlab.assert_same()


def test_a_hidden_comment_is_found_behind_newer_items(gitlab):
    """Fact 18: other items move the cursor on; the threads of this one were read before the minute was over."""
    number = gitlab.project.add_issue("talk")
    gitlab.project.comment("issue", number, "first")
    gitlab.sync()
    gitlab.time.pass_by(10)
    gitlab.project.comment("issue", number, "unannounced")
    gitlab.time.pass_by(240)
    gitlab.project.add_issue("newer")
    gitlab.sync()
    gitlab.assert_same()
    gitlab.time.pass_by(3600)
    gitlab.project.add_issue("newest")
    gitlab.sync()
    gitlab.assert_same()


def test_a_mention_in_the_first_minute_of_an_issue_is_found(gitlab):
    """Fact 18: it leaves a system note and moves nothing, neither the time nor the count of comments."""
    number = gitlab.project.add_issue("new")
    gitlab.time.pass_by(5)
    gitlab.project.add_change("fix", f"Closes #{number}")
    gitlab.time.pass_by(86_400 * 300)
    gitlab.sync()
    gitlab.assert_same()
    assert gitlab.value("SELECT count(*) FROM notes WHERE is_system") == 1


def test_edited_and_deleted_notes_are_found_by_the_wider_net(gitlab):
    """Fact 18: neither moves its parent; the window of 14 days is read again once a day."""
    number = gitlab.project.add_issue("talk")
    kept = gitlab.project.comment("issue", number, "typo")
    gone = gitlab.project.comment("issue", number, "regretted")
    gitlab.time.pass_by(3600)
    gitlab.sync()
    gitlab.time.pass_by(3600)
    gitlab.project.edit_note(kept, "fixed")
    gitlab.project.delete_note(gone)
    gitlab.time.pass_by(86_400)
    gitlab.sync()
    gitlab.assert_same()


def test_threads_that_did_not_change_cost_a_304(gitlab):
    """Fact 18: reading them again is cheap."""
    number = gitlab.project.add_issue("talk")
    gitlab.project.comment("issue", number, "first")
    gitlab.sync()
    gitlab.time.pass_by(60)
    before = len(gitlab.server.requests)
    gitlab.sync()
    asked = [r for r in gitlab.server.requests[before:] if "/discussions" in r["url"]]
    assert [(r["status"], r["response_body"]) for r in asked] == [(304, None)]
    gitlab.assert_same()


# 19: totals, offsets, keyset


def test_totals_that_vanish_above_a_size_end_nothing_early(gitlab):
    """Fact 19: no x-total, no rel=last; the end is a missing next link."""
    gitlab.server.total_cutoff = 50
    fill(gitlab)
    gitlab.sync()
    gitlab.assert_same()
    gitlab.time.pass_by(600)
    gitlab.project.add_issue("one more")
    gitlab.sync()
    gitlab.assert_same()


@pytest.mark.parametrize("step_s", [1.0, 0.001])
def test_offsets_beyond_the_cutoff_are_never_asked_for(gitlab, step_s):
    """Fact 19: 405 on deep offsets; pages are anchored in time instead."""
    gitlab.server.total_cutoff, gitlab.server.offset_cutoff = 50, 100
    fill(gitlab, step_s=step_s)
    gitlab.sync()
    gitlab.assert_same()
    assert 405 not in {r["status"] for r in gitlab.server.requests}


def test_a_link_that_was_dropped_from_a_full_page_loses_nothing(gitlab):
    """Fact 19: neither items nor threads nor labels nor files."""
    fill(gitlab, 130)
    number = gitlab.project.add_change("big", files=[("modified", f"f/{n:03}") for n in range(150)])
    for n in range(130):
        gitlab.project.comment("change", number, f"remark {n}")
        gitlab.project.add_label(f"label {n:03}")
        gitlab.project.add_release(f"v{n}")
    gitlab.server.fail(drop_headers=["link"])
    gitlab.sync()
    gitlab.assert_same()
    assert gitlab.value("SELECT count(*) FROM labels") == 130


@pytest.mark.parametrize("kind", ["issue", "change"])
def test_an_item_that_is_edited_while_pages_are_read_loses_no_neighbour(gitlab, kind):
    """Fact 19: merge requests have no keyset pages, so a row that moves shifts every offset behind it."""
    fill(gitlab, kind=kind)
    part = "issues" if kind == "issue" else "merge_requests"
    gitlab.on_request(
        rf"GET .*/{part}\?", lambda: [gitlab.project.edit(kind, n, title=f"moved {n}") for n in range(1, 60)]
    )
    gitlab.sync()
    gitlab.assert_same()


def test_hundreds_of_items_of_one_instant_are_read(gitlab):
    """Fact 19: time does not divide them; the forge's own links do."""
    fill(gitlab, step_s=0)
    gitlab.sync()
    gitlab.assert_same()


# 20, 21: parameters


def test_the_page_size_is_capped_and_all_states_are_asked_for(gitlab):
    """Fact 20: 100 is asked for, `state=all` and `scope=all` are said aloud."""
    fill(gitlab, 130)
    gitlab.project.close("issue", 1)
    change = gitlab.project.add_change("merged")
    gitlab.project.merge(change)
    gitlab.sync()
    gitlab.assert_same()
    lists = [path for path in gitlab.server.paths() if "order_by=updated_at" in path]
    assert all("per_page=100" in path and "state=all" in path and "scope=all" in path for path in lists)


def test_a_smaller_cap_than_asked_for_loses_nothing(gitlab, monkeypatch):
    """Fact 20: the cap is silent, and an administrator may lower it."""
    from servers.gitlab import paging

    monkeypatch.setattr(paging, "MAX_PER_PAGE", 30)
    fill(gitlab, 130)
    gitlab.sync()
    gitlab.assert_same()


def test_numbers_are_those_people_see(gitlab):
    """Fact 20: `iid`, not `id`."""
    other = gitlab.server.add_project("group/other")
    other.add_issue("takes an id")
    number = gitlab.project.add_issue("ours")
    gitlab.sync()
    assert gitlab.rows("SELECT number, forge_id FROM items") == [(number, gitlab.project.issues[number].id)]
    assert number != gitlab.project.issues[number].id


def test_paths_are_encoded_and_times_carry_a_zone(gitlab):
    """Fact 21: `%2F` in the project's path, `Z` in times."""
    gitlab.populate()
    gitlab.sync()
    gitlab.time.pass_by(600)
    gitlab.sync()
    assert "GET /api/v4/projects/group%2Fapp" in gitlab.server.paths()
    since = [path for path in gitlab.server.paths() if "updated_after" in path]
    assert since
    assert all(path.partition("updated_after=")[2].partition("&")[0].endswith("Z") for path in since)


# 22: missing, off, renamed, limited


def test_a_private_project_is_not_found_and_nothing_is_deleted(gitlab):
    """Fact 22."""
    gitlab.populate()
    gitlab.sync()
    gitlab.project.private = True
    gitlab.server.tokens["weak"] = Token("eve", private_access=False)
    with raised(NotFound, code="not_found", says="'group/app' not found", hint="the token's access"):
        gitlab.sync(gitlab.same_file("weak"))
    with raised(NotFound, hint="GITLAB_TOKEN"):
        gitlab.sync(gitlab.same_file(""))
    assert gitlab.deleted() == set()
    gitlab.assert_same()


def test_parts_that_are_switched_off_are_left_alone(gitlab):
    """Fact 22: 403 or 404; what was read before stays."""
    gitlab.populate()
    gitlab.sync()
    whole = gitlab.stored()
    gitlab.project.has_issues = False
    gitlab.time.pass_by(600)
    gitlab.project.add_change("still read")
    gitlab.rows("INSERT INTO jobs (project_id, kind, key, queued_at) VALUES (1, 'threads', 'issue:1', 0)")
    gitlab.sync()
    assert gitlab.deleted() == set()
    assert [i for i in gitlab.stored() if i["kind"] == "issue"] == [i for i in whole if i["kind"] == "issue"]
    gitlab.project.has_issues = True
    gitlab.project.has_merge_requests = False
    gitlab.sync()
    assert gitlab.deleted() == set()
    gitlab.project.has_merge_requests = True
    gitlab.sync()
    gitlab.assert_same()


@pytest.mark.parametrize("status", [403, 404])
def test_releases_that_are_switched_off_delete_none(gitlab, status):
    """Fact 22."""
    gitlab.populate()
    gitlab.sync()
    gitlab.time.pass_by(90_000)
    gitlab.server.fail(path="/releases", status=status, body={"message": f"{status}"})
    gitlab.sync()
    gitlab.assert_same()


def test_a_renamed_project_answers_in_plain_text_and_stays_the_same(gitlab):
    """Fact 22: 301 with a text body; one row, the old name as an alias."""
    gitlab.populate()
    gitlab.sync()
    gitlab.server.rename("group/app", "team/application")
    gitlab.time.pass_by(600)
    gitlab.project.add_issue("after the move")
    gitlab.sync()
    moved = next(r for r in gitlab.server.requests if r["status"] == 301)
    assert moved["response_headers"]["Content-Type"] == "text/plain"
    gitlab.assert_same(path="team/application")
    assert gitlab.rows("SELECT path FROM projects") == [("team/application",)]
    assert gitlab.rows("SELECT path_key FROM project_aliases") == [("group/app",)]


def test_a_redirect_or_link_to_another_host_is_not_followed(gitlab):
    """Fact 22: no token leaves its host."""
    fill(gitlab, 130)
    with Elsewhere() as other:
        rule = gitlab.server.fail(path=LISTS, status=301, headers={"Location": f"{other.url}/x"}, body="moved")
        assert_unread(gitlab.sync(), part="issues", says="another server")
        gitlab.server.faults.remove(rule)
        rule = gitlab.server.fail(path="/labels", set_headers={"Link": f'<{other.url}/x>; rel="next"'})
        assert_unread(gitlab.sync(full=True), part="labels", says="another server")
        gitlab.server.faults.remove(rule)
        assert other.requests == []
    gitlab.sync()
    gitlab.assert_same()


def test_a_429_without_any_header_is_waited_out(gitlab):
    """Fact 22: 2 s, 4 s, 8 s …"""
    gitlab.populate()
    gitlab.server.limit_bare(times=4)
    gitlab.sync()
    gitlab.assert_same()
    assert gitlab.time.waits[:4] == [2, 4, 8, 16]


def test_a_429_with_headers_waits_as_long_as_they_say(gitlab):
    """Fact 22."""
    gitlab.populate()
    gitlab.server.set_limit(600, remaining=5, window_s=45)
    gitlab.sync()
    gitlab.assert_same()
    assert any(40 <= wait <= 45 for wait in gitlab.time.waits)


def test_after_a_limit_that_takes_too_long_the_next_run_resumes(gitlab):
    """Fact 22."""
    fill(gitlab)
    gitlab.server.set_limit(10_000, remaining=8, window_s=7000)
    assert {one.code for one in gitlab.sync().unread} == {"rate_limited"}
    assert gitlab.value("SELECT count(*) FROM items") >= 100
    gitlab.time.pass_by(7100)
    gitlab.sync()
    gitlab.assert_same()


def test_a_bad_or_expired_token_is_an_authentication_error(gitlab):
    """Fact 22: and the token is in no message."""
    gitlab.server.tokens["old-secret"] = Token("ana", expired=True)
    with raised(AuthError, code="auth", says="expired", hint="GITLAB_TOKEN"):
        gitlab.sync(gitlab.new_app("old-secret"))
    with raised(AuthError, says="401") as caught:
        gitlab.sync(gitlab.new_app("unknown-secret"))
    assert "unknown-secret" not in f"{caught[0].message} {caught[0].hint}"


def test_a_token_of_too_narrow_scope_is_told_which_one_it_needs(gitlab):
    """Fact 22."""
    gitlab.server.tokens["narrow"] = Token("ana", scopes=("read_user",))
    with raised(AuthError, says="higher privileges", hint="read_api"):
        gitlab.sync(gitlab.new_app("narrow"))


# 23: notes


def test_system_notes_are_kept_apart_and_resource_events_are_no_notes(gitlab):
    """Fact 23: a title's change is a note, a label's or a state's is not."""
    number = gitlab.project.add_issue("old", labels=["bug"])
    gitlab.time.pass_by(61)
    gitlab.project.edit("issue", number, title="new", labels=["docs"])
    gitlab.project.comment("issue", number, "said by a person")
    gitlab.project.close("issue", number)
    gitlab.sync()
    gitlab.assert_same()
    notes = dict(gitlab.rows("SELECT body, is_system FROM notes"))
    assert notes == {"changed title from **old** to **new**": 1, "said by a person": 0}


def test_internal_notes_are_flagged(gitlab):
    """Fact 23: `internal` (or `confidential`, as older servers say) must be known wherever notes are shown."""
    number = gitlab.project.add_issue("talk")
    gitlab.project.comment("issue", number, "for us", internal=True)
    gitlab.project.comment("issue", number, "for all")
    gitlab.sync()
    gitlab.assert_same()
    assert dict(gitlab.rows("SELECT body, is_internal FROM notes")) == {"for us": 1, "for all": 0}


def test_internal_notes_are_kept_when_a_weaker_token_reads(gitlab):
    """Fact 23: a missing permission never deletes; a reader who sees internal notes does notice a deleted one."""
    number = gitlab.project.add_issue("talk")
    first = gitlab.project.comment("issue", number, "for us", internal=True)
    gitlab.project.comment("issue", number, "for us too", internal=True)
    secret = gitlab.project.add_issue("secret", confidential=True)
    gitlab.project.add_issue("hint", f"because of #{number}", confidential=True)
    gitlab.sync()
    gitlab.server.tokens["guest"] = Token("gus", access_level=10)
    gitlab.time.pass_by(120)
    gitlab.project.comment("issue", number, "for all")
    gitlab.sync(gitlab.same_file("guest"))
    gitlab.assert_same()
    assert secret in {number for (number,) in gitlab.rows("SELECT number FROM items WHERE is_confidential")}
    gitlab.project.delete_note(first)
    gitlab.time.pass_by(120)
    gitlab.project.comment("issue", number, "again")
    gitlab.sync()
    gitlab.assert_same()


def test_types_and_positions_of_notes_survive(gitlab):
    """Fact 23: null, DiscussionNote, DiffNote; either side of a position may be null."""
    number = gitlab.project.add_change("change", files=[("renamed", "old.py", "new.py"), ("deleted", "gone.py")])
    gitlab.project.comment("change", number, "plain")
    thread = gitlab.project.discuss("change", number, "thread")
    gitlab.project.reply("change", number, thread, "answer")
    gitlab.project.discuss("change", number, "on the new side", path="new.py", line=3)
    gitlab.project.discuss("change", number, "on the old side", path="gone.py", old_line=7)
    gitlab.project.discuss("change", number, "on the file", path="new.py")
    gitlab.sync()
    gitlab.assert_same()
    places = {body: rest for body, *rest in gitlab.rows("SELECT body, type, path, line, old_path, old_line FROM notes")}
    assert places == {
        "plain": [None, None, None, None, None],
        "thread": ["DiscussionNote", None, None, None, None],
        "answer": ["DiscussionNote", None, None, None, None],
        "on the new side": ["DiffNote", "new.py", 3, "old.py", None],
        "on the old side": ["DiffNote", "gone.py", 7, "gone.py", 7],
        "on the file": ["DiffNote", "new.py", None, "old.py", None],
    }


def test_a_position_that_is_half_missing_or_null_is_no_error(gitlab):
    """Fact 23."""
    number = gitlab.project.add_change("change")
    gitlab.project.discuss("change", number, "here", path="src/a.py", line=3)
    pointers = [["/0/notes/0/position/new_path", None], ["/0/notes/0/position/new_line", None]]
    gitlab.server.fail(path="/discussions", json=pointers)
    gitlab.sync()
    assert gitlab.rows("SELECT path, line FROM notes") == [("src/a.py", None)]


# confidential items and lost permissions


def test_a_confidential_issue_that_vanishes_for_a_weaker_token_is_kept(gitlab):
    """Fact 22: hidden is not deleted, even when work on it was waiting."""
    gitlab.populate()
    number = gitlab.project.add_issue("secret", confidential=True)
    gitlab.sync()
    gitlab.server.tokens["guest"] = Token("gus", access_level=10)
    gitlab.rows("INSERT INTO jobs (project_id, kind, key, queued_at) VALUES (1, 'threads', ?, 0)", f"issue:{number}")
    gitlab.time.pass_by(600)
    for _ in range(2):
        gitlab.sync(gitlab.same_file("guest"))
        gitlab.time.pass_by(90_000)
    assert gitlab.deleted() == set()
    gitlab.assert_same()


@pytest.mark.parametrize("count", [8, 60])
def test_when_most_of_a_list_vanishes_nothing_is_buried(gitlab, count):
    """Fact 22: that is a lost permission; a warning says so, and with the rights back all is well."""
    gitlab.populate(issues=count, changes=2)
    gitlab.sync()
    hidden = {iid: gitlab.project.issues.pop(iid) for iid in list(gitlab.project.issues)[1:]}
    gitlab.time.pass_by(600)
    result = gitlab.sync()
    assert gitlab.deleted() == set()
    assert any(
        f"{count - 1} of {count} issues" in warning and "lost permission" in warning for warning in result.warnings
    )
    gitlab.project.issues.update(hidden)
    gitlab.time.pass_by(600)
    gitlab.sync()
    gitlab.assert_same()


def test_deleted_items_are_buried_after_a_second_look(gitlab):
    """Fact 22: 404 by itself, after it was missing from a list whose total had shrunk."""
    gitlab.populate()
    number = gitlab.project.add_issue("goes", "body")
    gitlab.sync()
    gitlab.project.delete("issue", number)
    gitlab.time.pass_by(600)
    before = len(gitlab.server.requests)
    assert gitlab.sync().deleted == 1
    looks = [r["status"] for r in gitlab.server.requests[before:] if r["url"].endswith(f"/issues/{number}")]
    assert looks == [404]
    gitlab.assert_same()
    assert gitlab.value("SELECT body FROM items WHERE number = ? AND kind = 'issue'", number) == "body"


def test_an_item_that_comes_back_is_alive_again(gitlab):
    """Fact 22: a tombstone is an opinion about the forge, not about the rows."""
    gitlab.populate()
    gitlab.sync()
    hidden = gitlab.project.issues.pop(3)
    gitlab.time.pass_by(600)
    gitlab.sync()
    assert gitlab.deleted() == {("issue", 3)}
    gitlab.project.issues[3] = hidden
    for _ in range(2):  # one more than we have may be new; when it is still one more, the numbers are compared
        gitlab.time.pass_by(600)
        gitlab.sync()
    assert gitlab.deleted() == set()
    gitlab.assert_same()


def test_a_moved_issue_says_where_it_went(gitlab):
    """Fact 23: closed here with a system note; the reference to a sibling is short and is spelled out."""
    other = gitlab.server.add_project("group/other")
    number = gitlab.project.add_issue("moves")
    gitlab.time.pass_by(100)
    there = gitlab.project.move(number, other)
    gitlab.sync()
    gitlab.assert_same()
    assert ("moved_to", "event", "group/other", "issue", there, 0) in gitlab.links(number)
    assert gitlab.value("SELECT state_reason FROM items") == "moved"


# 25: shapes and errors


def test_labels_may_be_objects(gitlab):
    """Fact 25: a proxy or a default may switch on `with_labels_details`."""
    gitlab.project.add_issue("labelled", labels=["bug", "p1"])
    gitlab.server.fail(path=LISTS, json=[["/0/labels", [{"name": "p1", "color": "#fff"}, {"name": "bug"}]]])
    gitlab.sync()
    gitlab.assert_same()


def test_collapsed_and_too_large_diffs_still_name_their_files(gitlab):
    """Fact 25: `/diffs`, never the deprecated `/changes`; more than a page of them."""
    files = [("modified", f"f/{n:03}") for n in range(120)]
    special = [
        ("modified", "big.bin", {"too_large": True}),
        ("added", "c.py", {"collapsed": True}),
        ("renamed", "a", "b"),
    ]
    gitlab.project.add_change("big", files=[*files, *special])
    gitlab.sync()
    gitlab.assert_same()
    assert not [path for path in gitlab.server.paths() if "/changes" in path]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"message": "403 Forbidden"}, "403 Forbidden"),
        (
            {"message": {"title": ["can't be blank", "is too short"], "base": "no"}},
            "title: can't be blank, is too short; base: no",
        ),
        ({"error": "scope is invalid"}, "scope is invalid"),
        ({"error": "invalid_token", "error_description": "Token is expired."}, "Token is expired."),
        ("Forbidden in plain text", "Forbidden in plain text"),
        ({}, ""),
        ([], ""),
    ],
)
@pytest.mark.parametrize("status", [400, 403])
def test_what_an_error_says_reaches_the_user_in_every_dress(gitlab, body, said, status):
    """Fact 25: `message` as text, as an object of lists, or `error`."""
    rule = gitlab.server.fail(path=LISTS, status=status, body=body)
    if status == 400:
        assert_unread(gitlab.sync(), part="issues", says=said)
    else:
        with raised(AuthError, says=said):
            gitlab.sync(kinds=("issue",))  # the only list of items: what is refused beside others is a warning
    gitlab.server.faults.remove(rule)
    gitlab.populate()
    gitlab.sync()
    gitlab.assert_same()


# nulls, text, the wire


def test_authors_bodies_and_heads_may_be_null(gitlab):
    """Fact 23."""
    number = gitlab.project.add_issue("ghost", None, author=None)
    gitlab.project.comment("issue", number, "boo", author=None)
    change = gitlab.project.add_change("no commits", None, author=None, files=[])
    gitlab.project.items("change")[change].sha = None
    gitlab.project.add_release("v1", body=None, author=None)
    gitlab.server.fail(path=LISTS, json=[["/*/milestone", None], ["/*/assignees", None], ["/*/user_notes_count", None]])
    gitlab.sync()
    gitlab.assert_same()


@pytest.mark.parametrize(
    "text", ["a\r\nb\r\n", "nul \x00", "lone \ud800", "\udfff\u200b", "😀" * 50, "𝕏\r\n" * 21_000 + "\x00\ud800"]
)
def test_hostile_text_is_kept_as_far_as_a_file_can_hold_it(gitlab, text):
    """Fact 11 holds here too."""
    number = gitlab.project.add_issue(f"title {text[:80]}", text)
    gitlab.project.comment("issue", number, text)
    change = gitlab.project.add_change("change", text)
    gitlab.project.discuss("change", change, text, path="src/a.py", line=1)
    gitlab.project.add_release("v1", body=text)
    gitlab.sync()
    gitlab.assert_same()
    gitlab.time.pass_by(600)
    assert gitlab.sync().rows_written == 0


def test_an_empty_project_is_a_success(gitlab):
    """Nothing to read is not an error."""
    result = gitlab.sync()
    assert (result.rows_written, result.warnings) == (0, [])
    gitlab.assert_same()


BREAKABLE = (LISTS, "/diffs", "/releases", "group%2Fapp$")


@pytest.mark.parametrize(
    "fault",
    [{"truncate": 0.5}, {"drop": True}, {"status": 200, "body": "<html>hello</html>"}, {"status": 502, "body": "<html>"},
     {"status": 200, "body": '[{"id": 1'}, {"status": 500, "body": {"message": "500 Internal Server Error"}}],
    ids=["truncated", "dropped", "html", "bad gateway", "cut off", "server error"],
)  # fmt: skip
@pytest.mark.parametrize("has_graphql", [True, False])
def test_a_broken_answer_is_asked_for_again(gitlab, fault, has_graphql):
    """Half a body, a closed connection, HTML instead of JSON: twice, at each place where something is read."""
    gitlab.populate(issues=5, changes=3)
    gitlab.server.graphql = has_graphql
    places = (*BREAKABLE, "/api/graphql" if has_graphql else "/discussions")
    rules = [gitlab.server.fail(path=path, times=2, **fault) for path in places]
    gitlab.sync()
    gitlab.assert_same()
    assert all(rule["_seen"] >= 2 for rule in rules)
    assert gitlab.time.waits.count(1) >= len(BREAKABLE)


def test_threads_that_stay_broken_wait_and_hold_up_nothing(gitlab):
    """One item that GitLab cannot show is retried later; the run itself succeeds and says so."""
    gitlab.populate(issues=5, changes=3)
    gitlab.server.graphql = False
    rule = gitlab.server.fail(path="/issues/2/discussions", status=500, body={"message": "oops"})
    result = gitlab.sync()
    assert (result.pending_jobs, result.failing_jobs) == (1, 1)
    assert any("could not be read yet" in warning for warning in result.warnings)
    gitlab.server.faults.remove(rule)
    gitlab.time.pass_by(10)
    gitlab.sync()
    gitlab.assert_same()


def test_a_list_of_an_unexpected_shape_is_a_clear_error(gitlab):
    """An object where a list should be."""
    rule = gitlab.server.fail(path=LISTS, status=200, body={"message": "surprise"})
    assert_unread(gitlab.sync(), part="issues", code="unreadable_answer")
    gitlab.server.faults.remove(rule)
    gitlab.populate()
    gitlab.sync()
    gitlab.assert_same()


def test_what_no_token_could_read_is_read_once_there_is_one(gitlab):
    """Fact 22: GitLab shows threads to no stranger; adding a token later must bring the threads of old items too."""
    gitlab.populate()
    app = gitlab.new_app("")
    result = gitlab.sync(app)
    assert any("GITLAB_TOKEN" in warning for warning in result.warnings)
    assert app.store().value("SELECT count(*) FROM notes") == 0
    with_token = gitlab.new_app(db=app.config.db)
    gitlab.time.pass_by(600)
    gitlab.sync(with_token)
    gitlab.assert_same(with_token)
