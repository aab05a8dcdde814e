"""The index on its branch lies in parts: only those that changed travel, and an older index in one file is taken over."""

import pytest
from test_bot import AGAIN, CRASH, EXPORT, THEME


def listed(bot):
    return bot.git.git("acme/web.git", "ls-tree", "-r", "--name-only", "triage-index").split()


def test_an_index_that_an_older_version_left_in_one_file_is_taken_over(bot):
    first = bot.opened(*CRASH)
    bot.pack_as_one_file()
    assert "index.db.z" in listed(bot)
    since = len(bot.server.requests)
    again = bot.opened(*AGAIN)
    assert f"issue {first}" in bot.said(again)[0]
    assert "index.db.z" not in listed(bot)
    assert {"index.head", "parts/00/00"} <= set(listed(bot))
    assert not any("damaged" in note for note in bot.data["notes"])
    lists = [line["url"] for line in bot.server.requests[since:] if "/issues?" in line["url"]]
    assert all("since=" in url for url in lists), "the history is not read again"


def test_an_event_pushes_what_it_changed_and_not_the_whole_index(bot):
    for at in range(40):
        bot.project.add_issue(f"Part {at} is late", f"The part number {at * 7} comes {at} days late. " * 40)
    bot.git.received = 0
    bot.opened(*CRASH)
    whole = bot.git.received
    bot.git.received = 0
    bot.happens(1, "labeled")
    assert bot.data["is_pushed"]
    assert bot.git.received < whole / 2


@pytest.mark.parametrize("lost", ["a part", "all parts", "the head"])
def test_an_index_with_a_part_missing_is_rebuilt_from_the_forge(bot, lost):
    first = bot.opened(*CRASH)
    bot.opened(*EXPORT)
    head = bot.file("index.head")
    keep = {"a part": [None] * 3, "all parts": [], "the head": [None] * 5}[lost]
    bot.push({"index.head": head} if lost != "the head" else {"other": b"x"}, keep)
    again = bot.opened(*AGAIN)
    assert f"issue {first}" in bot.said(again)[0]
    assert any("is damaged" in note and "rebuilt" in note for note in bot.data["notes"])
    assert len(bot.index("SELECT 1 FROM items")) == 3


def test_a_push_that_is_refused_half_way_leaves_the_branch_whole(bot):
    bot.opened(*CRASH)
    before = bot.branch()
    bot.git.refuse_pushes("acme/web.git", "remote: error: GH013: Repository rule violations found.")
    bot.is_red = True
    bot.opened(*THEME)
    assert bot.branch() == before
    assert len(bot.index("SELECT 1 FROM items")) == 1
    (bot.git.root / "acme/web.git/hooks/pre-receive").unlink()
    bot.is_red = False
    bot.opened(*EXPORT)
    assert len(bot.index("SELECT 1 FROM items")) == 3
