"""`dedupe judge`: every reason that it can give, garbage that never accepts, one accepted edge per source."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedupe.tracker import id_of, item, job, number_of, ordinary, words_only, write
from forgelore.dedupe.candidates import make_candidates
from forgelore.dedupe.gates import RULES, RuleJudge
from forgelore.dedupe.judge import JudgeSetting, judge_sets
from forgelore.dedupe.reasons import ReasonCode
from forgelore.dedupe.verdict import JudgeAnswer, parse_verdict
from forgelore.store.candidates import each_latest_set
from forgelore.store.decisions import HumanDecision, is_accepted, list_accepted, list_runs, save_override
from forgelore.store.sqlite.schema import open_store

TEXT = "Opening the settings twice empties the list of folders, and the program ends with ERROR: no folder left to sync"
COPY = "Folders vanish from the settings"
FAILURE = "ERROR: zebrafish quorum mismatch while pruning shards"
LOG = f"    {FAILURE}\n    FATAL: replica ledger refused handover of the axolotl"
GOOD = {
    "is_duplicate": True, "target": 102, "confidence": 0.95, "relation": "same_instance", "root_cause": "same",
    "scope": "same_scope", "path": "same", "certainty": "sure", "reasoning": "both",
    "facts": ["empties the list of folders", "no folder left to sync"],
}  # fmt: skip


class ScriptedJudge:
    """A judge that answers what it is told to, as a model would."""

    name, model = "llm", "scripted"

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def ask(self, question):
        self.asked.append(question)
        return self.answer if isinstance(self.answer, JudgeAnswer) else JudgeAnswer(parse_verdict(self.answer))


def saying(**more):
    return ScriptedJudge(json.dumps(GOOD | more))


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A tracker with its candidates; tests work on copies of the file."""
    path = tmp_path_factory.mktemp("judge") / "lore.db"
    store = open_store(str(path))
    failures = [
        item(105, f"Pruning ends with {FAILURE}", f"Since the update I see\n\n{LOG}\n\nat night."),
        item(106, f"{FAILURE}", f"My log on another machine says\n\n{LOG}\n\nand nothing else happens."),
    ]
    write(store, [*map(ordinary, range(1, 60)), item(101, COPY, TEXT, author="ann"), item(102, COPY, TEXT, author="ann"), *failures,
                  item(107, "Crash", "")])  # fmt: skip
    make_candidates(job(store, 5), words_only(store), "issue")
    store.run("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    return path


@pytest.fixture
def store(template, tmp_path):
    (tmp_path / "lore.db").write_bytes(template.read_bytes())
    store = open_store(str(tmp_path / "lore.db"))
    yield store
    store.close()


def judge(store, who=None, **setting):
    return judge_sets(job(store, 9), "issue", who or RuleJudge(), JudgeSetting(**setting))


def decision(store, number):
    sql = "SELECT outcome, reason, target_id, confidence FROM decisions WHERE item_id = ? AND is_current"
    outcome, reason, target, confidence = store.row(sql, id_of(store, number))
    return outcome, reason, target and number_of(store, target), confidence


def edges(store):
    return {(number_of(store, one.source), number_of(store, one.target)) for one in list_accepted(store, 1, "issue")}


def test_the_builtin_judge_accepts_copies_and_names_shared_failures(store):
    made = judge(store)
    assert {(101, 102), (102, 101)} == edges(store)
    assert (made.accepted, made.sets) == (2, 64)
    confidences = {rule.name: rule.confidence for rule in RULES}
    assert decision(store, 101) == ("accepted", "", 102, confidences["same text"])
    assert decision(store, 105) == ("rejected", "low_confidence", 106, confidences["same failure"])
    assert made.rejected + made.skipped == 62
    assert made.reasons["source_too_vague"] == 1
    assert decision(store, 107)[:2] == ("skipped", "source_too_vague")
    assert "rule: same text" in store.value("SELECT verdict FROM decisions WHERE item_id = ?", id_of(store, 101))


def test_what_no_rule_fits_is_no_duplicate_however_similar(store):
    judge(store)
    rows = store.rows("SELECT outcome, reason, count(*) FROM decisions WHERE outcome <> 'accepted' GROUP BY 1, 2")
    assert {(outcome, reason) for outcome, reason, _ in rows} <= {
        ("rejected", "not_duplicate"), ("rejected", "low_confidence"), ("skipped", "no_candidates"), ("skipped", "source_too_vague"),
    }  # fmt: skip


def test_a_second_run_has_nothing_to_do_and_a_stopped_one_goes_on(store):
    answers = iter([False] * 10)
    stopped = judge_sets(job(store, 9, lambda: next(answers, True)), "issue", RuleJudge())
    assert stopped.is_stopped
    assert list_runs(store, 1, step="judge")[0].status == "stopped"
    rest = judge(store)
    assert rest.decided_before == stopped.accepted + stopped.rejected + stopped.skipped
    assert rest.decided_before + rest.accepted + rest.rejected + rest.skipped == 64
    again = judge(store)
    assert (again.decided_before, again.run_id) == (64, None)
    (run, *_) = list_runs(store, 1, step="judge")
    assert run.counters["accepted"] == rest.accepted
    assert (run.parameters["min_edge"], run.parameters["min_gap"]) == (0.85, 0.26)


def test_an_accepted_edge_stays_until_it_is_rejudged(store):
    judge(store)
    write(store, [item(101, COPY, "Something else entirely: the window is too small to read the third column")])
    make_candidates(job(store, 6), words_only(store), "issue")
    made = judge(store)
    assert made.reasons == {"already_accepted": 1}
    assert is_accepted(store, id_of(store, 101))
    assert (101, 102) not in edges(store), "nothing may be closed for a text that nobody judged"
    judge(store, is_rejudged=True)
    assert not is_accepted(store, id_of(store, 101))


def test_stale_sets_are_judged_only_when_that_is_allowed(store):
    write(store, [item(101, COPY, TEXT + " again")])
    judge(store)
    assert not is_accepted(store, id_of(store, 101))
    judge(store, allows_stale=True)
    assert is_accepted(store, id_of(store, 101))


def test_one_accepted_edge_per_source(store):
    judge(store)
    judge(store, is_rejudged=True)
    sql = "SELECT item_id FROM decisions WHERE is_current AND outcome = 'accepted' GROUP BY 1 HAVING count(*) > 1"
    assert store.rows(sql) == []
    assert len(edges(store)) == 2


def test_a_least_confidence_above_a_rule_switches_it_off(store):
    judge(store, min_edge=0.99)
    assert edges(store) == set()
    assert decision(store, 101)[1] == "low_confidence"


CASES = [
    (saying(is_duplicate=False), "rejected", ReasonCode.NOT_DUPLICATE),
    (saying(target=5000), "rejected", ReasonCode.TARGET_NOT_CANDIDATE),
    (saying(facts=["a dragon in the cellar", "two moons at noon"]), "rejected", ReasonCode.FACTS_NOT_FOUND),
    (saying(relation="related_followup"), "rejected", ReasonCode.RELATION_DIFFERS),
    (saying(root_cause="adjacent"), "rejected", ReasonCode.ROOT_CAUSE_DIFFERS),
    (saying(scope="source_superset"), "rejected", ReasonCode.SCOPE_DIFFERS),
    (saying(path="different"), "rejected", ReasonCode.PATH_DIFFERS),
    (saying(certainty="unsure"), "rejected", ReasonCode.NOT_SURE),
    (saying(confidence=0.5), "rejected", ReasonCode.LOW_CONFIDENCE),
    (ScriptedJudge("I am certain: #102 it is"), "skipped", ReasonCode.INVALID_VERDICT),
    (ScriptedJudge(JudgeAnswer(None, ReasonCode.JUDGE_FAILED)), "skipped", ReasonCode.JUDGE_FAILED),
    (ScriptedJudge(JudgeAnswer(None, ReasonCode.OVER_BUDGET)), "skipped", ReasonCode.OVER_BUDGET),
    (ScriptedJudge(JudgeAnswer(None)), "skipped", ReasonCode.JUDGE_FAILED),
]


@pytest.mark.parametrize(("who", "outcome", "reason"), CASES, ids=[str(one[2]) + one[1] for one in CASES])
def test_each_reason_is_kept_with_its_decision(store, who, outcome, reason):
    made = judge(store, who)
    assert decision(store, 101)[:2] == (outcome, reason)
    assert made.reasons[reason] > 0
    assert edges(store) == set()


def test_a_good_verdict_of_a_model_is_accepted_for_its_source_alone(store):
    made = judge(store, saying())
    assert edges(store) == {(101, 102)}
    assert made.reasons["target_not_candidate"] > 0
    assert store.value("SELECT judge FROM decisions WHERE outcome = 'accepted'") == "llm"


def test_what_is_known_of_the_target_counts_when_it_is_judged(store):
    store.run("UPDATE items SET state = 'closed' WHERE number = 102")
    judge(store, saying())
    assert decision(store, 101)[1] == "target_not_open"


def test_a_target_that_is_marked_is_no_original(store):
    store.run("UPDATE items SET state_reason = 'duplicate' WHERE number = 102")
    judge(store, saying())
    assert decision(store, 101)[1] == "target_is_duplicate"


def test_a_fault_does_not_repeat_a_wish(store):
    for number, label in ((101, "bug"), (102, "enhancement")):
        sql = "INSERT INTO item_labels (project_id, item_id, name) VALUES (1, ?, ?)"
        store.run(sql, id_of(store, number), label)
    judge(store)
    assert decision(store, 101)[1] == "bug_feature_mismatch"


def test_a_candidate_that_is_nearly_as_strong_objects(store):
    one = next(
        each
        for each in each_latest_set(store, 1, "issue")
        if sum(member.is_offered and member.sameness == "similar" for member in each.members) > 1
    )
    number = number_of(store, one.item_id)
    first = number_of(store, one.members[0].item_id)
    verdict = parse_verdict(json.dumps(GOOD | {"target": first}))
    store.run("UPDATE candidate_set_members SET strength = 1, similarity = 1 WHERE set_id = ?", one.id)
    store.run("UPDATE items SET author = 'ann'")
    judge(store, ScriptedJudge(JudgeAnswer(verdict, facts_found=2)))
    assert decision(store, number)[1] == "gap_too_small"
    store.run("UPDATE candidate_set_members SET strength = 3 WHERE set_id = ? AND rank = 1", one.id)
    judge(store, ScriptedJudge(JudgeAnswer(verdict, facts_found=2)), is_rejudged=True)
    assert decision(store, number)[0] == "accepted"


def test_what_a_person_refused_stays_refused(store):
    with store.transaction():
        save_override(store, 1, HumanDecision(id_of(store, 102), id_of(store, 101), "reject", "ann", 1))
    judge(store)
    assert decision(store, 101)[1] == "said_otherwise"
    assert decision(store, 102)[1] == "said_otherwise"


def test_what_somebody_with_rights_said_counts_and_can_be_switched_off(store):
    number = next(one for one in (number_of(store, each.item_id) for each in each_latest_set(store, 1, "issue")
                                  if any(member.is_offered for member in each.members)) if one < 60)  # fmt: skip
    (found,) = [each for each in each_latest_set(store, 1, "issue") if number_of(store, each.item_id) == number]
    target = number_of(store, next(member.item_id for member in found.members if member.is_offered))
    sql = """
        INSERT INTO item_links (project_id, item_id, relation, source, target_number)
        VALUES (1, ?, 'duplicate_of', 'event', ?)
    """
    store.run(sql, id_of(store, number), target)
    # A lead over the others is asked of every rule.
    store.run("UPDATE candidate_set_members SET strength = 9 WHERE set_id = ? AND item_id = ?", found.id,
              id_of(store, target))  # fmt: skip
    judge(store, RuleJudge(trusts_statements=False))
    assert decision(store, number)[1] == "not_duplicate"
    judge(store)
    assert (number, target) in edges(store)


answers = st.one_of(
    st.text(max_size=200),
    st.fixed_dictionaries({}, optional={name: st.one_of(st.none(), st.text(max_size=20), st.integers(), st.floats(),
                                                        st.booleans(), st.just(value))
                                        for name, value in (GOOD | {"target": 9}).items()}).map(json.dumps),
)  # fmt: skip


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(answers)
def test_garbage_never_accepts(store, answer):
    """Whatever a model writes: nothing outside the candidates, nothing without facts in both texts."""
    judge(store, ScriptedJudge(answer), is_rejudged=True)
    assert edges(store) == set()


def test_a_judge_hears_of_open_candidates_alone(store):
    who = saying(is_duplicate=False)
    store.run("UPDATE candidate_set_members SET is_offered = 0 WHERE item_id = ?", id_of(store, 102))
    judge(store, who)
    offered = {one.item.number for question in who.asked for one in question.candidates}
    assert 102 not in offered
    assert 101 in offered


@pytest.mark.parametrize("allows_stale", [False, True])
def test_a_candidate_that_was_edited_since_it_was_listed_is_neither_offered_nor_accepted(store, allows_stale):
    write(store, [item(102, COPY, "Something else entirely: the window is too small to read the third column")])
    who = saying()
    judge(store, who, allows_stale=allows_stale)
    assert 102 not in {one.item.number for question in who.asked for one in question.candidates}
    assert edges(store) == set()
    judge(store, allows_stale=allows_stale)
    assert not {(101, 102), (102, 101)} & edges(store)
