"""The bot from Python: `History.handle_event`, with time held still, and `History.triage` of one item."""

import json
import os

import pytest
from test_bot import AGAIN, CRASH

from cli.conftest import cli, demo, demo_file  # noqa: F401 - fixtures
from forgelore.api import BotPlaces, Inputs, TriageAnswer, make_history, open_history, parse_event
from forgelore.errors import InvalidValue, NotFound
from forgelore.surfaces.present.triage import build_summary


def handle(bot, number, *, wall_clock=None, clock=None, inputs=None):
    """Handle the opening of an issue as a program would, with clocks of its own."""
    payload = json.dumps(bot.payload(number, "opened")).encode()
    event = parse_event("github", payload, "acme/web", {"GITHUB_EVENT_NAME": "issues"})
    scratch = bot.tmp_path / f"scratch-{number}"
    scratch.mkdir()
    with make_history(os.environ, cwd=str(bot.tmp_path)) as history:
        history.app.wall_clock = wall_clock or history.app.wall_clock
        history.app.clock = clock or history.app.clock
        return history.triage.handle_event(event, inputs or Inputs(), forge="github", places=BotPlaces(str(scratch)))


def test_a_run_and_its_page_tell_the_time_by_the_apps_clock(bot):
    first = handle(bot, bot.project.add_issue(*CRASH), wall_clock=lambda: 2_000_000_000.0)
    assert first.ended_at == first.log.runs[-1].at == 2_000_000_000_000
    failed = first.log.runs[-1]._replace(problem="the network was away")
    first.log = first.log._replace(runs=(failed,))
    assert "the first of those 0 s ago" in build_summary(first, first.ended_at)


def test_a_run_that_takes_too_long_by_the_apps_clock_leaves_the_rest_to_the_next(bot):
    now = iter(range(0, 10**9, 700))
    result = handle(bot, bot.project.add_issue(*CRASH), clock=lambda: float(next(now)))
    assert result.coverage.stopped == "this run's time is up"
    assert result.is_pushed


def test_a_dry_run_says_what_it_would_post_and_posts_nothing(bot):
    handle(bot, bot.project.add_issue(*CRASH))
    again = bot.project.add_issue(*AGAIN)
    result = handle(bot, again, inputs=Inputs(dry_run=True))
    assert result.of_event.triaged.outcome == "duplicate"
    assert result.of_event.posted is None
    assert bot.said(again) == []


@pytest.fixture
def history(demo, tmp_path):  # noqa: F811 - the fixture
    with open_history(tmp_path / "lore.db", environ={"FORGELORE_EMBEDDER": "none"}) as found:
        yield found


@pytest.mark.parametrize("ref", ["#157", "lanternsync/lantern#157"])
def test_one_item_is_compared_by_its_ref_as_text(history, ref):
    answer = history.triage.run(ref, Inputs(similarity_threshold=0.1), project="lanternsync/lantern")
    assert isinstance(answer, TriageAnswer)
    assert answer.result.key == ("issue", 157)
    assert answer.posted is None
    assert answer.warnings == answer.result.warnings


def test_an_imported_tracker_has_nobody_to_tell(history, cli, demo_file):  # noqa: F811 - the fixtures
    assert cli("import", demo_file, "--project", "old-tracker", "--no-docs").code == 0
    with pytest.raises(InvalidValue, match="no forge to post to"):
        history.triage.run("#157", project="old-tracker", post=True)


def test_an_item_that_is_not_there_is_named(history):
    with pytest.raises(NotFound, match="#9999 is not in this database"):
        history.triage.run("#9999")
