"""The bot's index has the paths of all changes, of its history as of its events."""

from test_bot import THEME
from test_bot_gitlab import bot as gitlab_bot  # noqa: F401 - a fixture

from forgelore.triage.intake import FEW_REQUESTS

FILES = [("modified", "src/net/cache.py"), ("renamed", "docs/old.md", "docs/new.md")]


def fill(project, count, **more):
    return [
        project.add_change(f"Change {at}", "Words", files=more.get("files") or [("modified", f"src/part_{at}.py")])
        for at in range(count)
    ]


def paths(bot):
    return dict(
        bot.index(
            "SELECT i.number, group_concat(f.new_path) FROM items i JOIN item_files f ON f.item_id = i.id GROUP BY 1"
        )
    )


def test_a_history_of_changes_is_read_in_bulk(bot):
    numbers = fill(bot.project, 120)
    bot.opened(*THEME)
    assert paths(bot) == {number: f"src/part_{at}.py" for at, number in enumerate(numbers)}
    assert bot.index("SELECT count(*) FROM document_paths") == [(120,)]
    assert bot.index("SELECT count(*) FROM jobs WHERE kind = 'files'") == [(0,)]
    assert not [path for path in bot.server.paths() if "/files" in path]
    assert len([path for path in bot.server.paths() if "graphql" in path]) <= 5  # three of files, and the totals


def test_old_names_and_long_lists_of_history_are_whole(bot):
    wide = [("added", f"src/{at:04}.py") for at in range(250)]
    first, second = fill(bot.project, 1, files=FILES), fill(bot.project, 1, files=wide)
    bot.opened(*THEME)
    rows = set(
        bot.index(f"SELECT new_path, old_path FROM item_files JOIN items ON id = item_id WHERE number = {first[0]}")
    )
    assert rows == {("src/net/cache.py", "src/net/cache.py"), ("docs/new.md", "docs/old.md")}
    assert len(paths(bot)[second[0]].split(",")) == 250


def test_files_are_read_again_when_a_change_moves_and_not_otherwise(bot):
    (number,) = fill(bot.project, 1)
    bot.opened(*THEME)
    before = len(bot.server.paths())
    bot.run("schedule", {"schedule": "0 4 * * 1"})
    quiet = len([path for path in bot.server.paths(before) if "graphql" in path])
    bot.github.time.pass_by(60)
    bot.project.push(number, [("modified", "src/elsewhere.py")])
    before = len(bot.server.paths())
    bot.run("schedule", {"schedule": "0 4 * * 1"})
    assert len([path for path in bot.server.paths(before) if "graphql" in path]) == quiet + 1
    assert paths(bot) == {number: "src/elsewhere.py"}


def test_an_index_of_an_older_version_gets_the_files(bot):
    fill(bot.project, 3)
    bot.opened(*THEME)
    bot.rewrite_index("DELETE FROM item_files; UPDATE items SET files_sha = NULL")
    bot.run("schedule", {"schedule": "0 4 * * 1"})
    assert len(paths(bot)) == 3


def test_what_a_run_may_not_spend_waits_for_the_next(bot):
    fill(bot.project, 120)
    bot.github.on_request(r"graphql", lambda: bot.server.set_limit(1000, 90))
    bot.opened(*THEME)
    waiting = bot.index("SELECT count(*) FROM jobs WHERE kind = 'files'")[0][0]
    assert waiting > 0
    bot.server.set_limit(5000, 5000)
    bot.run("schedule", {"schedule": "0 4 * * 1"})
    assert bot.index("SELECT count(*) FROM jobs WHERE kind = 'files'") == [(0,)]
    assert len(paths(bot)) == 120


def test_a_change_that_github_does_not_show_spoils_no_batch(bot):
    numbers = fill(bot.project, 5, files=FILES)
    bot.server.fail(path=f"/pulls/{numbers[2]}/files", status=400, body={"message": "never"})
    bot.opened(*THEME)
    assert set(paths(bot)) == set(numbers) - {numbers[2]}
    assert bot.index("SELECT key FROM jobs WHERE kind = 'files'") == [(f"change:{numbers[2]}",)]


def test_a_list_that_the_forge_cuts_is_told(bot):
    (number,) = fill(bot.project, 1, files=[("added", f"src/{at:05}.py") for at in range(3_001)])
    bot.opened(*THEME)
    assert f"the forge does not list all files of change {number} (3,000 of 3,001)" in bot.log


def test_what_is_forgotten_waits_for_nothing(bot):
    numbers = fill(bot.project, 2, files=FILES)
    bot.server.fail(path=rf"/pulls/{numbers[0]}/files", status=400, body={"message": "never"})
    bot.opened(*THEME)
    bot.project.delete(numbers[0])
    bot.run("schedule", {"schedule": "0 4 * * 1"})
    assert bot.index("SELECT count(*) FROM jobs WHERE kind = 'files'") == [(0,)]


def test_on_gitlab_each_change_of_the_history_is_asked_for_once(gitlab_bot):  # noqa: F811
    bot = gitlab_bot
    fill(bot.project, 12)
    bot.server.clock.advance(3_600)  # what is filed while the bot begins is looked at by itself
    bot.issue(*THEME)
    asked = [path for path in bot.server.paths() if "/diffs" in path]
    assert len(asked) == 12
    assert "/merge_requests/12/" in asked[0]  # the newest first
    bot.issue("Another thing", "It does not answer after a long sleep of the machine.")
    assert len([path for path in bot.server.paths() if "/diffs" in path]) == 12


def asked_of(bot):
    """The merge requests whose files were asked for."""
    return {int(path.split("/merge_requests/")[1].split("/")[0]) for path in bot.server.paths() if "/diffs" in path}


def test_a_change_that_gitlab_does_not_show_keeps_no_other_waiting(gitlab_bot):  # noqa: F811
    bot = gitlab_bot
    fill(bot.project, 6)
    bot.server.clock.advance(3_600)
    bot.server.fail(path="/merge_requests/5/diffs", status=400, body={"message": "never"})
    bot.issue(*THEME)
    assert asked_of(bot) == {1, 2, 3, 4, 5, 6}


def test_an_author_waits_for_few_requests_and_the_next_run_goes_on(gitlab_bot):  # noqa: F811
    bot = gitlab_bot
    fill(bot.project, FEW_REQUESTS + 5)
    bot.server.clock.advance(3_600)
    bot.issue(*THEME)
    assert len(asked_of(bot)) == FEW_REQUESTS
    bot.issue("Another thing", "It does not answer after a long sleep of the machine.")
    assert len(asked_of(bot)) == FEW_REQUESTS + 5
