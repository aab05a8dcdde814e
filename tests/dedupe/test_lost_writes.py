"""Writes whose answers never come, and refusals: nothing is written twice, and the rest goes on."""

import json

import pytest

from dedupe.closing_lab import ClosingLab, actions, let_ana_write, reasons
from forgelore.dedupe.apply import ApplySettings, apply_plan, load_plan
from forgelore.dedupe.reasons import ReasonCode
from forgelore.errors import AuthError, ForgeError, Locked
from forgelore.store.decisions import each_override, load_run
from forgelore.store.sync import acquire_lock


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


def test_a_write_that_shows_late_is_not_sent_again(closing):
    """The forge took the comment, lost the answer, and shows it to nobody for some seconds."""
    original, copy = closing.prepare()
    run = closing.planned()
    skip = 1 if closing.forge.name == "gitlab" else 0
    closing.server.fail(method="POST", path=rf"/issues/{copy}/(comments|notes)$", times=1, skip=skip, drop=True)
    pauses, sleep = [], closing.app.sleep

    def show_late(seconds):
        sleep(seconds)
        if is_sent := closing.store.value("SELECT request FROM write_journal WHERE step = 'comment'"):
            pauses.append(seconds)
        if is_sent and pauses == [0, 1, 2]:
            closing.on_issue("comment", copy, json.loads(is_sent)["body"], author="ana")

    closing.app.sleep = show_late
    assert reasons(closing.apply(run)) == {copy: None}
    assert pauses == [0, 1, 2]
    assert len(closing.portrait([copy])[copy][4]) == 1
    assert closing.portrait([original])[original][4] == []


@pytest.mark.parametrize("step", ["close", "comment"])
def test_a_write_that_is_never_answered_is_kept_and_the_next_run_goes_on(closing, step):
    """It stops its item alone."""
    is_gitlab = not closing.has_shared_numbers
    _, first, second = closing.prepare(copies=2)
    run = closing.planned()
    if step == "close" and not is_gitlab:
        fault = closing.server.fail(method="PATCH", path=rf"/issues/{first}$", drop=True)
    else:
        skip = int(is_gitlab and step == "comment")
        fault = closing.server.fail(method="POST", path=rf"/issues/{first}/(comments|notes)$", skip=skip, drop=True)
    found = closing.apply(run)
    assert reasons(found) == {first: ReasonCode.WRITE_UNANSWERED, second: None}
    assert found.counters == {"wait": 1, "write_unanswered": 1, "closed": 1}
    assert "run the same command again" in found.problems[0]
    assert load_run(closing.store, found.run).status == "waiting"
    (kept,) = closing.store.rows("SELECT number, step FROM write_journal WHERE status = 'sent'")
    assert kept == (first, step)
    closing.server.faults.remove(fault)
    assert actions(closing.apply(run)) == {first: "closed", second: "closed"}
    state, *_, comments = closing.portrait([first])[first]
    assert (state, len(comments)) == ("closed", 1)


@pytest.mark.parametrize("step", ["reopen", "uncomment"])
def test_a_rollback_that_loses_an_answer_stops_and_the_next_one_goes_on(closing, step):
    numbers = closing.prepare()
    before = closing.portrait(numbers)
    run = closing.planned()
    closing.apply(run)
    method, path = {"reopen": ("PATCH|PUT", r"/issues/\d+$"), "uncomment": ("DELETE", "comments|notes")}[step]
    faults = [closing.server.fail(method=one, path=path, drop=True) for one in method.split("|")]
    with pytest.raises(ForgeError):
        closing.roll_back(run)
    for fault in faults:
        closing.server.faults.remove(fault)
    assert [one.problem for one in closing.roll_back(run).items] == [""]
    assert closing.portrait(numbers) == before
    closing.time.pass_by(600)
    closing.lab.sync()
    pair = [closing.id_of(one) for one in reversed(numbers)]
    said = [
        [one.item_id, one.target_id]
        for one in each_override(closing.store, closing.stored.id)
        if one.decision == "reject"
    ]
    assert said == [pair], "who took it back rejects the pair"
    assert reasons(closing.plan()) == {}


def test_a_forge_that_breaks_down_stops_the_run_and_the_next_one_goes_on(closing):
    _, first, second = closing.prepare(copies=2)
    run = closing.planned()
    fault = closing.server.fail(path=rf"/issues/{second}(\?|/|$)", status=500)
    with pytest.raises(ForgeError):
        closing.apply(run)
    assert closing.portrait([first, second])[first][0] == "closed"
    closing.server.faults.remove(fault)
    assert actions(closing.apply(run)) == {first: "closed", second: "closed"}
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


@pytest.mark.parametrize("step", ["apply", "roll_back"])
def test_a_run_that_fell_silent_on_another_machine_is_taken_over_by_force(closing, step):
    _, copy = closing.prepare()
    run = closing.planned()
    if step == "roll_back":
        closing.apply(run)
    act = getattr(closing, step)
    sql = (
        "INSERT INTO locks (name, owner, machine, pid, acquired_at, heartbeat_at) VALUES (?, 'x', 'elsewhere', 1, ?, ?)"
    )
    now = closing.time.now_ms()
    closing.store.run(sql, f"closings of {closing.stored.id}", now, now)
    with pytest.raises(Locked, match="still working"):
        act(run, force=True)
    closing.time.pass_by(120)
    with pytest.raises(Locked, match="silent for") as refused:
        act(run)
    assert "--force" in refused.value.hint
    act(run, force=True)
    assert closing.portrait([copy])[copy][0] == ("closed" if step == "apply" else "open")


def test_a_run_that_was_taken_over_writes_nothing_more(closing):
    _, first, second = closing.prepare(copies=2)
    run = closing.planned()

    def take_over(_):
        closing.store.run("UPDATE locks SET owner = 'another'")

    plan = load_plan(closing.store, run)
    settings = ApplySettings(is_unproven=True, maintainers=closing.named)
    with pytest.raises(Locked, match="took over"):
        apply_plan(closing.job, closing.forge, plan, settings, on_line=take_over)
    states = {number: one[0] for number, one in closing.portrait([first, second]).items()}
    assert states == {first: "closed", second: "open"}


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
