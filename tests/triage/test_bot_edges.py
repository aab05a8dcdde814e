"""Where a bot goes wrong quietly: what it must not say, what it must not lose, what it must not repeat."""

import json

import pytest
from test_bot import AGAIN, CRASH, EXPORT, THEME

from forgelore.api import bot as bot_api
from forgelore.errors import StoreError
from servers.github import Token

OTHER = ("Add a button that empties the trash", "I would like one click for that.")
RIGHTS = {"issues": "write", "pull_requests": "write", "contents": "write"}


def test_a_sibling_that_becomes_private_is_neither_named_nor_kept(bot):
    other = bot.server.add_project("acme/other")
    other.add_issue(*CRASH)
    bot.set(INPUT_ALSO="acme/other")
    bot.opened(*THEME)
    assert b"network drive" in bot.index_bytes()
    other.private = True
    number = bot.opened(*AGAIN)
    assert bot.said(number) == []
    assert not bot.index("SELECT 1 FROM items WHERE title LIKE 'The desktop%'")


def test_an_item_of_a_sibling_is_related_and_not_a_duplicate(bot):
    bot.server.add_project("acme/other").add_issue(*CRASH)
    bot.set(INPUT_ALSO="acme/other")
    number = bot.opened(*AGAIN)
    assert "Related" in bot.said(number)[0]
    assert "acme/other" in bot.said(number)[0].replace("\u200b", "")
    assert bot.data["items"][0]["outcome"] == "similar"


def test_a_sibling_that_is_not_shown_costs_the_own_project_nothing(bot):
    bot.server.add_project("acme/other")
    bot.project.add_issue(*CRASH)
    bot.set(INPUT_ALSO="acme/other")
    bot.server.fail(method="GET", path="/acme/other", status=404, times=100)
    number = bot.opened(*AGAIN)
    assert len(bot.said(number)) == 1


def test_a_branch_that_somebody_else_made_is_left_alone(bot):
    blob = bot.git.git("acme/web.git", "hash-object", "-w", "--stdin", feed="<h1>site</h1>")
    tree = bot.git.git("acme/web.git", "mktree", feed=f"100644 blob {blob}\tindex.html\n")
    commit = bot.git.git("acme/web.git", "commit-tree", tree, "-m", "site")
    bot.git.git("acme/web.git", "update-ref", "refs/heads/gh-pages", commit)
    bot.set(INPUT_INDEX_BRANCH="gh-pages")
    bot.is_red = True
    bot.opened(*CRASH)
    assert bot.git.git("acme/web.git", "rev-parse", "gh-pages") == commit
    assert "something other than an index" in bot.data["problems"][0]


def test_a_disk_that_is_full_does_not_cost_the_index(bot, monkeypatch):
    bot.opened(*CRASH)
    before = bot.branch()

    def full(path, **_how):
        raise StoreError(f"no space left for {path}", hint="free some disk space")

    with monkeypatch.context() as broken:
        broken.setattr(bot_api, "open_store", full)
        bot.opened(*THEME)
    assert "no space left" in bot.data["problems"][0]
    assert bot.branch() == before


def test_an_index_that_a_newer_program_packed_is_left_alone(bot):
    bot.opened(*CRASH)
    data = bytearray(bot.file("index.head"))
    data[9] = 3
    bot.spoil("index.head", bytes(data))
    before = bot.branch()
    bot.is_red = True
    bot.opened(*THEME)
    assert bot.branch() == before


def test_an_edit_whose_event_never_came_is_caught_up(bot):
    bot.opened(*CRASH)
    again = bot.opened(*AGAIN)
    assert bot.said(again)
    bot.server.clock.advance(600)
    bot.project.edit(again, title=OTHER[0], body=OTHER[1])
    bot.run("schedule", {})
    assert bot.said(again) == []


def test_a_comment_that_could_not_be_posted_is_posted_by_the_next_run(bot):
    bot.opened(*CRASH)
    rule = bot.server.fail(method="POST", path=r"/issues/\d+/comments", status=502)
    again = bot.opened(*AGAIN)
    assert bot.data["problems"]
    bot.server.faults.remove(rule)
    bot.run("schedule", {})
    assert len(bot.said(again)) == 1


def test_a_bot_started_by_hand_catches_up_on_what_came_after(bot):
    bot.project.add_issue(*CRASH)
    bot.server.clock.advance(3600)
    bot.run("workflow_dispatch", {})
    assert bot.data["items"] == []
    bot.server.clock.advance(3600)
    missed = bot.project.add_issue(*AGAIN)
    bot.server.clock.advance(3600)
    bot.opened(*THEME)
    assert len(bot.said(missed)) == 1


