"""The contract of deduplication: candidate sets, cards, decisions, runs, closings and their journal, calibration."""

import pytest
from samples import HOUR, NOW, change, id_of, index, item, note, project, save, talk, thread, written_by

from forgelore.errors import NotFound
from forgelore.model import ItemKey, Link
from forgelore.records import BestMatch, HumanDecision, LaneAnswer, PlannedClosing
from forgelore.store.calibration import (
    CalibrationScope,
    forget_outdated,
    is_calibrated_otherwise,
    list_learned,
    list_outdated,
    load_boilerplate,
    load_boilerplate_size,
    load_calibration,
    load_duplicates,
    load_sampled,
    load_strengths,
    load_strengths_of,
    save_boilerplate,
    save_calibration,
    save_strengths,
)
from forgelore.store.candidates import (
    Candidate,
    CandidateSet,
    CardOrigin,
    drop_cards,
    each_latest_set,
    has_cards,
    list_clusters,
    list_settled,
    list_sources,
    load_card_document,
    load_card_texts,
    load_origins,
    load_set,
    replace_clusters,
    save_card,
    save_set,
)
from forgelore.store.closings import (
    JournalEntry,
    begin_write,
    end_write,
    find_run_of,
    list_announced,
    list_closings,
    list_graces,
    list_writes,
    load_associations,
    load_closed_onto,
    load_plan_items,
    save_closings,
)
from forgelore.store.decisions import (
    Decision,
    begin_run,
    each_override,
    end_run,
    is_accepted,
    list_accepted,
    list_cases,
    list_judged_sets,
    list_runs,
    load_accepted_decisions,
    load_judged,
    load_labels_of_pairs,
    load_refused_pairs,
    load_run,
    load_said_targets,
    resume_run,
    save_case,
    save_counters,
    save_decision,
    save_labels_of_pairs,
    save_override,
)
from forgelore.store.jobs import count_waiting
from forgelore.store.triage import forget_project
from forgelore.words import JobKind

FIRST = ItemKey("issue", 1)
ORIGIN = CardOrigin("hash", 1, "p1", "m", "ok")


@pytest.fixture
def web(store):
    return project(store)


@pytest.fixture
def ids(store, web):
    """Number -> id of three open issues."""
    return save(store, web, item(1, "Crash at start"), item(2, "It crashes"), item(3, "Dark theme"))


def new_set(web, item_id, **other):
    named = {"representation": "raw", "model": "m", "k": 5, "min_score": 0.1, "states": "open"}
    return CandidateSet(web, item_id, 1, **(named | other))


def member(rank, item_id, **other):
    named = {"is_offered": True, "cosine": 0.9, "strength": 3.0, "similarity": 0.8, "chance": None, "sameness": "copy"}
    return Candidate(rank, item_id, 1, "open", **(named | other))


def accept(store, web, item_id, target_id, **other):
    named = {
        "set_id": None, "run_id": None, "policy": "batch", "judge": "rules", "model": "", "prompt_hash": "",
        "says_duplicate": True, "confidence": 0.9, "verdict": "{}", "outcome": "accepted", "reason": "",
    }  # fmt: skip
    return save_decision(store, Decision(project_id=web, item_id=item_id, target_id=target_id, **(named | other)), NOW)


# Candidate sets


def test_a_set_comes_back_with_its_members_in_the_order_of_their_ranks(store, web, ids):
    members = (
        member(1, ids[2], marks=("same_trace",), features={"title": 0.5}), member(2, ids[3], is_offered=False),
    )  # fmt: skip
    set_id, stale = save_set(store, new_set(web, ids[1], members=members[::-1]), NOW)
    found = load_set(store, set_id)
    assert (found.members, found.is_fresh, stale) == (members, True, 0)
    assert load_set(store, set_id + 1) is None


def test_a_new_set_makes_the_earlier_one_of_its_source_stale(store, web, ids):
    first, _ = save_set(store, new_set(web, ids[1]), NOW)
    other, _ = save_set(store, new_set(web, ids[2]), NOW)
    second, stale = save_set(store, new_set(web, ids[1]), NOW)
    assert stale == 1
    assert [load_set(store, one).is_fresh for one in (first, other, second)] == [False, True, True]
    assert [one.id for one in each_latest_set(store, web, "issue")] == [second, other]


