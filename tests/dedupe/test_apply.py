"""Plans that are carried out, and taken back, on the local forges. Each safety rule is tried to be broken."""

import pytest

from dedupe.closing_lab import reasons
from forgelore.dedupe.reasons import ReasonCode
from forgelore.errors import InvalidValue

MESSAGE = "Closing as duplicate of {}{}. If this is incorrect, please contact us."


def sigil(closing, kind):
    return "!" if kind == "change" and not closing.has_shared_numbers else "#"


@pytest.mark.parametrize("kind", ["issue", "change"])
def test_a_plan_is_applied_natively_with_the_message(closing, kind):
    original, copy = closing.prepare(kind=kind)
    found = closing.apply(closing.planned())
    assert reasons(found) == {copy: None}
    state, _, marked, _, comments = closing.portrait([copy], kind)[copy]
    assert state == "closed"
    has_marks = kind == "issue" and closing.forge.name != "forgejo"
    assert marked == ("Crash on start" if has_marks else None)
    assert [text.split("\n", 1)[1] for text in comments] == [MESSAGE.format(sigil(closing, kind), original)]
    assert closing.portrait([original], kind)[original][0] == "open"


def test_a_plan_that_is_applied_twice_changes_nothing_the_second_time(closing):
    numbers = closing.prepare(copies=2)
    run = closing.planned()
    first = closing.apply(run)
    seen, before = closing.portrait(numbers), len(closing.server.requests)
    second = closing.apply(run)
    assert closing.writes(before) == []
    assert closing.portrait(numbers) == seen
    assert second.run == first.run
    assert second.lines == [one._replace(reason="already_closed") for one in first.lines]


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (lambda lab, copy, _: lab.on_issue("edit", copy, title="Something else"), ReasonCode.EDITED_SINCE_PLAN),
        (lambda lab, copy, _: lab.on_issue("edit", copy, assignees=["ben"]), ReasonCode.ASSIGNED_SINCE_PLAN),
        (lambda lab, copy, _: lab.on_issue("comment", copy, "I still see it"), ReasonCode.DISCUSSED_SINCE_PLAN),
        (lambda lab, copy, _: lab.on_issue("close", copy), ReasonCode.NOT_OPEN),
        (lambda lab, copy, _: lab.on_issue("delete", copy), ReasonCode.NOT_OPEN),
        (lambda lab, _, original: lab.on_issue("edit", original, body="Other words"), ReasonCode.EDITED_SINCE_PLAN),
        (lambda lab, _, original: lab.on_issue("close", original), ReasonCode.TARGET_NOT_OPEN),
        (lambda lab, _, original: lab.on_issue("delete", original), ReasonCode.TARGET_NOT_OPEN),
    ],
    ids=["edited", "assigned", "discussed", "closed", "deleted", "target edited", "target closed", "target deleted"],
)
def test_what_happened_since_the_plan_keeps_an_item_open(closing, act, reason):
    original, copy = closing.prepare()
    run = closing.planned()
    closing.time.pass_by(60)
    act(closing.lab, copy, original)
    before = len(closing.server.requests)
    assert reasons(closing.apply(run)) == {copy: reason}
    assert closing.writes(before) == []


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_comment_in_place_of_a_deleted_one_counts_as_discussion(closing, is_replaced):
    original, copy = closing.add(author="kim"), closing.add(author="lia")
    said = closing.on_issue("comment", copy, "Me too", author="mia")
    closing.named = ("ana",)
    closing.lab.sync()
    closing.decide(copy, original)
    closing.say("canonical", original)
    run = closing.planned()
    if is_replaced:
        closing.delete_comment(said)
        closing.on_issue("comment", copy, "It is something else", author="mia")
    assert reasons(closing.apply(run)) == {copy: ReasonCode.DISCUSSED_SINCE_PLAN if is_replaced else None}


def test_an_item_that_was_closed_and_reopened_since_the_plan_stays_open(closing):
    _, copy = closing.prepare()
    run = closing.planned()
    closing.time.pass_by(60)
    closing.on_issue("close", copy)
    closing.time.pass_by(60)
    closing.on_issue("reopen", copy)
    assert reasons(closing.apply(run)) == {copy: ReasonCode.REOPENED_SINCE_PLAN}


def test_what_a_person_reopens_after_the_closing_is_never_closed_again(closing):
    _, copy = closing.prepare()
    run = closing.planned()
    closing.apply(run)
    closing.time.pass_by(60)
    closing.on_issue("reopen", copy)
    before = len(closing.server.requests)
    assert reasons(closing.apply(run)) == {copy: ReasonCode.REOPENED_SINCE_PLAN}
    assert closing.writes(before) == []
    closing.lab.sync()
    again = closing.plan()
    assert reasons(again)[copy] == ReasonCode.REOPENED_SINCE_PLAN
    assert again.counters["close"] == 0


def test_a_target_that_somebody_marks_as_a_duplicate_gets_nothing_closed_onto_it(closing):
    """GitLab closes what is marked. Forgejo knows no marks, and so nobody can see one there."""
    original, copy = closing.prepare()
    other = closing.add("Something older")
    run = closing.planned()
    closing.time.pass_by(60)
    closing.project.mark_duplicate(original, other)
    expected = {"github": ReasonCode.TARGET_IS_DUPLICATE, "gitlab": ReasonCode.TARGET_NOT_OPEN, "forgejo": None}
    assert reasons(closing.apply(run)) == {copy: expected[closing.forge.name]}


