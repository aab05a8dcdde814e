"""`me` and `who`: what waits for a person and what they did, after a sync from a forge that runs here."""

import json
import subprocess

import pytest

from forgelore.api import History
from forgelore.app import App
from forgelore.errors import ConfigError, InvalidValue, NotFound
from forgelore.viewer import EVERYTHING, PUBLIC
from support import raised


@pytest.fixture
def history(office):
    return History(office.lab.app)


def refs(items):
    return {(item.kind, item.number) for item in items}


def test_a_review_waits_for_whoever_has_not_given_it(office, history):
    assert refs(history.people.me("cid").reviews) == {("change", office.change)}
    assert history.people.me("ben").reviews == ()


def test_a_review_that_is_asked_for_again_waits_again(office, history):
    office.lab.project.request_review(office.change, "ben", at="2026-03-03T10:00:00Z")
    office.lab.sync()
    assert refs(history.people.me("ben").reviews) == {("change", office.change)}


def test_a_review_of_a_merged_change_waits_for_nobody(office, history):
    office.lab.project.merge(office.change)
    office.lab.sync()
    assert history.people.me("cid").reviews == ()


def test_open_threads_of_ones_changes_wait_and_resolved_ones_do_not(office, history):
    found = history.people.me("ana").threads
    assert [(item.text, item.path) for item in found] == [("and this?", "src/app/cache.py")]
    assert history.people.me("ben").threads == ()


def test_questions_wait_until_they_are_answered(office, history):
    found = history.people.me("dee").questions
    assert found == ()
    office.lab.on_issue("comment", office.issue, "What does `x?` say?", author="ana", at="2026-03-04T10:00:00Z")
    office.lab.on_issue("comment", office.issue, "Merged?", author="renovate[bot]", at="2026-03-04T11:00:00Z")
    office.lab.on_issue("comment", office.issue, "see https://x.io/?a=b", author="ben", at="2026-03-04T11:30:00Z")
    office.lab.sync()
    (asked,) = history.people.me("dee").questions
    assert (asked.by, asked.text) == ("ana", "What does `x?` say?")
    assert asked.url and asked.url.startswith("http")
    office.lab.on_issue("comment", office.issue, "Nothing.", author="Dee", at="2026-03-05T10:00:00Z")
    office.lab.sync()
    assert history.people.me("dee").questions == ()


def test_what_is_asked_in_a_thread_is_told_once_and_not_when_it_is_resolved(office, history):
    assert history.people.me("ana").questions == ()
    later = {"author": "cid", "at": "2026-03-04T10:00:00Z"}
    if office.lab.has_shared_numbers:
        office.lab.project.comment(office.change, "Is this ready?", **later)
    else:
        office.lab.project.comment("change", office.change, "Is this ready?", **later)
    office.lab.sync()
    assert [item.text for item in history.people.me("ana").questions] == ["Is this ready?"]


def test_mentions_are_found_in_any_case_and_say_whether_they_were_answered(office, history):
    found = history.people.me("Ben").mentioned
    assert {(item.kind, item.by) for item in found} == {("issue", "dee"), ("change", "ana")}
    (mention,) = history.people.me("@ANA").mentioned
    assert (mention.by, mention.is_answered) == ("dee", False)
    assert mention.text == "@ana and @BEN: can you reproduce this?"
    office.lab.on_issue("comment", office.issue, "no", author="ana", at="2026-03-04T10:00:00Z")
    office.lab.sync()
    assert [item.is_answered for item in history.people.me("ana").mentioned] == [True]


def test_what_is_assigned_is_listed_until_it_is_closed(office, history):
    office.lab.on_issue("edit", office.issue, assignees=["cid"])
    office.lab.sync()
    assert refs(history.people.me("CID").assigned) == {("issue", office.issue)}
    office.lab.on_issue("close", office.issue)
    office.lab.sync()
    assert history.people.me("cid").assigned == ()


def test_older_things_and_those_beyond_the_limit_are_left_out(office, history):
    assert history.people.me("ben", after="2026-03-02T00:00:00Z").mentioned[0].kind == "issue"
    few = history.people.me("ben", limit=1)
    assert (len(few.mentioned), few.totals["mentioned"]) == (1, 2)
    with raised(InvalidValue):
        history.people.me("ben", limit=0)


def test_who_tells_what_somebody_wrote_reviewed_and_knows(office, history):
    ben = history.people.who("BEN")
    assert (ben.login, ben.counts.changes, ben.counts.reviews) == ("ben", 1, 1)
    assert refs(ben.written) == {("change", office.other)}
    assert refs(ben.reviewed) == {("change", office.change)}
    assert {place.path for place in ben.paths} == {"docs/index.md", "src/app/start.py", "src/app/cache.py"}
    assert [(area.path, area.written, area.reviewed) for area in ben.areas] == [("docs/", 1, 0), ("src/app/", 0, 1)]
    ana = history.people.who("ana")
    assert (ana.counts.resolved, ana.counts.reviews, ana.counts.mentions) == (1, 0, 1)
    assert [(item.path, item.number) for item in ana.resolved] == [("src/app/start.py", office.change)]


def test_an_item_shows_its_reviewers_and_who_resolved_its_threads(office, history):
    shown = history.show("change", str(office.change))
    reviewers = {one.login: (one.verdict, one.is_awaited) for one in shown.reviewers}
    assert reviewers["ben"] == ("approved", False)
    assert reviewers["cid"][1]
    assert "ana" not in reviewers
    assert [thread.resolved_by for thread in shown.threads if thread.is_resolved] == ["ana"]


