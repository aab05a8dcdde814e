"""Clusters, overrides and plans: what would be closed, and each reason why something would not."""

import pytest

from dedupe.closing_lab import ClosingLab, reasons
from forgelore.api.dedupe import Dedupe
from forgelore.dedupe.reasons import ReasonCode
from forgelore.dedupe.review import answer_pair
from forgelore.errors import InvalidValue


@pytest.fixture
def closing(github):
    github.project.add_collaborator("ana", "admin")
    github.project.add_collaborator("tom", "triage")
    github.project.add_collaborator("wes", "push")
    return ClosingLab(github)


def chain(closing, count):
    """Items of which each repeats the one before it, in words of its own."""
    numbers = [closing.add(body=f"It says EACCES, says user{at}", author="kim") for at in range(count)]
    closing.lab.sync()
    for source, target in zip(numbers[1:], numbers, strict=False):
        closing.decide(source, target)
    return numbers


def test_a_plan_closes_copies_onto_the_oldest(closing):
    original, *copies = closing.prepare(copies=3)
    closing.cluster()
    plan = closing.plan()
    assert {(line.number, line.target, line.reason) for line in plan.lines} == {(one, original, "") for one in copies}
    assert plan.counters == {"close": 3}


def test_a_dry_run_keeps_nothing(closing):
    closing.prepare()
    closing.cluster()
    before = closing.store.total_changes
    plan = closing.plan(is_dry=True)
    assert plan.run is None
    assert plan.lines
    assert closing.store.total_changes == before


def test_a_plan_builds_the_clusters_anew_where_somebody_has_decided_since(closing):
    _, copy, other = closing.prepare(copies=2)
    assert reasons(closing.plan()) == {copy: None, other: None}
    closing.time.pass_by(60)
    closing.say("split", copy)
    assert reasons(closing.plan()) == {other: None}
    assert closing.store.value("SELECT count(*) FROM dedupe_runs WHERE step = 'canonicalize'") == 2
    closing.plan()
    assert closing.store.value("SELECT count(*) FROM dedupe_runs WHERE step = 'canonicalize'") == 2


def test_what_people_call_the_same_in_a_chain_is_closed_onto_the_one_that_stays(closing):
    """Nobody is asked about every pair of five copies: who calls a and b the same, and b and c, has said it of a and c."""
    first, *others = (closing.add(f"Crash {at}", f"{'It stops. ' * at} EACCES", author=f"user{at}") for at in range(5))
    if "forgejo" in closing.lab.name_text:
        closing.named = ("ana",)
    closing.lab.sync()
    for newer, older in ((2, 1), (3, 2), (4, 1), (4, 3), (5, 4)):
        closing.time.pass_by(60)
        ids, now = (closing.id_of(newer), closing.id_of(older)), closing.time.now_ms()
        answer_pair(closing.store, closing.stored, ids, "same", said_by="ana", now_ms=now)
    closing.say("reject", 5, 1)
    plan = closing.plan()
    expected = {2: None, 3: None, 4: None, 5: ReasonCode.MISSING_ACCEPTED_EDGE}
    assert {line.number: line.reason or None for line in plan.lines} == expected
    assert {line.target for line in plan.lines if not line.reason} == {first}
    done = closing.apply(plan.run, is_unproven=False)  # people said all of it
    assert reasons(done) == dict.fromkeys(others[:3])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"author": "wes"}, ReasonCode.MAINTAINER_AUTHOR),
        ({"author": "zoe", "assignees": ["wes"]}, ReasonCode.MAINTAINER_ASSIGNEE),
        ({"author": None}, ReasonCode.UNCERTAIN_MAINTAINER_IDENTITY),
        ({"author": "tom"}, None),
        ({"author": "zoe", "assignees": ["tom"]}, None),
    ],
)
def test_items_of_maintainers_are_never_closed(closing, change, reason):
    original, copy = closing.add(author="kim"), closing.add(**change)
    closing.lab.sync()
    closing.decide(copy, original)
    closing.say("canonical", original)
    closing.cluster()
    assert reasons(closing.plan()) == {copy: reason}


def test_without_the_list_the_association_tells_and_unknown_means_skip(closing):
    """A token without push access is refused the collaborators."""
    closing.server.tokens["reader"] = type(closing.server.tokens[closing.good_token])("rob", "Rob")
    original, copy = closing.add(author="kim"), closing.add(author="acme")
    third = closing.add(author="lia", assignees=["max"])
    closing.lab.app = closing.app = closing.lab.new_app("reader")
    closing.lab.sync()
    for number in (copy, third):
        closing.decide(number, original)
    closing.say("canonical", original)
    closing.cluster()
    assert reasons(closing.plan()) == {
        copy: ReasonCode.MAINTAINER_AUTHOR, third: ReasonCode.UNCERTAIN_MAINTAINER_IDENTITY,
    }  # fmt: skip


def test_confidence_below_the_threshold_closes_nothing(closing):
    _, copy = closing.prepare(confidence=0.89)
    closing.cluster()
    assert reasons(closing.plan()) == {copy: ReasonCode.LOW_CONFIDENCE}
    assert reasons(closing.plan(min_close=0.85)) == {copy: None}


