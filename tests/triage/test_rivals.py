"""A new change hears of an earlier one by somebody else that changes the same lines, whatever the two call it."""

import re

import pytest
from test_bot_gitlab import bot as gitlab_bot  # noqa: F401 - a fixture

LINES = "@@ -1,3 +1,3 @@\n-timeout_seconds = 30\n-retry_attempts = 3\n+timeout_seconds = {0}\n+retry_attempts = {0}\n"


def add(bot, title, value=60, *, author="bo", body=""):
    files = [("modified", "src/limits.py", {"patch": LINES.format(value)})]
    return bot.project.add_change(title, body, files=files, author=author, head=f"b-{author}-{value}")


def tell(bot, number):
    data = bot.run(CI_MERGE_REQUEST_IID=str(number)) if hasattr(bot, "issue") else bot.happens(number)
    return next(one for one in data["items"] if one["number"] == number)


def fill(bot):
    """An ordinary history, and one open change that was there before the bot."""
    for at in range(8):
        path = f"src/part_{at}.py"
        bot.project.add_change(f"Tidy part {at}", f"Part {at} had grown.", files=[("modified", path)], author="di")
    first = add(bot, "Uploads of large files give up too early")
    bot.server.clock.advance(86_400)
    return first


def plain(report):
    return re.sub(r"\]\([^)]*\)|[\u200b\u2068\u2069\[\]]", "", report)


@pytest.mark.parametrize("forge", ["bot", "gitlab_bot"])
def test_a_change_of_the_same_lines_is_named_though_the_texts_have_nothing_in_common(request, forge):
    bot = request.getfixturevalue(forge)
    first = fill(bot)
    other = add(bot, "Patience", 300, author="cy")  # an event brings its lines; a thorough run those of the first
    bot.run("schedule", {"schedule": "0 4 * * 1"}) if forge == "bot" else bot.run(
        CI_PIPELINE_SOURCE="schedule"
    )  # fmt: skip
    noun = "pull request" if forge == "bot" else "merge request"
    told = tell(bot, other)
    assert (
        f"This changes the same 2 lines as {noun} {first}: Uploads of large files give up too early (open)."
        in plain(told["report"])
    )
    assert (told["outcome"], told["comment"]) == ("similar", "created")


def test_the_same_author_is_not_warned(bot):
    first = fill(bot)
    tell(bot, first)
    assert "changes the same" not in tell(bot, add(bot, "Patience", 300, author="bo"))["report"]


def test_a_change_that_names_the_other_is_left_alone(bot):
    first = fill(bot)
    tell(bot, first)
    named = add(bot, "Patience", 300, author="cy", body=f"Takes over #{first}, which nobody works on.")
    assert "changes the same" not in tell(bot, named)["report"]


def test_the_earlier_change_is_not_told_of_the_later_one(bot):
    first = fill(bot)
    tell(bot, add(bot, "Patience", 300, author="cy"))
    assert "changes the same" not in tell(bot, first)["report"]


def test_what_was_merged_with_the_same_lines_is_told_as_merged(bot):
    first = fill(bot)
    tell(bot, first)
    bot.project.merge(first)
    bot.github.time.pass_by(3_600)
    same = add(bot, "Patience", 60, author="cy")
    report = plain(tell(bot, same)["report"])
    assert f"This repeats what was merged with pull request {first}: Uploads of large files give up too early" in report
    assert "(merged 2026-03-" in report


def test_the_index_keeps_no_patch(bot):
    tell(bot, fill(bot))
    assert b"timeout_seconds" not in bot.index_bytes()
    assert bot.index("SELECT count(*) FROM change_lines") != [(0,)]
