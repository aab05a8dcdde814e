"""Days of grace: label and comment now, close later, unless somebody took part."""

import pytest

from dedupe.closing_lab import approve, let_merge, push, reasons
from forgelore.dedupe.reasons import ReasonCode

HOURS = 72


def begin(closing):
    _, copy = closing.prepare()
    run = closing.planned()
    found = closing.apply(run, close_after=HOURS)
    assert reasons(found) == {copy: ReasonCode.IN_GRACE}
    return run, copy


def own_comment(closing, copy):
    item = closing.item(copy)
    notes = item.comments if hasattr(item, "comments") else [one for one in item.notes() if not one.system]
    return notes[0].id


def test_an_item_is_labelled_and_told_and_closed_when_the_hours_are_over(closing):
    run, copy = begin(closing)
    state, labels, _, _, comments = closing.portrait([copy])[copy]
    assert (state, labels, len(comments)) == ("open", ["possible-duplicate"], 1)
    assert f"in {HOURS} hours" in comments[0]
    before = len(closing.server.requests)
    closing.time.pass_by((HOURS - 1) * 3600)
    assert reasons(closing.apply(run)) == {copy: ReasonCode.IN_GRACE}
    assert closing.writes(before) == []
    closing.time.pass_by(2 * 3600)
    assert reasons(closing.apply(run)) == {copy: None}
    state, _, _, _, comments = closing.portrait([copy])[copy]
    assert (state, len(comments)) == ("closed", 1)
    before = len(closing.server.requests)
    assert reasons(closing.apply(run)) == {copy: ReasonCode.ALREADY_CLOSED}
    assert closing.writes(before) == []


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (lambda lab, copy: lab.on_issue("comment", copy, "it is not", author="zoe"), ReasonCode.DISCUSSED_SINCE_PLAN),
        (lambda lab, copy: lab.project.react(own_comment(lab, copy)), ReasonCode.DISCUSSED_SINCE_PLAN),
        (lambda lab, copy: lab.delete_comment(own_comment(lab, copy)), ReasonCode.DISCUSSED_SINCE_PLAN),
        (lambda lab, copy: lab.on_issue("edit", copy, body="More words"), ReasonCode.EDITED_SINCE_PLAN),
        (lambda lab, copy: lab.on_issue("edit", copy, assignees=["ben"]), ReasonCode.ASSIGNED_SINCE_PLAN),
    ],
    ids=["commented", "reacted", "comment deleted", "edited", "assigned"],
)
def test_whoever_takes_part_keeps_it_open(closing, act, reason):
    run, copy = begin(closing)
    closing.time.pass_by(3600)
    act(closing, copy)
    closing.time.pass_by((HOURS + 1) * 3600)
    assert reasons(closing.apply(run)) == {copy: reason}
    assert closing.portrait([copy])[copy][0] == "open"


@pytest.mark.parametrize("is_over", [False, True])
def test_a_rollback_takes_label_comment_and_closing_back(closing, is_over):
    _, copy = closing.prepare()
    before = closing.portrait([copy])
    run = closing.planned()
    closing.apply(run, close_after=HOURS)
    if is_over:
        closing.time.pass_by((HOURS + 1) * 3600)
        closing.apply(run)
    back = closing.roll_back(run)
    assert closing.portrait([copy]) == before
    assert {"comment", "labels"} <= set(back.items[0].restored)


def test_a_label_that_was_there_before_stays(closing):
    original = closing.add(author="kim")
    copy = closing.add(author="lia", labels=["possible-duplicate"])
    closing.named = ("ana",) if closing.lab.name_text.startswith("forgejo") else ()
    closing.lab.sync()
    closing.decide(copy, original)
    before = closing.portrait([copy])
    run = closing.planned()
    closing.apply(run, close_after=HOURS)
    closing.roll_back(run)
    assert closing.portrait([copy]) == before


def test_another_plan_sees_the_hours_of_grace_and_waits(closing):
    """Made before them or while they run; with hours of its own or without: nothing is closed earlier or told twice."""
    original, copy = closing.prepare()
    first, earlier = closing.planned(), closing.planned()
    closing.apply(first, close_after=HOURS)
    closing.time.pass_by(600)
    closing.lab.sync()
    assert reasons(closing.plan()) == {copy: ReasonCode.IN_GRACE}
    since = len(closing.server.requests)
    for hours in (0, 0):
        found = closing.apply(earlier, close_after=hours)
        assert (reasons(found), found.counters) == ({copy: ReasonCode.IN_GRACE}, {"wait": 1, "in_grace": 1})
    assert closing.writes(since) == []
    closing.time.pass_by((HOURS + 1) * 3600)
    assert reasons(closing.apply(earlier)) == {copy: ReasonCode.IN_GRACE}, "the run that gave the hours ends them"
    assert reasons(closing.apply(first)) == {copy: None}
    assert reasons(closing.apply(earlier)) == {copy: ReasonCode.NOT_OPEN}
    assert len(closing.portrait([copy])[copy][4]) == 1
    assert closing.portrait([original])[original][0] == "open"


