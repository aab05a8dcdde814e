"""`/forgelore ...` in a comment: people with write access steer the bot, and it answers by a reaction alone."""

import json

import pytest
from test_bot import AGAIN, CRASH, THEME

from forgelore.triage.events import Command, parse_github_event, parse_gitlab_event
from forgelore.triage.steering import Order, parse_order


@pytest.mark.parametrize(
    ("words", "order"),
    [
        ("not-duplicate", Order("not-duplicate")), ("not-duplicate #12", Order("not-duplicate", 12)),
        ("Duplicate  !12 ", Order("duplicate", 12)), ("look again", Order("look again")), ("IGNORE", Order("ignore")),
        ("duplicate", None), ("ignore #3", None), ("look", None), ("", None), ("not-duplicate #1; rm", None),
    ],
)  # fmt: skip
def test_a_command_is_one_of_four(words, order):
    assert parse_order(words) == order


@pytest.fixture
def steered(bot):
    """A report that was told of another; `say` is a comment on it, with its event."""
    bot.project.add_collaborator("wes", "push")
    bot.first = bot.opened(*CRASH)
    bot.again = bot.opened(*AGAIN)
    assert bot.said(bot.again)

    def say(words, author="wes", role="COLLABORATOR", action="created"):
        bot.server.clock.advance(60)
        comment_id = bot.project.comment(bot.again, words, author=author)
        payload = bot.payload(bot.again, action)
        told = {"id": comment_id, "body": words, "user": {"login": author}, "author_association": role}
        bot.run("issue_comment", {**payload, "comment": told})
        return [content for number, content, _ in bot.project.reactions if number == comment_id]

    bot.say = say
    return bot


def test_what_is_no_duplicate_is_never_named_there_again(steered):
    assert steered.say(f"/forgelore not-duplicate #{steered.first}") == ["+1"]
    assert steered.said(steered.again) == []
    steered.project.edit(steered.again, title=AGAIN[0] + "!")
    steered.happens(steered.again, "edited")
    assert steered.said(steered.again) == []


def test_without_a_number_it_is_all_that_the_comment_names(steered):
    assert steered.say("/forgelore not-duplicate\nThat one is about Windows.") == ["+1"]
    assert steered.said(steered.again) == []


def test_look_again_forgets_what_was_said_and_brings_a_removed_comment_back(steered):
    steered.say("/forgelore not-duplicate")
    assert steered.say("/forgelore look again") == ["+1"]
    assert f"issue {steered.first}" in steered.said(steered.again)[0]
    steered.project.delete_comment(
        next(one.id for one in steered.project.items[steered.again].comments if one.author == "github-actions[bot]")
    )
    steered.happens(steered.again, "edited")
    assert steered.said(steered.again) == []
    steered.say("/forgelore look again")
    assert len(steered.said(steered.again)) == 1


def test_ignore_takes_the_comment_back_for_good(steered):
    assert steered.say("/forgelore ignore") == ["+1"]
    steered.project.edit(steered.again, title=CRASH[0], body=CRASH[1])
    steered.happens(steered.again, "edited")
    assert steered.said(steered.again) == []


def test_duplicate_closes_it_as_that(steered):
    assert steered.say(f"/forgelore duplicate #{steered.first}") == ["+1"]
    item = steered.project.items[steered.again]
    assert (item.state, item.duplicate_of) == ("closed", steered.project.items[steered.first])


@pytest.mark.parametrize(
    "words", ["/forgelore", "/forgelore make coffee", "/forgelore duplicate", "/forgelore duplicate #999"]
)
def test_what_makes_no_sense_gets_a_confused_face_and_nothing_happens(steered, words):
    before = steered.said(steered.again)
    assert steered.say(words) == ["confused"]
    assert steered.said(steered.again) == before
    assert steered.project.items[steered.again].state == "open"


@pytest.mark.parametrize("role", ["NONE", "CONTRIBUTOR", "MEMBER", "COLLABORATOR"])
def test_anybody_else_is_ignored_and_not_told(steered, role):
    """Whatever the payload calls them: a member of the organisation may be a reader of the repository."""
    before = steered.said(steered.again)
    assert steered.say("/forgelore ignore", author="mallory", role=role) == []
    assert (steered.said(steered.again), steered.project.items[steered.again].state) == (before, "open")


def test_other_comments_cost_no_request(steered):
    for words, action in (
        ("I see this too", "created"),
        ("see /forgelore ignore", "created"),
        ("/forgelore ignore", "edited"),
    ):
        since = len(steered.server.requests)
        assert steered.say(words, action=action) == []
        assert len(steered.server.requests) == since
    assert len(steered.said(steered.again)) == 1


def test_items_by_people_with_write_access_get_no_comment_unless_it_is_wanted(steered):
    number = steered.opened(*CRASH, author="wes")
    assert steered.said(number) == []
    assert steered.data["items"][0]["reason"] == "a maintainer wrote it"
    steered.set(INPUT_COMMENT_ON_MAINTAINERS="true")
    steered.happens(number, "edited")
    assert len(steered.said(number)) == 1


def test_commands_are_read_on_gitlab_too():
    hook = {
        "object_kind": "note", "user": {"username": "wes"}, "merge_request": {"iid": 7},
        "object_attributes": {"id": 5, "note": "/forgelore ignore", "noteable_type": "MergeRequest", "action": "create"},
    }  # fmt: skip
    event = parse_gitlab_event({}, json.dumps(hook).encode(), "g/p")
    assert (event.task, event.item.key, event.command) == ("command", ("change", 7), Command("ignore", 5, "wes"))
    hook["object_attributes"]["note"] = "thanks"
    assert parse_gitlab_event({}, json.dumps(hook).encode(), "g/p").task == "ignore"
    assert parse_github_event("issue_comment", b"[]", "a/b").task == "ignore"


def test_a_theme_is_not_steered_by_a_word_in_its_text(bot):
    number = bot.opened(THEME[0], "/forgelore ignore\n\n" + THEME[1])
    assert bot.project.reactions == []
    assert bot.data["items"][0]["number"] == number
