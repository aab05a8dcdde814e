"""The local GitHub behaves as the real one where clients trip: each claim here is asked over the socket."""

import http.client
import pathlib
import time

import graphql
import httpx
import pytest

from .github import GitHubServer, Token

ROOT = pathlib.Path(__file__).resolve().parents[2]
OFFICIAL = ROOT.parent / "shared" / "contracts" / "github" / "schema.docs.graphql"
AGENT = {"User-Agent": "tests", "X-GitHub-Api-Version": "2022-11-28"}
WEB = "/repos/acme/web"


@pytest.fixture
def server():
    with GitHubServer() as running:
        running.tokens["secret"] = Token("ana", "Ana")
        running.tokens["zoe"] = Token("zoe", scopes=("public_repo",))
        yield running
        assert running.errors == []


@pytest.fixture
def web(server):
    project = server.add_project("acme/web")
    project.add_collaborator("ana", "admin")
    return project


@pytest.fixture
def api(server):
    with httpx.Client(base_url=server.api_url, headers={**AGENT, "Authorization": "Bearer secret"}) as client:
        yield client


@pytest.fixture
def anonymous(server):
    with httpx.Client(base_url=server.api_url, headers=AGENT) as client:
        yield client


def every(client, url):
    rows = []
    while url:
        answer = client.get(url)
        assert answer.status_code == 200, answer.text
        rows += answer.json()
        url = answer.links.get("next", {}).get("url")
    return rows


def ask(api, query, **variables):
    answer = api.post("/graphql", json={"query": query, "variables": variables})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_issue_list_pages_by_cursor_and_meets_moved_rows_again(server, web, api):
    for n in range(1, 8):
        web.add_issue(f"issue {n}", created_at=f"2026-01-0{n}T00:00:00Z")
    web.add_change("change", created_at="2026-01-08T00:00:00Z")
    first = api.get(f"{WEB}/issues?state=all&sort=updated&direction=asc&per_page=3")
    link = first.links["next"]["url"]
    assert f"/repositories/{web.id}/issues?" in link
    assert "after=" in link
    assert "last" not in first.links
    web.comment(1, "moves to the end while the client pages")
    rest = every(api, link)
    assert [i["number"] for i in first.json() + rest] == [1, 2, 3, 4, 5, 6, 7, 8, 1]
    assert ["pull_request" in i for i in rest] == [False, False, False, False, True, False]


def test_numbered_pages_skip_rows_that_moved_and_deep_ones_are_refused(web, api):
    for n in range(1, 7):
        web.add_issue(f"issue {n}", created_at=f"2026-01-0{n}T00:00:00Z")
    listing = f"{WEB}/issues?sort=updated&direction=asc&per_page=2"
    one = api.get(listing).json()
    web.comment(1, "moves")
    two = api.get(f"{listing}&page=2").json()
    assert [i["number"] for i in one + two] == [1, 2, 4, 5]
    deep = api.get(f"{WEB}/issues?page=51")
    assert deep.status_code == 422
    assert "cursor" in deep.json()["message"]


def test_since_is_inclusive_and_a_comment_moves_its_parent(server, web, api):
    number = web.add_issue("old", created_at="2026-01-01T00:00:00Z")
    said = web.comment(number, "news")
    now = web.items[number].updated_at
    assert now == "2026-03-01T12:00:00Z"
    assert [i["number"] for i in api.get(f"{WEB}/issues?since={now}").json()] == [number]
    server.clock.advance(60)
    web.edit_comment(said, "corrected")
    assert [c["body"] for c in api.get(f"{WEB}/issues/comments?since=2026-03-01T12:00:30Z").json()] == ["corrected"]
    assert web.items[number].updated_at == now
    web.delete_comment(said)
    assert api.get(f"{WEB}/issues/comments").json() == []
    assert api.get(f"{WEB}/issues/{number}").json()["updated_at"] == now


