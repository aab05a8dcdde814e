"""Nobody chooses what survives by copying it: an older item is never closed onto a newer one of another author."""

import pytest

from dedupe.closing_lab import ClosingLab, reasons
from forgelore.dedupe.apply import load_edges_judged
from forgelore.dedupe.reasons import ReasonCode
from forgelore.store.decisions import load_run
from forgelore.surfaces.present.dedupe import plan_file
from forgelore.surfaces.present.review_page import build_page

MONTH_S = 30 * 86_400


def copy_attack(closing):
    """An issue that people talked about, and a stranger's copy of it with more talk by the stranger alone."""
    victim = closing.add(author="kim")
    for login in ("ben", "lia"):
        closing.on_issue("comment", victim, "I see this, too", author=login)
    closing.time.pass_by(MONTH_S)
    copy = closing.add(author="mallory")
    for _ in range(9):
        closing.on_issue("comment", copy, "Bump", author="mallory")
    if "forgejo" in closing.lab.name_text:
        closing.named = ("ana",)
    closing.lab.sync()
    closing.decide(victim, copy)
    return victim, copy


def test_a_copy_with_more_comments_does_not_survive_its_original(closing):
    victim, copy = copy_attack(closing)
    run = closing.planned()
    assert reasons(closing.apply(run)) == {copy: None}
    assert closing.portrait([victim])[victim][0] == "open"


@pytest.mark.parametrize("action", ["canonical", "accept"])
def test_only_the_accepted_pair_closes_an_older_item_onto_a_strangers_newer_one(closing, action):
    """To choose what stays of a cluster does not say that its older items repeat it; to accept the pair does."""
    victim, copy = copy_attack(closing)
    closing.say(action, *((copy,) if action == "canonical" else (victim, copy)))
    closing.cluster()
    plan = closing.plan()
    is_accepted = action == "accept"
    assert reasons(plan) == {victim: None if is_accepted else ReasonCode.TARGET_IS_NEWER}
    assert [line.by_person for line in plan.lines] == [is_accepted]
    assert ("a person accepted" in plan_file(plan, is_json=False)) == is_accepted
    assert reasons(closing.apply(plan.run)) == ({victim: None} if is_accepted else {})


def test_what_the_forge_says_of_dates_and_authors_counts_at_the_closing(closing):
    """The plan was made by a store that had it the other way round, such as one of an older program."""
    victim, _ = copy_attack(closing)
    sql = "UPDATE items SET created_at = CASE number WHEN ? THEN 9 ELSE 5 END"
    closing.store.run(sql, victim)
    run = closing.planned()
    since = len(closing.server.requests)
    assert reasons(closing.apply(run)) == {victim: ReasonCode.TARGET_IS_NEWER}
    assert closing.writes(since) == []


@pytest.mark.parametrize("place", [0, 1, 2], ids=["first", "second", "third"])
def test_of_three_copies_the_oldest_stays_and_a_maintainers_one_too(closing, place):
    """The judge names one original of each; any two of the same text repeat each other."""
    authors = ["kim", "lia", "max"]
    authors[place] = "ana"
    numbers = []
    for author in authors:
        numbers.append(closing.add(author=author))
        closing.time.pass_by(3600)
    if "forgejo" in closing.lab.name_text:
        closing.named = ("ana",)
    closing.lab.sync()
    first, second, third = numbers
    closing.decide(third, second)
    closing.decide(second, third)
    closing.decide(first, second)
    expected = {number: ReasonCode.MAINTAINER_AUTHOR if at == place else None for at, number in enumerate(numbers)}
    del expected[first]
    plan = closing.plan(is_dry=not closing.cluster())
    assert {line.target for line in plan.lines if not line.reason} == {first}
    assert reasons(plan) == expected
    assert reasons(closing.apply(plan.run)) == {number: None for number, why in expected.items() if why is None}


def test_an_edge_between_copies_is_as_proven_as_what_connects_them(github):
    """It has no judge of its own, and closes nothing that the judges of its cluster would not."""
    github.project.add_collaborator("ana", "admin")
    closing = ClosingLab(github)
    first, second, third = (closing.add(author=f"user{at}") for at in range(3))
    closing.lab.sync()
    closing.decide(first, second, judge="llm", model="careless")
    closing.decide(second, third, judge="llm", model="careless")
    run = closing.planned()
    assert [(one.judge, one.model) for one in load_edges_judged(load_run(closing.store, run))] == [("llm", "careless")]


def test_people_are_counted_and_not_their_comments(github):
    """What decides among several items of one author."""
    github.project.add_collaborator("ana", "admin")
    closing = ClosingLab(github)
    first, second = closing.add(author="kim"), closing.add(author="kim")
    for _ in range(5):
        closing.on_issue("comment", second, "Bump", author="kim")
        closing.on_issue("comment", second, "Bump", author="lia")
    for login in ("ben", "zoe"):
        closing.on_issue("comment", first, "Me too", author=login)
    closing.lab.sync()
    closing.decide(first, second)
    (cluster,) = closing.cluster().clusters
    assert (cluster.canonical, cluster.chosen_by) == (first, "activity")


def test_plan_and_page_show_who_filed_both_items_and_when(github):
    github.project.add_collaborator("ana", "admin")
    closing = ClosingLab(github)
    victim, copy = copy_attack(closing)
    plan = closing.plan(is_dry=not closing.cluster())
    (line,) = [line for line in plan.lines if line.number == copy]
    assert (line.author, line.target, line.target_author) == ("mallory", victim, "kim")
    from forgelore.dedupe.report import load_overview

    page = build_page(load_overview(closing.store, closing.stored, closing.time.now_ms()))
    for text in (plan_file(plan, is_json=False), page.partition('id="audits"')[0]):
        assert "mallory" in text
        assert "kim" in text
        assert "2026-03-01" in text
        assert "2026-03-31" in text
