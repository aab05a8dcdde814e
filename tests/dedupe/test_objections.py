"""Whatever people do keeps an item open, and our label and promise are then taken back: on each local forge."""

import pytest

from dedupe.closing_lab import approve, let_merge, reasons
from forgelore.dedupe.closing_rules import speaks_against
from forgelore.dedupe.reasons import ReasonCode
from forgelore.dedupe.review import answer_pair
from forgelore.text.markdown import KEEP_OPEN_LABELS

HOURS = 72


def lock(closing, copy):
    if closing.has_shared_numbers:
        closing.item(copy).locked = True
    else:
        closing.item(copy).extra["discussion_locked"] = True


def give_milestone(closing, copy):
    if closing.has_shared_numbers:
        closing.item(copy).milestone = "1.2"
    else:
        closing.item(copy).extra["milestone"] = {"title": "1.2"}


def label(closing, copy, *names):
    closing.on_issue("edit", copy, labels=names)


OBJECTIONS = {
    "locked": (lock, ReasonCode.CONVERSATION_LOCKED),
    "milestone": (give_milestone, ReasonCode.MILESTONE_SINCE_PLAN),
    "contrary label": (
        lambda lab, it: label(lab, it, "status: Confirmed", "possible-duplicate"),
        ReasonCode.LABELLED_AGAINST,
    ),
}


@pytest.mark.parametrize("what", OBJECTIONS)
def test_what_somebody_does_since_the_plan_keeps_an_item_open(closing, what):
    _, copy = closing.prepare()
    run = closing.planned()
    act, reason = OBJECTIONS[what]
    act(closing, copy)
    since = len(closing.server.requests)
    assert reasons(closing.apply(run)) == {copy: reason}
    assert closing.writes(since) == []


IN_GRACE = OBJECTIONS | {
    "our label is taken off": (label, ReasonCode.LABEL_REMOVED),
    "a comment": (lambda lab, it: lab.on_issue("comment", it, "no", author="ben"), ReasonCode.DISCUSSED_SINCE_PLAN),
}


@pytest.mark.parametrize("what", IN_GRACE)
def test_after_an_objection_label_and_promise_are_taken_back_once(closing, what):
    original, copy = closing.prepare()
    run = closing.planned()
    closing.apply(run, close_after=HOURS)
    closing.time.pass_by(3600)
    act, reason = IN_GRACE[what]
    act(closing, copy)
    assert reasons(closing.apply(run)) == {copy: reason}
    state, labels, _, _, comments = closing.portrait([copy])[copy]
    assert (state, "possible-duplicate" in labels) == ("open", False)
    assert "This stays open after all" in comments[0]
    assert f"#{original}" in comments[0]
    assert "will be closed" not in comments[0]
    since = len(closing.server.requests)
    closing.time.pass_by((HOURS + 1) * 3600)
    assert reasons(closing.apply(run)) == {copy: reason}
    assert closing.writes(since) == []


def test_who_was_told_that_it_stays_open_is_not_told_otherwise(closing):
    """The comment that objected is deleted again: the promise was taken back, and that stands."""
    _, copy = closing.prepare()
    run = closing.planned()
    closing.apply(run, close_after=HOURS)
    said = closing.on_issue("comment", copy, "It is not", author="ben")
    closing.apply(run)
    closing.delete_comment(said)
    closing.time.pass_by((HOURS + 1) * 3600)
    assert reasons(closing.apply(run)) == {copy: ReasonCode.DISCUSSED_SINCE_PLAN}
    assert closing.portrait([copy])[copy][0] == "open"


def test_a_promise_that_was_taken_back_is_rolled_back_too(closing):
    _, copy = closing.prepare()
    before = closing.portrait([copy])
    run = closing.planned()
    closing.apply(run, close_after=HOURS)
    give_milestone(closing, copy)
    closing.apply(run)
    closing.roll_back(run)
    assert closing.portrait([copy]) == before


@pytest.mark.parametrize("step", ["withdraw", "unlabel"])
def test_taking_back_goes_on_where_its_answer_was_lost(closing, step):
    _, copy = closing.prepare()
    run = closing.planned()
    closing.apply(run, close_after=HOURS)
    give_milestone(closing, copy)
    is_hub = closing.has_shared_numbers
    methods = {"withdraw": "PATCH" if is_hub else "PUT", "unlabel": "DELETE" if is_hub else "PUT"}
    path = "/(comments|notes)/" if step == "withdraw" else r"/labels/" if is_hub else rf"/issues/{copy}$"
    fault = closing.server.fail(method=methods[step], path=path, drop=True)
    assert reasons(closing.apply(run)) == {copy: ReasonCode.WRITE_UNANSWERED}
    closing.server.faults.remove(fault)
    assert reasons(closing.apply(run)) == {copy: ReasonCode.MILESTONE_SINCE_PLAN}
    _, labels, _, _, comments = closing.portrait([copy])[copy]
    assert (labels, len(comments), "stays open" in comments[0]) == ([], 1, True)