def test_renamed_moved_and_deleted_things_answer_as_on_github(server, web, api):
    other = server.add_project("acme/other")
    gone, moved = web.add_issue("gone"), web.add_issue("moved")
    web.comment(moved, "travels along")
    web.delete(gone)
    number = web.transfer(moved, other)
    assert api.get(f"{WEB}/issues/{gone}").status_code == 410
    redirect = api.get(f"{WEB}/issues/{moved}")
    assert redirect.status_code == 301
    assert redirect.headers["location"].endswith(f"/repositories/{other.id}/issues/{number}")
    assert api.get(redirect.headers["location"]).json()["comments"] == 1
    server.rename("acme/web", "acme/site")
    renamed = api.get(f"{WEB}/issues?state=all")
    assert renamed.status_code == 301
    assert renamed.headers["location"].endswith(f"/repositories/{web.id}/issues?state=all")
    assert api.get("/repos/ACME/Site").json()["full_name"] == "acme/site"
    assert api.post(f"{WEB}/issues", json={"title": "x"}).status_code == 307
    server.remove_project("acme/site")
    assert api.get(WEB).status_code == 404
    assert server.api_url == server.url


def test_who_may_see_what(server, web, api, anonymous):
    secret = server.add_project("acme/secret", private=True)
    assert secret.private
    assert anonymous.get("/repos/acme/secret").status_code == 404
    assert api.get("/repos/acme/secret").json()["temp_clone_token"]
    assert "temp_clone_token" not in anonymous.get(WEB).json()
    assert anonymous.get(f"{WEB}/collaborators").status_code == 401
    assert anonymous.post("/graphql", json={"query": "{viewer{login}}"}).status_code == 401
    assert api.get(f"{WEB}/collaborators").json()[0]["role_name"] == "admin"
    bad = anonymous.get(WEB, headers={"Authorization": "token nonsense"})
    assert (bad.status_code, bad.json()["message"]) == (401, "Bad credentials")
    assert api.get(WEB).headers["x-oauth-scopes"] == "repo"
    server.tokens["fine"] = Token("ben", permissions={"issues": "read"})
    fine = {"Authorization": "Bearer fine"}
    assert anonymous.get(f"{WEB}/issues", headers=fine).status_code == 200
    refused = anonymous.get(f"{WEB}/pulls", headers=fine)
    assert refused.status_code == 403
    assert refused.json()["message"] == "Resource not accessible by personal access token"
    assert refused.headers["x-accepted-github-permissions"] == "pull_requests=read"
    assert anonymous.get(f"{WEB}/collaborators", headers=fine).status_code == 403


def test_a_client_without_a_user_agent_and_a_trailing_slash_are_refused(server, web, api):
    connection = http.client.HTTPConnection(server.netloc)
    connection.request("GET", WEB)
    assert connection.getresponse().status == 403
    connection.close()
    assert api.get(f"{WEB}/issues/").status_code == 404
    assert api.get(WEB, headers={"X-GitHub-Api-Version": "1999-01-01"}).status_code == 400


def test_switched_off_issues_are_410(server, api):
    server.add_project("acme/off", has_issues=False)
    answer = api.get("/repos/acme/off/issues")
    assert (answer.status_code, answer.json()["message"]) == (
        410,
        "Issues has been disabled in this repository.",
    )


def test_the_limit_refuses_until_the_clock_passes_the_reset(server, web, api):
    server.set_limit(remaining=1)
    assert api.get(WEB).headers["x-ratelimit-remaining"] == "0"
    spent = api.get(WEB)
    assert spent.status_code == 403
    assert int(spent.headers["x-ratelimit-reset"]) == server.clock.now().timestamp() + 3600
    assert api.get("/rate_limit").json()["rate"]["remaining"] == 0
    server.limit_status = 429
    assert api.get(WEB).status_code == 429
    server.clock.advance(3600)
    assert api.get(WEB).headers["x-ratelimit-remaining"] == "4999"
    server.secondary(times=2, retry_after=None, status=429)
    limited = [api.get(WEB) for _ in range(3)]
    assert [r.status_code for r in limited] == [429, 429, 200]
    assert "retry-after" not in limited[0].headers


