"""What Forgejo and Gitea say in ways of their own, provoked on the local one; from the public description and source."""

import json

import pytest

from forgelore.api.fetch import names_to_sync
from forgelore.errors import AuthError, ForgeError, LostPage, NotFound
from forgelore.forges.forgejo import wire
from forgelore.forges.forgejo.payloads import ForgejoPayloads
from forgelore.model import File, ItemKey
from forgelore.net.pages import OddValueError
from support import raised

ISSUE = {"id": 7, "number": 3, "title": "Crash", "state": "open", "created_at": "2026-03-01T14:00:00+02:00"}


def issue(**fields):
    return wire.parse_item(json.dumps(ISSUE | fields).encode())


def forge_of(lab, app=None):
    app = app or lab.app
    name = app.parse_project(lab.name_text)
    forge = app.forge(name)
    return forge, forge.fetch_project(name)


# payload in, item out


def test_times_carry_the_servers_own_zone():
    assert issue().created_at == issue(created_at="2026-03-01T12:00:00Z").created_at == 1_772_366_400_000


def test_a_row_with_a_pull_request_is_a_change():
    merged = {"merged": True, "merged_at": "2026-03-02T00:00:00Z", "draft": False}
    assert issue().key == ItemKey("issue", 3)
    assert (issue(pull_request={}).key, issue(pull_request={}).state) == (ItemKey("change", 3), "open")
    assert issue(state="closed", pull_request=merged).state == "merged"
    assert issue(state="closed", pull_request={"merged": False, "merged_at": None}).state == "closed"
    assert issue(pull_request={"draft": True}).is_draft


def test_the_count_of_a_changes_comments_is_not_believed():
    """Those on lines are in it from some versions on, and are not in others."""
    assert issue(comments=4).comment_count == 4
    assert issue(comments=4, pull_request={}).comment_count is None


def test_a_deleted_account_is_nobody_and_an_imported_author_keeps_the_name():
    ghost = {"id": -1, "login": "Ghost"}
    assert issue(user=ghost).author is None
    assert issue(user=ghost, original_author="torvalds").author == "torvalds"
    assert issue(user={"id": 9, "login": "Ghost"}).author == "Ghost", "a person may be called so"
    assert issue(user={"id": 9, "login": "bot"}, original_author="").author == "bot"
    assert issue(user=None).author is None


def test_fields_that_are_null_or_missing_are_empty():
    nothing = dict.fromkeys(
        ("title", "body", "state", "user", "assignees", "labels", "created_at", "updated_at", "closed_at", "html_url",
         "comments", "is_locked", "milestone", "pull_request", "original_author")
    )  # fmt: skip
    item = issue(**nothing)
    assert (item.title, item.body, item.state, item.labels, item.created_at) == ("", None, "open", [], None)
    assert issue(labels=[{"name": None}, {"name": "b\x00ug"}, {}], assignees=[{}]).labels == ["b\ufffdug"]


@pytest.mark.parametrize("odd", [{"number": "three"}, {"id": 10**30}, {"title": 5}, {"labels": "bug"}, {"user": "ana"}])
def test_what_makes_no_sense_is_said_to_be_none(odd):
    with raised(LostPage, says="unexpected shape"):
        issue(**odd)


def test_a_date_that_is_none_is_told_apart():
    with raised(OddValueError, says="0001-13-01"):
        issue(updated_at="0001-13-01T00:00:00Z")


def test_a_comment_on_a_line_that_is_gone_names_the_old_line():
    shape = {"id": 1, "body": "why?", "path": "a.py", "pull_request_review_id": 5}
    new = wire.parse_line_comment(json.dumps(shape | {"position": 3, "original_position": 0}).encode())
    old = wire.parse_line_comment(json.dumps(shape | {"position": 0, "original_position": 8}).encode())
    assert (new.note.line, new.note.old_line) == (3, None)
    assert (old.note.line, old.note.old_line) == (8, 8)


