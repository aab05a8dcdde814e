"""Work lists and the month's report: who waits for the team, since when, and how long people waited."""

import json

import pytest

import forgelore
from forgelore.errors import InvalidValue, NotFound
from forgelore.history.report import read_month

DAY = "2026-03-{:02}T12:00:00Z"


def issue(number, author, day, *notes, kind="issue", state="open", **more):
    said = [{"author": who, "body": f"{who} says so", "created_at": DAY.format(on)} for who, on in notes]
    return {
        "kind": kind, "number": number, "title": f"Matter {number}", "body": "Of it", "author": author, "state": state,
        "created_at": DAY.format(day), "updated_at": DAY.format(day), "notes": said, **more,
    }  # fmt: skip


LINES = [
    issue(1, "eve", 1, ("tess", 2), ("eve", 3)),  # she came back, and nobody has answered
    issue(2, "zoe", 4),  # her first, and nobody has spoken
    issue(3, "eve", 5, ("tess", 6)),  # answered
    issue(4, "tess", 7),  # of the team itself
    issue(5, "renovate[bot]", 8),  # a robot asks nobody
    issue(6, "eve", 9, ("stale-bot", 10)),  # a robot's word is no answer
    issue(7, "eve", 11, kind="change"),
    issue(8, "eve", 12, kind="change", labels=["wip"], is_draft=True),
    issue(9, "eve", 13, labels=["bug"]),
    issue(10, "eve", 14, ("tess", 15), state="closed", closed_at=DAY.format(16)),
    issue(11, "kim", 17, state="closed", closed_at=DAY.format(18), state_reason="duplicate"),
    issue(12, "mia", 19, is_confidential=True),
]


@pytest.fixture
def history(tmp_path):
    source = tmp_path / "lines.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    environ = {"HOME": str(tmp_path), "FORGELORE_EMBEDDER": "none", "FORGELORE_MAINTAINERS": "Tess"}
    with forgelore.open(tmp_path / "lore.db", environ=environ, create=True) as found:
        found.sync.import_file(str(source), project="acme/web")
        yield found


def numbers(history, name):
    (found,) = history.people.waiting(only=name, limit=100).lists
    assert found.total == len(found.items)
    return [one.number for one in found.items]


def test_whoever_spoke_last_and_is_not_of_the_team_waits_longest_first(history):
    assert numbers(history, "answer") == [1, 2, 6, 7, 8, 9]


def test_newcomers_wait_until_somebody_of_the_team_speaks(history):
    assert numbers(history, "newcomers") == [2]


def test_changes_wait_for_a_review(history):
    assert set(numbers(history, "reviews")) <= {7, 8}
    assert 7 in numbers(history, "reviews")


def test_issues_with_a_label_or_a_word_of_the_team_are_sorted_in(history):
    assert numbers(history, "untriaged") == [2, 6]


def test_a_list_is_cut_and_says_how_many_there_are(history):
    (found,) = history.people.waiting(only="answer", limit=2).lists
    assert (found.total, [one.number for one in found.items]) == (6, [1, 2])
    assert found.items[0].by == "eve"


def test_a_list_that_nobody_knows_is_refused(history):
    with pytest.raises(InvalidValue, match="nonsense"):
        history.people.waiting(only="nonsense")


def test_a_month_counts_people_and_no_robots(history):
    report = history.people.month("2026-03")
    issues, changes = report.kinds
    assert (issues.opened, issues.closed, issues.duplicates, issues.open_at_end) == (8, 2, 1, 6)
    assert (changes.opened, changes.closed) == (2, 0)
    assert sum(one.opened for one in report.weeks) == 10
    assert set(report.newcomers) == {"eve", "zoe", "tess", "kim"}


def test_waits_that_have_not_ended_are_counted_beside_the_median(history):
    issues, _ = history.people.month("2026-03").kinds
    assert (issues.first_answer.ended, issues.first_answer.median_h, issues.first_answer.unfinished) == (3, 24.0, 4)
    assert (issues.to_close.ended, issues.to_close.median_h) == (2, 36.0)


def test_a_backlog_is_as_old_as_it_was_at_the_end_of_the_month(history):
    issues, _ = history.people.month("2026-06").kinds
    assert (issues.opened, issues.open_at_end) == (0, 6)
    assert issues.ages["up to a year"] == 6


def test_by_default_it_is_the_month_of_the_newest_item(history):
    assert history.people.month().month == "2026-03"


@pytest.mark.parametrize("text", ["2026-13", "03-2026", "", "2026-3", "0000-01", "2026-03-01"])
def test_what_is_not_a_month_is_refused(text):
    with pytest.raises(InvalidValue, match="not a month"):
        read_month(text)


def test_a_project_without_items_says_so(tmp_path):
    source = tmp_path / "lines.jsonl"
    source.write_text(json.dumps({"kind": "release", "number": 1, "title": "One", "tag": "v1"}) + "\n")
    with forgelore.open(tmp_path / "lore.db", environ={"HOME": str(tmp_path)}, create=True) as history:
        history.sync.import_file(str(source), project="acme/web")
        with pytest.raises(NotFound, match="no issues or changes"):
            history.people.month()
