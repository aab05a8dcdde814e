"""The local GitLab behaves as the real one where clients trip: each claim here is asked over the socket."""

import time

import httpx
import pytest

from .gitlab import GitLabServer, Token

PATH = "/projects/group%2Fsub%2Fapp"


@pytest.fixture
def server():
    with GitLabServer() as running:
        running.tokens["secret"] = Token("ana", "Ana", scopes=("api",))
        running.tokens["guest"] = Token("gus", access_level=10, private_access=False)
        yield running
        assert running.errors == []


@pytest.fixture
def app(server):
    return server.add_project("group/sub/app")


@pytest.fixture
def api(server):
    with httpx.Client(base_url=server.api_url, headers={"PRIVATE-TOKEN": "secret"}) as client:
        yield client


@pytest.fixture
def guest(server):
    with httpx.Client(base_url=server.api_url, headers={"Authorization": "Bearer guest"}) as client:
        yield client


def every(client, url):
    rows = []
    while url:
        answer = client.get(url)
        assert answer.status_code == 200, answer.text
        rows += answer.json()
        url = answer.links.get("next", {}).get("url")
    return rows


def updated_at(api, iid):
    return api.get(f"{PATH}/issues/{iid}").json()["updated_at"]


def test_a_comment_within_a_minute_does_not_move_its_issue(server, app, api):
    iid = app.add_issue("one")
    before = updated_at(api, iid)
    server.clock.advance(59)
    note = app.comment("issue", iid, "quick")
    assert updated_at(api, iid) == before
    server.clock.advance(1)
    app.comment("issue", iid, "slow")
    assert updated_at(api, iid) == "2026-03-01T12:01:00.000Z"
    server.clock.advance(3600)
    app.edit_note(note, "changed")
    app.delete_note(note)
    assert updated_at(api, iid) == "2026-03-01T12:01:00.000Z"
    app.edit("issue", iid, labels=["bug"])
    server.clock.advance(1)
    app.close("issue", iid)
    assert updated_at(api, iid) == "2026-03-01T13:01:01.000Z"


def test_labels_and_states_leave_events_and_other_changes_leave_system_notes(app, api):
    iid = app.add_issue("old", labels=["bug"])
    app.edit("issue", iid, title="new", labels=["docs"], assignees=["ben"])
    app.close("issue", iid, by="ben")
    app.reopen("issue", iid)
    bodies = {n["body"] for n in every(api, f"{PATH}/issues/{iid}/notes") if n["system"]}
    assert bodies == {"changed title from **old** to **new**", "assigned to @ben"}
    labels = every(api, f"{PATH}/issues/{iid}/resource_label_events")
    assert [(e["action"], e["label"]["name"]) for e in labels] == [
        ("add", "bug"),
        ("remove", "bug"),
        ("add", "docs"),
    ]
    states = every(api, f"{PATH}/issues/{iid}/resource_state_events")
    assert [(e["state"], e["user"]["username"]) for e in states] == [("closed", "ben"), ("reopened", "ana")]


def test_a_duplicate_is_closed_and_says_so_on_both_sides(app, api):
    first, second = app.add_issue("first"), app.add_issue("second")
    app.mark_duplicate(second, first)
    payload = api.get(f"{PATH}/issues/{second}").json()
    assert payload["state"] == "closed"
    assert payload["_links"]["closed_as_duplicate_of"].endswith(f"/issues/{first}")
    assert every(api, f"{PATH}/issues/{second}/notes")[0]["body"] == "marked this issue as a duplicate of #1"
    assert every(api, f"{PATH}/issues/{first}/notes")[0]["body"] == "marked #2 as a duplicate of this issue"


def test_a_mention_writes_a_note_on_the_target_once_and_not_from_code(server, app, api):
    target = app.add_issue("target")
    server.clock.advance(120)
    change = app.add_change("c", "see #1 and again #1")
    app.comment("change", change, "again #1")
    app.add_issue("other", "`#1`\n```\n#1\n```\n")
    notes = every(api, f"{PATH}/issues/{target}/notes")
    assert [n["body"] for n in notes] == ["mentioned in merge request !1"]
    assert updated_at(api, target) == "2026-03-01T12:02:00.000Z"