def test_the_same_line_of_both_files_is_two_conversations():
    """A line that was removed and one that was added may have the same number."""
    shape = {"id": 7, "body": "why?", "path": "a.py", "pull_request_review_id": 3}
    new = wire.parse_line_comment(json.dumps(shape | {"position": 8, "original_position": 0}).encode())
    old = wire.parse_line_comment(json.dumps(shape | {"position": 0, "original_position": 8}).encode())
    again = wire.parse_line_comment(json.dumps(shape | {"id": 9, "position": 0, "original_position": 8}).encode())
    assert new.place != old.place == again.place
    assert (new.is_resolved, new.place == old.place) == (False, False)


def test_a_review_that_is_not_sent_yet_holds_nothing():
    raw = json.dumps({"id": 4, "state": "PENDING", "body": "draft", "comments_count": 2}).encode()
    found = wire.parse_review(raw)
    assert (found.note, found.comments_count) == (None, 0)


@pytest.mark.parametrize(
    "raw", [b"{}", b'{"head": 1, "base": {}, "files": []}', b'{"head": {}, "base": {}, "files": 3}']
)
def test_a_stored_second_look_of_another_shape_is_odd(raw):
    with raised(OddValueError, says="unexpected shape"):
        ForgejoPayloads().detail(raw, ItemKey("change", 1), None)


# what a project is


@pytest.mark.parametrize(
    ("said", "visibility"),
    [({"private": True}, "private"), ({"private": False}, "public"), ({"private": None}, None),
     ({"private": False, "internal": True}, "internal"), ({"private": True, "internal": True}, "private")],
)  # fmt: skip
def test_who_may_read_a_project(said, visibility):
    project = wire.parse_project(json.dumps({"id": 1, "full_name": "acme/web", **said}).encode(), "codeberg.org")
    assert project.access.visibility == visibility
    assert project.is_private == (visibility in ("private", "internal"))


@pytest.mark.parametrize(("off", "kept"), [("has_issues", "change"), ("has_pull_requests", "issue")])
def test_what_is_switched_off_is_left_alone_and_read_when_it_is_back(forgejo, off, kept):
    forgejo.populate(issues=5, changes=4)
    is_issues = off == "has_issues"
    forgejo.project.has_issues = not is_issues
    forgejo.project.told = {} if is_issues else {"has_pull_requests": False}
    forgejo.sync()
    assert {kind for (kind,) in forgejo.rows("SELECT DISTINCT kind FROM items WHERE kind <> 'release'")} == {kept}
    forgejo.time.pass_by(3600)
    forgejo.project.has_issues, forgejo.project.told = True, {}
    forgejo.sync()
    forgejo.assert_same()
    forgejo.time.pass_by(3600)
    forgejo.project.has_issues, forgejo.project.told = False, {"has_pull_requests": False}
    result = forgejo.sync()
    assert (result.deleted, result.written) == (0, {})


def test_every_project_of_an_organisation_or_a_person(forgejo):
    forgejo.server.most_rows = 2
    for name in ("api", "docs", "site"):
        forgejo.server.add_project(f"acme/{name}")
    forgejo.server.add_project("ana/notes", owner_type="User")
    forge, _ = forge_of(forgejo)
    assert [name.path for name in forge.list_projects("acme", deep=False)] == [
        "acme/api", "acme/docs", "acme/site", "acme/web",
    ]  # fmt: skip
    assert [str(name) for name in names_to_sync(forgejo.app, ["forgejo:ana/*"])] == [f"{forgejo.server.url}/ana/notes"]
    with raised(NotFound, says="no organisation or user 'nobody'"):
        list(forge.list_projects("nobody", deep=False))


# conversations


def test_comments_on_lines_are_conversations_by_review_and_place(forgejo):
    change = forgejo.project.add_change("work", files=[("modified", "a.py"), ("modified", "b.py")])
    root = forgejo.project.review_comment(change, "why?", path="a.py", line=3)
    forgejo.project.review_comment(change, "because", reply_to=root)
    other = forgejo.project.review_comment(change, "and here?", path="a.py", line=3)
    forgejo.project.review(change, "", state="PENDING", author="eve")
    forgejo.sync()
    forgejo.assert_same()
    threads = "SELECT t.key, count(*) FROM threads t JOIN notes n ON n.thread_id = t.id GROUP BY t.key ORDER BY t.id"
    assert forgejo.rows(threads) == [(f"r{root}", 2), (f"r{other}", 1)]