def test_a_reopening_stands_however_long_ago_it_was_unless_the_pair_was_accepted_since(closing):
    original, copy = closing.add(author="kim"), closing.add(author="lia")
    if "forgejo" in closing.lab.name_text:
        closing.named = ("ana",)
    closing.on_issue("close", copy, by="ben")
    closing.time.pass_by(60)
    closing.on_issue("reopen", copy, by="lia")
    closing.time.pass_by(400 * 86_400)
    closing.on_issue("edit", copy, labels=["bug"])
    closing.lab.sync()
    closing.decide(copy, original)
    closing.cluster()
    if closing.forge.name == "github":  # its lists say so; elsewhere the first apply finds out
        assert reasons(closing.plan()) == {copy: ReasonCode.REOPENED_SINCE_PLAN}
    else:
        assert reasons(closing.apply(closing.plan().run)) == {copy: ReasonCode.REOPENED_SINCE_PLAN}
    assert reasons(closing.plan()) == {copy: ReasonCode.REOPENED_SINCE_PLAN}
    closing.say("accept", copy, original)
    assert reasons(closing.apply(closing.planned())) == {copy: None}


@pytest.mark.parametrize("act", [approve, let_merge], ids=["approved", "auto-merge"])
def test_a_change_that_somebody_approved_or_that_merges_by_itself_stays_open(closing, act):
    _, copy = closing.prepare(kind="change")
    run = closing.planned()
    act(closing, copy)
    assert reasons(closing.apply(run)) == {copy: ReasonCode.CHANGE_APPROVED}


@pytest.mark.parametrize("lab", ["github", "forgejo"], indirect=True)
def test_an_approval_that_was_dismissed_is_none(closing):
    """GitLab lists only the approvals that stand."""
    _, copy = closing.prepare(kind="change")
    run = closing.planned()
    for state in ("APPROVED", "DISMISSED"):
        closing.project.review(copy, "", author="ben", state=state)
    assert reasons(closing.apply(run)) == {copy: None}


def test_hours_of_grace_count_on_the_forges_clock(closing):
    """Ours is set forward by a year."""
    _, copy = closing.prepare()
    run = closing.planned()
    closing.apply(run, close_after=HOURS)
    closing.lab.time._passed += 365 * 86_400
    assert reasons(closing.apply(run)) == {copy: ReasonCode.IN_GRACE}
    with closing.server.lock:
        closing.server.clock.advance((HOURS + 1) * 3600)
    assert reasons(closing.apply(run)) == {copy: None}


@pytest.mark.parametrize("state", ["locked", "label"])
def test_a_plan_leaves_out_what_is_locked_or_labelled_against(closing, state):
    original, copy = closing.add(author="kim"), closing.add(author="lia", labels=["Keep-Open"] * (state == "label"))
    if state == "locked":
        lock(closing, copy)
    if "forgejo" in closing.lab.name_text:
        closing.named = ("ana",)
    closing.lab.sync()
    closing.decide(copy, original)
    closing.cluster()
    expected = {"locked": ReasonCode.CONVERSATION_LOCKED, "label": ReasonCode.LABELLED_AGAINST}[state]
    assert reasons(closing.plan()) == {copy: expected}


def test_labels_are_compared_by_their_words():
    for name in ("Confirmed", "status: confirmed", "workflow::Confirmed", "kind/keep-open", "NOT_A_DUPLICATE"):
        assert speaks_against([name], KEEP_OPEN_LABELS), name
    for name in ("unconfirmed", "duplicate", "confirmed-by-nobody", ""):
        assert not speaks_against([name], KEEP_OPEN_LABELS), name


@pytest.mark.parametrize("which", [0, 1], ids=["original", "copy"])
@pytest.mark.parametrize("how", ["accept", "review"])
def test_what_was_edited_after_a_person_accepted_it_stays_open_until_they_accept_it_again(closing, how, which):
    """A person spoke of the texts that they saw; whoever filed one of them may have turned it into another one."""
    numbers = original, copy = closing.prepare()

    def accept():
        closing.time.pass_by(60)
        if how == "accept":
            closing.say("accept", copy, original)
        else:
            ids, now = (closing.id_of(copy), closing.id_of(original)), closing.time.now_ms()
            answer_pair(closing.store, closing.stored, ids, "same", said_by="ana", now_ms=now)

    accept()
    closing.time.pass_by(60)
    closing.on_issue("edit", numbers[which], body="Something else entirely happens when the network is slow")
    closing.lab.sync()
    closing.cluster()
    assert reasons(closing.plan()) == {copy: ReasonCode.EDITED_SINCE_PLAN}
    accept()
    assert reasons(closing.apply(closing.planned())) == {copy: None}
