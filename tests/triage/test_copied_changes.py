"""A change that is filed again is as near as can be to the one it repeats, whether history or an event brought that.

The copies have a title and no text, so that nothing is looked up as "the same text": the strength of the pair decides.
"""

import pytest
from test_bot_gitlab import bot as gitlab_bot  # noqa: F401 - a fixture

PARTS = (
    "cache",
    "parser",
    "scheduler",
    "calendar",
    "installer",
    "keyboard",
    "printer",
    "thumbnail",
    "invoice",
    "proxy",
)
DEEDS = (
    ("Speed up {} start", "Loading the {} took three seconds because every entry was read twice."),
    ("Document {} settings", "The manual never said which settings the {} takes, and people asked."),
    ("Translate {} messages", "All words that the {} shows are now taken from the catalogue."),
    ("Guard {} against empty input", "An empty line made the {} raise an exception far from its cause."),
    ("Remove deprecated {} options", "They warned for two releases; the {} has better ones since."),
    ("Log {} failures once", "The same failure of the {} filled the log with thousands of lines."),
)
COPIED = [
    ("Fix cache eviction order", "src/cache/eviction.py"),
    ("Retry broken uploads", "src/upload/retry.py"),
    ("Sort contacts by surname", "src/contacts/order.py"),
    ("Hide archived notebooks", "src/notebooks/list.py"),
    ("Rotate session keys daily", "src/session/keys.py"),
    ("Escape shell arguments", "src/tools/shell.py"),
    ("Compress large attachments", "src/mail/attachments.py"),
    ("Pin timezone database", "src/clock/zones.py"),
]
NEAR = 0.99  # 0.92 to 0.97 where only one side had paths and diff in its text


def fill(bot):
    """Sixty ordinary changes, then the eight that will be filed again, all before the bot begins."""
    for part in PARTS:
        for deed, why in DEEDS:
            bot.project.add_change(
                deed.format(part), why.format(part), files=[("modified", f"src/{part}/{deed[:3]}.py")]
            )
    numbers = [bot.project.add_change(title, "", files=spec(path)) for title, path in COPIED]
    bot.server.clock.advance(86_400)
    return numbers


def spec(path):
    return [("modified", path), ("modified", f"tests/{path}"), ("modified", "CHANGELOG.md")]


def file_again(bot, title, path):
    """File a change as it was filed before, and tell the bot; returns what it says of it."""
    number = bot.project.add_change(title, "", files=spec(path))
    data = bot.run(CI_MERGE_REQUEST_IID=str(number)) if hasattr(bot, "issue") else bot.happens(number)
    return next(item for item in data["items"] if item["number"] == number)


@pytest.mark.parametrize("forge", ["bot", "gitlab_bot"])
def test_copies_of_historical_changes_are_as_near_as_can_be(request, forge):
    bot = request.getfixturevalue(forge)
    numbers = fill(bot)
    found = [file_again(bot, *copied) for copied in COPIED]
    assert [item["first"] for item in found] == numbers
    assert min(item["similarity"] for item in found) >= NEAR, [item["similarity"] for item in found]


def test_a_copy_of_a_change_that_an_event_brought_is_no_nearer_and_no_farther(bot):
    fill(bot)
    new = ("Count unread threads", "src/threads/unread.py")
    file_again(bot, *new)
    of_event = file_again(bot, *new)
    of_history = file_again(bot, *COPIED[1])
    assert of_event["similarity"] == pytest.approx(of_history["similarity"], abs=0.01)
