"""A refresh: new items, or those of some days; whatever it leaves out the next sync still reads."""

import pytest

HOUR = 3_600


@pytest.fixture(params=("github", "gitlab", "forgejo"))
def lab(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def edited(lab):
    """A synced item, then edited, and one that was filed afterwards."""
    first = lab.project.add_issue("First", "It waits")
    lab.sync()
    lab.time.pass_by(HOUR)
    lab.on_issue("edit", first, title="First, edited")
    second = lab.project.add_issue("Second", "It fails")
    return first, second


def titles(lab):
    return dict(lab.rows("SELECT number, title FROM items WHERE kind = 'issue'"))


def refresh(lab, **options):
    return lab.sync(kinds=("issue", "change"), command="refresh", **options)


def test_new_items_come_and_known_ones_are_left_alone(lab, edited):
    first, second = edited
    done = refresh(lab, new_only=True)
    assert titles(lab) == {first: "First", second: "Second"}
    assert done.written["issue"] == 1


def test_the_next_sync_reads_what_a_refresh_left_out(lab, edited):
    first, _ = edited
    refresh(lab, new_only=True)
    lab.sync()
    assert titles(lab)[first] == "First, edited"
    lab.assert_same()


def test_a_refresh_of_known_items_brings_their_changes(lab, edited):
    first, second = edited
    refresh(lab)
    assert titles(lab) == {first: "First, edited", second: "Second"}


def test_a_refresh_since_a_time_reads_no_further_and_loses_nothing(lab):
    old = lab.project.add_issue("Old", "It waits")
    lab.sync()
    lab.on_issue("edit", old, title="Old, edited")
    lab.time.pass_by(100 * HOUR)
    new = lab.project.add_issue("New", "It fails")
    refresh(lab, since=lab.time.now_ms() - HOUR * 1000)
    assert titles(lab) == {old: "Old", new: "New"}
    lab.sync()
    assert titles(lab) == {old: "Old, edited", new: "New"}
    lab.assert_same()


def test_a_first_refresh_reads_everything_and_moves_no_cursor(lab):
    number = lab.project.add_issue("First", "It waits")
    refresh(lab, new_only=True)
    assert titles(lab) == {number: "First"}
    assert lab.value("SELECT count(*) FROM sync_cursors WHERE is_complete") == 0