def test_a_comment_says_whose_it_is_before_its_item_is_known(forgejo):
    """Created behind the list of items, and met in the stream of comments."""

    def meanwhile():
        number = forgejo.project.add_change("late")
        forgejo.project.comment(number, "at once")

    forgejo.populate()
    forgejo.on_request(r"/labels", meanwhile)
    forgejo.sync()
    forgejo.assert_same()
    assert forgejo.value("SELECT count(*) FROM jobs WHERE kind <> 'document'") == 0


def test_a_comment_that_names_no_item_is_left_out_with_a_warning(forgejo):
    number = forgejo.project.add_issue("issue")
    for text in ("one", "two", "three"):
        forgejo.project.comment(number, text)
    forgejo.server.fail(path=r"/issues/comments", json=[("/1/issue_url", "https://x/issues/abc")])
    result = forgejo.sync(kinds=("issue",))
    assert any("a row of comments could not be read: " in one and "abc" in one for one in result.warnings)
    assert {"one", "three"} <= {body for (body,) in forgejo.rows("SELECT body FROM notes")}


# other answers


def test_without_a_token_everything_public_is_read(forgejo):
    forgejo.populate()
    anonymous = forgejo.new_app("")
    forgejo.sync(anonymous)
    forgejo.assert_same(anonymous)
    assert forge_of(forgejo, anonymous)[0].fetch_identity() is None


def test_a_quiet_sync_takes_eight_requests(forgejo):
    """The project, items, comments, releases, labels, members, and two totals."""
    forgejo.populate()
    forgejo.sync()
    forgejo.time.pass_by(600)
    assert forgejo.sync().requests == 8


def test_who_the_token_belongs_to(forgejo):
    found = forge_of(forgejo)[0].fetch_identity()
    assert (found.login, found.name, found.scopes) == ("ana", "Ana", ())


def test_the_last_commit_of_a_branch_and_a_file_on_it(forgejo):
    forgejo.project.branch_times["triage/index"] = "2026-02-01T00:00:00Z"
    forgejo.project.branch_files["main"] = {"docs/read me.md": "hé" * 50}
    forge, project = forge_of(forgejo)
    assert forge.fetch_branch_time(project, "triage/index") == 1_769_904_000_000
    assert forge.fetch_branch_time(project, "none") is None
    assert forge.fetch_text(project, "docs/read me.md", branch="main", max_chars=4) == "héhé"
    assert forge.fetch_text(project, "none.md", branch="main", max_chars=4) is None


def test_when_something_last_happened(forgejo):
    forge, project = forge_of(forgejo)
    assert forge.fetch_newest(project) == type(forge.fetch_newest(project))(None, None)
    number = forgejo.project.add_issue("old", created_at="2026-01-01T00:00:00Z")
    forgejo.project.add_issue("newer", created_at="2026-02-01T00:00:00Z")
    assert forge.fetch_newest(project).updated_at == forge.fetch_newest(project).created_at == 1_769_904_000_000
    forgejo.project.comment(number, "again", at="2026-02-20T00:00:00Z")
    assert forge.fetch_newest(project).updated_at == 1_771_545_600_000


def test_statuses_of_files_are_read_in_their_words():
    rows = [("added", "a"), ("removed", "b"), ("deleted", "c"), ("changed", "d"), ("copied", "e")]
    found = [wire.parse_file(json.dumps({"filename": path, "status": status}).encode()) for status, path in rows]
    assert [file.status for file in found] == ["added", "deleted", "deleted", "modified", "modified"]
    renamed = {"filename": "new.py", "previous_filename": "old.py", "status": "renamed"}
    assert wire.parse_file(json.dumps(renamed).encode()) == File("new.py", "old.py", "renamed")


@pytest.mark.parametrize(("status", "kind"), [(401, AuthError), (403, AuthError), (404, NotFound), (418, ForgeError)])
def test_a_refusal_says_what_to_do(forgejo, status, kind):
    forge, project = forge_of(forgejo)
    forgejo.server.fail(path=r"/issues/1$", status=status, body={"message": "no"})
    with raised(kind) as found:
        forge.fetch_item(project, ItemKey("issue", 1))
    assert found[0].hint
    assert "127.0.0.1" in found[0].message
