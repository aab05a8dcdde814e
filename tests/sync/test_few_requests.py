"""What costs few requests however large a project is: a deletion among many, and a comment that is gone without a trace."""

import pytest


def requests(lab, since: int) -> int:
    return len(lab.server.requests) - since


@pytest.fixture
def large(lab):
    """A synced project with more items than are listed when one is missing."""
    for number in range(700):
        lab.server.clock.advance(3)
        lab.project.add_issue(f"issue {number}", "text")
    lab.sync()
    lab.time.pass_by(3600)
    lab.sync()
    return lab


@pytest.mark.parametrize("gone", [(250,), (3, 640)], ids=["one", "two"])
def test_a_deletion_among_many_is_found_by_comparing_totals(large, gone):
    before = len(large.server.requests)
    assert large.sync().deleted == 0
    quiet = requests(large, before)
    numbers = [number for (number,) in large.rows("SELECT number FROM items WHERE kind = 'issue' ORDER BY number")]
    for place in gone:
        large.on_issue("delete", numbers[place])
    large.time.pass_by(3600)
    before = len(large.server.requests)
    assert large.sync().deleted == len(gone)
    assert requests(large, before) - quiet <= 10 + len(gone), large.server.paths(before)
    large.assert_same()


def test_a_forge_that_does_not_count_spans_is_swept(gitlab):
    for number in range(600):
        gitlab.server.clock.advance(3)
        gitlab.project.add_issue(f"issue {number}")
    gitlab.sync()
    gitlab.server.graphql = False
    gitlab.server.fail(path="updated_after.*per_page=1(&|$)", drop_headers=["x-total"])
    gitlab.project.delete("issue", 300)
    gitlab.time.pass_by(3600)
    assert gitlab.sync().deleted == 1
    gitlab.assert_same()


def test_a_comment_that_vanishes_without_a_trace_is_found_within_a_month(lab):
    numbers = [lab.project.add_issue(f"issue {number}") for number in range(3)]
    comments = [lab.on_issue("comment", number, "soon gone") for number in numbers]
    lab.on_issue("comment", numbers[0], "stays")
    lab.sync()
    lab.time.pass_by(40 * 86_400)  # beyond the wider net
    lab.sync()
    lab.delete_comment(comments[0])
    issue = lab.server.project(lab.path).items("issue")[numbers[0]] if not lab.has_shared_numbers else None
    assert issue is None or issue.updated_at < "2026-03-02"
    lab.time.pass_by(26 * 3600)
    before = len(lab.server.requests)
    lab.sync()
    assert requests(lab, before) <= 20
    assert lab.value("SELECT count(*) FROM notes WHERE body = 'soon gone'") == 2
    lab.assert_same()


def test_a_large_project_is_read_again_part_by_part(gitlab):
    for number in range(250):
        gitlab.server.clock.advance(2)
        gitlab.project.add_issue(f"issue {number}")
    gitlab.sync()
    spans = []
    for _ in range(4):
        gitlab.time.pass_by(40 * 86_400)
        before = len(gitlab.server.requests)
        gitlab.sync()
        spans += [path.count("updated_before") for path in gitlab.server.paths(before) if "updated_before" in path]
    assert len(spans) == 3 + 1, "three parts, and then the first once more"
