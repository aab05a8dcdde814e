"""A comment belongs to the item with its number: issues and changes are counted together on GitHub, and the address of
a comment's page says nothing that must be believed.
"""

import json

import pytest

from servers.base import Response

ODD = {
    "an issue's": "https://github.com/acme/web/issues/{number}#issuecomment-{id}",
    "a change's": "https://github.com/acme/web/pull/{number}#issuecomment-{id}",
    "another host's": "https://mirror.example/x/acme/web/-/notes/{id}",
    "broken": "http://[::1",
    "none": None,
}


def readdress(lab, form):
    """Give every plain comment the address `form`, wherever it is shown."""
    handle = lab.server.handle

    def odd(request):
        response = handle(request)
        if response.status == 200 and request.path.endswith("/comments") and "/issues/" in request.path:
            rows = json.loads(response.payload())
            for row in rows:
                number = row["issue_url"].rpartition("/")[2]
                row["html_url"] = form and form.format(number=number, id=row["id"])
            response.body = rows
        return response

    lab.server.handle = odd
    lab.server.fail(path=r"/issues/.*comments")  # changes nothing: it says that these answers are not a forge's own


def places(lab, app=None):
    """Where each plain comment is stored."""
    rows = (
        (app or lab.app)
        .store()
        .rows(
            "SELECT n.body, i.kind, i.number FROM notes n JOIN items i ON i.id = n.item_id"
            " JOIN threads t ON t.id = n.thread_id WHERE t.key = 'comments' ORDER BY n.body"
        )
    )
    return {body: (kind, number) for body, kind, number in rows}


def talk(lab):
    issue, change = lab.project.add_issue("bug"), lab.project.add_change("fix", "")
    for number, text in ((issue, "on the issue"), (change, "on the change"), (change, "again on the change")):
        lab.project.comment(number, text)
    return {"on the issue": ("issue", issue), "on the change": ("change", change)} | {
        "again on the change": ("change", change)
    }


@pytest.mark.parametrize("form", ODD.values(), ids=list(ODD))
def test_a_comment_is_saved_at_the_item_with_its_number(github, form):
    github.populate()
    expected = talk(github)
    readdress(github, form)
    result = github.sync()
    assert result.warnings == []
    assert expected.items() <= places(github).items()
    twice = "SELECT number FROM items WHERE kind IN ('issue', 'change') GROUP BY number HAVING count(*) > 1"
    assert github.rows(twice) == []
    asked_for = [path for path in github.server.paths() if path.endswith("/comments")]
    assert asked_for == [], "the stream brought all of them"
    github.time.pass_by(600)
    for number in {number for _, number in expected.values()}:
        github.project.comment(number, f"later on {number}")
    github.sync()
    github.assert_same()


@pytest.mark.parametrize("kind", ["issue", "change"])
@pytest.mark.parametrize("form", ODD.values(), ids=list(ODD))
def test_an_item_that_nobody_knows_yet_is_fetched_with_its_comments(github, form, kind):
    """It was made, and talked of, after the list was read."""
    github.populate()
    readdress(github, form)

    def meanwhile():
        number = github.project.add_issue("late") if kind == "issue" else github.project.add_change("late", "")
        github.project.comment(number, "at once")
        if kind == "change":
            github.project.review_comment(number, "on a line", path="a.py", line=1)

    github.on_request(r"/labels", meanwhile)
    github.sync()
    assert places(github)["at once"][0] == kind
    github.assert_same()
    assert github.value("SELECT count(*) FROM jobs WHERE kind <> 'document'") == 0


def test_comments_on_changes_are_kept_while_issues_are_switched_off(github):
    github.populate()
    expected = talk(github)
    github.project.has_issues = False
    readdress(github, ODD["an issue's"])
    github.sync()
    kept = {text: place for text, place in expected.items() if place[0] == "change"}
    assert kept.items() <= places(github).items()


def test_an_issue_that_an_older_program_made_of_a_change_is_buried(github):
    """It believed the address, fetched `/issues/N`, and stored a change a second time, as an issue."""
    github.populate()
    expected = talk(github)
    github.sync()
    number = expected["on the change"][1]
    github.rows(
        "INSERT INTO items (project_id, kind, number, title, content_hash, row_hash)"
        " SELECT project_id, 'issue', number, title, content_hash, x'00' FROM items WHERE kind = 'change' AND number = ?",
        number,
    )
    github.time.pass_by(3600)
    github.project.comment(number, "one more")
    result = github.sync()
    assert result.deleted == 1
    assert github.deleted() == {("issue", number)}
    assert places(github)["one more"] == ("change", number)
    github.assert_same()


def test_a_comment_of_an_item_that_nobody_shows_is_let_go(github):
    """Hidden items' comments are streamed too; the number is asked for once."""
    number = github.project.add_issue("hidden")
    github.project.comment(number, "visible")
    handle = github.server.handle
    hidden = {f"/repos/acme/web/issues/{number}": Response(404, {"message": "Not Found"})}
    hidden |= {"/repos/acme/web/issues": Response(200, [])}
    github.server.handle = lambda request: hidden.get(request.path) or handle(request)
    assert github.sync().requests < 25
    assert github.value("SELECT count(*) FROM jobs WHERE kind <> 'document'") == 0
