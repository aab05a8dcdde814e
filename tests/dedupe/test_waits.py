"""While a forge makes us wait, people act: each write is sent once, and only after a fresh look is it sent again."""

import pytest

from dedupe.closing_lab import reasons
from forgelore.dedupe.reasons import ReasonCode

SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}
FAULTS = {
    "429": {"status": 429, "headers": {"Retry-After": "30"}},
    "secondary limit": {"status": 403, "body": SECONDARY},
    "maintenance": {"status": 503, "headers": {"Retry-After": "60"}},
    "502, not done": {"status": 502},
    "502, done": {"status_after": 502},
    "cut, done": {"drop_after": True},
    "no effect": {"status": 200},
}
DONE = ("502, done", "cut, done")


def reopen(closing, copy):
    """Close it first where it is open: a person's word either way."""
    if closing.portrait([copy])[copy][0] == "open":
        closing.on_issue("close", copy, by="ben")
        closing.time.pass_by(5)
    closing.on_issue("reopen", copy, by="ben")


ACTS = {
    "comments": (lambda lab, it: lab.on_issue("comment", it, "It is not", author="ben"), "discussed_since_plan"),
    "edits": (lambda lab, it: lab.on_issue("edit", it, body="Something else happens"), "edited_since_plan"),
    "assigns": (lambda lab, it: lab.on_issue("edit", it, assignees=["ben"]), "assigned_since_plan"),
    "reopens": (reopen, "reopened_since_plan"),
    "does nothing": (lambda *_: None, None),
}


def closing_requests(closing, number):
    """How a closing is sent: GitHub and Forgejo close by PATCH, GitLab by a note."""
    if closing.has_shared_numbers:
        return {"method": "PATCH", "path": rf"/issues/{number}$"}
    return {"method": "POST", "path": rf"/issues/{number}/notes$"}


def fail_once(closing, fault, rule, act=None):
    fault = dict(FAULTS[fault])
    if fault.get("status") == 200 and not closing.has_shared_numbers:
        fault["status"] = 202

    def then():
        closing.time.pass_by(20)
        if act:
            act()

    return closing.server.fail(times=1, then=then, **rule, **fault)


def count_closings(closing, number, since):
    sent = [one for one in closing.writes(since) if '"closed"' in (one["body"] or "") or "/duplicate" in one["body"]]
    return sum(f"/issues/{number}" in one["url"] for one in sent)


@pytest.mark.parametrize("does", ACTS)
@pytest.mark.parametrize("fault", FAULTS)
def test_what_people_do_while_a_closing_waits_counts(closing, fault, does):
    _, copy = closing.prepare()
    run = closing.planned()
    act, objection = ACTS[does]
    fail_once(closing, fault, closing_requests(closing, copy), lambda: act(closing, copy))
    since = len(closing.server.requests)
    reason = reasons(closing.apply(run))[copy]
    state = closing.portrait([copy])[copy][0]
    if fault in DONE:
        assert (reason, state) == ((objection, "open") if does == "reopens" else (None, "closed"))
        assert count_closings(closing, copy, since) == 1
    elif fault == "no effect":
        assert (reason, state) == (ReasonCode.WRITE_WITHOUT_EFFECT, "open")
        assert reasons(closing.apply(run)) == {copy: objection}
    else:
        assert (reason, state) == ((objection, "open") if objection else (None, "closed"))
        assert count_closings(closing, copy, since) == (1 if objection else 2)
    said = [body for body in closing.portrait([copy])[copy][4] if "Closing as duplicate" in body]
    assert len(said) == (closing.portrait([copy])[copy][0] == "closed")


@pytest.mark.parametrize("fault", [one for one in FAULTS if one != "no effect"])
def test_a_comment_is_looked_for_before_it_is_sent_again(closing, fault):
    """No forge takes a comment without effect: its answer names the comment."""
    _, copy = closing.prepare()
    run = closing.planned()
    rule = {"method": "POST", "path": rf"/issues/{copy}/(comments|notes)$", "skip": int(not closing.has_shared_numbers)}
    fail_once(closing, fault, rule)
    assert reasons(closing.apply(run)) == {copy: None}
    assert len(closing.portrait([copy])[copy][4]) == 1


@pytest.mark.parametrize("fault", FAULTS)
def test_hours_of_grace_begin_once_whatever_the_forge_answers(closing, fault):
    """The label, too: after a wait for it nobody is labelled who objected meanwhile."""
    _, copy = closing.prepare()
    run = closing.planned()
    is_hub = closing.has_shared_numbers
    path = rf"/issues/{copy}/labels$" if is_hub else rf"/issues/{copy}$"
    objects = fault != "no effect" and fault not in DONE
    act = (lambda: closing.on_issue("comment", copy, "It is not", author="ben")) if objects else None
    body = {"body": []} if is_hub and fault == "no effect" else {}
    fail_once(closing, fault, {"method": "POST" if is_hub else "PUT", "path": path, **body}, act)
    reason = reasons(closing.apply(run, close_after=72))[copy]
    _, labels, _, _, comments = closing.portrait([copy])[copy]
    ours = [one for one in comments if "It is not" not in one]
    assert len(ours) == 1
    if objects:
        assert (reason, labels) == (ReasonCode.DISCUSSED_SINCE_PLAN, [])
    elif fault == "no effect":
        assert (reason, labels) == (ReasonCode.WRITE_WITHOUT_EFFECT, [])
    else:
        assert (reason, labels) == (ReasonCode.IN_GRACE, ["possible-duplicate"])


@pytest.mark.parametrize("fault", FAULTS)
def test_a_reopening_that_waits_stops_where_somebody_closed_it_again(closing, fault):
    _, copy = closing.prepare()
    run = closing.planned()
    closing.apply(run)
    closing.time.pass_by(60)

    def close_again():
        closing.on_issue("reopen", copy, by="ben") if fault not in DONE else None
        closing.time.pass_by(5)
        closing.on_issue("close", copy, by="ben")

    method = "PATCH" if closing.has_shared_numbers else "PUT"
    fail_once(closing, fault, {"method": method, "path": rf"/issues/{copy}$"}, close_again)
    (back,) = closing.roll_back(run).items
    assert closing.portrait([copy])[copy][0] == "closed"
    assert back.problem


def test_a_forge_that_never_lets_a_closing_through_ends_the_run(closing):
    _, copy = closing.prepare()
    run = closing.planned()
    fault = closing.server.fail(status=429, headers={"Retry-After": "1"}, **closing_requests(closing, copy))
    with pytest.raises(Exception, match="keeps limiting requests"):
        closing.apply(run)
    closing.server.faults.remove(fault)
    assert reasons(closing.apply(run)) == {copy: None}