def test_an_approval_is_the_verdict_until_a_later_one(office, history):
    if office.lab.has_shared_numbers:
        later = office.lab.project.review
        later(office.change, "no", author="ben", state="CHANGES_REQUESTED", at="2026-03-05T10:00:00Z")
        wanted = "changes_requested"
    else:
        office.lab.project.system_note(
            "change", office.change, "unapproved this merge request", author="ben", at="2026-03-05T10:00:00Z"
        )
        wanted = "dismissed"
    office.lab.sync()
    assert history.people.who("ben").counts.verdicts == {wanted: 1}


def test_bots_are_found_without_their_mark(office, history):
    office.lab.on_issue("comment", office.issue, "bump", author="renovate[bot]")
    office.lab.sync()
    assert history.people.who("renovate").login == "renovate[bot]"


@pytest.mark.parametrize("name", ["anna", "@anaa"])
def test_an_unknown_person_gets_a_suggestion(office, history, name):
    with raised(NotFound, says="did you mean 'ana'?"):
        history.people.who(name)


@pytest.mark.parametrize("name", ["'; DROP TABLE items; --", "%", "_", "x" * 5_000, "\x1b[2J", "a\x00b", "ana/team"])
def test_hostile_names_find_nobody(office, history, name):
    for ask in (history.people.who, history.people.me):
        with raised(NotFound, says="unknown person"):
            ask(name)
    with raised(InvalidValue):
        history.people.who("  ")


def test_who_only_gave_a_silent_review_or_is_only_asked_is_known(office, history):
    assert history.people.who("cid").login == "cid"


def test_what_only_members_may_see_is_not_told_to_others(gitlab):
    project = gitlab.project
    secret = project.add_issue("Leak", "@ana look?", author="zoe", confidential=True, assignees=["ana"])
    public = project.add_issue("Plain", author="ana")
    project.comment("issue", public, "@ana is this the leak?", author="zoe", internal=True)
    gitlab.sync()
    mine = History(gitlab.app).people.me("ana")
    assert refs(mine.mentioned) == {("issue", secret), ("issue", public)}
    assert refs(mine.assigned) == {("issue", secret)}
    app = App(gitlab.app.environ, cwd=gitlab.app.cwd, db=gitlab.app.config.db, viewer=PUBLIC)
    gitlab.apps.append(app)
    others = History(app)
    theirs = others.people.me("ana")
    assert set(theirs.totals.values()) == {0}
    with raised(NotFound):
        others.people.who("zoe")


def test_whoever_asks_is_known_by_setting_token_and_git_in_that_order(office, history, tmp_path):
    lab = office.lab
    with raised(ConfigError, says="can't tell who you are", hint="forgelore me --as"):
        history.people.me()
    clone = tmp_path / "clone"
    for words in (["init", "-q", str(clone)], ["-C", str(clone), "config", "user.name", "Ben"]):
        subprocess.run(["git", *words], check=True)
    by_git = history_in(lab, str(clone)).people.me()
    assert (by_git.login, by_git.known_from) == ("ben", "git's user.name")
    subprocess.run(["git", "-C", str(clone), "config", "user.name", "Cid Someone"], check=True)
    subprocess.run(["git", "-C", str(clone), "config", "user.email", "7+cid@users.noreply.github.com"], check=True)
    assert history_in(lab, str(clone)).people.me().login == "cid"
    owner = history.setup.find_token_owner(lab.name_text)
    assert history_in(lab, str(clone)).people.me().known_from == "the token"
    assert history_in(lab, str(clone)).people.me().login == owner.login
    by_setting = history_in(lab, str(clone), FORGELORE_ME="@DEE").people.me()
    assert (by_setting.login, by_setting.known_from) == ("dee", "the settings")
    stranger = history_in(lab, str(clone), FORGELORE_ME="nobody").people.me()
    assert stranger.warnings == ("@nobody (from the settings) has not been seen in this database",)


def test_whose_token_it_is_can_be_told_beside_a_damaged_store(office):
    lab = office.lab
    (lab.folder / "own.db").write_bytes(b"no database" * 500)
    done = lab.command("auth-test", lab.name_text)
    assert done.returncode == 0, done.stderr


def history_in(lab, folder, **more):
    app = App({**lab.app.environ, **more}, cwd=folder, db=lab.app.config.db, viewer=EVERYTHING)
    lab.apps.append(app)
    return History(app)


def test_the_commands_print_and_give_data(office):
    lab = office.lab
    assert lab.command("sync", lab.name_text).returncode == 0
    done = lab.command("me", "--as", "ana")
    assert "open threads on your changes (1)" in done.stdout
    assert "and this?" in done.stdout
    data = json.loads(lab.command("who", "ben", "--json").stdout)["data"]
    assert data["counts"]["reviews"] == 1
    assert "ben" in lab.command("who", "@Ben").stdout
    failed = lab.command("me")
    assert failed.returncode != 0 and "forgelore me --as LOGIN" in failed.stderr


def test_words_of_strangers_cannot_act_on_the_terminal(office):
    lab = office.lab
    lab.on_issue(
        "comment", office.issue, "@ana \x1b[2J\x1b]0;gone\x07 really\u202e?", author="dee", at="2026-03-06T10:00:00Z"
    )
    assert lab.command("sync", lab.name_text).returncode == 0
    out = lab.command("me", "--as", "ana").stdout
    assert "really" in out
    assert not set(out) & {"\x1b", "\x07", "\u202e"}
