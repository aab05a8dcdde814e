"""Who a text calls by @name, and who it does not."""

import pytest

from forgelore.model import Note
from forgelore.profiles import PROFILES
from forgelore.text.links import MAX, mentions_in_text, people_in_note
from growth import assert_grows_slowly


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("@ana can you look?", ["ana"]),
        ("cc @Ana, @ben-o; and @c_d.e.", ["Ana", "ben-o", "c_d.e"]),
        ("(@ana) **@ben** [@cid](x) cc:@dan", ["ana", "ben", "cid", "dan"]),
        ("@ana and @ANA", ["ana"]),
        ("mail ana@example.com or <ben@host>", []),
        ("https://medium.com/@ana/post and git@github.com:x/y", []),
        ("npm i @angular/core and @types/node", []),
        ("ask @acme/maintainers", ["acme/maintainers"]),
        ("ask @ACME/web-team.", ["ACME/web-team"]),
        ("see `@property` and ``@ana``", []),
        ("```py\n@pytest.fixture\n@ana\n```\n@ben", ["ben"]),
        ("~~~\n@ana\n~~~", []),
        ("```\n@ana never closed", []),
        ("<!-- cc @ana -->\n@ben <!-- @cid", ["ben"]),
        ("> @ana wrote that\n@ben disagrees", ["ben"]),
        ("a > @ana", ["ana"]),
        ("@ana@example.social", []),
        ("@@ -1,2 +1,2 @@ hunk", []),
        ("\\@ana escaped, @ alone, @-x, @.", []),
        ("@" + "a" * 500, []),
        ("@ana/", []),
        ("日本@ana", []),
        ("日本 @ana さん", ["ana"]),
        ("@ana\x00@ben", ["ana", "ben"]),
        (None, []),
    ],
)
def test_people_are_called_outside_code_and_addresses(text, called):
    assert mentions_in_text(text, "Acme") == called


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("a laptop @4.20ghz and @3.2.1", []),
        ("@ana-b, @Ben2. @4get", ["ana-b", "Ben2", "4get"]),
        ("@-ana @ana--b @ana_", []),
        ("@ana_corp is managed by a company", ["ana_corp"]),
        ("@" + "a" * 39 + " @" + "b" * 40, ["a" * 39]),
        ("ask @acme/web.team", ["acme/web.team"]),
    ],
)
def test_on_github_only_what_may_be_a_login_is_a_person(text, called):
    assert mentions_in_text(text, "acme", PROFILES["github"].logins) == called


def test_on_gitlab_names_have_dots():
    assert mentions_in_text("@4.20ghz", "acme", PROFILES["gitlab"].logins) == ["4.20ghz"]


def test_a_sync_of_github_keeps_no_mention_of_nobody(github):
    number = github.project.add_issue("Slow", "on a laptop @4.20ghz, says @ben")
    github.project.comment(number, "@3.2.1 is fast, @cid")
    github.sync()
    names = github.rows("SELECT login FROM item_people WHERE role = 'mentioned' ORDER BY 1")
    assert names == [("ben",), ("cid",)]


def test_a_text_that_lists_everybody_stops_somewhere_and_soon():
    text = " ".join(f"@user{n}" for n in range(5_000)) + "`" * 20_000 + "@" * 50_000
    assert len(mentions_in_text(text, "acme")) == MAX


@pytest.mark.parametrize("unit", ["`", "@", "@a/", "<!--", "@ana `"])
def test_many_marks_are_read_without_quadratic_cost(unit):
    assert_grows_slowly(lambda text: mentions_in_text(text, "a"), lambda size: unit * (size // len(unit)))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("approved this merge request", [("ben", "reviewed", "approved")]),
        ("unapproved this merge request", [("ben", "reviewed", "dismissed")]),
        ("requested changes", [("ben", "reviewed", "changes_requested")]),
        ("requested review from @ana and @cid", [("ana", "requested", None), ("cid", "requested", None)]),
        ("requested review from @ana and removed review request for @cid", [("ana", "requested", None)]),
        ("assigned to @ana", []),
        ("mentioned in issue #3", []),
    ],
)
def test_system_notes_tell_requests_and_verdicts(body, said):
    found = people_in_note(Note("1", "ben", body, is_system=True))
    assert [(one.login, one.role, one.verdict) for one in found] == said


def test_only_the_forge_writes_system_notes():
    assert people_in_note(Note("1", "eve", "approved this merge request")) == []
    mentioned = people_in_note(Note("1", "eve", "requested review from @ana"))
    assert [one.role for one in mentioned] == ["mentioned"]
