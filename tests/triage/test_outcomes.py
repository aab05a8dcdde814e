"""What came of what the bot said: a scheduled run asks, and keeps it by version."""

import json

import pytest
from test_bot import AGAIN, CRASH, THEME

from forgelore.surfaces.cli.main import main
from forgelore.triage.outcomes import Aftermath, judge_outcome
from forgelore.version import __version__
from web.sites import Site, serving

SCHEDULE = ("schedule", {"schedule": "0 4 * * 1"})


def tally(bot):
    """What the run's record says of this version."""
    return json.loads(bot.file("health.json"))["outcomes"][0]


@pytest.fixture
def pair(bot):
    """An issue, and one that repeats it and was told so."""
    first = bot.opened(*CRASH)
    bot.server.clock.advance(3_600)
    again = bot.opened(*AGAIN)
    assert bot.said(again)
    return first, again


def test_what_is_still_open_is_counted_as_that(bot, pair):
    bot.run(*SCHEDULE)
    assert (tally(bot)["version"], tally(bot)["looked"], tally(bot)["commented"]) == (__version__, 2, 1)
    assert (tally(bot)["open"], tally(bot)["noise"]) == (1, 0)


@pytest.mark.parametrize(("closer", "outcome"), [("author", "success"), ("maintainer", "assist")])
def test_a_duplicate_that_was_listed_is_a_success_of_the_author_or_a_help_for_others(bot, pair, closer, outcome):
    first, again = pair
    by = bot.project.items[again].author if closer == "author" else bot.project.owner
    bot.project.close(again, reason="duplicate", duplicate_of=first, by=by)
    bot.run(*SCHEDULE)
    assert (tally(bot)[outcome], tally(bot)["open"]) == (1, 0)


def test_a_mark_that_only_the_forge_shows_is_kept_for_calibration(bot, pair):
    """GitHub's own reason stays `completed` for most of what was marked."""
    first, again = pair
    bot.project.close(again, duplicate_of=first, by=bot.project.owner)
    bot.run(*SCHEDULE)
    assert tally(bot)["assist"] == 1
    links = bot.index("SELECT target_number FROM item_links WHERE relation = 'duplicate_of' AND source = 'event'")
    assert links == [(first,)]


def test_what_was_closed_for_another_reason_was_noise(bot, pair):
    bot.project.close(pair[1], reason="completed", by=bot.project.owner)
    bot.run(*SCHEDULE)
    assert tally(bot)["noise"] == 1


def test_a_duplicate_of_something_that_was_not_named_is_missed_also_below_no_comment(bot):
    first = bot.opened(*CRASH)
    bot.server.clock.advance(3_600)
    other = bot.opened(*THEME)
    assert not bot.said(other)
    bot.project.close(other, duplicate_of=first, by=bot.project.owner)
    bot.run(*SCHEDULE)
    assert (tally(bot)["missed"], tally(bot)["commented"]) == (1, 0)


@pytest.mark.parametrize("protest", ["thumb", "deleted"])
def test_a_pair_that_people_rejected_is_never_named_again(bot, pair, protest):
    first, again = pair
    comment = bot.project.items[again].comments[0]
    bot.project.react(comment.id, down=True) if protest == "thumb" else bot.project.delete_comment(comment.id)
    bot.run(*SCHEDULE)
    assert tally(bot)["noise"] == 1
    bot.project.edit(again, body=f"{bot.project.items[again].body}\nIt happens on every start.")
    data = bot.happens(again, "edited")
    assert f"issue {first}" not in data["items"][0]["report"]
    assert bot.said(again) == []


def test_a_thumb_up_is_no_protest(bot, pair):
    bot.project.react(bot.project.items[pair[1]].comments[0].id)
    bot.run(*SCHEDULE)
    assert (tally(bot)["noise"], tally(bot)["open"]) == (0, 1)


def test_a_suggestion_that_was_dismissed_was_noise_and_is_not_made_again(bot):
    bot.set(INPUT_REPORT="suggestion")
    bot.opened(*CRASH)
    bot.server.clock.advance(3_600)
    again = bot.opened(*AGAIN)
    bot.run(*SCHEDULE)
    assert tally(bot)["noise"] == 0, "it waits"
    (one,) = bot.project.suggestions
    one["state"] = "dismissed"
    bot.server.clock.advance(2 * 86_400)
    bot.run(*SCHEDULE)
    assert tally(bot)["noise"] == 1
    bot.happens(again, "edited")
    assert [each["state"] for each in bot.project.suggestions] == ["dismissed"]


