"""The bot's words: what it says of copies, of what was fixed, declined or closed as a duplicate."""

import json

import pytest
from test_bot import AGAIN, CRASH, EXPORT, THEME


def copies(bot, count):
    """Somebody files one text again and again, and nobody tells the bot."""
    numbers = []
    for at in range(count):
        numbers.append(bot.project.add_issue(*CRASH, author=f"author{at}"))
        bot.server.clock.advance(3600)
    return numbers


def named(bot):
    (item,) = bot.data["items"]
    return item["first"]


def test_a_copy_of_an_open_issue_is_told_as_that(bot):
    bot.project.add_issue(*THEME)
    (first,) = copies(bot, 1)
    number = bot.opened(CRASH[0].upper(), CRASH[1].replace("\n", "\r\n") + "  \n")
    (comment,) = bot.said(number)
    assert f"This has the same text as [issue {first}](" in comment
    assert "(open)" in comment
    assert "marked as duplicates" not in comment
    assert "%" not in comment
    assert "(same text)" in bot.summary.read_text()


def test_a_near_copy_is_told_as_that(bot):
    (first,) = copies(bot, 1)
    number = bot.opened(CRASH[0] + "!", CRASH[1] + " Thanks!")
    assert f"has nearly the same text as [issue {first}: " in bot.said(number)[0]


@pytest.mark.parametrize("before", [2, 3, 4, 14])
def test_whichever_copy_it_is_it_names_the_first(bot, before):
    first = copies(bot, before)[0]
    number = bot.opened(*CRASH)
    assert named(bot) == first
    (comment,) = bot.said(number)
    assert f"has the same text as [issue {first}](" in comment
    assert f"(open, with {before - 1} cop" in comment
    assert comment.count("](") == 1, "copies of one text are one row"


def test_the_first_open_copy_is_named_and_a_closed_one_only_when_all_are(bot):
    first, second, third = copies(bot, 3)
    bot.project.close(first, reason="not_planned")
    bot.opened(*CRASH)
    assert named(bot) == second
    for number in (second, third, *(n for n in bot.project.items if n > third)):
        bot.project.close(number, reason="not_planned")
    number = bot.opened(*CRASH)
    assert named(bot) == first
    assert "closed as not planned" in bot.said(number)[0]


def test_a_text_that_many_filed_is_no_form(bot):
    """Sixty reports, and one text in a fifth of them: its lines are not everybody's."""
    bot.set(FORGELORE_EMBEDDER="none")
    for at in range(50):
        bot.project.add_issue(f"amber{at} birch{at} cedar{at}", f"delta{at} ember{at} flint{at}", author=f"other{at}")
    first = copies(bot, 12)[0]
    number = bot.opened(*CRASH, author="somebody")
    assert bot.index("SELECT count(*) FROM boilerplate_lines") == [(0,)]
    assert named(bot) == first
    assert "the same text" in bot.said(number)[0]


def closed(bot, number, **how):
    bot.project.close(number, **how)
    bot.server.clock.advance(3600)


def test_closed_as_completed_is_closed_and_not_fixed(bot):
    first = bot.project.add_issue(*CRASH)
    closed(bot, first, reason="completed")
    number = bot.opened(*AGAIN)
    (comment,) = bot.said(number)
    assert "(closed)" in comment
    assert "fixed" not in comment
    assert " again" not in comment
    assert bot.data["items"][0]["outcome"] == "duplicate"


@pytest.mark.parametrize("words", ["Fixes #{}", "This resolves acme/web#{} for good"])
def test_a_merged_change_that_closed_it_makes_it_fixed(bot, words):
    first = bot.project.add_issue(*CRASH)
    change = bot.project.add_change("Lock another file", words.format(first))
    bot.project.merge(change)
    assert bot.project.items[first].state == "closed"
    bot.server.clock.advance(3600)
    number = bot.opened(*AGAIN)
    (comment,) = bot.said(number)
    assert f" again, which [pull request {change}](" in comment
    assert "fixed earlier. If so, please say which version shows it." in comment
    assert "Lock another file" not in comment.partition("<details>")[0]


@pytest.mark.parametrize("how", ["open change", "closed change", "not planned", "later"])
def test_a_change_that_did_not_close_it_fixed_nothing(bot, how):
    first = bot.project.add_issue(*CRASH)
    change = bot.project.add_change("Lock another file", f"Fixes #{first}")
    if how == "closed change":
        bot.project.close(change)
    bot.project.close(first, reason="not_planned" if how == "not planned" else "completed")
    if how == "not planned":
        bot.project.merge(change)
    bot.server.clock.advance(3600)
    number = bot.project.add_issue(*AGAIN)
    if how == "later":
        bot.server.clock.advance(3600)
        bot.project.merge(change)
    bot.happens(number)
    (comment,) = bot.said(number)
    assert " again" not in comment
    assert ("fixed by" in comment) == (how == "later")


@pytest.mark.parametrize("reason", ["not_planned", "duplicate"])
def test_nobody_is_sent_to_what_was_declined_or_repeats_another(bot, reason):
    first = bot.project.add_issue(*CRASH)
    closed(bot, first, reason=reason)
    (comment,) = bot.said(bot.opened(*AGAIN))
    assert "add anything new there" not in comment
    assert {"not_planned": "(closed as not planned)", "duplicate": "(closed as a duplicate)"}[reason] in comment


