"""Labels by the neighbours' vote: suggested only where that was right on the project's own items."""

import pytest
from test_bot import THEME

from forgelore.triage.learning import find_trust


def test_trust_needs_twenty_suggestions_and_four_of_five_right():
    assert find_trust([(0.9, True)] * 19) is None
    trust = find_trust([(0.9, True)] * 30)
    assert (trust.share, trust.precision, trust.sample) == (0.9, 1.0, 30)
    assert find_trust([(0.9, True)] * 15 + [(0.9, False)] * 15) is None


def test_trust_begins_at_the_smallest_share_that_is_right_often_enough():
    observed = [(0.2, False)] * 30 + [(0.6, True)] * 30 + [(0.9, True)] * 30
    assert find_trust(observed).share == 0.6


@pytest.fixture
def labelled(bot):
    """Sixty reports of two kinds that are easy to tell apart, all with the right label."""
    for at in range(60):
        is_ui = at % 2
        words = (
            ("button colour theme window", "font dialog menu icon")
            if is_ui
            else ("packet socket relay timeout", "proxy dns tls")
        )
        title = f"{words[0]} problem {at}"
        bot.project.add_issue(title, f"The {words[1]} is wrong in case {at}.", labels=["ui" if is_ui else "network"])
        bot.server.clock.advance(60)
    return bot


def test_a_scheduled_run_learns_labels_and_the_next_report_suggests_one(labelled):
    labelled.run("schedule", {})
    assert any("labels that may be suggested" in note for note in labelled.data["notes"])
    labelled.set(INPUT_SIMILARITY_THRESHOLD="0.1")
    number = labelled.opened("button colour theme window problem again", "The font dialog menu icon is wrong.")
    opening, _, folded = labelled.said(number)[0].partition("<summary>Why</summary>")
    assert "`ui` (" in folded.partition("how often they were right")[2]
    assert "`ui`" not in opening
    assert labelled.project.items[number].labels == []


def test_labels_are_set_only_when_asked(labelled):
    labelled.run("schedule", {})
    labelled.set(INPUT_APPLY_LABELS="true")
    number = labelled.opened("packet socket relay timeout problem again", "The proxy dns tls is wrong.")
    assert labelled.project.items[number].labels == ["network"]
    other = labelled.opened(*THEME)
    assert "network" not in labelled.project.items[other].labels


def test_a_label_that_a_robot_puts_on_old_items_is_not_learned(bot):
    """Of all items that are a month old a robot says that they are stale: no label is easier to predict."""
    old = [
        bot.project.add_issue(f"packet socket relay timeout {at}", f"The proxy dns tls is wrong in case {at}.", labels=["network"])
        for at in range(40)
    ]  # fmt: skip
    bot.server.clock.advance(40 * 86_400)
    for number in old:
        bot.project.edit(number, labels=["network", "stale"])
    for at in range(40):
        bot.project.add_issue(
            f"button colour theme {at}", f"The font dialog menu is wrong in case {at}.", labels=["ui"]
        )
        bot.server.clock.advance(60)
    bot.run("schedule", {})
    assert {name for (name,) in bot.index("SELECT name FROM label_trust")} == {"ui"}
