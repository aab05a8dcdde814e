"""`dedupe detect-new`: three answers, the strict ones, and what a judge that fails may cost: never more than a maybe."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedupe.test_judge import COPY, TEXT, ScriptedJudge, answers, saying, template  # noqa: F401 - a fixture
from dedupe.tracker import id_of, item, words_only, write
from forgelore.dedupe.detect_new import DetectionSetting, detect_new
from forgelore.dedupe.gates import RuleJudge
from forgelore.dedupe.reasons import ReasonCode
from forgelore.dedupe.verdict import JudgeAnswer
from forgelore.errors import NotFound
from forgelore.store.decisions import HumanDecision, list_accepted, save_override
from forgelore.store.sqlite.schema import open_store


@pytest.fixture
def store(template, tmp_path):  # noqa: F811 - the fixture
    (tmp_path / "lore.db").write_bytes(template.read_bytes())
    store = open_store(str(tmp_path / "lore.db"))
    write(store, [item(200, COPY, TEXT)])
    yield store
    store.close()


def detect(store, who=None, number=200, **setting):
    found = detect_new(
        words_only(store), id_of(store, number), who or RuleJudge(), DetectionSetting(**setting), now_ms=lambda: 9
    )
    sql = "SELECT policy, outcome, reason FROM decisions WHERE id = ?"
    assert store.row(sql, found.decision_id) == ("online", found.outcome, found.reason)
    return found


def test_a_copy_is_a_duplicate_of_the_first(store):
    found = detect(store)
    assert (found.outcome, found.reason, found.target) == ("duplicate", "", 101)
    assert [one.number for one in found.candidates[:2]] == [101, 102]
    assert found.candidates[0].similarity == 1.0
    assert list_accepted(store, 1, "issue") == [], "what is decided online is no edge"


def test_an_ordinary_item_is_none(store):
    found = detect(store, number=3)
    assert (found.outcome, found.target) == ("not_duplicate", None)
    assert found.reason in ("not_duplicate", "no_candidates")


def test_an_item_that_says_nothing_is_none(store):
    found = detect(store, number=107)
    assert (found.outcome, found.reason) == ("not_duplicate", "source_too_vague")


MAYBES = [
    ({"confidence": 0.9}, ReasonCode.LOW_CONFIDENCE),
    ({"scope": "source_subset"}, ReasonCode.SCOPE_DIFFERS),
    ({"certainty": "unsure"}, ReasonCode.NOT_SURE),
    ({"root_cause": "adjacent"}, ReasonCode.ROOT_CAUSE_DIFFERS),
    ({"facts": ["nothing of the kind", "nor this one here"]}, ReasonCode.FACTS_NOT_FOUND),
]


@pytest.mark.parametrize(("verdict", "reason"), MAYBES, ids=[str(one[1]) for one in MAYBES])
def test_what_leans_to_it_and_fails_a_guardrail_is_a_maybe(store, verdict, reason):
    found = detect(store, saying(**verdict))
    assert (found.outcome, found.reason, found.target) == ("maybe_duplicate", reason, 102)


def test_a_strict_verdict_is_a_duplicate(store):
    assert detect(store, saying()).outcome == "duplicate"


def test_too_little_confidence_is_no_maybe(store):
    found = detect(store, saying(confidence=0.84))
    assert (found.outcome, found.reason, found.target) == ("not_duplicate", "below_maybe", None)


def test_exactly_the_confidence_of_maybe_is_a_maybe(store):
    found = detect(store, saying(confidence=0.85), maybe=0.85)
    assert (found.outcome, found.reason) == ("maybe_duplicate", ReasonCode.LOW_CONFIDENCE)
    assert detect(store, saying(confidence=0.92), maybe=0.85, duplicate=0.92).outcome == "duplicate"


def test_a_nearest_candidate_at_exactly_the_bound_is_a_maybe(store):
    """No valid verdict: similarity alone decides, and a bound is the least that is enough."""
    nearest = max(one.similarity for one in detect(store, number=105).candidates if one.is_offered)
    silent = ScriptedJudge("no JSON")
    assert detect(store, silent, number=105, maybe=nearest, min_score=0.0).outcome == "maybe_duplicate"
    assert detect(store, silent, number=105, maybe=nearest + 1e-9, min_score=0.0).outcome == "not_duplicate"


def test_too_little_support_is_a_maybe(store):
    far = detect(store, saying(is_duplicate=False), number=3, min_score=0.0)
    named = next(one for one in far.candidates if one.is_offered and one.similarity < 0.9)
    found = detect(store, ScriptedJudge(_about(named.number)), number=3, min_score=0.0)
    assert found.outcome == "maybe_duplicate"
    assert found.reason == "low_support"


def _about(number):
    """A verdict whose facts are not looked up, as the rules give them."""
    from forgelore.dedupe.verdict import parse_verdict

    said = json.loads(saying().answer) | {"target": number}
    return JudgeAnswer(parse_verdict(json.dumps(said)), facts_found=2)


@pytest.mark.parametrize(
    "answer", ["no JSON", JudgeAnswer(None, ReasonCode.JUDGE_FAILED), saying(target=4711).answer], ids=str
)
def test_a_judge_that_says_nothing_valid_leaves_it_to_the_nearest(store, answer):
    near = detect(store, ScriptedJudge(answer))
    assert near.outcome == "maybe_duplicate"
    assert near.target is None
    far = detect(store, ScriptedJudge(answer), number=105, maybe=1.0)
    assert far.outcome == "not_duplicate"


def test_what_a_person_refused_is_none(store):
    with store.transaction():
        save_override(store, 1, HumanDecision(id_of(store, 200), id_of(store, 101), "reject", "ann", 1))
    assert detect(store).reason == "said_otherwise"
    assert detect(store).outcome == "not_duplicate"


def test_an_item_that_is_not_there(store):
    with pytest.raises(NotFound):
        detect_new(words_only(store), 10**6, RuleJudge())


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(answers, st.just("")))
def test_garbage_is_at_most_a_maybe(store, answer):
    assert detect(store, ScriptedJudge(answer)).outcome != "duplicate"
