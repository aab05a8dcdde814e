"""Classes of audits, precision with its interval, and stricter gates that only ever take away."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.dedupe.audit_rules import (
    SWEEPS,
    GateBounds,
    classify_answers,
    hold_to,
    score_classes,
    simulate,
    sweep,
    without_early_skips,
)
from forgelore.records import LaneAnswer


def answer(outcome="accepted", target=7, **more):
    return LaneAnswer(outcome, target=target, **more)


NO = answer("rejected", None)
SKIP = answer("skipped", None)


@pytest.mark.parametrize(
    ("cheap", "strong", "expected"),
    [
        (answer(), answer(), "tp"),
        (answer(target=8), answer(also=(8, 9)), "tp"),
        (answer(target=5), answer(), "conflict"),
        (answer(), NO, "fp"),
        (NO, answer(), "fn"),
        (NO, NO, "tn"),
        (SKIP, answer(), "incomplete"),
        (answer(), SKIP, "incomplete"),
    ],
)
def test_a_case_has_the_class_that_both_answers_give_it(cheap, strong, expected):
    assert classify_answers(cheap, strong) == expected


def test_what_nobody_asked_about_is_not_found_and_what_failed_is_incomplete():
    vague, failed = (LaneAnswer("skipped", reason) for reason in ("source_too_vague", "judge_failed"))
    assert classify_answers(without_early_skips(vague), answer()) == "fn"
    assert classify_answers(without_early_skips(failed), answer()) == "incomplete"


def test_a_conflict_is_wrong_beside_labels_and_apart_between_judges():
    classes = ["tp"] * 9 + ["conflict"] + ["fn"] * 2 + ["tn", "incomplete", "unlabelled"]
    labelled, lanes = (score_classes(classes, against) for against in ("history", "strong"))
    assert (labelled.precision.right, labelled.precision.of) == (9, 10)
    assert (labelled.recall.right, labelled.recall.of) == (9, 12)
    assert (lanes.precision.value, lanes.recall.of) == (1.0, 11)
    assert labelled.precision.low < 0.9 < labelled.precision.high
    assert lanes.precision.low < 0.8, "nine of nine are no certainty"
    assert labelled.classes == {"tp": 9, "fp": 0, "fn": 2, "tn": 1, "conflict": 1, "incomplete": 1, "unlabelled": 1}
    assert score_classes([], "human").precision is None


ANSWERS = st.builds(
    LaneAnswer, st.sampled_from(["accepted", "rejected", "skipped"]), target=st.integers(1, 4),
    confidence=st.none() | st.floats(0, 1), rank=st.none() | st.integers(1, 8), similarity=st.none() | st.floats(0, 1),
    gap=st.none() | st.floats(-1, 3),
)  # fmt: skip
CASES = st.lists(st.tuples(ANSWERS, ANSWERS, st.booleans()), max_size=20)
BOUNDS = st.builds(
    GateBounds, st.none() | st.integers(1, 8), st.none() | st.floats(0, 1), st.none() | st.floats(0, 2),
    st.none() | st.floats(0, 1),
)  # fmt: skip


@given(ANSWERS, BOUNDS)
def test_a_bound_never_turns_a_rejection_into_an_acceptance(given_answer, bounds):
    held = hold_to(given_answer, bounds)
    assert held == given_answer or (given_answer.outcome, held.outcome) == ("accepted", "rejected")


@given(CASES, BOUNDS)
def test_no_bounds_change_nothing_and_bounds_accept_no_more(cases, bounds):
    before, after = (simulate(cases, each, "human").classes for each in (GateBounds(), bounds))
    accepted = ("tp", "fp", "conflict", "unlabelled")
    assert all(after.get(name, 0) <= before.get(name, 0) for name in accepted)
    expected = [classify_answers(said, right) for said, right, is_labelled in cases if is_labelled]
    assert {name: count for name, count in before.items() if count and name != "unlabelled"} == {
        name: expected.count(name) for name in expected
    }


@given(CASES)
def test_a_sweep_accepts_ever_less_as_its_bound_grows_stricter(cases):
    rows = sweep(cases, GateBounds(), "human")
    for name, values in SWEEPS.items():
        mine = [row for row in rows if row.bound == name]
        assert [row.value for row in mine] == list(values)
        accepted = [sum(row.scores.classes[each] for each in ("tp", "fp", "conflict")) for row in mine]
        assert accepted == sorted(accepted, reverse=name != "rank_max")


def test_answers_are_kept_as_they_are():
    given_answer = answer(also=(1, 2), gap=0.5)
    kept = json.loads(json.dumps(given_answer._asdict()))
    assert LaneAnswer(**kept | {"also": tuple(kept["also"])}) == given_answer
