"""A change that is filed again is as near as can be to the one it repeats, whether history or an event brought that."""

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
    (
        "Fix cache eviction order",
        "src/cache/eviction.py",
        "Entries left by age and not by use, so hot ones went first.",
    ),
    ("Retry broken uploads", "src/upload/retry.py", "A dropped connection lost the whole upload; it resumes now."),
    ("Sort contacts by surname", "src/contacts/order.py", "Particles such as van are skipped, as phone books do."),
    ("Hide archived notebooks", "src/notebooks/list.py", "They stayed in the sidebar although nobody can edit them."),
    ("Rotate session keys daily", "src/session/keys.py", "Keys lived for a year; auditors asked for a day."),
    ("Escape shell arguments", "src/tools/shell.py", "A quote in a folder name ended the command line early."),
    ("Compress large attachments", "src/mail/attachments.py", "Drafts above the quota were refused by the server."),
    ("Pin timezone database", "src/clock/zones.py", "Machines without updates showed meetings an hour late."),
]
# A title and nothing else is not looked up as "the same text": the strength of the pair decides.
BARE = ("Count unread threads", "src/threads/unread.py", "")
BARE_TOO = ("Mirror release archives", "src/release/mirror.py", "")


def fill(bot):
    """Sixty ordinary changes, then those that will be filed again, all before the bot begins."""
    for part in PARTS:
        for deed, why in DEEDS:
            bot.project.add_change(
                deed.format(part), why.format(part), files=[("modified", f"src/{part}/{deed[:3]}.py")]
            )
    numbers = [bot.project.add_change(title, why, files=spec(path)) for title, path, why in (*COPIED, BARE)]
    bot.server.clock.advance(86_400)
    return numbers[:-1]


def spec(path):
    return [("modified", path), ("modified", f"tests/{path}"), ("modified", "CHANGELOG.md")]


def file_again(bot, title, path, why):
    """File a change as it was filed before, and tell the bot; returns what it says of it."""
    number = bot.project.add_change(title, why, files=spec(path))
    data = bot.run(CI_MERGE_REQUEST_IID=str(number)) if hasattr(bot, "issue") else bot.happens(number)
    return next(item for item in data["items"] if item["number"] == number)


@pytest.mark.parametrize("forge", ["bot", "gitlab_bot"])
def test_copies_of_historical_changes_are_as_near_as_can_be(request, forge):
    bot = request.getfixturevalue(forge)
    numbers = fill(bot)
    found = [file_again(bot, *copied) for copied in COPIED]
    assert [item["first"] for item in found] == numbers
    assert min(item["similarity"] for item in found) >= 0.99, [item["similarity"] for item in found]


def test_a_document_has_the_same_parts_whether_history_or_an_event_brought_it(bot):
    (first, *_), copy = fill(bot), file_again(bot, *COPIED[0])["number"]
    parts = """
        SELECT t.title, t.text, t.terms, group_concat(p.path ORDER BY p.path)
        FROM items i JOIN documents d ON d.item_id = i.id JOIN document_texts t ON t.id = d.id
        JOIN document_paths p ON p.document_id = d.id WHERE i.number IN ({}) GROUP BY d.id"""
    one, other = bot.index(parts.format(f"{first}, {copy}"))
    assert one == other


def test_a_copy_of_a_change_that_history_brought_is_as_near_as_one_of_an_event(bot):
    """With paths and diff in the text of events alone, the first was at 0.95 and the second at 0.99."""
    fill(bot)
    of_history = file_again(bot, *BARE)
    file_again(bot, *BARE_TOO)
    of_event = file_again(bot, *BARE_TOO)
    assert of_history["similarity"] == pytest.approx(of_event["similarity"], abs=0.01)
    assert min(of_history["similarity"], of_event["similarity"]) > 0.95