def test_a_set_is_stale_once_the_text_of_its_source_changed_and_only_then(store, web, ids):
    save_set(store, new_set(web, ids[1]), NOW)
    save(store, web, item(1, "Crash at start", labels=["bug"]))
    assert list_settled(store, web, "issue", new_set(web, 0)) == {ids[1]}
    save(store, web, item(1, "Crash at the end"))
    assert list_settled(store, web, "issue", new_set(web, 0)) == set()
    assert list(each_latest_set(store, web, "issue")) == []
    assert len(list(each_latest_set(store, web, "issue", allows_stale=True))) == 1


def test_a_set_of_other_parameters_settles_nothing(store, web, ids):
    save_set(store, new_set(web, ids[1]), NOW)
    assert list_settled(store, web, "issue", new_set(web, 0, k=6)) == set()
    assert list(each_latest_set(store, web, "issue", representations=["intent"])) == []


def test_sources_are_live_public_items_in_one_of_the_states(store, web, ids):
    save(store, web, item(2, state="closed"), item(3, is_confidential=True), change(4))
    assert list_sources(store, web, "issue") == [ids[1]]
    assert list_sources(store, web, "issue", states=("open", "closed")) == [ids[1], ids[2]]
    assert list_sources(store, web, "issue", states=None) == [ids[1], ids[2]]


def test_clusters_replace_the_earlier_ones_of_their_kind_largest_first(store, web, ids):
    replace_clusters(store, web, "issue", [(ids[1], "oldest", [ids[1], ids[3]])], NOW)
    replace_clusters(store, web, "change", [], NOW)
    more = save(store, web, item(4), item(5))
    pair, triple = [more[4], more[5]], [ids[1], ids[2], ids[3]]
    assert replace_clusters(store, web, "issue", [(pair[0], "oldest", pair), (ids[2], "person", triple)], NOW) == 2
    assert [(one.canonical_id, one.members) for one in list_clusters(store, web, "issue")] == [
        (ids[2], tuple(triple)), (pair[0], tuple(pair)),
    ]  # fmt: skip


# Intent cards


def test_a_card_replaces_the_earlier_one_and_becomes_a_document(store, web, ids):
    save_card(store, web, ids[1], ORIGIN, "{}", "the program ends at start", NOW)
    save_card(store, web, ids[1], ORIGIN, "{}", "it ends", NOW)
    assert load_origins(store, ids.values()) == {ids[1]: ORIGIN}
    assert load_card_texts(store, ids.values()) == {ids[1]: "it ends"}
    assert load_card_document(store, ids[1]) is None
    index(store, ids[1])
    assert load_card_document(store, ids[1])[2] == "it ends"
    assert drop_cards(store, [ids[1]]) == 1
    assert not has_cards(store, web)


def test_a_set_that_cards_chose_is_settled_until_the_card_is_made_anew(store, web, ids):
    save_set(store, new_set(web, ids[1], representation="intent"), NOW)
    like = new_set(web, 0, representation="intent")
    assert list_settled(store, web, "issue", like) == {ids[1]}
    save_card(store, web, ids[1], ORIGIN, "{}", "x", NOW + 1)
    assert list_settled(store, web, "issue", like) == set()


# Decisions


def test_a_source_has_one_accepted_decision_its_last(store, web, ids):
    accept(store, web, ids[2], ids[1])
    accept(store, web, ids[2], ids[3], confidence=0.7)
    assert is_accepted(store, ids[2])
    assert list_accepted(store, web, "issue") == [(ids[2], ids[3], 0.7)]
    accept(store, web, ids[2], None, outcome="rejected", confidence=None)
    assert not is_accepted(store, ids[2])


def test_a_decision_of_another_policy_replaces_none(store, web, ids):
    accept(store, web, ids[2], ids[1])
    accept(store, web, ids[2], ids[3], policy="audit")
    assert load_accepted_decisions(store, web)[ids[2]].target_id == ids[1]


def test_an_edge_rests_on_the_texts_that_were_judged(store, web, ids):
    set_id, _ = save_set(store, new_set(web, ids[2], members=(member(1, ids[1], marks=("same_trace",)),)), NOW)
    accept(store, web, ids[2], ids[1], set_id=set_id)
    assert load_set(store, load_accepted_decisions(store, web)[ids[2]].set_id).members[0].marks == ("same_trace",)
    save(store, web, item(1, "Crash at the end"))
    assert list_accepted(store, web, "issue") == []