def test_not_modified_is_free_only_when_authorised(web, api, anonymous):
    for client, cost in ((api, 0), (anonymous, 1)):
        first = client.get(f"{WEB}/issues")
        again = client.get(f"{WEB}/issues", headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        left = [int(r.headers["x-ratelimit-remaining"]) for r in (first, again)]
        assert left[0] - left[1] == cost


def test_the_newest_version_drops_fields(web, api):
    number = web.add_change("change")
    new = {"X-GitHub-Api-Version": "2026-03-10"}
    old_shape, new_shape = (api.get(f"{WEB}/pulls/{number}", headers=h).json() for h in ({}, new))
    assert {"assignee", "merge_commit_sha"} <= old_shape.keys() - new_shape.keys()
    assert "rate" not in api.get("/rate_limit", headers=new).json()


def test_big_changes_lose_their_diff_and_the_tail_of_their_files(web, api):
    number = web.add_change("big", files=[("added", f"src/{n}.py") for n in range(3005)])
    refused = api.get(f"{WEB}/pulls/{number}", headers={"Accept": "application/vnd.github.diff"})
    assert refused.status_code == 406
    assert len(every(api, f"{WEB}/pulls/{number}/files?per_page=100")) == 3000
    web.push(number, [("renamed", "old.py", "new.py"), ("added", "logo.png")])
    renamed, binary = api.get(f"{WEB}/pulls/{number}/files").json()
    assert (renamed["previous_filename"], renamed["filename"]) == ("old.py", "new.py")
    assert "patch" not in binary
    diff = api.get(f"{WEB}/pulls/{number}", headers={"Accept": "application/vnd.github.diff"})
    assert "rename from old.py" in diff.text


def test_only_a_collaborators_words_mark_a_duplicate(server, web, api):
    first, second = web.add_issue("first"), web.add_issue("second", author="zoe")
    comment = {"body": f"Duplicate of #{first}"}
    api.post(f"{WEB}/issues/{second}/comments", json=comment, headers={"Authorization": "token zoe"})
    assert web.items[second].duplicate_of is None
    api.post(f"{WEB}/issues/{second}/comments", json=comment)
    assert web.items[second].duplicate_of is web.items[first]
    events = [e["event"] for e in api.get(f"{WEB}/issues/{second}/events").json()]
    assert events == ["marked_as_duplicate"]


def test_closing_as_duplicate_by_rest_and_by_graphql(server, web, api):
    first, second, third = (web.add_issue(name) for name in ("first", "second", "third"))
    target = api.get(f"{WEB}/issues/{first}").json()
    change = {"state": "closed", "state_reason": "duplicate", "duplicate_issue_id": target["id"]}
    assert api.patch(f"{WEB}/issues/{second}", json=change).json()["state_reason"] == "duplicate"
    stranger = api.patch(f"{WEB}/issues/{third}", json=change, headers={"Authorization": "token zoe"})
    assert stranger.status_code == 403
    mutation = """mutation($i: ID!, $c: ID) {
      closeIssue(input: {issueId: $i, stateReason: DUPLICATE, duplicateIssueId: $c}) { issue { stateReason duplicateOf { number } } }
    }"""
    node = api.get(f"{WEB}/issues/{third}").json()["node_id"]
    done = ask(api, mutation, i=node, c=target["node_id"])["data"]["closeIssue"]["issue"]
    assert done == {"stateReason": "DUPLICATE", "duplicateOf": {"number": first}}


def test_merging_closes_what_the_change_fixes(web, api):
    issue = web.add_issue("broken")
    change = web.add_change("repair", f"Fixes #{issue}")
    query = """{repository(owner:"acme", name:"web"){
      issue(number: 1){closedByPullRequestsReferences(first:5){nodes{number}}}
      pullRequest(number: 2){closingIssuesReferences(first:5){nodes{number repository{nameWithOwner}}}}}}"""
    found = ask(api, query)["data"]["repository"]
    assert found["issue"]["closedByPullRequestsReferences"]["nodes"] == [{"number": change}]
    linked = {"number": issue, "repository": {"nameWithOwner": "acme/web"}}
    assert found["pullRequest"]["closingIssuesReferences"]["nodes"] == [linked]
    web.merge(change)
    assert api.get(f"{WEB}/issues/{issue}").json()["state"] == "closed"


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ("", "MISSING_PAGINATION_BOUNDARIES"),
        ("(first: 101)", "EXCESSIVE_PAGINATION"),
        ("(last: 0)", "EXCESSIVE_PAGINATION"),
    ],
)
def test_connections_need_boundaries(web, api, arguments, kind):
    query = f'{{repository(owner:"acme", name:"web"){{issues{arguments}{{totalCount}}}}}}'
    assert [e["type"] for e in ask(api, query)["errors"]] == [kind]