def test_merging_closes_the_issues_that_the_description_names(app, api):
    app.add_issue("bug")
    change = app.add_change("fix", "Fixes #1")
    assert [i["iid"] for i in every(api, f"{PATH}/merge_requests/{change}/closes_issues")] == [1]
    app.merge(change)
    assert api.get(f"{PATH}/issues/1").json()["state"] == "closed"
    merged = api.get(f"{PATH}/merge_requests/{change}").json()
    assert (merged["state"], merged["closed_at"], merged["merged_by"]["username"]) == ("merged", None, "ana")


def test_a_moved_issue_lives_on_elsewhere(server, app, api):
    other = server.add_project("group/other")
    app.add_issue("wanderer", labels=["bug"])
    app.comment("issue", 1, "hello")
    app.move(1, other)
    old, new = api.get(f"{PATH}/issues/1").json(), api.get("/projects/group%2Fother/issues/1").json()
    assert (old["state"], old["moved_to_id"]) == ("closed", new["id"])
    bodies = [n["body"] for n in every(api, "/projects/group%2Fother/issues/1/notes?sort=asc")]
    assert bodies == ["hello", "moved from group/sub/app#1"]


def test_threads_carry_positions_and_resolution(app, api):
    iid = app.add_change("c", files=(("renamed", "old.py", "new.py"), ("deleted", "gone.py")))
    thread = app.discuss("change", iid, "here", path="new.py", line=7)
    app.reply("change", iid, thread, "done", author="ben")
    app.resolve(iid, thread, by="ben")
    app.discuss("change", iid, "why?", path="gone.py", old_line=3)
    plain = app.comment("change", iid, "hi")
    rows = every(api, f"{PATH}/merge_requests/{iid}/discussions")
    assert [d["individual_note"] for d in rows] == [False, False, True]
    first, reply = rows[0]["notes"]
    assert (first["position"]["old_path"], first["position"]["new_path"], first["position"]["new_line"]) == (
        "old.py",
        "new.py",
        7,
    )
    assert (reply["type"], reply["resolved"], reply["resolved_by"]["username"]) == ("DiffNote", True, "ben")
    assert (rows[1]["notes"][0]["position"]["new_line"], rows[1]["notes"][0]["position"]["old_line"]) == (
        None,
        3,
    )
    app.reply("change", iid, rows[2]["id"], "now a thread")
    again = every(api, f"{PATH}/merge_requests/{iid}/discussions")[2]
    assert (again["individual_note"], again["notes"][0]["id"], again["notes"][0]["type"]) == (
        False,
        plain,
        "DiscussionNote",
    )


def test_a_push_changes_the_diff_and_large_files_come_without_text(app, api):
    iid = app.add_change("c", files=(("modified", "a.py"),))
    before = api.get(f"{PATH}/merge_requests/{iid}").json()["sha"]
    app.push(iid, (("added", "b.py"), ("modified", "big.bin", {"too_large": True})))
    assert api.get(f"{PATH}/merge_requests/{iid}").json()["sha"] != before
    rows = every(api, f"{PATH}/merge_requests/{iid}/diffs?per_page=1")
    assert [(r["new_path"], r["new_file"], r["too_large"], r["diff"] == "") for r in rows] == [
        ("b.py", True, False, False),
        ("big.bin", False, True, True),
    ]
    assert len(api.get(f"{PATH}/merge_requests/{iid}/changes").json()["changes"]) == 2


def test_pages_are_capped_and_counted_until_the_list_is_long(server, app, api):
    for n in range(105):
        app.add_issue(f"i{n}")
    answer = api.get(f"{PATH}/issues?per_page=500&sort=asc")
    assert (len(answer.json()), answer.headers["x-total"], answer.headers["x-next-page"]) == (100, "105", "2")
    assert set(answer.links) == {"next", "first", "last"}
    server.total_cutoff = 104
    answer = api.get(f"{PATH}/issues?per_page=100&page=2")
    assert "x-total" not in answer.headers
    assert set(answer.links) == {"prev", "first"}


def test_deep_offsets_of_issues_are_refused_and_keyset_goes_on(server, app, api):
    for n in range(12):
        app.add_issue(f"i{n}")
        app.add_change(f"c{n}")
    server.offset_cutoff = 8
    refused = api.get(f"{PATH}/issues?per_page=5&page=2")
    assert refused.status_code == 405
    assert refused.json()["error"].startswith("Offset pagination has a maximum allowed offset of 8 for requests")
    assert api.get(f"{PATH}/merge_requests?per_page=5&page=2").status_code == 200
    for order in ("created_at", "updated_at"):
        rows = every(api, f"{PATH}/issues?per_page=5&pagination=keyset&order_by={order}&sort=asc")
        assert [r["iid"] for r in rows] == list(range(1, 13))