def test_edges_are_listed_surest_first(store, web, ids):
    accept(store, web, ids[2], ids[1], confidence=0.7)
    accept(store, web, ids[3], ids[1], confidence=0.9)
    assert [one.source for one in list_accepted(store, web, "issue")] == [ids[3], ids[2]]


def test_a_stopped_run_goes_on_behind_what_was_judged_and_tries_failures_again(store, web, ids):
    sets = [save_set(store, new_set(web, one), NOW)[0] for one in ids.values()]
    accept(store, web, ids[1], None, set_id=sets[0], outcome="rejected", reason="not_sure", confidence=None)
    accept(store, web, ids[2], None, set_id=sets[1], outcome="skipped", reason="judge_failed", confidence=None)
    assert list_judged_sets(store, web, "rules", "") == {sets[0]}
    assert list_judged_sets(store, web, "rules", "other") == set()


def test_of_two_words_on_a_pair_the_last_counts(store, web, ids):
    save_override(store, web, HumanDecision(ids[1], ids[2], "accept", "ana", NOW))
    save_override(store, web, HumanDecision(ids[1], ids[2], "reject", "tom", NOW + 1))
    save_override(store, web, HumanDecision(ids[1], 0, "canonical", "tom", NOW + 2))
    assert [(one.decision, one.said_by) for one in each_override(store, web)] == [
        ("reject", "tom"),
        ("canonical", "tom"),
    ]
    assert load_refused_pairs(store, web) == {frozenset((ids[1], ids[2]))}


def test_a_judge_reads_live_public_items_marked_only_by_the_forge(store, web, ids):
    save(
        store, web, item(1, body="Duplicate of #2", labels=["ui", "bug"]), item(2, links=[Link("duplicate_of", 1)]),
        item(3, is_confidential=True),
    )  # fmt: skip
    found = load_judged(store, ids.values())
    assert {one.number: one.is_marked for one in found.values()} == {1: False, 2: True}
    assert set(found[ids[1]].labels) == {"bug", "ui"}


def test_what_somebody_without_rights_calls_a_duplicate_is_no_target(store, web, ids):
    talk(store, web, thread(1, note("c1", "Duplicate of #2"), note("c2", "Duplicate of #3", author_role="MEMBER")))
    assert load_said_targets(store, ids[1]) == {ids[3]}


# Runs and audits


def test_a_run_tells_how_far_it_came_and_how_it_ended(store, web):
    run_id = begin_run(store, web, "judge", {"k": 5}, NOW)
    save_counters(store, run_id, {"judged": 3}, tokens=(10, 2), cost=0.5)
    end_run(store, run_id, "stopped", NOW + 1)
    found = load_run(store, run_id)
    assert (found.status, found.parameters, found.counters, found.ended_at) == (
        "stopped", {"k": 5}, {"judged": 3}, NOW + 1,
    )  # fmt: skip
    assert (found.prompt_tokens, found.answer_tokens, found.cost) == (10, 2, 0.5)
    resume_run(store, run_id)
    assert (load_run(store, run_id).status, load_run(store, run_id).ended_at) == ("running", None)


def test_runs_are_listed_newest_first_of_a_step_or_of_all(store, web):
    plan = begin_run(store, web, "plan", {}, NOW)
    apply = begin_run(store, web, "apply", {}, NOW, of_run=plan)
    assert [one.id for one in list_runs(store, web)] == [apply, plan]
    assert [one.id for one in list_runs(store, web, step="plan")] == [plan]
    assert find_run_of(store, plan, "apply") == apply
    assert find_run_of(store, apply, "rollback") is None
    with pytest.raises(NotFound):
        load_run(store, apply + 1)


def test_a_number_that_the_journal_knows_is_given_to_no_other_run(store, web):
    run_id = begin_run(store, web, "apply", {}, NOW)
    begin_write(store, JournalEntry(run_id, web, FIRST, "bot", "close", {}, {}), NOW)
    forget_project(store, web)
    again = begin_run(store, project(store), "apply", {}, NOW)
    assert again > run_id
    assert load_run(store, again).step == "apply"