def test_a_query_for_too_many_nodes_is_refused(web, api):
    inner = "comments(first:100){nodes{replies(first:100){nodes{id}}}}"
    query = f'{{repository(owner:"acme", name:"web"){{discussions(first:100){{nodes{{{inner}}}}}}}}}'
    assert [e["type"] for e in ask(api, query)["errors"]] == ["MAX_NODE_LIMIT_EXCEEDED"]


def test_unknown_nodes_are_null_with_an_error_at_their_place(web, api):
    web.add_issue("here")
    known = api.get(f"{WEB}/issues/1").json()["node_id"]
    query = "query($ids: [ID!]!){nodes(ids: $ids){id ... on Issue {title}}}"
    told = ask(api, query, ids=[known, "I_nonsense"])
    assert told["data"]["nodes"] == [{"id": known, "title": "here"}, None]
    assert [(e["type"], e["path"]) for e in told["errors"]] == [("NOT_FOUND", ["nodes", 1])]
    missing = ask(api, '{repository(owner:"acme", name:"nope"){id}}')
    assert (missing["data"], missing["errors"][0]["type"]) == ({"repository": None}, "NOT_FOUND")


def test_graphql_troubles_come_as_200_or_as_html(server, web, api):
    for n in range(4):
        web.add_issue(f"issue {n}")
    query = '{rateLimit{cost remaining} repository(owner:"acme", name:"web"){issues(first:4){nodes{number}}}}'
    server.graphql_limited()
    assert ask(api, query)["errors"][0]["type"] == "RATE_LIMITED"
    server.graphql_partial()
    partial = ask(api, query)
    assert partial["data"]["repository"]["issues"]["nodes"] == [{"number": 1}, {"number": 2}, None, None]
    assert {e["type"] for e in partial["errors"]} == {"RESOURCE_LIMITS_EXCEEDED"}
    server.graphql_timeout()
    broken = api.post("/graphql", json={"query": query})
    assert (broken.status_code, broken.headers["content-type"]) == (502, "text/html")
    assert "errors" not in ask(api, query)
    server.set_limit(remaining=0)
    assert ask(api, query)["errors"][0]["type"] == "RATE_LIMITED"


def test_graphql_follows_renames_unless_told_not_to(server, web, api):
    server.rename("acme/web", "acme/site")
    query = 'query($f: Boolean){repository(owner:"acme", name:"web", followRenames:$f){nameWithOwner}}'
    assert ask(api, query, f=True)["data"]["repository"] == {"nameWithOwner": "acme/site"}
    assert ask(api, query, f=False)["data"]["repository"] is None


def test_threads_tell_what_is_resolved_and_outdated(web, api):
    number = web.add_change("change", files=[("modified", "a.py"), ("modified", "b.py")])
    root = web.review_comment(number, "why?", path="a.py", line=7)
    web.review_comment(number, "because", reply_to=root)
    web.resolve_thread(root)
    web.push(number, [("modified", "b.py")])
    query = """{repository(owner:"acme", name:"web"){pullRequest(number:1){reviewThreads(first:9){nodes{
      isResolved isOutdated path line originalLine comments(first:9){nodes{fullDatabaseId replyTo{fullDatabaseId}}}}}}}}"""
    (thread,) = ask(api, query)["data"]["repository"]["pullRequest"]["reviewThreads"]["nodes"]
    comments = thread.pop("comments")["nodes"]
    assert thread == {"isResolved": True, "isOutdated": True, "path": "a.py", "line": None, "originalLine": 7}
    assert comments[1]["replyTo"] == {"fullDatabaseId": str(root)}
    assert [c["in_reply_to_id"] for c in api.get(f"{WEB}/pulls/1/comments").json()[1:]] == [root]