def test_lists_filter_by_state_time_label_and_number(server, app, api):
    app.add_issue("a", labels=["bug"])
    server.clock.advance(3600)
    app.add_issue("b", labels=["bug", "docs"])
    app.close("issue", 2)

    def numbers(query):
        return [row["iid"] for row in every(api, f"{PATH}/issues?{query}")]

    assert numbers("updated_after=2026-03-01T13:00:00Z") == [2]
    assert numbers("updated_after=2026-03-01T14:00:00%2B01:00") == [2]
    assert numbers("updated_before=2026-03-01T12:30:00Z") == [1]
    assert numbers("state=opened") == [1]
    assert numbers("labels=bug,docs") == [2]
    assert numbers("iids[]=1&iids[]=2&sort=asc") == [1, 2]
    detailed = api.get(f"{PATH}/issues?iids[]=1&with_labels_details=true").json()
    assert detailed[0]["labels"][0]["name"] == "bug"
    counts = api.get(f"{PATH}/issues_statistics").json()["statistics"]["counts"]
    assert counts == {"all": 2, "closed": 1, "opened": 1}


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("updated_after=2026-03-01T14:00:00+01:00", "updated_after is invalid"),
        ("updated_after=yesterday", "updated_after is invalid"),
        ("updated_after=2026-13-41T00:00:00Z", "updated_after is invalid"),
        ("state=open", "state does not have a valid value"),
        ("order_by=age", "order_by does not have a valid value"),
        ("page=x", "page is invalid"),
    ],
)
def test_ill_formed_parameters_are_400(app, api, query, error):
    answer = api.get(f"{PATH}/issues?{query}")
    assert (answer.status_code, answer.json()) == (400, {"error": error})


def test_tokens_are_checked_before_anything_else(server, app):
    server.tokens["old"] = Token("ana", expired=True)
    server.tokens["narrow"] = Token("ana", scopes=("read_repository",))

    def ask(token, path=PATH, method="GET"):
        answer = httpx.request(method, server.api_url + path, headers={"PRIVATE-TOKEN": token})
        return answer.status_code, answer.json()

    assert ask("wrong") == (401, {"message": "401 Unauthorized"})
    assert ask("old")[1]["error"] == "invalid_token"
    status, body = ask("narrow")
    assert (status, body["error"], body["scope"]) == (403, "insufficient_scope", "api read_api")
    assert ask("guest", f"{PATH}/issues", "POST")[1]["error"] == "insufficient_scope"
    assert ask("secret", "/nowhere") == (404, {"error": "404 Not Found"})
    assert ask("secret", "/projects/no%2Fsuch") == (404, {"message": "404 Project Not Found"})


def test_strangers_read_lists_of_public_projects_but_no_notes(server, app):
    app.add_issue("public")
    stranger = httpx.Client(base_url=server.api_url)
    assert len(every(stranger, f"{PATH}/issues")) == 1
    assert "issues_enabled" not in stranger.get(PATH).json()
    refused = stranger.get(f"{PATH}/issues/1/discussions")
    assert (refused.status_code, refused.json()) == (401, {"message": "401 Unauthorized"})
    server.anonymous_threads = True
    assert stranger.get(f"{PATH}/issues/1/discussions").status_code == 200
    server.require_auth = True
    assert stranger.get(f"{PATH}/issues").status_code == 401
    stranger.close()


def test_what_is_confidential_stays_with_members(server, app, api, guest):
    app.add_issue("open")
    app.add_issue("secret", "about #1", confidential=True)
    app.comment("issue", 1, "for the team", internal=True)
    app.comment("issue", 1, "for all")
    assert [i["iid"] for i in every(guest, f"{PATH}/issues")] == [1]
    assert guest.get(f"{PATH}/issues/2").status_code == 404
    assert [n["body"] for n in every(guest, f"{PATH}/issues/1/notes")] == ["for all"]
    page = guest.get(f"{PATH}/issues/1/discussions")
    assert (len(page.json()), page.headers["x-total"]) == (1, "3")
    assert len(every(api, f"{PATH}/issues/1/discussions")) == 3


