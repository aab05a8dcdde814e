"""The bot from event to comment: a local GitHub, a real git server, the built-in embedder."""

FATAL = "```\nFatal: cannot lock /mnt/share/.sync.lock: Operation not supported\n```\n"
CRASH = (
    "The desktop client crashes when the sync folder is on a network drive",
    f"Since version 2.3.1 the client dies as soon as the sync folder lies on an SMB share.\n\n{FATAL}It works on a disk.",
)
AGAIN = (
    "Client crashes with the sync folder on a network drive (SMB)",
    f"When my sync folder is on an SMB share the desktop client crashes at start, version 2.3.1:\n\n{FATAL}",
)
THEME = ("Please add a dark theme", "The settings page is very bright at night. A dark colour scheme would help.")
EXPORT = ("Export of the calendar loses time zones", "Events from other time zones are shifted after an ICS export.")


def test_the_whole_story_of_the_specification(bot):
    first = bot.opened(*CRASH)
    theme = bot.opened(*THEME)
    export = bot.opened(*EXPORT)
    assert [bot.said(number) for number in (first, theme, export)] == [[], [], []]

    again = bot.opened(*AGAIN)
    (comment,) = bot.said(again)
    assert comment.startswith("<!-- forgelore:triage:v1 -->\n")
    assert "This may be the same as" in comment
    assert f"issue {first}" in comment
    assert "cannot lock" in comment
    assert bot.data["items"][0]["outcome"] == "duplicate"

    bot.project.edit(again, title="Add a button that empties the trash", body="I would like one click for that.")
    bot.happens(again, "edited")
    assert bot.said(again) == []
    assert bot.data["items"][0]["comment"] == "deleted"

    assert len(bot.branch().splitlines()) == 1  # one commit, no history


def test_a_change_hears_of_the_issue_it_seems_to_be_about(bot):
    bot.opened(*CRASH)
    export = bot.opened(*EXPORT)
    change = bot.project.add_change(
        "Keep time zones in the ICS export of the calendar",
        "Events from other time zones were shifted after an export.",
    )
    bot.happens(change)
    (comment,) = bot.said(change)
    assert f"issue {export}" in comment
    assert "may be the same" not in comment


def test_the_first_run_reads_the_history_and_is_useful_at_once(bot):
    first = bot.project.add_issue(*CRASH)
    bot.project.add_issue(*THEME)
    again = bot.opened(*AGAIN)
    (comment,) = bot.said(again)
    assert f"issue {first}" in comment
    assert "All 3 issues and changes" in bot.summary.read_text()


def test_an_unchanged_report_is_not_written_again(bot):
    bot.opened(*CRASH)
    again = bot.opened(*AGAIN)
    (before,) = bot.project.items[again].comments
    bot.happens(again, "edited")
    (after,) = bot.project.items[again].comments
    assert bot.data["items"][0]["comment"] == "unchanged"
    assert before.updated_at == after.updated_at


def test_what_the_author_already_refers_to_is_not_repeated(bot):
    first = bot.opened(*CRASH)
    again = bot.opened(AGAIN[0], AGAIN[1] + f"\nPerhaps the same as #{first}?")
    assert bot.said(again) == []


def test_a_match_that_was_fixed_before_is_a_possible_regression(bot):
    first = bot.opened(*CRASH)
    change = bot.project.add_change("Lock another file on network drives", f"Fixes #{first}")
    bot.happens(change)
    bot.project.merge(change)
    bot.happens(change, "closed")
    bot.happens(first, "closed")
    bot.server.clock.advance(3600)
    again = bot.opened(*AGAIN)
    assert f"This may be [issue {first}: " in bot.said(again)[0]
    assert f" again, which [pull request {change}](" in bot.said(again)[0]


def test_a_deleted_item_leaves_the_index_with_its_text(bot):
    first = bot.opened(*CRASH)
    payload = bot.payload(first, "deleted")
    bot.project.delete(first)
    bot.run("issues", payload)
    assert bot.data["removed"] == 1
    again = bot.opened(*AGAIN)
    assert bot.said(again) == []


def test_an_item_whose_event_never_came_is_caught_up(bot):
    bot.opened(*THEME)
    first = bot.project.add_issue(*CRASH)
    bot.server.clock.advance(60)
    again = bot.project.add_issue(*AGAIN)
    bot.run("schedule", {"schedule": "0 3 * * *"})
    assert {item["number"] for item in bot.data["items"]} == {first, again}
    assert f"issue {first}" in bot.said(again)[0]


def test_what_programs_file_is_indexed_and_not_commented_on(bot):
    bot.opened("Bump left-pad from 1.0.1 to 1.0.2", "Bumps left-pad to 1.0.2, see the changelog.", author="bump[bot]")
    second = bot.project.add_issue(
        "Bump left-pad from 1.0.2 to 1.0.3", "Bumps left-pad to 1.0.3, see the changelog.", author="bump[bot]"
    )
    bot.happens(second)
    assert bot.said(second) == []
    assert bot.data["items"][0]["reason"] == "a program wrote it"


def test_a_dry_run_writes_nothing_anywhere(bot):
    bot.opened(*CRASH)
    before = bot.branch()
    again = bot.project.add_issue(*AGAIN)
    bot.happens(again, "opened", "--dry-run")
    assert bot.said(again) == []
    assert bot.branch() == before
    assert "issue 1" in bot.data["items"][0]["report"]


def test_nobody_is_told_about_a_report_that_says_two_words(bot):
    bot.opened("Crash", "It crashes.")
    second = bot.opened("Crash", "Crash!")
    assert bot.said(second) == []


def test_nobody_is_notified_and_no_page_is_marked(bot):
    first = bot.opened(*CRASH)
    bot.opened("@everyone " + AGAIN[0] + " #1", AGAIN[1])
    bot.opened("Duplicate of #1: " + CRASH[0], CRASH[1], author="mallory")
    assert [event.event for event in bot.project.items[first].events if event.actor == "github-actions[bot]"] == []
    assert all(item.state == "open" for item in bot.project.items.values())
    assert not any("@everyone" in body for number in bot.project.items for body in bot.said(number))


def test_not_a_byte_of_a_deleted_item_stays_in_the_index(bot):
    bot.opened(*THEME)
    number = bot.opened("Password printed in the log", "The log says hunter2supersecret and zyxwvut9876 in plain text.")
    assert b"zyxwvut9876" in bot.index_bytes()
    payload = bot.payload(number, "deleted")
    bot.project.delete(number)
    bot.run("issues", payload)
    assert b"zyxwvut9876" not in bot.index_bytes()
    assert b"hunter2" not in bot.index_bytes()
