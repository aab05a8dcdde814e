"""The precision gate: no closing before an audit has shown that the plan's own judge is right."""

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.closing_lab import ClosingLab, reasons
from forgelore.dedupe.apply import check_proof, load_plan
from forgelore.dedupe.closing_rules import MIN_PROVEN, AuditResult, find_gap
from forgelore.errors import Unproven
from forgelore.records import EdgeJudge
from forgelore.store.decisions import begin_run, end_run, save_counters
from forgelore.surfaces.cli.dedupe_closing import add_apply_arguments


@pytest.fixture
def closing(github):
    github.project.add_collaborator("ana", "admin")
    return ClosingLab(github)


def audit(
    closing, *, status="done", judge="builtin", model="rules-1", policy="batch", against="history", min_edge=0.85,
    min_gap=0.26, kinds="issue,change", **classes,
):  # fmt: skip
    parameters = {"judge": judge, "model": model, "policy": policy, "against": against, "kinds": kinds}
    parameters |= {"min_edge": min_edge, "min_gap": min_gap}
    with closing.store.transaction():
        run_id = begin_run(closing.store, closing.stored.id, "audit", parameters, 1)
        save_counters(closing.store, run_id, classes)
        if status != "running":
            end_run(closing.store, run_id, status, 2)


GOOD = {"tp": 95, "fp": 5}


@pytest.mark.parametrize(
    ("audits", "said"),
    [
        ([], "no audit has measured"),
        ([{"tp": 15}], "rules-1: 15 of 15 right, at least .79 with 95 % confidence"),
        ([{"tp": 87, "fp": 13}], "87 of 100 right, at least .79"),
        ([{"tp": 95, "fp": 1, "conflict": 15}], "95 of 111 right"),
        ([{**GOOD, "judge": "llm", "model": "big"}], "no audit has measured"),
        ([{**GOOD, "model": "rules-0"}], "no audit has measured"),
        ([{**GOOD, "policy": "online"}], "no audit has measured"),
        ([{**GOOD, "against": "strong"}], "no audit has measured"),
        ([{**GOOD, "status": "running"}], "no audit has measured"),
        ([GOOD, {"tp": 70, "fp": 40}], "70 of 110 right"),
        ([GOOD, {"tp": 70, "fp": 40, "against": "human"}], "against human"),
        ([{"fn": 500, "tn": 500, "tp": 3}], "3 of 3 right, at least .43"),
        ([{**GOOD, "min_edge": 0.95}], "at confidence 0.9 "),
        ([{**GOOD, "min_gap": 0.3}], "gap 0.26:"),
        ([{**GOOD, "min_edge": None}], "measured with stricter thresholds"),
        ([{**GOOD, "min_gap": None}], "measured with stricter thresholds"),
        ([{**GOOD, "kinds": "change"}], "or on another kind"),
        ([{**GOOD, "min_edge": 0.95}, {"tp": 70, "fp": 40}], "too rarely"),
    ],
)
def test_an_apply_without_proof_is_refused_and_writes_nothing(closing, audits, said):
    closing.prepare()
    run = closing.planned()
    for one in audits:
        audit(closing, **one)
    before = len(closing.server.requests)
    with pytest.raises(Unproven, match=said) as refused:
        closing.apply(run, is_unproven=False)
    assert (refused.value.exit_code, refused.value.code) == (20, "unproven")
    assert len(closing.server.requests) == before


@pytest.mark.parametrize(
    "audits",
    [
        [{"tp": 16}],
        [{"tp": 24, "fp": 1}],
        [{"tp": 88, "fp": 12}],
        [{"tp": 70, "fp": 40}, GOOD],
        [{"tp": 6, "fp": 2}, {**GOOD, "against": "human"}],
        [{**GOOD, "min_edge": 0.5, "min_gap": 0}],
        [{**GOOD, "min_edge": 0.9, "kinds": "issue"}],
        [{**GOOD}, {"tp": 70, "fp": 40, "min_edge": 0.99}],
    ],
)
def test_an_apply_with_proof_closes(closing, audits):
    _, copy = closing.prepare()
    run = closing.planned()
    for one in audits:
        audit(closing, **one)
    assert reasons(closing.apply(run, is_unproven=False)) == {copy: None}


def test_a_proof_says_how_many_were_right_and_at_least_how_often(closing):
    closing.prepare()
    run = closing.planned()
    audit(closing, tp=18, against="human")
    (proof,) = check_proof(closing.store, load_plan(closing.store, run))
    assert proof.startswith(
        "judge builtin rules-1: 18 of 18 right, at least .82 with 95 % confidence (against human, run"
    )


def test_what_people_said_against_a_judge_is_not_outweighed_by_history(closing):
    closing.prepare()
    run = closing.planned()
    audit(closing, **GOOD)
    audit(closing, tp=5, fp=5, against="human")
    with pytest.raises(Unproven, match="5 of 10 right"):
        closing.apply(run, is_unproven=False)


def test_what_a_person_accepted_needs_no_proof(closing):
    original, copy = closing.prepare()
    closing.say("accept", copy, original)
    assert reasons(closing.apply(closing.planned(), is_unproven=False)) == {copy: None}


def test_every_judge_behind_a_plan_needs_its_own(closing):
    original, copy, third = closing.prepare(copies=2)
    closing.decide(third, original, judge="llm", model="big")
    run = closing.planned()
    audit(closing, **GOOD)
    with pytest.raises(Unproven, match="llm big"):
        closing.apply(run, is_unproven=False)
    audit(closing, judge="llm", model="big", **GOOD)
    assert reasons(closing.apply(run, is_unproven=False)) == {copy: None, third: None}


@pytest.mark.parametrize(
    ("decided", "planned", "is_covered"),
    [
        ({}, {}, True),
        ({"min_edge": 0.8}, {}, True),  # what is closed passed 0.9 all the same
        ({}, {"min_close": 0.86}, True),
        ({"min_edge": 0.8}, {"min_close": 0.8}, False),
        ({"min_edge": 0.8}, {"min_close": 0.85}, True),
        ({"min_gap": 0.1}, {}, False),
        ({"min_gap": 0.4}, {"min_close": 0.95}, True),
    ],
)
def test_an_audit_speaks_for_plans_that_are_as_strict_as_it_was_or_stricter(closing, decided, planned, is_covered):
    original, copy = closing.prepare()
    closing.decide(copy, original, **decided)
    run = closing.planned(**planned)
    audit(closing, **GOOD)
    if is_covered:
        assert reasons(closing.apply(run, is_unproven=False)) == {copy: None}
    else:
        with pytest.raises(Unproven, match="covers issues"):
            closing.apply(run, is_unproven=False)


thresholds = st.floats(0, 1)


@given(thresholds, thresholds, thresholds, thresholds, thresholds, thresholds)
def test_a_stricter_plan_never_loses_its_proof(audit_edge, audit_gap, edge, gap, more_edge, more_gap):
    audits = [AuditResult(1, "history", "llm", "m", "batch", {"tp": 100}, audit_edge, audit_gap)]
    loose = EdgeJudge("llm", "m", "issue", edge, gap)
    strict = loose._replace(min_edge=max(edge, more_edge), min_gap=max(gap, more_gap))
    assert find_gap([strict], audits) == "" or find_gap([loose], audits) != ""
    assert (find_gap([loose], audits) == "") == (audit_edge <= edge and audit_gap <= gap)


def test_the_help_of_apply_names_the_share_that_an_audit_must_show():
    parser = argparse.ArgumentParser()
    add_apply_arguments(parser)
    assert f"at least {MIN_PROVEN:.0%} of such closings" in " ".join(parser.format_help().split())
