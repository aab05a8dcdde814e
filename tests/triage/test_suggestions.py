"""`report: suggestion`: what would be a warning waits for a maintainer's click, and nobody is told anything."""

import pytest
from test_bot import AGAIN, CRASH, EXPORT
from test_learning import labelled  # noqa: F401 - a fixture


def suggested(bot, state="pending"):
    return [one for one in bot.project.suggestions if one["state"] == state]


@pytest.fixture
def asking(bot):
    bot.set(INPUT_REPORT="suggestion")
    bot.first = bot.opened(*CRASH)
    return bot


def test_a_close_match_is_suggested_once_and_no_comment_is_written(asking):
    again = asking.opened(*AGAIN)
    (one,) = suggested(asking)
    original = asking.project.items[asking.first]
    assert (one["action"], one["target_id"], one["confidence"]) == ("close_issue", original.id, "LOW")
    assert one["rationale"] == "Both show: cannot lock /mnt/share/.sync.lock: Operation not supported (forgelore)"
    assert asking.said(again) == []
    assert asking.project.items[again].state == "open"
    asking.happens(again, "edited")
    assert len(asking.project.suggestions) == 1


def test_the_same_text_is_suggested_with_more_confidence(asking):
    asking.opened(*CRASH)
    (one,) = suggested(asking)
    assert (one["rationale"], one["confidence"]) == ("It has the same text. (forgelore)", "HIGH")


def test_when_the_match_is_gone_our_own_suggestion_is_dismissed_and_nobody_elses(asking):
    again = asking.opened(*AGAIN)
    item = asking.project.items[again]
    theirs = {"rationale": "I think so", "confidence": "HIGH"}
    asking.project.suggest(item, "add_label", 7, theirs, by="wes")
    asking.project.edit(again, title="Add a button that empties the trash", body="I would like one click for that.")
    asking.happens(again, "edited")
    assert [one["action"] for one in suggested(asking, "dismissed")] == ["close_issue"]
    assert [one["action"] for one in suggested(asking)] == ["add_label"]
    assert suggested(asking, "approved") == []


def test_what_a_person_suggests_is_neither_replaced_nor_dismissed(asking):
    again = asking.project.add_issue(*AGAIN)
    theirs = {"rationale": "I think so", "confidence": "HIGH"}
    asking.project.suggest(asking.project.items[again], "close_issue", 7, theirs, by="wes")
    asking.happens(again)
    asking.project.edit(again, title="Add a button that empties the trash", body="I would like one click for that.")
    asking.happens(again, "edited")
    assert [one["state"] for one in asking.project.suggestions] == ["pending"]
    assert asking.said(again) == []


def test_look_again_takes_our_suggestion_back_when_the_match_is_gone(asking):
    asking.project.add_collaborator("wes", "push")
    again = asking.opened(*AGAIN)
    asking.project.edit(again, title="Add a button that empties the trash", body="I would like one click for that.")
    comment_id = asking.project.comment(again, "/forgelore look again", author="wes")
    told = {"id": comment_id, "body": "/forgelore look again", "user": {"login": "wes"}, "author_association": "MEMBER"}
    asking.run("issue_comment", {**asking.payload(again, "created"), "comment": told})
    assert [one["state"] for one in asking.project.suggestions] == ["dismissed"]


def test_where_the_forge_refuses_the_comment_says_it_and_the_run_says_why(asking):
    asking.project.has_suggestions = False
    again = asking.opened(*AGAIN)
    assert f"This may be the same as [issue {asking.first}: " in asking.said(again)[0]
    assert any("a comment says what no suggestion could" in note for note in asking.data["notes"])
    assert asking.project.suggestions == []


def test_a_change_gets_the_comment_and_both_are_possible(bot):
    bot.set(INPUT_REPORT="both")
    bot.opened(*CRASH)
    assert len(bot.said(bot.opened(*AGAIN))) == len(suggested(bot)) == 1
    bot.set(INPUT_REPORT="suggestion")
    bot.project.add_change(*EXPORT)
    change = bot.project.add_change(*EXPORT)
    bot.happens(change)
    assert "has the same title and description as" in bot.said(change)[0]
    assert len(bot.project.suggestions) == 1


def test_what_is_only_similar_gets_no_comment_either(asking):
    asking.set(INPUT_DUPLICATE_THRESHOLD="1")
    assert asking.said(asking.opened(*AGAIN)) == []
    assert asking.project.suggestions == []
    assert asking.data["items"][0]["outcome"] == "similar"


def test_labels_can_be_suggested_too(labelled):  # noqa: F811 - the fixture
    labelled.run("schedule", {})
    labelled.set(INPUT_APPLY_LABELS="suggest", INPUT_SIMILARITY_THRESHOLD="0.1")
    number = labelled.opened("button colour theme window problem again", "The font dialog menu icon is wrong.")
    (one,) = suggested(labelled)
    assert (one["action"], one["target_id"]) == ("add_label", labelled.project.label("ui").id)
    assert labelled.project.items[number].labels == []
    assert "ui" not in labelled.said(number)[0].partition("Why")[2].partition("</details>")[0].split("`")


def test_a_word_that_is_no_channel_is_a_warning_and_a_comment(bot):
    bot.set(INPUT_REPORT="shout")
    bot.opened(*CRASH)
    assert len(bot.said(bot.opened(*AGAIN))) == 1
    assert "report must be comment, suggestion, both, digest or summary" in bot.log
