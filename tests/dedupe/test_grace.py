"""Days of grace: label and comment now, close later, unless somebody took part."""

import pytest

from dedupe.closing_lab import reasons
from forgelore.core.dedupe.reasons import ReasonCode

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
    assert reasons(closing.apply(run)) == {copy: None}
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