def test_what_was_closed_in_favour_of_this_very_item_is_not_what_it_repeats(bot):
    first = bot.project.add_issue(CRASH[0], CRASH[1] + "\n\nDuplicate of #2")
    second = bot.project.add_issue(*AGAIN)
    closed(bot, first, reason="duplicate")
    bot.happens(second, "edited")
    assert bot.said(second) == []


def test_two_jobs_keep_a_regression_and_take_it_away_when_told(bot, tmp_path):
    first = bot.project.add_issue(*CRASH)
    bot.project.merge(bot.project.add_change("Lock another file", f"Fixes #{first}"))
    bot.server.clock.advance(3600)
    again = bot.project.add_issue(*AGAIN)
    path = tmp_path / "decision.json"
    bot.happens(again, "opened", "--emit", str(path))
    decision = json.loads(path.read_text())
    assert decision["duplicate_of"] == first
    bot.happens(again, "opened", "--apply", str(path))
    assert " again, which " in bot.said(again)[0]
    assert bot.data["items"][0]["outcome"] == "regression"
    path.write_text(json.dumps({**decision, "duplicate_of": None}))
    bot.happens(again, "edited", "--apply", str(path))
    assert " again, which " not in bot.said(again)[0]


def test_lines_that_both_quote_alike_are_shown_as_the_same(bot):
    trace = (
        "```\n2026-01-02 10:00:01 ERROR: cannot lock the folder of the share (code 12)\n"
        "   at org.acme.Lock.take(Lock.java:41)\n```\nWe start it with --lock-file=src/lock.cpp here."
    )
    bot.project.add_issue("Client dies on a share", f"Nothing works since the update.\n{trace}")
    number = bot.opened("Client dies on a share", f"My colleagues see this every morning:\n{trace}")
    (comment,) = bot.said(number)
    rows = [line for line in comment.splitlines() if line.startswith(("- error", "- frame", "- path", "- identifier"))]
    assert len(rows) >= 3
    assert not any(line.endswith(" there") for line in rows), rows
    assert "Both show `cannot lock the folder of the…`." in comment


def test_a_change_with_the_text_of_an_earlier_one_is_told_as_that(bot):
    first = bot.project.add_change(*EXPORT, files=[("modified", "src/a.py")])
    bot.server.clock.advance(3600)
    second = bot.project.add_change(*EXPORT, files=[("modified", "src/b.py")])
    bot.happens(second)
    assert f"has the same title and description as [pull request {first}](" in bot.said(second)[0]


def test_what_one_person_files_again_is_listed_and_not_warned_of(bot):
    first = bot.project.add_issue(*CRASH, author="kim")
    bot.server.clock.advance(3600)
    number = bot.opened(*CRASH, author="Kim")
    (comment,) = bot.said(number)
    assert f"**Similar issue:** [issue {first}: " in comment
    assert "(same text, open)" in comment
    assert bot.data["items"][0]["outcome"] == "similar"


def test_copies_of_another_text_are_one_row_that_names_the_oldest(bot):
    bot.set(INPUT_DUPLICATE_THRESHOLD="1", INPUT_SIMILARITY_THRESHOLD="0.2")
    first = copies(bot, 4)[0]
    (comment,) = bot.said(bot.opened(*AGAIN))
    opening = comment.partition("<details>")[0]
    assert f"**Similar issue:** [issue {first}: " in opening
    assert "(open, with 3 copies)" in opening


def test_the_owner_of_a_project_says_where_the_comment_is_explained(bot):
    bot.set(INPUT_ABOUT="https://acme.example/bots")
    copies(bot, 1)
    assert "<sub>[What is this?](https://acme.example/bots) · 👎" in bot.said(bot.opened(*CRASH))[0]
    bot.set(INPUT_ABOUT="javascript:alert(1)")
    assert "javascript" not in bot.said(bot.opened(*CRASH))[0]


def test_a_batch_of_one_person_is_not_named_among_itself(bot):
    bot.set(INPUT_SIMILARITY_THRESHOLD="0.2", INPUT_DUPLICATE_THRESHOLD="0.3")
    bot.project.add_issue(*CRASH, author="kim")
    bot.server.clock.advance(3600)
    assert bot.said(bot.opened(*AGAIN, author="kim")) == []
    bot.server.clock.advance(8 * 86_400)
    assert "**Similar issues:**" in bot.said(bot.opened(AGAIN[0] + " again", AGAIN[1], author="kim"))[0]


def test_titles_that_differ_in_a_version_alone_are_listed_and_not_warned_of(bot):
    bot.set(INPUT_SIMILARITY_THRESHOLD="0.2", INPUT_DUPLICATE_THRESHOLD="0.3")
    text = "The library that reads our messages is old. The new one reads them in half the time, and fixes leaks."
    first = bot.project.add_issue("Update protobuf to 3.21.12", text)
    bot.server.clock.advance(3600)
    number = bot.opened("Update protobuf to 3.23.4", text + " Others have updated already.")
    assert f"**Similar issue:** [issue {first}: " in bot.said(number)[0]