def test_what_is_opened_again_is_undecided_again(bot, pair):
    bot.project.close(pair[1], reason="completed", by=bot.project.owner)
    bot.run(*SCHEDULE)
    bot.project.reopen(pair[1])
    bot.run(*SCHEDULE)
    assert (tally(bot)["noise"], tally(bot)["open"]) == (0, 1)


def test_a_decided_report_is_not_asked_about_again(bot, pair):
    bot.project.close(pair[1], reason="completed", by=bot.project.owner)
    bot.run(*SCHEDULE)
    before = len(bot.server.requests)
    bot.run(*SCHEDULE)
    asked = [line["url"] for line in bot.server.requests[before:]]
    assert not [url for url in asked if f"/issues/{pair[1]}/" in url]


def test_the_runs_page_tells_it(bot, pair):
    bot.project.close(pair[1], reason="duplicate", duplicate_of=pair[0], by=bot.project.owner)
    bot.run(*SCHEDULE)
    assert f"version {__version__}: 1 comment on 2 items: 0 closed by their authors as that, 1 by others" in (
        bot.summary.read_text()
    )


@pytest.mark.parametrize(
    ("listed", "after", "outcome"),
    [
        ((1,), Aftermath(is_open=True), "open"),
        ((), Aftermath(is_open=True), "quiet"),
        ((), Aftermath(is_open=False), "quiet"),
        ((1,), Aftermath(is_open=False), "noise"),
        ((1,), Aftermath(is_open=True, is_rejected=True), "noise"),
        ((), Aftermath(is_open=True, is_rejected=True), "quiet"),
        ((1,), Aftermath(False, (1,), (1,), is_closed_by_author=True), "success"),
        ((1,), Aftermath(False, (1,), (1,), is_rejected=True), "assist"),
        ((1,), Aftermath(False, (2,)), "missed"),
        ((), Aftermath(False, (2,)), "missed"),
    ],
)
def test_outcomes_follow_what_people_did(listed, after, outcome):
    assert judge_outcome(listed, after) == outcome


def test_the_bot_calibrates_itself_when_enough_duplicates_are_known(bot):
    for at in range(32):
        first = bot.project.add_issue(
            f"Part {at} of the report lacks its index", f"Index {at * 7} is empty in part {at}."
        )
        bot.server.clock.advance(60)
        copy = bot.project.add_issue(f"No index in part {at} of the report", f"Part {at} shows index {at * 7} empty.")
        bot.project.edit(copy, body=f"Part {at} shows index {at * 7} empty. Duplicate of #{first}")
        bot.project.close(copy, by=bot.project.owner)
        bot.server.clock.advance(60)
    bot.run(*SCHEDULE)
    pairs = bot.index("SELECT calibrated_pairs FROM triage_projects")
    assert pairs == [(32,)]
    calibrated_at = bot.index("SELECT calibrated_at FROM calibrations")
    bot.run(*SCHEDULE)
    assert bot.index("SELECT calibrated_at FROM calibrations") == calibrated_at, "nothing new to learn from"


def test_the_report_is_read_from_the_branch(bot, pair, capsys):
    bot.project.close(pair[1], reason="duplicate", duplicate_of=pair[0], by=bot.project.owner)
    bot.run(*SCHEDULE)
    bot.project.branch_files["triage-index"] = {"health.json": bot.file("health.json").decode()}
    assert main(["triage", "report", "acme/web"]) == 0
    head, row, *_ = capsys.readouterr().out.splitlines()
    assert dict(zip(head.split(), row.split(), strict=True)) == {
        "version": __version__, "items": "2", "comments": "1", "success": "0", "assist": "1", "noise": "0", "open": "0",
        "missed": "0",
    }  # fmt: skip


def test_a_project_without_a_bot_hears_what_to_do(bot, capsys):
    assert main(["triage", "report", "acme/web"]) != 0
    assert "the bot's first run writes it" in capsys.readouterr().err


def test_the_month_of_the_bots_own_index_tells_what_came_of_it(bot, pair, capsys, tmp_path):
    bot.project.close(pair[1], reason="duplicate", duplicate_of=pair[0], by=bot.project.owner)
    bot.run(*SCHEDULE)
    path = str(tmp_path / "bot.db")
    assert main(["open", "acme/web@triage-index", "--to", path]) == 0
    said = "1 comment on 2 items: 0 closed by their authors as that, 1 by others, 0 noise, 0 open; 0 duplicates missed"
    capsys.readouterr()
    assert main(["report", "--db", path]) == 0
    assert f"The triage bot wrote {said}." in capsys.readouterr().out
    with serving(path, tmp_path, FORGELORE_EMBEDDER="lore") as url:
        assert f"It wrote {said}." in Site(url).text("/report")
