"""Strength, similarity, chance."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.compare.calibration import (
    MIN_OF_STATE,
    Case,
    Curve,
    Distribution,
    Distributions,
    calibration_error,
    fit_curve,
    load_shipped,
    log_loss,
    reliability,
    sigmoid,
)
from forgelore.compare.evidence import FEATURES, HISTORY, SECOND
from forgelore.compare.trees import FAMILIES, USUAL_COSINES, VERSION, load_trees
from forgelore.records import BestMatch  # fmt: skip

NUMBERS = st.floats(-50, 50, allow_nan=False)
SAMPLES = st.lists(NUMBERS, min_size=1, max_size=60)
START = Curve(1.0, 0.0, 0)


@given(SAMPLES, NUMBERS, NUMBERS)
def test_a_position_never_falls_as_strength_grows(sample, one, other):
    distribution = Distribution.of(sample)
    low, high = sorted((one, other))
    assert 0 <= distribution.position(low) <= distribution.position(high) <= 1


def test_a_position_is_the_share_that_is_weaker():
    distribution = Distribution.of([float(number) for number in range(999)])
    assert distribution.position(919.0) == pytest.approx(0.92, abs=0.002)
    assert distribution.position(749.5) == pytest.approx(0.75, abs=0.002)


def test_between_two_strengths_a_position_grows_evenly():
    sample = Distribution.of([0.0, 1.0, 1.0])
    assert sample.position(0.25) == pytest.approx(1.25 / 4)
    assert sample.position(0.75) == pytest.approx(1.75 / 4)
    assert sample.position(1.0) == pytest.approx(2.5 / 4), "among equals in their middle"


def test_beyond_the_strongest_the_stronger_still_shows():
    distribution = Distribution.of([float(number) for number in range(100)])
    assert 0.98 < distribution.position(100.0) < distribution.position(102.0) < 1


@given(st.integers(), st.integers(100, 400))
def test_a_threshold_bounds_the_noise_by_construction(seed, size):
    """Of items like those of the sample, about 8 of 100 are at 0.92 or above."""
    chance = random.Random(seed)
    sample = [chance.gauss(0, 3) for _ in range(size)]
    distribution = Distribution.of(sample)
    share = sum(distribution.position(strength) >= 0.92 for strength in sample) / len(sample)
    assert share <= 0.09


def test_a_sample_of_none_knows_nothing():
    assert Distribution(()).position(3.0) == 0


def bests(count, low, *, is_open):
    return [BestMatch(low + at / count, is_open) for at in range(count)]


def test_a_closed_match_is_compared_with_closed_ones_and_an_open_one_with_open_ones():
    distributions = Distributions.of([*bests(100, 0.0, is_open=True), *bests(100, -2.0, is_open=False)])
    assert distributions.position(BestMatch(-1.08, is_open=False)) == pytest.approx(0.92, abs=0.02)
    assert distributions.position(BestMatch(0.92, is_open=True)) == pytest.approx(0.92, abs=0.02)
    assert distributions.position(BestMatch(-1.08, is_open=None)) == pytest.approx(0.46, abs=0.02)


def test_where_a_state_has_too_few_all_matches_are_its_measure():
    few = bests(MIN_OF_STATE - 1, -2.0, is_open=False)
    distributions = Distributions.of([*bests(100, 0.0, is_open=True), *few])
    assert distributions.of_closed is None
    closed, unknown = (distributions.position(BestMatch(0.5, state)) for state in (False, None))
    assert closed == unknown
    assert Distributions.of([*bests(100, 0.0, is_open=True), *few, few[0]]).of_closed is not None


@given(st.integers())
def test_of_each_state_a_threshold_tells_the_same_share(seed):
    chance = random.Random(seed)
    sample = [BestMatch(chance.gauss(-2 * is_open, 3), is_open) for is_open in (True, False) for _ in range(150)]
    distributions = Distributions.of(sample)
    for state in (True, False):
        of_state = [best for best in sample if best.is_open is state]
        assert sum(distributions.position(best) >= 0.92 for best in of_state) <= 0.09 * len(of_state)


def cases(strengths, is_right, weight=1.0):
    return [Case(strength, is_right, weight) for strength in strengths]


MIXED = cases([2, 3, 4, 5, 1.5] * 8, True) + cases([-2, -1, 0, 1, 2.5] * 8, False)


def test_a_fitted_curve_rises_and_fits_better():
    curve = fit_curve(MIXED, START)
    assert curve.source == "project"
    assert curve.pairs == 40
    assert curve.chance(-2).value < 0.2 < 0.8 < curve.chance(5).value
    assert log_loss(MIXED, curve) < log_loss(MIXED, START)
    assert fit_curve(MIXED, START) == curve


def test_no_chance_is_told_that_was_never_seen():
    noisy = cases([3.0] * 20, True) + cases([3.0] * 60, False) + cases([-3.0] * 100, False)
    assert fit_curve(noisy, START).chance(50.0).value <= 0.26


def test_rare_duplicates_have_a_small_chance():
    natural = cases([3.0, 4.0] * 10, True) + cases([3.0, 4.0, 0.0] * 10, False, weight=20.0)
    assert fit_curve(natural, START).chance(4.0).value < 0.1


@given(st.lists(st.tuples(NUMBERS, st.booleans()), min_size=1, max_size=40))
def test_any_cases_can_be_fitted(rows):
    curve = fit_curve([Case(*row) for row in rows], START)
    assert curve.slope > 0
    assert 0 <= curve.chance(1.0).value <= 1


def test_what_is_told_rightly_has_no_error():
    told = [(0.25, number % 4 == 0, 1.0) for number in range(400)]
    assert calibration_error(told, bins=1) == pytest.approx(0)
    assert calibration_error([(0.9, False, 1.0)] * 10) == pytest.approx(0.9)
    assert sum(group.n for group in reliability(told)) == 400


@given(st.floats(-700, 700))
def test_a_logit_of_any_size_is_a_chance(logit):
    assert 0 <= sigmoid(logit) <= 1


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_shipped_is_whole(family):
    trees, (distributions, curve) = load_trees(family), load_shipped(family)
    assert (trees.name, trees.version) == (family, VERSION)
    assert set(trees.features) <= {*FEATURES, *HISTORY, *SECOND}
    assert not {"cites", "same"} & set(trees.features)
    for distribution in distributions:
        assert list(distribution.strengths) == sorted(distribution.strengths)
        assert len(distribution.strengths) >= 100
    assert curve.slope > 0
    assert curve.pairs >= 200
    assert ("cosine" in trees.features) == family.startswith("lore")
    assert ("cosine_z" in trees.features) == (family != "words")


def test_embedders_that_were_measured_have_usual_cosines():
    assert set(USUAL_COSINES) == {"lore", "minilm"}
