"""core/dedupe: gates, policies, verdicts, facts. What a judge says passes only if nothing objects."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.dedupe.gates import (
    AUDIT,
    BATCH,
    GATES,
    MIN_EDGE,
    ONLINE,
    RULES,
    TRIAGE,
    GateCase,
    Option,
    Rule,
    object_to,
)
from forgelore.dedupe.reasons import MEANINGS, ReasonCode
from forgelore.dedupe.verdict import (
    JudgedCandidate,
    Verdict,
    count_shared_facts,
    find_item_type,
    parse_verdict,
    verdict_schema,
)
from forgelore.records import JudgedItem

GOOD = {
    "is_duplicate": True, "target": 7, "confidence": 0.95, "relation": "same_instance", "root_cause": "same",
    "scope": "same_scope", "path": "same", "certainty": "sure", "reasoning": "both crash", "facts": ["a b", "c d"],
}  # fmt: skip
SEVEN = Option(7, 2.0, 0.97)
OTHER = Option(8, 1.0, 0.90)


def case(verdict=None, options=(SEVEN, OTHER), **more):
    said = parse_verdict(json.dumps(GOOD | (verdict or {})))
    return GateCase(options, said, **({"facts_found": 2} | more))


def test_a_good_verdict_passes_every_policy():
    assert [object_to(case(), policy) for policy in (BATCH, AUDIT, ONLINE)] == [None, None, None]


OBJECTIONS = [
    ({"is_vague": True}, {}, ReasonCode.SOURCE_TOO_VAGUE),
    ({"options": ()}, {}, ReasonCode.NO_CANDIDATES),
    ({}, {"confidence": 2}, ReasonCode.INVALID_VERDICT),
    ({}, {"is_duplicate": False}, ReasonCode.NOT_DUPLICATE),
    ({}, {"target": 99}, ReasonCode.TARGET_NOT_CANDIDATE),
    ({"is_refused": True}, {}, ReasonCode.SAID_OTHERWISE),
    ({"facts_found": 1}, {}, ReasonCode.FACTS_NOT_FOUND),
    ({}, {"relation": "related_followup"}, ReasonCode.RELATION_DIFFERS),
    ({}, {"relation": "partial_overlap"}, ReasonCode.RELATION_DIFFERS),
    ({}, {"root_cause": "adjacent"}, ReasonCode.ROOT_CAUSE_DIFFERS),
    ({}, {"scope": "source_superset"}, ReasonCode.SCOPE_DIFFERS),
    ({}, {"path": "different"}, ReasonCode.PATH_DIFFERS),
    ({}, {"certainty": "unsure"}, ReasonCode.NOT_SURE),
    ({"item_type": "bug", "options": (SEVEN._replace(item_type="feature"),)}, {}, ReasonCode.BUG_FEATURE_MISMATCH),
    ({"options": (SEVEN._replace(is_open=False),)}, {}, ReasonCode.TARGET_NOT_OPEN),
    ({"options": (SEVEN._replace(is_duplicate=True),)}, {}, ReasonCode.TARGET_IS_DUPLICATE),
    ({}, {"confidence": 0.84}, ReasonCode.LOW_CONFIDENCE),
    ({"options": (SEVEN, OTHER._replace(strength=1.99))}, {}, ReasonCode.GAP_TOO_SMALL),
]


@pytest.mark.parametrize(
    ("facts", "verdict", "reason"), OBJECTIONS, ids=[f"{one[2]}-{n}" for n, one in enumerate(OBJECTIONS)]
)
def test_each_gate_objects_with_its_own_reason(facts, verdict, reason):
    assert object_to(case(verdict, **facts), BATCH) == reason


def test_online_wants_the_same_scope_confidence_and_support():
    assert object_to(case({"scope": "source_subset"}), BATCH) is None
    assert object_to(case({"scope": "source_subset"}), ONLINE) == ReasonCode.SCOPE_DIFFERS
    assert object_to(case({"confidence": 0.91}), ONLINE) == ReasonCode.LOW_CONFIDENCE
    assert object_to(case(options=(SEVEN._replace(similarity=0.89),)), ONLINE) == ReasonCode.LOW_SUPPORT


@pytest.mark.parametrize("policy", [BATCH, ONLINE], ids=["batch", "online"])
def test_what_reaches_a_bound_exactly_passes(policy):
    """A bound is the least that is enough; binary fractions, so that a gap of strengths is exact."""
    exact = policy._replace(min_gap=0.25, min_similarity=0.5, min_confidence=0.75)
    seven, other = SEVEN._replace(strength=2.0, similarity=0.5), OTHER._replace(strength=1.75, similarity=0.5)
    assert object_to(case({"confidence": 0.75}, options=(seven, other)), exact) is None
    assert object_to(case({"confidence": 0.7499}, options=(seven, other)), exact) == ReasonCode.LOW_CONFIDENCE
    nearer = other._replace(strength=1.7501)
    assert object_to(case({"confidence": 0.75}, options=(seven, nearer)), exact) == ReasonCode.GAP_TOO_SMALL
    less = seven._replace(similarity=0.4999)
    assert (
        object_to(case(options=(less, other)), exact._replace(gates=frozenset({"support"}))) == ReasonCode.LOW_SUPPORT
    )


def test_copies_of_one_text_need_no_gap_between_each_other():
    """Three equal texts have no gap, and are the surest."""
    first, second = SEVEN._replace(group=1), OTHER._replace(group=1, strength=2.0)
    assert object_to(case(options=(first, second)), BATCH) is None
    assert object_to(case(options=(first, second._replace(group=2))), BATCH) == ReasonCode.GAP_TOO_SMALL
    copy = SEVEN._replace(sameness="same_text")
    assert object_to(case(options=(copy, OTHER._replace(strength=2.0))), BATCH) is None


def test_triage_needs_no_judge():
    matched = GateCase((SEVEN,), None)
    policy = TRIAGE._replace(min_similarity=0.75)
    assert object_to(matched, policy) is None
    assert object_to(matched._replace(options=(SEVEN._replace(similarity=0.74),)), policy) == ReasonCode.LOW_SUPPORT
    assert object_to(matched._replace(is_vague=True), policy) == ReasonCode.SOURCE_TOO_VAGUE


numbers = st.floats(0, 1)
options = st.builds(
    Option, st.integers(1, 4), st.floats(-3, 3), numbers, st.sampled_from(["same_text", "similar"]), st.booleans(),
    st.booleans(), st.sampled_from(["bug", "feature", "unknown"]), st.integers(0, 2),
)  # fmt: skip
verdicts = st.one_of(
    st.none(),
    st.just("x"),
    st.builds(
        Verdict, is_duplicate=st.booleans(), target=st.integers(1, 5), confidence=numbers,
        relation=st.sampled_from(["same_instance", "different"]), root_cause=st.sampled_from(["same", "adjacent"]),
        scope=st.sampled_from(["same_scope", "source_subset"]), path=st.sampled_from(["same", "unknown", "different"]),
        certainty=st.sampled_from(["sure", "unsure"]), reasoning=st.just(""), facts=st.just([]),
    ),
)  # fmt: skip
cases = st.builds(
    GateCase, st.lists(options, max_size=4, unique_by=lambda one: one.number).map(tuple), verdicts, st.booleans(),
    st.sampled_from(["bug", "feature", "unknown"]), st.integers(0, 3), st.booleans(),
)  # fmt: skip


@given(cases, st.sampled_from([BATCH, ONLINE, TRIAGE]), st.sets(st.sampled_from([name for name, _ in GATES])))
def test_another_gate_never_turns_a_rejection_into_an_acceptance(one, policy, fewer):
    some = policy._replace(gates=policy.gates & fewer)
    if object_to(one, some) is not None:
        assert object_to(one, policy) is not None


def test_every_reason_has_a_meaning():
    assert set(MEANINGS) == set(ReasonCode)


@pytest.mark.parametrize(
    "answer",
    [
        "", "yes, duplicate of 7", "{}", json.dumps(GOOD | {"target": None}), json.dumps(GOOD | {"target": "7"}),
        json.dumps(GOOD | {"target": 7.5}), json.dumps(GOOD | {"confidence": "0.9"}), json.dumps(GOOD | {"relation": "x"}),
        json.dumps(GOOD)[:-5], json.dumps([GOOD, GOOD]), json.dumps(GOOD) + json.dumps(GOOD), "{" * 5_000,
        json.dumps(GOOD).replace("0.95", "NaN"), json.dumps(GOOD).replace("0.95", "1e999"), "x" * 300_000,
        json.dumps({name: value for name, value in GOOD.items() if name != "certainty"}),
        json.dumps(GOOD | {"facts": "a b"}), json.dumps(GOOD | {"is_duplicate": 1}), json.dumps(GOOD | {"target": -7}),
    ],
)  # fmt: skip
def test_an_answer_that_is_no_verdict_is_invalid(answer):
    assert isinstance(parse_verdict(answer), str)
    assert object_to(GateCase((SEVEN,), parse_verdict(answer), facts_found=9), BATCH) == ReasonCode.INVALID_VERDICT


def test_a_fence_and_a_sentence_around_a_verdict_are_forgiven():
    assert parse_verdict(f"Here it is:\n```json\n{json.dumps(GOOD)}\n```\nAnything else?").target == 7


@given(st.text())
def test_no_answer_breaks_the_parser(answer):
    assert isinstance(parse_verdict(answer), Verdict | str)


def test_the_schema_allows_the_candidates_alone():
    schema = verdict_schema([7, 8])
    assert schema["properties"]["target"] == {"type": ["integer", "null"], "enum": [7, 8, None]}
    assert all("type" in part for part in schema["properties"].values())
    assert set(schema["required"]) == set(Verdict.__struct_fields__)


BOTH = "wallet crashes in CWallet::Flush after an upgrade to 0.21", "Crash: CWallet::Flush; upgrade to 0.21 failed"


@pytest.mark.parametrize(
    ("facts", "count"),
    [
        (["CWallet::Flush", "upgrade to 0.21"], 2),
        (["CWallet::Flush", "CWallet::Flush", "cwallet flush"], 1),
        (["CWallet::Flush", "in CWallet::Flush after"], 1),  # the second stands in one text only
        (["the", "crash", "to", ""], 0),
        (["segfault in LoadWallet", "0.21 on Windows"], 0),
        (["Wallet::Flush"], 0),  # part of a word
    ],
)
def test_facts_count_when_they_stand_in_both_texts_and_say_something(facts, count):
    assert count_shared_facts(facts, *BOTH) == count


@pytest.mark.parametrize(
    ("title", "body", "labels", "expected"),
    [
        ("Dark theme", "", ["C-feature-request"], "feature"),
        ("Dark theme", "", ["kind/bug"], "bug"),
        ("[Bug] dark theme", "", ["ui"], "bug"),
        ("feat(ui): dark theme", "", [], "feature"),
        ("Feature request: dark theme", "", [], "feature"),
        ("Fix the dark theme", "", [], "unknown"),
        ("Dark theme", "### Steps to reproduce\n1. start", [], "bug"),
        ("Dark theme", "**Describe the solution you'd like**\nblack", [], "feature"),
        ("Dark theme", "## Motivation\nx\n## Steps to reproduce\n", [], "unknown"),
        ("Dark theme", "", ["bug", "enhancement"], "unknown"),
    ],
)
def test_what_an_item_is(title, body, labels, expected):
    assert find_item_type(title, body, labels) == expected


LONG = (
    "The sync client dies as soon as its folder lies on a network drive, and the log says that it cannot lock a file."
)
SIBLINGS = {"same_author": 1.0, "recency": 0.8}  # about five days apart


def pair(title="Sync dies", other="Sync dies", /, *, sameness="nearly_same_text", body=LONG, **features):
    source = JudgedItem(1, 1, "issue", title, body, "open")
    return source, JudgedCandidate(source._replace(number=2, title=other), 1.0, 0.99, sameness, features=features)


def fits(name, *asked, **more):
    return next(rule for rule in RULES if rule.name == name).holds(*pair(*asked, **more))


def test_confidence_is_the_lower_bound_of_what_was_counted():
    few, many = (Rule("same text", lambda _source, _other: True, right, right) for right in (5, 500))
    assert few.confidence == 0.566
    assert many.confidence == 0.992
    assert all(rule.confidence < rule.right / rule.sample for rule in RULES)


def test_two_rules_connect_and_two_only_point_out():
    assert {rule.name for rule in RULES if rule.confidence >= MIN_EDGE} == {"a person said", "same text"}


def test_a_series_by_one_author_is_not_nearly_the_same_text():
    assert fits("nearly same text")
    assert fits("nearly same text", same_author=1.0, recency=0.7)  # half a month apart
    assert not fits("nearly same text", **SIBLINGS)


def test_nearly_the_same_text_needs_equal_titles_and_a_text():
    assert not fits("nearly same text", "Sync dies", "Sync dies again")
    assert not fits("nearly same text", body="please fix")


@pytest.mark.parametrize(
    ("title", "other"),
    [
        ("Sync on Windows: cannot lock file", "Sync on Linux: cannot lock file"),
        ("Remove sun.misc.Unsafe", "Remove sun.misc.Signal"),
        ("failed to find block with tag 24", "failed to find block with tag 1"),
    ],
)
def test_titles_that_name_different_things_are_not_the_same_failure(title, other):
    shared = {"rare_error": 1.0, "error": 1.0, "title": 0.9}
    assert fits("same failure", title, title, sameness="similar", **shared)
    assert not fits("same failure", title, other, sameness="similar", **shared)