def test_private_and_disabled_parts_answer_404_and_403(server, api, guest):
    server.add_project("group/hidden", private=True)
    server.add_project("group/bare", has_issues=False)
    assert api.get("/projects/group%2Fhidden").json()["runners_token"]
    assert guest.get("/projects/group%2Fhidden").json() == {"message": "404 Project Not Found"}
    assert "runners_token" not in guest.get("/projects/group%2Fbare").json()
    off = api.get("/projects/group%2Fbare/issues")
    assert (off.status_code, off.json()) == (403, {"message": "403 Forbidden"})


def test_a_renamed_project_redirects_reads_and_refuses_writes(server, app, api):
    app.add_issue("one")
    server.rename("group/sub/app", "group/new")
    moved = api.get(f"{PATH}/issues?state=all&per_page=1")
    assert moved.status_code == 301
    assert moved.headers["content-type"] == "text/plain"
    assert moved.headers["location"] == f"{server.api_url}/projects/{app.id}/issues?state=all&per_page=1"
    assert api.get(moved.headers["location"]).json()[0]["references"]["full"] == "group/new#1"
    assert api.post(f"{PATH}/issues", json={"title": "x"}).status_code == 405
    server.remove_project("group/new")
    assert api.get(PATH).status_code == 404


def test_groups_list_their_projects_with_and_without_subgroups(server, app, api):
    server.add_project("group/top")
    server.add_project("ana/tool", personal=True)
    assert [p["path"] for p in every(api, "/groups/group/projects")] == ["top"]
    deep = every(api, "/groups/group/projects?include_subgroups=true&order_by=id&sort=asc&per_page=1")
    assert [p["path_with_namespace"] for p in deep] == ["group/sub/app", "group/top"]
    assert [p["path"] for p in every(api, "/users/ana/projects")] == ["tool"]
    assert api.get("/groups/ana").json() == {"message": "404 Group Not Found"}


def test_limits_count_down_and_refuse_with_and_without_advice(server, app, api):
    server.set_limit(10, 1)
    assert api.get(PATH).headers["ratelimit-remaining"] == "0"
    refused = api.get(PATH)
    assert (refused.status_code, refused.text, refused.headers["retry-after"]) == (429, "Retry later\n", "60")
    server.clock.advance(60)
    assert api.get(PATH).headers["ratelimit-remaining"] == "9"
    server.set_limit(None)
    server.limit_bare()
    bare = api.get(PATH)
    assert (bare.status_code, "retry-after" in bare.headers, "ratelimit-limit" in bare.headers) == (
        429,
        False,
        False,
    )
    assert api.get(PATH).status_code == 200


def test_unchanged_lists_answer_304(app, api):
    app.add_issue("one")
    app.add_release("v1", at="2026-02-01T00:00:00Z")
    tags = {}
    for path in (
        PATH,
        f"{PATH}/issues/1/discussions",
        f"{PATH}/releases",
        f"{PATH}/labels",
        f"{PATH}/members/all",
    ):
        tags[path] = api.get(path).headers["etag"]
        again = api.get(path, headers={"If-None-Match": tags[path]})
        assert (again.status_code, again.content) == (304, b"")
    app.comment("issue", 1, "new")
    threads = f"{PATH}/issues/1/discussions"
    assert api.get(threads, headers={"If-None-Match": tags[threads]}).status_code == 200


def test_quick_actions_run_and_leave_the_text_without_them(app, api):
    app.add_issue("first")
    app.add_issue("second")
    only = api.post(f"{PATH}/issues/2/notes", json={"body": "/duplicate #1"})
    assert (only.status_code, set(only.json())) == (202, {"commands_changes", "summary"})
    assert api.get(f"{PATH}/issues/2").json()["_links"]["closed_as_duplicate_of"]
    assert [n["body"] for n in every(api, f"{PATH}/issues/2/notes?activity_filter=only_comments")] == []
    mixed = api.post(f"{PATH}/issues/1/notes", json={"body": "Bye.\n/close\n/nonsense\n```\n/reopen\n```"})
    assert (mixed.status_code, mixed.json()["body"]) == (201, "Bye.\n/nonsense\n```\n/reopen\n```")
    assert api.get(f"{PATH}/issues/1").json()["state"] == "closed"