def test_the_token_of_an_app_knows_its_own_comments(bot):
    bot.server.tokens["t0ken-app"] = Token("my-app[bot]", kind="integration", permissions=RIGHTS)
    bot.git.token = "t0ken-app"
    bot.set(GITHUB_TOKEN="t0ken-app")
    bot.opened(*CRASH)
    again = bot.opened(*AGAIN)
    assert len(bot.project.items[again].comments) == 1
    bot.project.edit(again, title=OTHER[0], body=OTHER[1])
    bot.happens(again, "edited")
    assert bot.project.items[again].comments == []


@pytest.mark.parametrize("reference", ["acme/web#1", "https://github.com/acme/web/issues/1", "#1"])
def test_whatever_way_the_author_names_an_item_it_is_not_repeated(bot, reference):
    bot.opened(*CRASH)
    again = bot.opened(AGAIN[0], f"{AGAIN[1]}\nPerhaps the same as {reference} ?")
    assert bot.said(again) == []


def test_a_closed_item_gets_no_new_comment(bot):
    bot.opened(*CRASH)
    number = bot.project.add_issue(*AGAIN)
    bot.project.close(number, reason="not_planned")
    bot.happens(number, "edited")
    assert bot.said(number) == []


def test_outputs_speak_of_the_events_own_item(bot):
    first = bot.opened(*CRASH)
    bot.server.clock.advance(60)
    missed = bot.project.add_issue(*AGAIN)
    bot.project.close(first, reason="not_planned")
    bot.happens(first, "closed")
    assert bot.said(missed)
    assert "duplicate-of=\n" in bot.outputs.read_text()


def test_a_regression_is_no_duplicate_to_the_steps_that_follow(bot):
    first = bot.opened(*CRASH)
    bot.project.merge(bot.project.add_change("Lock another file on network drives", f"Fixes #{first}"))
    bot.server.clock.advance(3600)
    bot.opened(*AGAIN)
    assert bot.data["items"][0]["outcome"] == "regression"
    assert "duplicate-of=\n" in bot.outputs.read_text()


def test_what_a_person_removed_stays_removed_after_a_silent_time(bot):
    bot.opened(*CRASH)
    again = bot.opened(*AGAIN)
    bot.project.delete_comment(bot.project.items[again].comments[0].id)
    for text in (OTHER, AGAIN):
        bot.project.edit(again, title=text[0], body=text[1])
        bot.happens(again, "edited")
        assert bot.said(again) == []


def test_a_comment_that_names_a_deleted_item_is_taken_back(bot):
    first = bot.opened(*CRASH)
    again = bot.opened(*AGAIN)
    payload = bot.payload(first, "deleted")
    bot.project.delete(first)
    bot.run("issues", payload)
    assert bot.said(again) == []


def test_a_race_with_the_deletion_of_an_item_does_not_bring_it_back(bot, monkeypatch):
    """While this run works on an item, it is deleted, and another runner has taken it out of the index already."""
    bot.opened(*THEME)
    number = bot.project.add_issue(*CRASH)
    payload, gone = bot.payload(number, "opened"), bot.payload(number, "deleted")
    from forgelore.triage import index as bot_index

    split, raced = bot_index.split, []

    def splitting(path_in, folder, **how):
        if not raced:
            raced.append(True)
            bot.project.delete(number)
            ((code, output),) = bot.run_side_by_side([("issues", gone)])
            assert code == 0, output
        return split(path_in, folder, **how)

    monkeypatch.setattr(bot_index, "split", splitting)
    bot.run("issues", payload)
    assert bot.data["is_pushed"]
    assert {n for (n,) in bot.index("SELECT number FROM items")} == {1}


def test_a_pull_that_fails_after_a_race_is_told_beside_what_was_done(bot):
    """The other runner's index cannot be fetched: the comment stands, the index is left to the next run."""
    bot.opened(*CRASH)
    before_push = bot.git.before_push

    def lose_the_race_and_go_down(path):
        bot.git.race_at = bot.git.pushes + 1
        before_push(path)
        bot.git.status = 403

    bot.git.before_push = lose_the_race_and_go_down
    bot.is_red = True
    again = bot.opened(*AGAIN)
    assert bot.said(again)
    assert bot.data["items"][0]["comment"] == "created"
    assert bot.data["problems"]
    assert not bot.data["is_pushed"]