def test_cases_and_labels_of_an_audit_come_back_as_they_were(store, web, ids):
    run_id = begin_run(store, web, "audit", {}, NOW)
    answers = (LaneAnswer("accepted", target=2, also=(3,)), LaneAnswer("rejected"))
    save_case(store, run_id, ids[1], None, "fp", *answers)
    (shown,) = list_cases(store, run_id)
    assert (shown.number, shown.audit_class, shown.judged, shown.right) == (1, "fp", *answers)
    save_labels_of_pairs(store, web, [HumanDecision(ids[1], ids[2], "unsure", "ana", NOW)])
    save_labels_of_pairs(store, web, [HumanDecision(ids[1], ids[2], "duplicate", "ana", NOW + 1)])
    assert load_labels_of_pairs(store, web) == {(ids[1], ids[2]): "duplicate"}


# Closings and the journal


def test_a_line_of_a_plan_is_replaced_by_a_later_one_of_its_item(store, web, ids):
    run_id = begin_run(store, web, "plan", {}, NOW)
    save_closings(store, run_id, [PlannedClosing(ids[3], ids[1], 0.9), PlannedClosing(ids[2], ids[1], 0.8)])
    save_closings(store, run_id, [PlannedClosing(ids[2], ids[1], 0.8, "assigned", action="skip")])
    assert [(one.item_id, one.action) for one in list_closings(store, run_id)] == [(ids[2], "skip"), (ids[3], "")]


def test_a_plan_sees_live_items_with_their_newest_comment(store, web, ids):
    talk(store, web, thread(1, note("c9"), note("c10"), note("c11", is_system=True)))
    save(store, web, item(2, "It crashes", assignees=["ana"], state_reason="duplicate"))
    found = load_plan_items(store, [ids[1], ids[2], 99])
    assert (found[ids[1]].newest_comment, found[ids[1]].is_marked) == (10, False)
    assert (found[ids[2]].newest_comment, found[ids[2]].is_marked, found[ids[2]].assignees) == (None, True, ("ana",))


def test_a_write_is_known_before_it_is_sent_and_completed_by_its_answer(store, opened, web):
    run_id = begin_run(store, web, "apply", {}, NOW)
    entry = begin_write(store, JournalEntry(run_id, web, FIRST, "bot", "label", {"label": "dup"}, {"labels": []}), NOW)
    assert list_writes(opened(), run_id) == [entry]
    assert (entry.status, entry.answer) == ("sent", None)
    end_write(store, entry.id, "done", {"id": 5}, NOW + 1)
    (after,) = list_writes(store, run_id, FIRST)
    assert (after.status, after.answer, after.answered_at) == ("done", {"id": 5}, NOW + 1)
    assert list_writes(store, run_id, ItemKey("issue", 2)) == []


def write(store, web, run_id, step, status, key=FIRST, **request):
    entry = begin_write(store, JournalEntry(run_id, web, key, "bot", step, request, {}), NOW)
    end_write(store, entry.id, status, {}, NOW)


def test_an_item_is_closed_onto_another_until_a_rollback_reopened_it(store, web, ids):
    apply = begin_run(store, web, "apply", {}, NOW)
    write(store, web, apply, "close", "done", target=2)
    write(store, web, apply, "close", "failed", ItemKey("issue", 3), target=2)
    assert load_closed_onto(store, web) == {ids[1]: ids[2]}
    back = begin_run(store, web, "rollback", {}, NOW, of_run=apply)
    write(store, web, back, "reopen", "failed")
    assert load_closed_onto(store, web) == {ids[1]: ids[2]}
    write(store, web, back, "reopen", "done")
    assert load_closed_onto(store, web) == {}


def test_hours_of_grace_end_with_the_closing_or_when_they_are_taken_back(store, web, ids):
    apply = begin_run(store, web, "apply", {"close_after": HOUR}, NOW)
    for number in (1, 2, 3):
        write(store, web, apply, "comment", "done", ItemKey("issue", number))
    write(store, web, apply, "close", "done", target=2)
    back = begin_run(store, web, "rollback", {}, NOW, of_run=apply)
    write(store, web, back, "comment", "done", ItemKey("issue", 3))
    assert [(one.item_id, one.run_id, one.action) for one in list_graces(store, web)] == [(ids[2], apply, "wait")]


def test_what_the_forge_says_of_people_is_known_by_login_in_lower_case(store, web, ids):
    save(store, web, item(1, author="Ana", author_role="OWNER"))
    talk(store, web, thread(1, note("c1", author="ana", author_role="MEMBER"), note("c2")))
    assert load_associations(store, web, ["ANA", "tom"]) == {"ana": {"OWNER", "MEMBER"}}


