"""Ranks into recall, MRR and intervals: laws that hold for any ranks."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forgelore.compare.scoring import (
    CUTS,
    DEPTH,
    METRICS,
    Decided,
    bootstrap,
    compare_ranks,
    gains,
    score_decisions,
    score_ranks,
    wilson,
)

RANKS = st.lists(st.none() | st.integers(1, 150), min_size=1, max_size=25)
few = settings(max_examples=30, deadline=None)  # each example resamples two thousand times


def test_a_worked_example():
    score = score_ranks([1, 2, 7, 15, None])
    assert score.n == 5
    assert score.values == pytest.approx(
        {"recall@1": 0.2, "recall@5": 0.4, "recall@10": 0.6, "recall@20": 0.8, "mrr": (1 + 1 / 2 + 1 / 7 + 1 / 15) / 5}
    )


def test_no_queries_have_no_score():
    assert score_ranks([]) == (0, {}, {})
    assert compare_ranks([], []) == {}


def test_a_rank_beyond_the_depth_counts_nothing():
    assert gains([DEPTH, DEPTH + 1], "mrr") == [1 / DEPTH, 0.0]


@few
@given(RANKS)
def test_every_metric_has_a_value_inside_its_interval_and_both_lie_between_0_and_1(ranks):
    score = score_ranks(ranks)
    assert tuple(score.values) == tuple(score.ci95) == METRICS
    for metric, value in score.values.items():
        low, high = score.ci95[metric]
        assert 0 <= low <= high <= 1
        if metric != "mrr":
            assert low <= value <= high


@few
@given(RANKS)
def test_recall_grows_with_the_cut_and_mrr_lies_above_recall_at_1(ranks):
    values = score_ranks(ranks).values
    recalls = [values[f"recall@{cut}"] for cut in CUTS]
    assert recalls == sorted(recalls)
    assert values["mrr"] >= values["recall@1"] - 1e-12


@few
@given(RANKS, st.randoms(use_true_random=False))
def test_the_order_of_queries_changes_nothing(ranks, chance):
    mixed = ranks[:]
    chance.shuffle(mixed)
    assert score_ranks(mixed) == score_ranks(ranks)


@few
@given(RANKS, st.data())
def test_a_better_rank_never_lowers_a_metric(ranks, data):
    at = data.draw(st.integers(0, len(ranks) - 1))
    better = data.draw(st.integers(1, min(ranks[at] or 200, 200)))
    after = [*ranks[:at], better, *ranks[at + 1 :]]
    old, new = score_ranks(ranks).values, score_ranks(after).values
    assert all(new[metric] >= old[metric] - 1e-12 for metric in METRICS)
    assert all(step.value >= 0 and step.ci95.low >= 0 for step in compare_ranks(ranks, after).values())


@few
@given(RANKS)
def test_a_run_does_not_differ_from_itself(ranks):
    for step in compare_ranks(ranks, ranks).values():
        assert (step.value, step.ci95, step.is_clear) == (0, (0, 0), False)


@few
@given(st.lists(st.tuples(st.none() | st.integers(1, 150), st.none() | st.integers(1, 150)), min_size=1, max_size=25))
def test_a_difference_is_the_difference_of_the_scores(pairs):
    before, after = [list(side) for side in zip(*pairs, strict=True)]
    old, new = score_ranks(before).values, score_ranks(after).values
    for metric, step in compare_ranks(before, after).items():
        assert step.value == pytest.approx(new[metric] - old[metric])


def test_runs_over_different_queries_are_not_compared():
    with pytest.raises(ValueError, match="same queries"):
        compare_ranks([1], [1, 2])


def test_a_clear_gain_is_told_from_a_lucky_one():
    many = [None, 1] * 50
    assert compare_ranks(many, [1] * 100)["recall@1"].is_clear
    assert not compare_ranks(many, [1, *many[1:]])["recall@1"].is_clear


@given(st.integers(0, 400), st.integers(1, 400))
def test_more_queries_make_a_narrower_interval(hits, n):
    share = min(hits, n) / n
    narrow, wide = wilson(share, 4 * n), wilson(share, n)
    assert narrow.high - narrow.low < wide.high - wide.low


def test_finding_all_of_a_few_is_not_certainty():
    assert wilson(1.0, 10).low == pytest.approx(0.7225, abs=1e-3)
    assert wilson(0.0, 10).high == pytest.approx(0.2775, abs=1e-3)


def test_the_resampled_interval_agrees_with_theory_and_repeats():
    chance = random.Random(1)
    values = [chance.random() for _ in range(400)]
    low, high = bootstrap(values)
    mean = sum(values) / len(values)
    spread = 1.96 * (sum((value - mean) ** 2 for value in values) / len(values) / len(values)) ** 0.5
    assert (low, high) == pytest.approx((mean - spread, mean + spread), abs=0.2 * spread)
    assert bootstrap(values) == (low, high)


def decided(*rows):
    return [Decided(*row) for row in rows]


def test_decisions_are_counted_by_what_was_named():
    rows = decided(
        (0.95, True, True), (0.95, True, False), (0.2, True, True), (0.99, False, False), (0.1, False, False)
    )
    found = score_decisions(rows, threshold=0.9, prevalence=0.1)
    assert (found.duplicates, found.others) == (3, 2)
    assert found.precision == pytest.approx(1 / 3)
    assert found.recall == pytest.approx(1 / 3)
    assert found.false_alarms == 0.5
    assert found.precision_at_prevalence == pytest.approx(0.1 / 3 / (0.1 * 2 / 3 + 0.9 * 0.5))


def test_recall_at_a_share_of_false_alarms_allows_no_more_of_them():
    others = [(number / 100, False, False) for number in range(100)]
    rows = decided(*others, (0.985, True, True), (0.955, True, True), (0.5, True, True), (1.0, True, False))
    found = score_decisions(rows, threshold=0.9, prevalence=None)
    assert (found.recall_at_fa1, found.recall_at_fa5) == (0.25, 0.5)
    assert found.precision_at_prevalence is None


def test_nothing_to_decide_is_nothing_measured():
    found = score_decisions([], threshold=0.9, prevalence=None)
    assert found.precision is found.recall is found.false_alarms is None
    assert found.recall_at_fa1 is found.recall_at_fa5 is None
