"""Words for how well hits fit."""

from hypothesis import given
from hypothesis import strategies as st

from forgelore.search.fusion import FLOOR, STRONG, name_fits

ORDER = ("strong", "fair", "weak")
RELEVANCES = st.lists(st.floats(0, 1), max_size=30)


def test_a_later_hit_that_is_rated_higher_shares_its_mean_with_those_before():
    assert name_fits([0.9, 0.3, 0.7, 0.1]) == ["strong", "fair", "fair", "weak"]


def test_bounds_belong_to_the_better_word():
    assert name_fits([STRONG, STRONG - 0.01, FLOOR, FLOOR - 0.01]) == ["strong", "fair", "fair", "weak"]


@given(RELEVANCES)
def test_the_words_never_rise_again(relevances):
    named = name_fits(relevances)
    assert len(named) == len(relevances)
    assert named == sorted(named, key=ORDER.index)


@given(st.lists(st.floats(0, FLOOR, exclude_max=True), min_size=1, max_size=30))
def test_where_nothing_fits_every_word_is_weak(relevances):
    assert set(name_fits(relevances)) == {"weak"}