def test_open_items_with_a_label_are_listed_oldest_first(store, web, ids):
    save(store, web, change(4, labels=["dup"]), item(2, labels=["dup"]), item(3, labels=["dup"], state="closed"))
    assert list_announced(store, web, "dup", "<!-- note") == [ItemKey("issue", 2), ItemKey("change", 4)]


# Calibration


def strengths(store, scope, *rows, keep=99):
    save_strengths(store, scope, [(item_id, at, BestMatch(value, True)) for item_id, at, value in rows], keep=keep)


def test_strengths_are_kept_of_the_newest_items_also_where_their_times_are_equal(store, web, ids):
    scope = CalibrationScope(web, "issue", "lore 3 x")
    strengths(store, scope, *((item_id, NOW, number) for number, item_id in ids.items()), keep=2)
    assert load_sampled(store, scope) == {ids[2], ids[3]}
    assert [one.strength for one in load_strengths(store, scope, limit=1)] == [3]
    strengths(store, scope, (ids[2], NOW, 9.0), keep=2)
    assert load_strengths_of(store, scope, without={ids[3]}) == [BestMatch(9.0, True)]


def test_strengths_of_different_models_are_kept_apart(store, web, ids):
    strengths(store, CalibrationScope(web, "issue", "lore 3 x"), (ids[1], NOW, 1.0))
    assert load_sampled(store, CalibrationScope(web, "issue", "lore 3 y")) == set()


def test_a_calibration_replaces_that_of_any_model(store, web):
    lore, served = (CalibrationScope(web, "issue", one) for one in ("lore 3 x", "served 3 y"))
    curve = (1.0, -2.0, 0.9, 10)
    save_calibration(store, lore, curve, 20, {"b": 1}, NOW)
    assert load_calibration(store, lore) == curve
    save_calibration(store, served, curve, 20, {}, NOW)
    assert load_calibration(store, lore) is None
    assert is_calibrated_otherwise(store, lore)
    assert not is_calibrated_otherwise(store, served)


def test_what_another_version_of_the_ranking_learned_is_found_and_forgotten(store, web, ids):
    old, new = (CalibrationScope(web, "issue", f"lore {one} x") for one in (3, 30))
    for scope in (old, new):
        strengths(store, scope, (ids[1], NOW, 1.0))
    assert list_learned(store, web) == list_outdated(store, web, 3) == {("issue", "lore")}
    forget_outdated(store, web, 3)
    assert (load_sampled(store, old), load_sampled(store, new)) == ({ids[1]}, set())


def test_lines_of_templates_are_those_that_were_learned_last(store, web):
    assert load_boilerplate_size(store, web, "issue") == 0
    save_boilerplate(store, web, "issue", lines={-5: 2, 6: 3}, items=9, now_ms=NOW)
    save_boilerplate(store, web, "issue", lines={6: 4}, items=10, now_ms=NOW)
    assert (load_boilerplate(store, web, "issue"), load_boilerplate_size(store, web, "issue")) == ({6}, 10)


def test_a_written_duplicate_counts_once_the_item_is_closed_and_repeats_an_earlier_one(store, web):
    save(
        store, web, item(1), item(2, body="Duplicate of #1", created_at=NOW + 1),
        item(3, body="Duplicate of #1", state="closed", created_at=NOW + 2),
        item(4, body="Duplicate of #5", state="closed", created_at=NOW + 3), item(5, created_at=NOW + 4),
        item(6, links=[Link("duplicate_of", 2)], created_at=NOW + 5),
    )  # fmt: skip
    known = {number: id_of(store, web, number) for number in (1, 2, 3, 6)}
    found = load_duplicates(store, web, "issue", limit=9)
    assert found == {known[6]: {known[2]}, known[3]: {known[1]}}
    assert list(load_duplicates(store, web, "issue", limit=1)) == [known[6]]


def test_saving_a_card_queues_the_document_of_its_item(store, web, ids):
    before = count_waiting(store, JobKind.DOCUMENT)
    assert written_by(store, lambda: save_card(store, web, ids[1], ORIGIN, "{}", "x", NOW)) > 0
    assert count_waiting(store, JobKind.DOCUMENT) == before == 3