def test_writes_create_edit_and_delete(app, api):
    made = api.post(f"{PATH}/issues", json={"title": "new", "labels": ["bug"]})
    assert (made.status_code, made.json()["labels"], made.json()["description"]) == (201, ["bug"], None)
    assert api.post(f"{PATH}/issues", json={"title": ""}).json() == {"message": {"title": ["can't be blank"]}}
    assert api.post(f"{PATH}/issues", json={}).json() == {"error": "title is missing"}
    closed = api.put(f"{PATH}/issues/1", json={"state_event": "close", "labels": ""})
    assert (closed.json()["state"], closed.json()["labels"]) == ("closed", [])
    note = api.post(f"{PATH}/issues/1/notes", data={"body": "by form"}).json()["id"]
    assert api.put(f"{PATH}/issues/1/notes/{note}", json={"body": "edited"}).json()["body"] == "edited"
    assert api.delete(f"{PATH}/issues/1/notes/{note}").status_code == 204
    assert api.put(f"{PATH}/issues/1/notes/{note}", json={"body": "late"}).status_code == 404


def test_releases_come_newest_first_and_are_named_after_their_tag(app, api):
    app.add_release("v1", name="One", at="2026-01-01T00:00:00Z")
    app.add_release("v2", at="2026-02-01T00:00:00Z")
    assert [(r["tag_name"], r["name"]) for r in every(api, f"{PATH}/releases")] == [
        ("v2", "v2"),
        ("v1", "One"),
    ]
    app.edit_release("v1", body="notes")
    app.delete_release("v2")
    assert [r["description"] for r in every(api, f"{PATH}/releases")] == ["notes"]


def seen_by_a_client(api, base):
    """What a client can put together over HTTP, in the words of `truth()`."""
    issues = every(api, f"{base}/issues?per_page=100&sort=asc")
    changes = every(api, f"{base}/merge_requests?per_page=100&sort=asc")
    for kind, folder, rows in (("issue", "issues", issues), ("change", "merge_requests", changes)):
        for row in rows:
            threads = every(api, f"{base}/{folder}/{row['iid']}/discussions?per_page=100")
            files = every(api, f"{base}/{folder}/{row['iid']}/diffs?per_page=100") if kind == "change" else []
            yield (kind, row["iid"]), row, [n for t in threads for n in t["notes"]], files


def test_truth_is_what_the_api_shows(server, api):
    server.populate("group/big", seed=7, issues=60, changes=40)
    truth = {(row["kind"], row["number"]): row for row in server.truth("group/big")}
    seen = list(seen_by_a_client(api, "/projects/group%2Fbig"))
    assert len(seen) + 1 == len(truth)  # the releases share one key: they have no number
    for key, row, notes, files in seen:
        known = truth[key]
        assert (known["title"], known["body"], known["url"]) == (
            row["title"],
            row["description"],
            row["web_url"],
        )
        assert known["state"] == row["state"].replace("opened", "open")
        assert known["author"] == (row["author"] and row["author"]["username"])
        for field in ("created_at", "updated_at", "closed_at", "labels"):
            assert known[field] == row[field]
        if key[0] == "issue":
            assert (known["state_reason"] == "duplicate") is (row["_links"]["closed_as_duplicate_of"] is not None)
        assert [n["body"] for n in known["notes"]] == [
            n["body"] for n in sorted(notes, key=lambda n: (n["created_at"], n["body"]))
        ]
        assert sorted(f["new_path"] for f in files) == [f["new_path"] for f in known["files"]]


def test_populate_is_deterministic_varied_and_fast():
    def fill():
        with GitLabServer() as server:
            server.populate("g/p", seed=3, issues=300, changes=200)
            return [{**row, "url": None} for row in server.truth("g/p")]

    began = time.perf_counter()
    rows = fill()
    assert time.perf_counter() - began < 5
    assert rows == fill()
    assert {row["state"] for row in rows} == {"open", "closed", "merged", None}
    assert {f["status"] for row in rows for f in row["files"]} == {"added", "deleted", "renamed", "modified"}
    assert {"duplicate"} < {row["state_reason"] for row in rows}
    assert {None, ""} < {row["body"] for row in rows}
    assert any(row["author"] is None for row in rows)
    assert any("\r\n" in (row["body"] or "") for row in rows)
    assert max(row["updated_at"] or "" for row in rows) < "2026-03-01T12"