def test_two_plans_that_close_a_pair_onto_each_other_never_make_a_circle(closing):
    """Both were made before either was applied; a person has said meanwhile which of the two stays."""
    original, copy = closing.prepare(author="kim")
    first = closing.planned()
    closing.decide(original, copy)
    closing.say("canonical", copy)
    second = closing.planned()
    assert reasons(closing.apply(first)) == {copy: ReasonCode.SAID_OTHERWISE}
    assert reasons(closing.apply(second)) == {original: None}
    closing.time.pass_by(60)
    closing.on_issue("reopen", original)
    assert None not in reasons(closing.apply(first)).values()
    assert closing.portrait([copy])[copy][0] == "open"


def test_a_circle_across_plans_is_noticed_right_before_the_closing(closing):
    """One plan closed the copy onto the original, and somebody reopened it; the other, made before, goes the other way
    round. Where the forge keeps marks, the copy is still marked.
    """
    original = closing.add("Absturz beim Starten", "Beim Starten stürzt das Programm sofort ab und schreibt nur EACCES")
    copy = closing.add("Crash on start", "When it starts the program crashes at once and it writes only EACCES")
    closing.named = ("ana",)
    closing.lab.sync()
    closing.decide(copy, original)
    closing.decide(original, copy)
    closing.cluster(language="any")
    first = closing.plan().run
    second = closing.planned()
    assert reasons(closing.apply(first)) == {copy: None}
    closing.time.pass_by(60)
    closing.on_issue("reopen", copy, by="ben")
    reason = reasons(closing.apply(second))[original]
    marked = ReasonCode.TARGET_IS_DUPLICATE
    assert reason == {"github": marked}.get(closing.forge.name, ReasonCode.WOULD_CYCLE)
    assert closing.portrait([original])[original][0] == "open"


@pytest.mark.parametrize(("action", "reason"), [("split", "said_otherwise"), ("reject", "missing_accepted_edge")])
def test_what_a_person_says_after_the_plan_counts(closing, action, reason):
    original, copy = closing.prepare()
    run = closing.planned()
    closing.say(action, copy, *([original] if action == "reject" else []))
    assert reasons(closing.apply(run)) == {copy: reason}
    assert closing.portrait([copy])[copy][0] == "open"


@pytest.mark.parametrize(("confidence", "reason"), [(0.86, ReasonCode.LOW_CONFIDENCE), (0.99, None)])
def test_a_judge_that_is_less_sure_than_it_was_when_the_plan_was_made(closing, confidence, reason):
    original, copy = closing.prepare()
    run = closing.planned()
    closing.decide(copy, original, confidence=confidence)
    assert reasons(closing.apply(run)) == {copy: reason}


def test_hours_of_grace_are_not_changed_by_the_way(closing):
    closing.prepare()
    run = closing.planned()
    closing.apply(run)
    with pytest.raises(InvalidValue, match="this plan was started with a grace period of 0 hours"):
        closing.apply(run, close_after=72)
    with pytest.raises(InvalidValue, match="invalid grace period: -1 hours"):
        closing.apply(run, close_after=-1)


@pytest.mark.parametrize("kind", ["issue", "change"])
def test_a_rollback_restores_what_people_see(closing, kind):
    numbers = closing.prepare(copies=2, kind=kind)
    before = closing.portrait(numbers, kind)
    run = closing.planned()
    closing.apply(run)
    assert closing.portrait(numbers, kind) != before
    back = closing.roll_back(run)
    assert closing.portrait(numbers, kind) == before
    assert [one.problem for one in back.items] == ["", ""]
    assert {"closed", "reopened"} <= set(back.items[0].remains)
    sent = len(closing.server.requests)
    closing.roll_back(run)
    assert closing.writes(sent) == []


def test_a_rollback_leaves_alone_what_others_did(closing):
    _, copy, third = closing.prepare(copies=2)
    run = closing.planned()
    closing.apply(run)
    closing.on_issue("comment", copy, "I agree", author="ben")
    place = (third,) if closing.has_shared_numbers else ("issue", third)
    closing.project.reopen(*place, by="ben")
    closing.time.pass_by(60)
    closing.project.close(*place, by="ben")
    back = {one.number: one for one in closing.roll_back(run).items}
    assert closing.portrait([copy])[copy][0] == "open"
    assert closing.portrait([copy])[copy][4] == ["I agree"]
    assert closing.portrait([third])[third][0] == "closed"
    assert "ben closed it in the meantime" in back[third].problem


def test_a_rollback_goes_on_behind_an_item_that_was_deleted(closing):
    numbers = closing.prepare(copies=3)
    run = closing.planned()
    closing.apply(run)
    gone = numbers[2]
    closing.project.delete(*((gone,) if closing.has_shared_numbers else ("issue", gone)))
    back = {one.number: one for one in closing.roll_back(run).items}
    assert sorted(back) == sorted(numbers[1:])
    assert (back[gone].problem, back[gone].restored) == ("it is gone from the forge", [])
    for number in (numbers[1], numbers[3]):
        assert back[number].problem == ""
        assert closing.portrait([number])[number][0] == "open"


def test_a_message_never_runs_quick_actions(closing):
    original, copy = closing.prepare()
    closing.apply(closing.planned(), message="/close\n/label ~bug\nSee {target}\n  /title Gone")
    _, labels, _, _, comments = closing.portrait([copy])[copy]
    assert labels == []
    assert closing.item(copy).title == "Crash on start"
    assert comments[0].splitlines()[3].endswith(f"#{original}")