def test_the_reader_says_nothing_of_items_that_it_caught_up_on(bot, tmp_path):
    bot.opened(*CRASH)
    bot.server.clock.advance(60)
    missed = bot.project.add_issue(*AGAIN)
    path = tmp_path / "decision.json"
    bot.run("schedule", {}, "--emit", str(path))
    assert not path.exists()
    assert bot.said(missed) == []
    bot.run("schedule", {})
    assert len(bot.said(missed)) == 1


def test_a_writer_posts_what_the_judgement_confirms_and_no_more(bot, tmp_path):
    first = bot.opened(*CRASH)
    again = bot.project.add_issue(*AGAIN)
    path = tmp_path / "decision.json"
    bot.happens(again, "opened", "--emit", str(path))
    decision = json.loads(path.read_text())
    assert (decision["number"], decision["duplicate_of"]) == (again, first)
    path.write_text(json.dumps({**decision, "similar": [], "duplicate_of": None}))
    bot.happens(again, "opened", "--apply", str(path))
    assert bot.said(again) == []
    path.write_text(json.dumps(decision))
    bot.happens(again, "edited", "--apply", str(path))
    assert f"issue {first}" in bot.said(again)[0]


@pytest.mark.parametrize(
    "change", [{"number": 999}, {"kind": "change"}, {"project": "acme/other"}, {"extra": 1}, {"version": 2}]
)
def test_a_judgement_of_something_else_is_not_applied(bot, tmp_path, change):
    bot.opened(*CRASH)
    again = bot.project.add_issue(*AGAIN)
    path = tmp_path / "decision.json"
    path.write_text(json.dumps({
        "version": 1, "project": "acme/web", "kind": "issue", "number": again, "similar": [1], **change,
    }))  # fmt: skip
    bot.happens(again, "opened", "--apply", str(path))
    assert "judgement" in bot.data["problems"][0]
    assert bot.said(again) == []


@pytest.mark.parametrize("name", ["GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"])
def test_a_page_that_cannot_be_written_does_not_undo_what_was_done(bot, name):
    bot.opened(*CRASH)
    attribute = {"GITHUB_STEP_SUMMARY": "summary", "GITHUB_OUTPUT": "outputs"}[name]
    setattr(bot, attribute, bot.tmp_path / "nowhere" / "file")
    bot.set(**{name: str(getattr(bot, attribute))})
    again = bot.opened(*AGAIN)
    assert bot.said(again)
    assert bot.data["problems"] == []


def test_a_runner_without_a_folder_of_its_own_uses_the_systems(bot):
    bot.set(RUNNER_TEMP="/proc")
    bot.opened(*CRASH)
    assert bot.data["is_pushed"]


@pytest.mark.parametrize(
    "health",
    [
        '{"runs": [], "last_success": Infinity, "failing_since": null, "known": 0, "total": 0}',
        '{"runs": [], "last_success": 1, "failing_since": -99999999999999999999999, "known": 0, "total": 0}',
        '{"runs": [{"at": -9999999999999999999, "event": "x", "problem": "y"}], "last_success": 1}',
    ],
)
def test_a_record_that_somebody_spoiled_stops_nothing(bot, health):
    bot.opened(*CRASH)
    bot.spoil("health.json", health.encode())
    bot.opened(*THEME)
    assert bot.data["is_pushed"]


def test_no_right_to_read_issues_is_a_problem_and_not_a_note(bot):
    bot.server.tokens[bot.token].permissions = {"contents": "write", "pull_requests": "write"}
    bot.project.private = True
    bot.run("schedule", {})
    assert bot.data["problems"]


def test_a_locked_conversation_is_no_failure_of_the_bot(bot):
    bot.opened(*CRASH)
    again = bot.project.add_issue(*AGAIN, locked=True)
    bot.happens(again)
    assert bot.data["problems"] == []
    assert any("locked" in note for note in bot.data["notes"])


def test_an_ordinary_event_makes_five_requests(bot):
    bot.opened(*CRASH)
    before = len(bot.server.paths())
    bot.opened(*EXPORT)
    assert len(bot.server.paths()) - before == 4
    before = len(bot.server.paths())
    bot.opened(*AGAIN)
    assert len(bot.server.paths()) - before == 5


def test_a_form_that_nobody_filled_in_is_not_a_duplicate_of_the_others(bot):
    form = "**Describe the solution you'd like**\n<!-- clear and concise -->\n\n**Describe alternatives you've considered**\n"
    for _ in range(4):
        number = bot.opened("Feature request for you", form)
        bot.server.clock.advance(3600)
    assert bot.said(number) == []
    assert bot.data["items"][0]["reason"] == "its template was not filled in"
