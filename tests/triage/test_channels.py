"""Where a match is said: each band has its own channel, and labels and paths their own thresholds."""

import pytest
from test_bot import AGAIN, CRASH, EXPORT, THEME
from test_rivals import add, fill, tell

from forgelore.triage.events import parse_inputs

SCHEDULE = ("schedule", {"schedule": "0 4 * * 1"})
DAY = 86_400


@pytest.fixture
def weekly(bot):
    """A project whose close matches and lists are for the weekly digest, below an issue of its own."""
    bot.place = bot.project.add_issue("Digest of similar issues", "The bot writes here.", author=bot.project.owner)
    bot.set(INPUT_REPORT="digest", INPUT_DIGEST_ISSUE=str(bot.place))
    bot.first = bot.opened(*CRASH)
    bot.server.clock.advance(60)
    return bot


def test_a_digest_says_once_a_week_what_no_comment_said(weekly):
    again = weekly.opened(*AGAIN)
    assert weekly.said(again) == []
    assert "it is for the weekly digest" in weekly.summary.read_text()
    weekly.run(*SCHEDULE)
    (digest,) = weekly.said(weekly.place)
    assert "**May be the same, found this week:**" in digest
    assert f"- [issue {again}: " in digest
    assert f"→ [issue {weekly.first}: " in digest
    weekly.server.clock.advance(DAY)
    third = weekly.opened(*AGAIN)
    weekly.run(*SCHEDULE)
    assert len(weekly.said(weekly.place)) == 1, "a week is not over"
    weekly.server.clock.advance(6 * DAY + 60)
    weekly.run(*SCHEDULE)
    assert len(weekly.said(weekly.place)) == 2
    later = weekly.said(weekly.place)[1]
    assert f"- [issue {third}: " in later
    assert f"- [issue {again}: " not in later


def test_nobody_is_told_of_what_was_closed_since(weekly):
    closed = weekly.opened(*AGAIN)
    weekly.project.close(closed, reason="completed", by=weekly.project.owner)
    weekly.happens(closed, "closed")
    weekly.run(*SCHEDULE)
    assert weekly.said(weekly.place) == []


def test_a_digest_notifies_nobody_and_leaves_no_trace_on_the_pages_it_names(weekly):
    again = weekly.opened("@octocat /close #1 " + AGAIN[0], AGAIN[1])
    weekly.run(*SCHEDULE)
    (digest,) = weekly.said(weekly.place)
    assert f"issue {again}: " in digest
    assert "@octocat" not in digest
    assert "#1" not in digest
    assert "https://redirect.github.com/" in digest
    assert "https://github.com/" not in digest


def test_looking_again_at_the_issue_of_the_digest_keeps_every_digest(weekly):
    weekly.opened(*AGAIN)
    weekly.run(*SCHEDULE)
    weekly.happens(weekly.place, "edited")
    assert len(weekly.said(weekly.place)) == 1


def test_lists_may_go_to_the_digest_while_close_matches_are_comments(weekly):
    weekly.set(INPUT_REPORT="comment", INPUT_REPORT_SIMILAR="digest")
    assert len(weekly.said(weekly.opened(*AGAIN))) == 1
    weekly.set(INPUT_DUPLICATE_THRESHOLD="1")
    listed = weekly.opened("Network drive locking not supported, crash", AGAIN[1])
    assert weekly.said(listed) == []
    weekly.run(*SCHEDULE)
    (digest,) = weekly.said(weekly.place)
    assert "**Similar, found this week:**" in digest
    assert f"- [issue {listed}: " in digest


def test_a_change_of_the_same_lines_is_in_the_digest_too(weekly):
    first = fill(weekly)
    tell(weekly, first)
    other = add(weekly, "Patience", 300, author="cy")
    assert "changes the same 2 lines" in tell(weekly, other)["report"]
    assert weekly.said(other) == []
    weekly.run(*SCHEDULE)
    (digest,) = weekly.said(weekly.place)
    assert f"- [pull request {other}: Patience]" in digest
    assert f"→ [pull request {first}: " in digest


def test_a_digest_without_an_issue_is_a_warning_and_a_comment(bot):
    bot.set(INPUT_REPORT="digest")
    bot.opened(*CRASH)
    assert len(bot.said(bot.opened(*AGAIN))) == 1
    assert "a digest needs digest-issue" in bot.log


def test_the_runs_page_alone_can_say_it(bot):
    bot.set(INPUT_REPORT="summary")
    bot.opened(*CRASH)
    assert bot.said(bot.opened(*AGAIN)) == []
    assert "very close to 1" in bot.summary.read_text()


def test_a_close_match_gets_a_label_until_the_match_is_gone(bot):
    bot.set(INPUT_LABEL_CLOSE="maybe known")
    first = bot.opened(*CRASH)
    again = bot.opened(*AGAIN)
    assert (bot.project.items[first].labels, bot.project.items[again].labels) == ([], ["maybe known"])
    bot.project.edit(again, labels=[])
    bot.happens(again, "edited")
    assert bot.project.items[again].labels == [], "who takes it off has decided"
    other = bot.opened(*AGAIN)
    bot.project.edit(other, title=THEME[0], body=THEME[1])
    bot.happens(other, "edited")
    assert bot.project.items[other].labels == []


def test_a_label_has_thresholds_of_its_own(bot):
    bot.set(INPUT_THRESHOLDS="label: Crash = 1 1\nlabel: other = 0 0")
    bot.opened(*CRASH)
    assert len(bot.said(bot.opened(*AGAIN))) == 1
    assert bot.said(bot.opened(*AGAIN[:1], f"{AGAIN[1]} It happens on Monday.", labels=["crash"])) == []


def test_a_path_has_thresholds_of_its_own(bot):
    bot.set(INPUT_THRESHOLDS="path: docs/** = 1 1")
    bot.happens(bot.project.add_change(*EXPORT, files=[("modified", "src/export.py")]))
    said = []
    for word, path in (("again", "src/export.py"), ("once more", "docs/guide/export.md")):
        number = bot.project.add_change(f"{EXPORT[0]} {word}", EXPORT[1], files=[("modified", path)])
        bot.happens(number)
        said.append(len(bot.said(number)))
    assert said == [1, 0]


@pytest.mark.parametrize(
    "line", ["label: crash", "label: crash = 0.9 0.5", "label: crash = 0.5 7", "author: kim = 0.5 0.9", "crash = 0 1"]
)
def test_a_threshold_that_makes_no_sense_is_a_warning(line):
    inputs, warnings = parse_inputs({"INPUT_THRESHOLDS": f"{line}\nlabel: good = 0.5 0.9"})
    assert [one.label for one in inputs.thresholds] == ["good"]
    assert any("thresholds must be" in warning for warning in warnings)
