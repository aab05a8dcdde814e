"""Reviewers, requests, mentions and resolutions as rows: from a sync, and from stored payloads alone."""

from forgelore.store.projects import list_projects
from forgelore.store.sqlite.schema import open_store
from forgelore.sync.replay import replay_project
from old_stores import forget_migrations
from people.office import Office
from support import ForgejoLab


def test_who_is_asked_for_a_review_is_known(office):
    assert {login for number, login, _ in office.people("requested") if number == office.change_key} >= {"cid"}


def test_verdicts_are_known_with_and_without_words(office):
    assert (office.change_key, "ben", "approved") in office.people("reviewed")
    assert "dee" not in {login for number, login, _ in office.people("reviewed") if number == office.issue_key}


def test_people_are_mentioned_as_they_were_spelled(office):
    called = {(number, login) for number, login, _ in office.people("mentioned")}
    assert {(office.change_key, "Ben"), (office.issue_key, "ana"), (office.issue_key, "BEN")} <= called
    assert {login for _, login in called}.isdisjoint({"property", "example.com"})


def test_a_resolved_thread_says_by_whom(office):
    resolved = office.lab.rows("SELECT resolved_by, resolved_at IS NOT NULL FROM threads WHERE is_resolved")
    knows_when = not office.lab.has_shared_numbers  # no other forge tells
    assert resolved == [("ana", int(knows_when))]
    assert not office.lab.rows("SELECT 1 FROM threads WHERE NOT is_resolved AND resolved_by IS NOT NULL")


def test_notes_on_lines_have_a_position_and_their_own_resolution(office):
    found = office.lab.rows("SELECT position_type FROM notes WHERE path IS NOT NULL")
    assert set(found) == {("text",)}
    if office.lab.name_text.startswith("gitlab"):
        sql = "SELECT is_resolvable, is_resolved, resolved_by FROM notes WHERE path = 'src/app/start.py'"
        assert office.lab.rows(sql) == [(1, 1, "ana")]


def test_a_replay_finds_nothing_to_mend(office):
    before = office.everything()
    done = replay(office)
    assert (done.restored, done.incomplete) == ([], [])
    assert office.everything() == before


def test_what_was_tampered_with_is_as_before(office):
    before, store = office.everything(), office.lab.app.store()
    store.run("DELETE FROM item_people WHERE role = 'mentioned'")
    store.run("UPDATE item_people SET login = 'eve', verdict = 'dismissed' WHERE source <> 'review'")
    store.run("UPDATE threads SET resolved_by = 'eve', resolved_at = 5 WHERE is_resolvable")
    store.run("UPDATE notes SET position_type = 'image', is_resolved = 1, resolved_by = 'eve', resolved_at = 5")
    assert office.everything() != before
    replay(office)
    assert office.everything() == before


def test_an_older_store_is_filled_by_replay_without_a_request(office):
    before, requests = office.everything(), len(office.lab.server.requests)
    forget_migrations(office.lab.app.store().run, after=16)
    office.lab.app.close()
    office.lab.app = office.lab.new_app(db=office.lab.app.config.db)
    assert office.lab.value("SELECT count(*) FROM item_people") == 0
    assert office.lab.value("SELECT count(*) FROM jobs WHERE kind = 'replay'") == 3
    replay(office)
    assert office.everything() == before
    assert len(office.lab.server.requests) == requests


def test_a_sync_fills_an_older_store_and_asks_github_for_requests_once(github):
    office = Office(github)
    before = office.everything()
    forget_migrations(github.app.store().run, after=16)
    github.app.close()
    github.app = github.new_app(db=github.app.config.db)
    asked = len(github.graphql_requests("Changes"))
    github.sync()
    assert office.everything() == before
    assert len(github.graphql_requests("Changes")) == asked + 2, "changes with review threads, and those without"
    github.sync()
    assert len(github.graphql_requests("Changes")) == asked + 2


def test_commands_say_that_columns_wait_until_they_are_filled(office):
    lab = office.lab
    assert lab.command("sync", lab.name_text).returncode == 0
    store = open_store(str(lab.folder / "own.db"))
    forget_migrations(store.run, after=16)
    store.close()
    waiting = lab.command("who", "ben")
    assert "3 items need to be read again after an upgrade; run: forgelore replay" in waiting.stderr
    assert "reviews" not in waiting.stdout
    assert lab.command("replay").returncode == 0
    filled = lab.command("who", "ben")
    assert filled.stderr == ""
    is_told = not isinstance(lab, ForgejoLab)  # its reviews without words are in no payload that was kept
    assert ("reviewed (1)" in filled.stdout) == is_told
    assert "2 items with a mention" in filled.stdout


def test_an_update_replaces_what_was_said(office):
    lab = office.lab
    lab.on_issue("edit", office.issue, body="now @eve's")
    lab.sync()
    called = {login for number, login, _ in office.people("mentioned") if number == office.issue_key}
    assert "eve" in called
    lab.on_issue("edit", office.issue, body="nobody's")
    lab.sync()
    assert "eve" not in {login for _, login, _ in office.people("mentioned")}


def test_what_is_gone_takes_its_people_along(office):
    store = office.lab.app.store()
    store.run("DELETE FROM items WHERE number = ? AND kind = 'change'", office.change)
    assert not [one for one in office.people("requested") if one[0] == office.change_key]


def replay(office):
    store = office.lab.app.store()
    project = list_projects(store)[0]
    return replay_project(store, office.lab.app.payload_reader(project.name), project)
