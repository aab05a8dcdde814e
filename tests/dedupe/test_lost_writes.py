"""Writes whose answers never come, and refusals: nothing is written twice, and the rest goes on."""

import pytest

from dedupe.closing_lab import ClosingLab, let_ana_write, reasons
from forgelore.errors import AuthError, ForgeError, Locked
from forgelore.store.sync_state import acquire_lock


@pytest.mark.parametrize("body", ["close", "comment"])
def test_a_write_that_is_done_and_never_answered_is_found_on_the_forge(closing, body):
    """GitHub and Forgejo close by PATCH, GitLab by a note; comments are posted by POST everywhere."""
    _, copy = closing.prepare()
    run = closing.planned()
    path = {"close": rf"/issues/{copy}(/notes)?$", "comment": rf"/issues/{copy}/(comments|notes)$"}[body]
    skip = 1 if body == "comment" and closing.forge.name == "gitlab" else 0
    method = "POST" if body == "comment" or closing.forge.name == "gitlab" else "PATCH"
    closing.server.fail(method=method, path=path, times=1, skip=skip, drop_after=True)
    assert reasons(closing.apply(run)) == {copy: None}
    state, *_, comments = closing.portrait([copy])[copy]
    assert (state, len(comments)) == ("closed", 1)
    closing.roll_back(run)
    state, *_, comments = closing.portrait([copy])[copy]
    assert (state, len(comments)) == ("open", 0)


def test_a_comment_that_never_arrives_is_posted_again(closing):
    _, copy = closing.prepare()
    run = closing.planned()
    skip = 1 if closing.forge.name == "gitlab" else 0
    closing.server.fail(method="POST", path=rf"/issues/{copy}/(comments|notes)$", times=1, skip=skip, drop=True)
    assert reasons(closing.apply(run)) == {copy: None}
    assert len(closing.portrait([copy])[copy][4]) == 1


def test_a_forge_that_breaks_down_stops_the_run_and_the_next_one_goes_on(closing):
    _, first, second = closing.prepare(copies=2)
    run = closing.planned()
    fault = closing.server.fail(path=rf"/issues/{second}(\?|/|$)", status=500)
    with pytest.raises(ForgeError):
        closing.apply(run)
    assert closing.portrait([first, second])[first][0] == "closed"
    closing.server.faults.remove(fault)
    assert reasons(closing.apply(run)) == {first: None, second: None}
    assert len(closing.portrait([first])[first][4]) == 1


def test_a_token_that_may_not_write_changes_nothing_and_says_so(closing):
    _, copy = closing.prepare()
    run = closing.planned()
    closing.server.fail(method="PATCH", status=403, body={"message": "no"})
    closing.server.fail(method="POST", path="notes|comments", status=403, body={"message": "no"})
    with pytest.raises(AuthError):
        closing.apply(run)
    assert closing.portrait([copy])[copy][0] == "open"


def test_two_applies_at_once_are_refused(closing):
    closing.prepare()
    run = closing.planned()
    lock = acquire_lock(closing.store, f"closings of {closing.stored.id}", closing.time.now_ms())
    before = len(closing.server.requests)
    with pytest.raises(Locked):
        closing.apply(run)
    assert closing.writes(before) == []
    lock.release()


@pytest.fixture
def on_github(github):
    let_ana_write(github)
    return ClosingLab(github)


def test_writes_keep_their_distance(on_github):
    """A second between two writes, as GitHub asks for: the clock of this test moves by sleeping alone."""
    on_github.prepare(copies=3)
    run = on_github.planned()
    began = on_github.time.clock()
    on_github.apply(run)
    assert on_github.time.clock() - began >= 5


def test_a_closing_in_a_locked_conversation_is_told(on_github):
    _, copy = on_github.prepare()
    run = on_github.planned()
    locked = {"message": "Unable to create comment because issue is locked."}
    on_github.server.fail(method="POST", path="/comments$", status=403, body=locked)
    found = on_github.apply(run)
    assert reasons(found) == {copy: None}
    assert "without a comment" in found.problems[0]