def test_two_plans_with_hours_of_grace_label_and_tell_once(closing):
    _, copy = closing.prepare()
    first, second = closing.planned(), closing.planned()
    closing.apply(first, close_after=HOURS)
    closing.apply(second, close_after=HOURS)
    _, labels, _, _, comments = closing.portrait([copy])[copy]
    assert (labels, len(comments)) == (["possible-duplicate"], 1)


def lock(lab, copy, *, is_on=True):
    if lab.has_shared_numbers:
        lab.item(copy).locked = is_on
    else:
        lab.item(copy).extra["discussion_locked"] = is_on


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (lambda lab, copy: lab.on_issue("comment", copy, "it is not", author="zoe"), ReasonCode.DISCUSSED_SINCE_PLAN),
        (lambda lab, copy: lab.on_issue("edit", copy, body="With a proxy, too"), ReasonCode.EDITED_SINCE_PLAN),
        (lock, ReasonCode.CONVERSATION_LOCKED),
    ],
    ids=["commented", "edited", "locked and unlocked"],
)
def test_what_people_objected_to_is_planned_again_only_after_somebody_accepted_it(closing, act, reason):
    """People were told that it stays open."""
    run, copy = begin(closing)
    closing.time.pass_by(3600)
    act(closing, copy)
    closing.time.pass_by((HOURS + 1) * 3600)
    closing.apply(run)
    lock(closing, copy, is_on=False)
    closing.time.pass_by(600)
    closing.lab.sync()
    for _ in range(2):
        assert reasons(closing.plan()) == {copy: reason}
    closing.time.pass_by(60)
    closing.say("accept", copy, 1)
    assert reasons(closing.plan()) == {copy: None}


@pytest.mark.parametrize("act", [approve, let_merge, push], ids=["approved", "auto-merge", "new commits"])
def test_what_happens_to_a_change_in_its_hours_of_grace_keeps_it_open(closing, act):
    _, copy = closing.prepare(kind="change")
    run = closing.planned()
    assert reasons(closing.apply(run, close_after=HOURS)) == {copy: ReasonCode.IN_GRACE}
    closing.time.pass_by(3600)
    act(closing, copy)
    closing.time.pass_by((HOURS + 1) * 3600)
    reason = ReasonCode.EDITED_SINCE_PLAN if act is push else ReasonCode.CHANGE_APPROVED
    assert reasons(closing.apply(run)) == {copy: reason}
    state, labels, _, _, comments = closing.portrait([copy], "change")[copy]
    assert (state, labels, "stays open" in comments[0]) == ("open", [], True)


def test_nothing_is_closed_onto_an_item_that_waits_for_its_own_closing(closing):
    first, second, third = (closing.add(body=f"EACCES, says user{at}", author=f"user{at}") for at in range(3))
    if closing.lab.name_text.startswith("forgejo"):
        closing.named = ("ana",)
    closing.lab.sync()
    closing.decide(second, first, confidence=0.87)
    waiting = closing.planned(min_close=0.85)
    closing.decide(third, second)
    later = closing.planned(target_policy="direct-fallback")
    assert reasons(closing.apply(waiting, close_after=HOURS)) == {second: ReasonCode.IN_GRACE}
    assert reasons(closing.apply(later)) == {third: ReasonCode.IN_GRACE}
    assert reasons(closing.plan(target_policy="direct-fallback"))[third] == ReasonCode.IN_GRACE
    assert closing.portrait([third])[third][0] == "open"


def test_hours_that_were_taken_back_are_forgotten(closing):
    run, copy = begin(closing)
    closing.roll_back(run)
    closing.time.pass_by(600)
    closing.lab.sync()
    assert reasons(closing.plan()) == {copy: None}


def test_a_locked_conversation_gets_no_hours_of_grace_and_the_rest_goes_on(closing):
    """Nobody can be told there: nothing is labelled, and nothing is closed."""
    _, first, second = closing.prepare(copies=2)
    run = closing.planned()
    locked = {"message": "Unable to create comment because issue is locked."}
    closing.server.fail(method="POST", path=rf"/issues/{first}/(comments|notes)$", status=403, body=locked)
    if closing.has_shared_numbers:
        closing.item(first).locked = True
    else:
        closing.item(first).extra["discussion_locked"] = True
    found = closing.apply(run, close_after=HOURS)
    assert reasons(found) == {first: ReasonCode.CONVERSATION_LOCKED, second: ReasonCode.IN_GRACE}
    assert closing.portrait([first])[first][:2] == ("open", [])
    closing.time.pass_by((HOURS + 1) * 3600)
    assert reasons(closing.apply(run)) == {first: ReasonCode.CONVERSATION_LOCKED, second: None}
