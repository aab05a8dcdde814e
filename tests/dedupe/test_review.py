"""The review queue: which pairs people are asked about, in which order, and what their answers do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.tracker import id_of, item, job, ordinary, words_only, write
from forgelore.dedupe.candidates import CandidateSetting, make_candidates
from forgelore.dedupe.overrides import override
from forgelore.dedupe.plan import ClusterSettings, PlanSettings, canonicalize, load_edges, plan_closings
from forgelore.dedupe.review import QueueSetting, answer_pair, list_answered, load_queue, take_back
from forgelore.dedupe.review_rules import (
    Joined,
    fit_level,
    forecast,
    order_pairs,
    parse_answer,
    settle,
)
from forgelore.errors import InvalidValue, NotFound
from forgelore.records import CandidatePair
from forgelore.store.decisions import load_labels_of_pairs, load_refused_pairs
from forgelore.store.projects import list_projects
from forgelore.store.sqlite.schema import open_store

FAILURE = (
    "Restoring the backup stops\n\nerror: cannot decode the seed of the wallet {0} at checkpoint\nIt worked before."
)
JUST_NOW = 1_735_000_000_000  # before the closed items of the tracker ended


@pytest.fixture
def store(tmp_path):
    store = open_store(str(tmp_path / "lore.db"))
    yield store
    store.close()


@pytest.fixture
def tracker(store):
    """Three reports of one failure by different people, a series by one author, and items that nobody repeats."""
    reports = [
        item(at, f"Restoring a backup {word}", FAILURE.format(word), author=f"user{at}", state=state)
        for at, word, state in ((1, "stops", "open"), (5, "ends early", "open"), (9, "fails at once", "closed"))
    ]
    series = [
        item(11, "iOS: The export of the chart is blurred", "The chart of the month is blurred in the export.", author="zoe"),
        item(12, "Android: The export of the chart is blurred", "The chart of the month is blurred in the export.",
             author="zoe"),
    ]  # fmt: skip
    write(store, [*reports, *series, *(ordinary(number) for number in range(20, 60))])
    compare(store)
    return store


def compare(store):
    make_candidates(job(store), words_only(store), "issue", CandidateSetting(min_score=0.5))


def queue(store, person="ana", **setting):
    return load_queue(store, list_projects(store)[0], QueueSetting(("issue",), JUST_NOW, **setting), person=person)


def numbers(found):
    return [(one.newer.number, one.older.number) for one in found.pairs]


def answer(store, newer, older, word, *, by="ana", now_ms=5):
    ids = id_of(store, newer), id_of(store, older)
    return answer_pair(store, list_projects(store)[0], ids, word, said_by=by, now_ms=now_ms)


def edges(store):
    return {(one.source, one.target) for one in load_edges(store, 1, "issue").edges}


def test_a_pair_is_asked_about_once_the_newer_item_first(tracker):
    pairs = numbers(queue(tracker))
    assert (5, 1) in pairs
    assert all(newer > older for newer, older in pairs)
    assert len({frozenset(pair) for pair in pairs}) == len(pairs)


def test_an_open_item_is_shown_beside_what_was_closed_lately(tracker):
    found = queue(tracker)
    closed = next(one for one in found.pairs if 9 in (one.newer.number, one.older.number))
    assert (closed.newer.ended, closed.newer.state) == ("closed", "closed")
    later = load_queue(tracker, list_projects(tracker)[0], QueueSetting(("issue",), JUST_NOW + 10**11), person="ana")
    assert all(9 not in pair for pair in numbers(later))


def test_twins_come_behind_the_other_pairs_and_are_not_dropped(tracker):
    found = queue(tracker)
    piles = [one.pile for one in found.pairs]
    assert piles == sorted(piles)
    twins = next(one for one in found.pairs if (one.newer.number, one.older.number) == (12, 11))
    assert (twins.pile, twins.relation, twins.differences.kinds) == ("series", "twin", ["platform"])
    assert found.in_series == piles.count("series")


def test_the_evidence_says_what_both_have_and_what_only_one_has(tracker):
    pair = next(one for one in queue(tracker).pairs if (one.newer.number, one.older.number) == (5, 1))
    assert pair.differences.title_newer == ["ends", "early"]
    assert pair.differences.title_older == ["stops"]
    assert "It worked before." in pair.differences.shared_lines
    assert any("ends early" in line for line in pair.differences.newer_lines)
    assert (pair.days_apart, pair.same_author) == (4, False)


@pytest.mark.parametrize(
    "body", ["It looks like #1 to me.", "Duplicate of #1", "See https://github.com/acme/p/issues/1 and #1"]
)
def test_what_people_joined_already_is_left_out(store, body):
    texts = [
        item(1, "Restoring a backup stops", FAILURE, author="a"),
        item(5, "Restoring a backup ends", FAILURE + body),
    ]
    write(store, [*texts, *(ordinary(number) for number in range(20, 60))])
    compare(store)
    assert (5, 1) not in numbers(queue(store))


def test_what_follows_from_two_answers_is_not_asked(store):
    reports = [item(at, f"Restoring a backup {at * 'x'}", FAILURE, author=f"u{at}") for at in (1, 5, 9)]
    write(store, [*reports, *(ordinary(number) for number in range(20, 60))])
    compare(store)
    assert {(5, 1), (9, 1), (9, 5)} <= set(numbers(queue(store)))
    answer(store, 5, 1, "same")
    answer(store, 9, 5, "same")
    assert (9, 1) not in numbers(queue(store))
    answer(store, 9, 5, "related", now_ms=9)
    assert (9, 1) in numbers(queue(store))


def test_two_items_that_one_change_closes_are_left_out(store):
    texts = [item(at, f"Restoring a backup {at * 'x'}", FAILURE, author=f"u{at}") for at in (1, 5)]
    fix = item(70, "Read the seed again", "Fixes #1, fixes #5", kind="change")
    write(store, [*texts, fix, *(ordinary(number) for number in range(20, 60))])
    compare(store)
    assert (5, 1) not in numbers(queue(store))


def test_a_pair_that_somebody_accepted_or_rejected_is_left_out(tracker):
    for newer, older, action in ((5, 1, "accept"), (12, 11, "reject")):
        override(tracker, 1, action, id_of(tracker, newer), id_of(tracker, older), said_by="ben", now_ms=3)
    assert not {(5, 1), (12, 11)} & set(numbers(queue(tracker)))


def test_a_confidential_item_is_in_no_pair(tracker):
    tracker.run("UPDATE items SET is_confidential = 1 WHERE number = 1")
    assert all(1 not in pair for pair in numbers(queue(tracker)))


def test_an_answered_pair_is_never_asked_again_and_undo_brings_it_back(tracker):
    answer(tracker, 5, 1, "related")
    assert (5, 1) not in numbers(queue(tracker))
    assert (5, 1) not in numbers(queue(tracker, "ben"))
    undone = take_back(tracker, list_projects(tracker)[0], said_by="ana", now_ms=6)
    assert (undone.newer, undone.older, undone.by) == ("#5", "#1", {})
    assert (5, 1) in numbers(queue(tracker))
    assert tracker.value("SELECT count(*) FROM reviews") == 2  # history stays true
    with pytest.raises(NotFound, match="ana has no answers"):
        take_back(tracker, list_projects(tracker)[0], said_by="ana", now_ms=7)


def test_who_is_unsure_leaves_the_pair_to_others(tracker):
    answer(tracker, 5, 1, "unsure")
    assert (5, 1) not in numbers(queue(tracker, "ana"))
    assert (5, 1) in numbers(queue(tracker, "ben"))
    assert edges(tracker) == set()


def test_a_second_opinion_is_asked_about_what_others_answered(tracker):
    answer(tracker, 5, 1, "same")
    found = queue(tracker, "ben", second_opinion=True)
    assert numbers(found) == [(5, 1)]
    assert found.pairs[0].answers == {"ana": "same"}
    assert numbers(queue(tracker, "ana", second_opinion=True)) == []


def test_same_is_an_edge_by_a_person_and_becomes_a_closing(tracker):
    answer(tracker, 1, 5, "same")  # named the other way round: the newer one repeats the older one all the same
    assert edges(tracker) == {(id_of(tracker, 5), id_of(tracker, 1))}
    canonicalize(job(tracker), ClusterSettings(maintainers=("mia",)))
    plan = plan_closings(job(tracker), PlanSettings(maintainers=("mia",)))
    assert [(line.number, line.target) for line in plan.lines if not line.reason] == [(5, 1)]


@pytest.mark.parametrize("word", ["related", "twin", "not"])
def test_what_a_person_calls_anything_else_is_no_edge_whatever_a_judge_says(tracker, word):
    answer(tracker, 5, 1, word)
    assert load_refused_pairs(tracker, 1) == {frozenset((id_of(tracker, 5), id_of(tracker, 1)))}
    assert edges(tracker) == set()


def test_a_disagreement_is_shown_and_is_no_edge_until_it_is_settled(tracker):
    answer(tracker, 5, 1, "same")
    disputed = answer(tracker, 5, 1, "related", by="ben")
    assert (disputed.is_disputed, disputed.answer) == (True, "")
    assert edges(tracker) == set()
    assert load_labels_of_pairs(tracker, 1) == {(id_of(tracker, 5), id_of(tracker, 1)): "unsure"}
    assert queue(tracker).disputed == 1
    answer(tracker, 5, 1, "same", by="ben", now_ms=9)
    assert list_answered(tracker, list_projects(tracker)[0], ["issue"])[0].by == {"ana": "same", "ben": "same"}
    assert edges(tracker) == {(id_of(tracker, 5), id_of(tracker, 1))}


def test_the_last_word_counts_whether_it_is_an_answer_or_an_override(tracker):
    answer(tracker, 5, 1, "same", now_ms=5)
    override(tracker, 1, "reject", id_of(tracker, 5), id_of(tracker, 1), said_by="ben", now_ms=6)
    assert edges(tracker) == set()
    assert len(load_refused_pairs(tracker, 1)) == 1
    answer(tracker, 5, 1, "same", by="cy", now_ms=7)
    assert edges(tracker) == {(id_of(tracker, 5), id_of(tracker, 1))}
    assert load_refused_pairs(tracker, 1) == set()


def test_answers_are_labels_for_audits(tracker):
    answer(tracker, 5, 1, "same")
    answer(tracker, 12, 11, "twin")
    assert set(load_labels_of_pairs(tracker, 1).values()) == {"duplicate", "related"}


def test_two_items_that_cannot_be_a_pair_are_refused(tracker):
    with pytest.raises(InvalidValue, match="cannot repeat itself"):
        answer(tracker, 5, 5, "same")
    write(tracker, [item(80, "A change", kind="change")])
    with pytest.raises(InvalidValue, match="repeat"):
        answer_pair(
            tracker, list_projects(tracker)[0], (id_of(tracker, 5), id_of(tracker, 80)), "same", said_by="ana", now_ms=1
        )


def test_the_queue_says_how_many_items_were_not_compared(store):
    write(store, [ordinary(number) for number in range(20, 30)])
    assert queue(store).uncompared == 10


def pair(item_id, target_id, strength, cosine=None, chance=0.1):
    return CandidatePair(item_id, target_id, strength, cosine, 0.9, "similar", chance=chance)


def test_strength_and_cosine_count_alike():
    weak, near, strong = pair(2, 1, 0.0, 0.9), pair(3, 1, 1.0, 0.8), pair(4, 1, 1.1, 0.1)
    assert [one.item_id for one in order_pairs([weak, near, strong])] == [3, 2, 4]


def test_without_vectors_the_strength_decides():
    assert [one.item_id for one in order_pairs([pair(2, 1, 0.0), pair(3, 1, 2.0)])] == [3, 2]


@given(st.permutations([(2, 1, 0.5), (3, 1, 2.0), (3, 2, 1.0), (1, 3, 1.5)]))
def test_the_order_does_not_depend_on_how_pairs_come_in(rows):
    found = order_pairs([pair(*row) for row in rows])
    assert [(one.key, one.strength) for one in found] == [
        (frozenset((1, 3)), 2.0), (frozenset((2, 3)), 1.0), (frozenset((1, 2)), 0.5)
    ]  # fmt: skip


def test_repeats_of_a_third_item_are_joined_through_it():
    joined = Joined([(2, 1, True), (3, 1, True), (5, 3, False)], [])
    assert joined.has(2, 3)
    assert joined.has(2, 1)
    assert joined.has(5, 1)
    assert not joined.has(5, 4)


@pytest.mark.parametrize(
    ("answers", "comes_to", "is_disputed"),
    [
        ({}, "", False),
        ({"ana": "same"}, "same", False),
        ({"ana": "same", "ben": "unsure"}, "same", False),
        ({"ana": "unsure"}, "unsure", False),
        ({"ana": "same", "ben": "not"}, "", True),
        ({"ana": "same", "ben": "twin"}, "", True),
        ({"ana": "not", "ben": "related"}, "related", False),
    ],
)
def test_what_several_people_answer_comes_to(answers, comes_to, is_disputed):
    assert settle(answers) == (comes_to, is_disputed)


def test_a_forecast_allows_for_marks_that_are_missing_until_somebody_has_answered():
    """The shipped chance was counted on what people marked: a quarter of what a reader calls the same."""
    said = forecast([0.2] * 50, [], shown=50)
    assert said.duplicates == pytest.approx(50 * 0.4046, abs=0.01)
    assert said.next_duplicates == pytest.approx(20 * 0.4046, abs=0.01)
    assert not said.may_stop


def test_the_level_follows_the_answers_after_every_twenty():
    none_right = [(0.3, False)] * 19
    assert forecast([0.3] * 20, none_right, shown=20).next_duplicates == pytest.approx(20 * 0.538, abs=0.01)
    poor = forecast([0.3] * 20, [*none_right, (0.3, False)], shown=20)
    assert poor.next_duplicates < 1.5
    assert poor.may_stop
    rich = forecast([0.3] * 20, [(0.3, True)] * 20, shown=20)
    assert rich.next_duplicates > 15
    assert not rich.may_stop


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=80))
def test_the_level_is_always_found(answered):
    assert abs(fit_level(answered)) < 40
    if answered:
        more = fit_level([*answered, (0.5, True)])
        assert more >= fit_level([*answered, (0.5, False)])


def test_an_answer_is_a_word_or_its_first_letter():
    assert [parse_answer(word) for word in ("same", "S", " twin ", "u")] == ["same", "same", "twin", "unsure"]
    for word in ("", "sa", "yes"):
        with pytest.raises(InvalidValue, match="unknown answer"):
            parse_answer(word)
