"""Two operators at once, each with a store; refused items; rollbacks that are remembered; reports that tell the truth."""

import json

import pytest

from dedupe.closing_lab import ClosingLab, reasons
from forgelore.dedupe.closing_rules import SeenItem, WaitingNote, with_note
from forgelore.dedupe.reasons import ReasonCode
from forgelore.errors import AuthError

HOURS = 72


class SecondOperator(ClosingLab):
    """The same forge and account, with a store of its own."""

    def __init__(self, closing, tmp_path):
        super().__init__(closing.lab)
        app = closing.lab.app
        self.app = closing.lab.new_app(closing.lab.good_token, db=str(tmp_path / "second.db"))
        closing.lab.app = app
        self.named = closing.named

    def sync(self):
        first, self.lab.app = self.lab.app, self.app
        try:
            self.lab.sync()
        finally:
            self.lab.app = first


@pytest.fixture
def pair(closing, tmp_path):
    """Two operators who both synced the same two items."""
    original, copy = closing.prepare()
    second = SecondOperator(closing, tmp_path)
    second.sync()
    second.decide(copy, original)
    return closing, second, original, copy


def test_who_comes_second_leaves_an_item_to_whom_told_people_first(pair):
    first, second, _, copy = pair
    run = first.planned()
    first.apply(run, close_after=HOURS)
    first.time.pass_by(600)
    second.sync()  # the other's comment is nothing new to its plan
    other = second.planned()
    since = len(first.server.requests)
    for hours in (0, HOURS):
        found = second.apply(second.planned() if hours else other, close_after=hours)
        assert reasons(found) == {copy: ReasonCode.IN_GRACE}
    assert first.writes(since) == []
    first.time.pass_by((HOURS + 1) * 3600)
    assert reasons(first.apply(run)) == {copy: None}
    assert len(first.portrait([copy])[copy][4]) == 1


def test_an_item_that_is_closed_by_both_at_once_is_commented_once(pair):
    """The other closed it between the last look and the closing of this one, with the same account."""
    first, second, _, copy = pair
    run, other = first.planned(), second.planned()
    is_hub = first.has_shared_numbers
    rule = (
        {"method": "PATCH", "path": rf"/issues/{copy}$"}
        if is_hub
        else {"method": "POST", "path": rf"/issues/{copy}/notes$"}
    )
    first.server.fail(times=1, status=429, headers={"Retry-After": "5"}, then=lambda: None, **rule)
    sleep, is_done = first.app.sleep, []

    def close_meanwhile(seconds):
        if not is_done and seconds >= 5:
            is_done.append(seconds)
            second.apply(other)
        sleep(seconds)

    first.app.sleep = close_meanwhile
    assert reasons(second.apply(other)) == {copy: None}
    assert reasons(first.apply(run))[copy] == ReasonCode.NOT_OPEN
    assert len(first.portrait([copy])[copy][4]) == 1


def test_the_marker_names_the_store(pair):
    first, second, _, copy = pair
    first.apply(first.planned())
    (said,) = first.portrait([copy])[copy][4]
    names = [one.store.value("SELECT id FROM store_ids") for one in (first, second)]
    assert names[0] != names[1]
    assert f"store={names[0]} " in said.partition("\n")[0]


def test_what_the_bot_told_people_is_left_to_the_bot(closing):
    original, copy = closing.prepare()
    seen = SeenItem("", (), 0, None, None)
    note = WaitingNote(original, HOURS, closing.time.now_ms(), seen, seen)
    closing.on_issue("comment", copy, with_note(note, "hello"), author="ana")
    closing.time.pass_by(60)
    closing.lab.sync()
    assert reasons(closing.apply(closing.planned())) == {copy: ReasonCode.IN_GRACE}


def test_a_strangers_promise_is_a_comment_and_no_more(pair):
    first, second, _, copy = pair
    second.apply(second.planned(), close_after=HOURS)
    (said,) = first.portrait([copy])[copy][4]
    second.roll_back(second.store.value("SELECT max(id) FROM dedupe_runs WHERE step = 'plan'"))
    first.on_issue("comment", copy, said, author="mallory")
    first.time.pass_by(60)
    first.lab.sync()
    assert reasons(first.apply(first.planned())) == {copy: None}


