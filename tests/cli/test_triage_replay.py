"""`forgelore triage --since`: what the bot would have said, each item judged as of its filing."""

import contextlib
import json

import apsw
import pytest
from test_review_page_in_browser import CONTRASTS, EVIL, OPEN_ALL, TOO_WIDE, browser  # noqa: F401 - a fixture

CRASH = "Uploads of large files stop with LNT-2003 metadata database busy when the initial scan is still running"
OTHER = "The calendar shows the wrong week after the clocks change in autumn, and reminders come an hour late"


def item(number, day, text=CRASH, **more):
    return {
        "kind": "issue", "number": number, "title": text[:60], "body": f"{text}.", "state": "open", "author": f"user{number}",
        "created_at": f"2026-{day}T12:00:00Z", **more,
    }  # fmt: skip


def closed(day, *original, **more):
    links = [{"relation": "duplicate_of", "number": number} for number in original]
    return {"state": "closed", "closed_at": f"2026-{day}T12:00:00Z", "links": links, **more}


ORDINARY = [
    item(200 + at, f"01-{at + 1:02}", f"Part {at} of the handbook has no index page number {at * 7}") for at in range(9)
]
TRACKER = [
    *ORDINARY,
    item(1, "02-01", **closed("02-20")),
    item(2, "02-10", **closed("02-28", 1)),
    item(3, "03-10", **closed("03-20")),
    item(4, "03-11", OTHER),
    item(5, "03-12", OTHER, author="dependabot[bot]"),
    item(6, "03-13", f"{EVIL} nothing like the rest of it", **closed("03-30", 4)),
]  # fmt: skip


@pytest.fixture
def tracker(cli, tmp_path):
    file = tmp_path / "tracker.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in TRACKER), encoding="utf-8")
    assert cli("import", str(file), "--project", "acme/web", FORGELORE_EMBEDDER="none").code == 0
    return cli


def cases(done):
    return {one["ref"]: one for one in done.data["items"]}


REPLAY = ("triage", "--since", "2026-02-01", "--until", "2026-04-01", "--dry-run", "acme/web")


def test_each_item_is_compared_with_what_was_there_when_it_was_filed(tracker):
    found = cases(tracker(*REPLAY, "--json"))
    assert "#1" not in found  # nothing was like it then; what came later repeats it
    assert found["#2"]["listed"][0] == "#1"
    assert set(found["#3"]["listed"]) <= {"#1", "#2"}


def test_another_item_is_shown_as_it_stood_then(tracker, tmp_path):
    page = tmp_path / "page.html"
    found = cases(tracker(*REPLAY, "--html", str(page), "--json"))
    assert "open" in found["#2"]["report"]
    assert "closed as" not in found["#2"]["report"]
    assert "(open then)" in page.read_text()


def test_what_people_did_later_does_not_change_what_is_said_but_what_came_of_it(tracker):
    """Issue 1 was closed in favour of nothing, issue 2 as a duplicate of 1; that was written after both were filed."""
    found = cases(tracker(*REPLAY, "--json"))
    assert (found["#2"]["today"], found["#2"]["right"]) == ("assist", "#1")
    assert (found["#3"]["today"], found["#3"]["right"]) == ("noise", None)


def test_known_duplicates_that_it_would_have_passed_are_counted_against_it(tracker):
    done = tracker(*REPLAY, "--json")
    assert cases(done)["#6"]["today"] == "missed"
    assert cases(done)["#6"]["originals"] == ["#4"]
    counts = done.data["counts"]
    assert (counts["missed"], counts["right_first"] + counts["right_listed"], counts["noise"]) == (1, 1, 1)


def test_items_by_people_with_write_access_are_left_alone_as_the_bot_does(tracker, tmp_path):
    with contextlib.closing(apsw.Connection(str(tmp_path / "lore.db"))) as connection:
        connection.execute("UPDATE items SET author_role = 'MEMBER' WHERE number = 3")
    done = tracker(*REPLAY, "--json")
    assert (done.data["maintainers"], done.data["counts"]["seen"]) == (1, 4)
    assert "1 item by people with write access" in tracker(*REPLAY).out


def test_items_of_programs_are_left_alone(tracker):
    done = tracker(*REPLAY, "--json")
    assert done.data["programs"] == 1
    assert done.data["counts"]["seen"] == 5


def test_nothing_is_posted_whatever_else_is_asked(tracker):
    done = tracker("triage", "--since", "30d", "--post", "acme/web")
    assert done.code == 2
    assert "a replay posts nothing" in done.err


@pytest.mark.parametrize("words", [("--html", "page.html"), ("--kind", "issue"), ("--until", "7d")])
def test_options_of_a_replay_need_a_period(tracker, words):
    done = tracker("triage", "#1", *words)
    assert done.code == 2
    assert "goes with --since" in done.err


def test_a_period_without_items_names_the_newest(tracker):
    shown = tracker("triage", "--since", "2026-05-01", "--dry-run", "acme/web").out
    assert "nothing was filed" in shown
    assert "the newest item is from 2026-03-13" in shown


def test_a_maintainer_reads_the_share_of_comments_and_what_was_right(tracker):
    shown = tracker(*REPLAY).out
    assert "Warnings" in shown
    assert "right, named first" in shown
    assert "closed otherwise" in shown
    assert "missed: #4" in shown
    assert "of 5 (" in shown


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("columns", [1280, 390])
def test_the_page_loads_nothing_runs_nothing_and_can_be_read(tracker, tmp_path, browser, scheme, columns):  # noqa: F811
    page = tmp_path / "page.html"
    assert tracker(*REPLAY, "--html", str(page)).code == 0
    seen = browser.open(page, width=columns, scheme=scheme)
    browser.evaluate(OPEN_ALL)
    assert (seen.requests, seen.blocked, seen.problems) == ([page.as_uri()], [], [])
    assert browser.evaluate("document.title") == "What triage would have said in acme/web"
    assert browser.evaluate(TOO_WIDE) == []
    assert [text for text, ratio in browser.evaluate(CONTRASTS) if ratio < 4.5] == []