def test_only_a_direct_decision_closes_onto_the_canonical(closing):
    first, second, third = chain(closing, 3)
    closing.cluster()
    assert reasons(closing.plan()) == {second: None, third: ReasonCode.MISSING_ACCEPTED_EDGE}
    fallback = closing.plan(target_policy="direct-fallback")
    assert reasons(fallback) == {second: None, third: ReasonCode.TARGET_NOT_OPEN}
    closing.say("canonical", third)
    closing.cluster()
    assert reasons(closing.plan(target_policy="direct-fallback")) == {
        first: ReasonCode.MISSING_ACCEPTED_EDGE,
        second: None,
    }


def test_a_closed_item_is_not_planned_and_never_a_target(closing):
    original, _, third = closing.prepare(copies=2)
    closing.on_issue("close", original, reason="completed")
    closing.on_issue("close", third, reason="completed")
    closing.time.pass_by(600)
    closing.lab.sync()
    closing.cluster()
    plan = reasons(closing.plan(target_policy="direct-fallback"))
    assert plan == {original: ReasonCode.NOT_OPEN, third: ReasonCode.NOT_OPEN}


def test_the_last_open_item_of_a_cluster_is_never_planned(closing):
    """The clusters were built while the original was open; since then it was closed, and that was synced."""
    original, copy = closing.prepare()
    closing.cluster()
    closing.on_issue("close", original, reason="completed")
    closing.time.pass_by(600)
    closing.lab.sync()
    assert reasons(closing.plan(target_policy="direct-fallback")) == {copy: ReasonCode.LAST_OPEN_OF_CLUSTER}


def test_decisions_in_a_circle_close_neither_of_a_pair_twice(closing):
    first, second = closing.add(author="kim"), closing.add(author="lia")
    closing.lab.sync()
    closing.decide(first, second)
    closing.decide(second, first)
    run = closing.planned(target_policy="direct-fallback")
    closing.apply(run)
    assert sorted(closing.item(number).state for number in (first, second)) == ["closed", "open"]


def test_no_circle_comes_about_across_runs(closing):
    """The second plan would close the original onto its copy, which was closed onto it, and reopened by somebody."""
    original, copy = closing.prepare()
    closing.apply(closing.planned())
    closing.on_issue("reopen", copy, by="ben")
    closing.decide(original, copy)
    closing.say("canonical", copy)
    closing.time.pass_by(600)
    closing.lab.sync()
    closing.cluster()
    for policy in ("canonical-only", "direct-fallback"):
        assert closing.plan(target_policy=policy).counters["close"] == 0
    assert closing.item(original).state == "open"


def test_the_words_of_people_outlive_reruns(closing):
    original, copy, third = closing.prepare(copies=2)
    closing.say("reject", copy, original)
    closing.say("canonical", third)
    for _ in range(2):
        found = closing.cluster().clusters
        assert [(one.canonical, one.numbers) for one in found] == [(third, [original, third])]
        closing.decide(copy, original)
    closing.say("accept", copy, original)
    assert closing.cluster().clusters[0].numbers == [original, copy, third]
    closing.say("split", original)
    assert closing.cluster().clusters == []
    closing.say("accept", copy, original)
    assert closing.cluster().clusters[0].numbers == [original, copy, third]


def test_what_a_person_accepts_counts_fully_and_replaces_the_judges_edge(closing):
    first, second, third = chain(closing, 3)
    closing.say("accept", third, first)
    closing.cluster()
    plan = {line.number: line for line in closing.plan().lines}
    assert (plan[third].target, plan[third].confidence, plan[third].reason) == (first, 1.0, "")
    assert plan[second].target == first


@pytest.mark.parametrize("pair", [(1, 1), (1, 3)])
def test_a_pair_that_cannot_be_one_is_refused(closing, pair):
    closing.prepare()
    closing.add(kind="change")
    closing.lab.sync()
    with pytest.raises(InvalidValue):
        Dedupe(closing.app, lambda: None).override("accept", f"#{pair[0]}", f"#{pair[1]}")


def test_a_cluster_is_cut_at_the_bound_and_that_is_told(closing):
    numbers = [closing.add(author=f"user{at}") for at in range(6)]
    closing.lab.sync()
    for at, number in enumerate(numbers[1:]):
        closing.decide(number, numbers[0], confidence=0.99 - at / 100)
    found = closing.cluster(bound=4)
    assert [len(one.numbers) for one in found.clusters] == [4]
    assert [(one.number, one.target) for one in found.left_out] == [(numbers[4], numbers[0]), (numbers[5], numbers[0])]
    sql = "SELECT json_extract(counters, '$.\"edges left out\"') FROM dedupe_runs WHERE step = 'canonicalize'"
    assert closing.store.value(sql) == 2


def test_english_is_kept_rather_than_another_language_unless_that_is_switched_off(closing):
    foreign = closing.add("Absturz beim Starten", "Beim Starten stürzt das Programm sofort ab und schreibt nur EACCES")
    english = closing.add("Crash on start", "When it starts the program crashes at once and it writes only EACCES")
    closing.lab.sync()
    closing.decide(english, foreign)
    assert closing.cluster().clusters[0].canonical == english
    assert closing.cluster(language="any").clusters[0].canonical == foreign
