"""How much it says that two texts share a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.text.terms import COMMON, LARGEST, weight_of

TOTALS = st.integers(0, 200_000)
STEMS = st.sampled_from(["the", "fail", "screenshot", "deadlock", "zygote"])


@given(stem=STEMS, total=TOTALS, data=st.data())
def test_rarity_falls_with_frequency(stem, total, data):
    fewer, more = sorted([data.draw(st.integers(0, total)), data.draw(st.integers(0, total))])
    assert weight_of(stem, fewer, total) >= weight_of(stem, more, total)


@given(stem=STEMS, total=TOTALS, count=st.integers(0, 400_000))
def test_a_weight_lies_between_nothing_and_the_largest(stem, total, count):
    """Also where the counts are older than the total."""
    assert 0 <= weight_of(stem, count, total) <= LARGEST


@given(total=TOTALS, data=st.data())
def test_a_word_that_every_tracker_has_says_less_at_equal_counts(total, data):
    count = data.draw(st.integers(0, total))
    assert (
        weight_of("the", count, total) <= weight_of("screenshot", count, total) <= weight_of("deadlock", count, total)
    )


def test_in_a_small_project_the_list_decides():
    """Of four items every word is in a quarter at least; "the" is not as telling as "deadlock" for that."""
    assert weight_of("deadlock", 1, 4) > 4 * weight_of("the", 1, 4)


@pytest.mark.parametrize(("stem", "count", "weight"), [("the", 26_000, 0.1), ("deadlock", 40, 6.6)])
def test_the_examples_of_the_docstring_hold(stem, count, weight):
    assert weight_of(stem, count, 29_000) == pytest.approx(weight, abs=0.05)


def test_a_listed_stem_is_listed_once():
    from forgelore.text import terms

    listed = [stem for stems in terms._SHARES.values() for stem in stems.split()]
    assert len(listed) == len(set(listed)) == len(COMMON)