def test_an_enterprise_server_lives_below_api():
    with GitHubServer(ghes=True, require_auth=True) as server:
        server.tokens["secret"] = Token("ana")
        server.add_project("acme/web").add_issue("one")
        with httpx.Client(headers={**AGENT, "Authorization": "Bearer secret"}) as client:
            issue = client.get(f"{server.api_url}{WEB}/issues/1").json()
            assert issue["url"] == f"{server.url}/api/v3/repos/acme/web/issues/1"
            assert issue["html_url"] == f"{server.url}/acme/web/issues/1"
            assert client.get(f"{server.url}{WEB}").status_code == 404
            assert client.post(server.graphql_url, json={"query": "{viewer{login}}"}).json() == {
                "data": {"viewer": {"login": "ana"}}
            }
        assert httpx.get(f"{server.api_url}/meta", headers=AGENT).status_code == 401


def test_the_api_tells_exactly_the_truth(server, api):
    """A plain crawl, written here without any product code, must arrive at what the state says."""
    server.populate("acme/web", seed=7, issues=60, changes=40, discussions=15)
    server.clock.advance(60)
    known = crawl_items(api) + crawl_discussions(api) + crawl_releases(api)
    assert sorted(known, key=lambda k: (k["kind"], k["number"])) == server.truth("acme/web")


def login_of(user):
    return user and user["login"]


def a_note(author, body, created_at, path=None, line=None):
    return {
        "author": author,
        "body": body,
        "created_at": created_at,
        "path": path,
        "line": line,
        "is_system": False,
    }


def by_time(notes):
    return sorted(notes, key=lambda n: (n["created_at"], n["body"]))


def crawl_items(api):
    rows = every(api, f"{WEB}/issues?state=all&per_page=100")
    notes = {row["url"]: [] for row in rows}
    for c in every(api, f"{WEB}/issues/comments?per_page=100"):
        notes[c["issue_url"]].append(a_note(login_of(c["user"]), c["body"], c["created_at"]))
    return [crawl_item(api, row, notes[row["url"]]) for row in rows]


def crawl_item(api, row, notes):
    is_change, files = "pull_request" in row, []
    if is_change:
        pull = f"{WEB}/pulls/{row['number']}"
        for c in every(api, f"{pull}/comments"):
            notes.append(
                a_note(
                    login_of(c["user"]),
                    c["body"],
                    c["created_at"],
                    c["path"],
                    c["line"] or c["original_line"],
                )
            )
        notes += [
            a_note(login_of(r["user"]), r["body"], r["submitted_at"])
            for r in every(api, f"{pull}/reviews")
            if r["body"]
        ]
        files = [
            {
                "old_path": f.get("previous_filename", f["filename"]),
                "new_path": f["filename"],
                "status": {"removed": "deleted"}.get(f["status"], f["status"]),
            }
            for f in every(api, f"{pull}/files")
        ]
    return {
        "kind": "change" if is_change else "issue",
        "number": row["number"],
        "title": row["title"],
        "body": row["body"],
        "state": "merged" if is_change and row["pull_request"]["merged_at"] else row["state"],
        "state_reason": row["state_reason"],
        "author": login_of(row["user"]),
        "labels": sorted(label["name"] for label in row["labels"]),
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
        "closed_at": row["closed_at"],
        "url": row["html_url"],
        "files": sorted(files, key=lambda f: f["new_path"]),
        "notes": by_time(notes),
    }


DISCUSSIONS = """query($after: String) { repository(owner: "acme", name: "web") {
  discussions(first: 4, after: $after, orderBy: {field: UPDATED_AT, direction: ASC}) {
    pageInfo { hasNextPage endCursor }
    nodes { number title body url createdAt updatedAt closedAt closed stateReason author { login } labels(first: 9) { nodes { name } }
      comments(first: 50) { nodes { body createdAt author { login } replies(first: 50) { nodes { body createdAt author { login } } } } } }
  } } }"""


def crawl_discussions(api):
    found, after, more = [], None, True
    while more:
        page = ask(api, DISCUSSIONS, after=after)["data"]["repository"]["discussions"]
        found += [discussion_known(node) for node in page["nodes"]]
        more, after = page["pageInfo"]["hasNextPage"], page["pageInfo"]["endCursor"]
    return found