@pytest.mark.parametrize("status", [403, 404, 422])
def test_an_item_that_is_refused_does_not_keep_the_others_open(closing, status):
    _, first, second = closing.prepare(copies=2)
    run = closing.planned()
    is_hub = closing.has_shared_numbers
    rule = (
        {"method": "PATCH", "path": rf"/issues/{first}$"}
        if is_hub
        else {"method": "POST", "path": rf"/issues/{first}/notes$"}
    )
    fault = closing.server.fail(status=status, body={"message": "no"}, **rule)
    found = closing.apply(run)
    assert reasons(found) == {first: ReasonCode.WRITE_REFUSED, second: None}
    assert found.problems
    closing.server.faults.remove(fault)
    assert reasons(closing.apply(run)) == {first: None, second: ReasonCode.ALREADY_CLOSED}


def test_a_token_that_may_write_nothing_ends_the_run_after_three_items(closing):
    closing.prepare(copies=5)
    run = closing.planned()
    for method in ("PATCH", "POST"):
        closing.server.fail(method=method, path="/issues/", status=403, body={"message": "no"})
    since = len(closing.server.requests)
    with pytest.raises(AuthError):
        closing.apply(run)
    assert len(closing.writes(since)) == 3


def test_a_rollback_is_remembered_and_the_pair_not_planned_again(closing):
    original, copy = closing.prepare()
    run = closing.planned()
    closing.apply(run)
    closing.time.pass_by(60)
    closing.roll_back(run)
    closing.time.pass_by(600)
    closing.lab.sync()
    said = closing.store.rows("SELECT item_id, action, target_id FROM overrides")
    assert said == [(closing.id_of(copy), "reject", closing.id_of(original))]
    assert closing.cluster().clusters == []
    closing.say("accept", copy, original)
    closing.roll_back(run)
    again = closing.planned()
    assert reasons(closing.apply(again)) == {copy: None}, "what a person accepts since then counts"


def test_a_plan_right_after_an_apply_says_that_it_is_closed_already(closing):
    _, copy = closing.prepare()
    closing.apply(closing.planned())
    assert reasons(closing.plan()) == {copy: ReasonCode.ALREADY_CLOSED}
    closing.time.pass_by(60)
    closing.on_issue("reopen", copy, by="ben")
    closing.lab.sync()
    assert reasons(closing.plan()) == {copy: ReasonCode.REOPENED_SINCE_PLAN}


def test_an_apply_that_is_repeated_says_what_was_closed_before(closing):
    closing.prepare()
    run = closing.planned()
    assert [(one.action, one.reason) for one in closing.apply(run).lines] == [("closed", "")]
    again = closing.apply(run)
    assert [(one.action, one.reason) for one in again.lines] == [("closed", "already_closed")]
    assert again.counters == {"closed": 1, "already_closed": 1}
    assert json.dumps(again.problems) == "[]"


def test_who_closed_an_item_at_the_same_time_names_the_other_item_once(pair):
    """The forge did the closing of this one and lost its answer; meanwhile the other took it for its own and told."""
    first, second, original, copy = pair
    run = first.planned()
    name = second.store.value("SELECT id FROM store_ids")
    told = f"<!-- forgelore:closing:v1 store={name} run=9 item=1 -->\nClosing as duplicate of #{original}."
    is_hub = first.has_shared_numbers
    place = rf"/issues/{copy}$" if is_hub else rf"/issues/{copy}/notes$"
    first.server.fail(
        method="PATCH" if is_hub else "POST", path=place, times=1, status_after=502,
        then=lambda: first.on_issue("comment", copy, told, author="ana"),
    )  # fmt: skip
    assert reasons(first.apply(run)) == {copy: None}
    assert first.portrait([copy])[copy][4] == [told]


def test_a_comment_that_is_refused_leaves_the_closing_as_it_is(closing):
    _, copy = closing.prepare()
    run = closing.planned()
    skip = int(not closing.has_shared_numbers)
    closing.server.fail(
        method="POST", path=rf"/issues/{copy}/(comments|notes)$", skip=skip, status=403, body={"message": "no"}
    )
    found = closing.apply(run)
    assert reasons(found) == {copy: None}
    assert "without a comment" in found.problems[0]