def discussion_known(node):
    said = [c for top in node["comments"]["nodes"] for c in (top, *top["replies"]["nodes"])]
    return {
        "kind": "discussion",
        "number": node["number"],
        "title": node["title"],
        "body": node["body"],
        "state": "closed" if node["closed"] else "open",
        "state_reason": node["stateReason"] and node["stateReason"].lower(),
        "author": login_of(node["author"]),
        "labels": sorted(label["name"] for label in node["labels"]["nodes"]),
        "created_at": node["createdAt"],
        "updated_at": node["updatedAt"],
        "closed_at": node["closedAt"],
        "url": node["url"],
        "files": [],
        "notes": by_time(a_note(login_of(c["author"]), c["body"], c["createdAt"]) for c in said),
    }


def crawl_releases(api):
    blank = {
        "kind": "release",
        "state": None,
        "state_reason": None,
        "labels": [],
        "closed_at": None,
        "files": [],
        "notes": [],
    }
    return [
        {
            **blank,
            "number": r["id"],
            "title": r["name"] or r["tag_name"],
            "body": r["body"],
            "author": r["author"]["login"],
            "created_at": r["published_at"],
            "updated_at": r["updated_at"],
            "url": r["html_url"],
        }
        for r in every(api, f"{WEB}/releases")
    ]


def test_populate_is_repeatable_varied_and_quick():
    worlds = [GitHubServer() for _ in range(2)]
    began = time.monotonic()
    for world in worlds:
        world.populate("acme/web", seed=3, issues=600, changes=300, discussions=100)
    assert time.monotonic() - began < 10
    one, two = (world.truth("acme/web") for world in worlds)
    assert one == two
    assert {k["state"] for k in one if k["kind"] == "change"} == {"open", "closed", "merged"}
    assert {k["state_reason"] for k in one if k["kind"] == "issue"} == {
        None,
        "completed",
        "not_planned",
        "duplicate",
        "reopened",
    }
    assert {f["status"] for k in one for f in k["files"]} == {"added", "deleted", "modified", "renamed"}
    bodies = [k["body"] for k in one]
    assert None in bodies
    assert "" in bodies
    text = "".join(b or "" for b in bodies)
    assert all(part in text for part in ("\r\n", "日本語", "🎉", "Fixes #", "duplicate of #", "other/repo#3"))
    assert any(k["author"] is None for k in one)


def test_our_schema_is_a_subset_of_githubs():
    if not OFFICIAL.exists():
        pytest.skip(f"the official description is not at {OFFICIAL}")
    official = graphql.build_schema(OFFICIAL.read_text(encoding="utf-8"), assume_valid=True, assume_valid_sdl=True)
    ours = graphql.build_schema((ROOT / "tests/servers/github/schema.graphql").read_text(encoding="utf-8"))
    assert [line for t in ours.type_map.values() for line in differences(t, official.type_map.get(t.name))] == []


def differences(ours, theirs):
    """What `ours` says that the official type of the same name does not."""
    if theirs is None or type(ours) is not type(theirs):
        yield f"{ours.name} is not there"
        return
    for interface in getattr(ours, "interfaces", ()):
        if interface.name not in {i.name for i in theirs.interfaces}:
            yield f"{ours.name} does not implement {interface.name}"
    if isinstance(ours, graphql.GraphQLUnionType):
        yield from (f"{ours.name} has no {m.name}" for m in ours.types if m.name not in {t.name for t in theirs.types})
    if isinstance(ours, graphql.GraphQLEnumType):
        yield from (f"{ours.name}.{value} is not there" for value in ours.values.keys() - theirs.values.keys())
    for name, field in getattr(ours, "fields", {}).items():
        yield from field_differences(f"{ours.name}.{name}", field, theirs.fields.get(name))


def field_differences(place, ours, theirs):
    if theirs is None or str(ours.type) != str(theirs.type):
        yield f"{place}: {ours.type} is not {theirs and theirs.type}"
        return
    for name, argument in getattr(ours, "args", {}).items():
        official = theirs.args.get(name)
        if official is None or str(argument.type) != str(official.type):
            yield f"{place}({name}): {argument.type} is not {official and official.type}"
        elif default_text(argument) != default_text(official):
            yield f"{place}({name}) has another default"


def default_text(argument):
    default = argument.ast_node.default_value if argument.ast_node else None
    return default and graphql.print_ast(default)
